"""`make fast`: compile, compare, and only then put the copy where it is looked for."""

import sys
import tempfile
from pathlib import Path

from engine.command.exits import EXIT_FAILED, EXIT_INTERRUPTED
from experiments.fast.agreement import AgreementError, compare
from experiments.fast.build import BuildError, build, modules
from experiments.fast.exchange import check
from hosts import compiled
from hosts.compiled import COPY, SOURCES, Standing


def main() -> int:
    """The exit status: 0 when there is a copy that fits, 1 when not."""
    if compiled.judge(COPY, SOURCES) is Standing.FITS:
        print(f"{COPY} fits hosts/ already")
        return 0
    COPY.parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="fast-", dir=COPY.parent) as scratch:
        new = Path(scratch) / "new"
        try:
            print("compiling hosts/; this takes about three minutes", flush=True)
            build(new, modules())
            print("simulating each protocol with and without compiled code", flush=True)
            compare(new)
            check(new)
        except (BuildError, AgreementError) as error:
            print(f"make fast: {error}", file=sys.stderr)
            return EXIT_FAILED
        except KeyboardInterrupt:
            return EXIT_INTERRUPTED
        if COPY.exists():
            COPY.rename(Path(scratch) / "old")
        new.rename(COPY)
    print(f"both give the same; from now on `canopy` runs {COPY} while hosts/ stays as it is")
    return 0


if __name__ == "__main__":
    sys.exit(main())
