"""Serves one run folder for the program that runs it: the first line of standard output is the page's address.

When that program has died, the page stays for as long as somebody looks at it."""

import argparse
import asyncio
import os
import sys
from pathlib import Path

from topologies.web.run import Run
from topologies.web.server import serve

LEFT_ALONE_S = 60.0
"""A page that is open asks every half second; a browser slows down those in the background to once a minute at most."""


def main(arguments: list[str]) -> None:
    """Serve until the program is gone and nobody looks."""
    parser = argparse.ArgumentParser(prog="topologies.web")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--parent", type=int, required=True)
    options = parser.parse_args(arguments)

    def is_over(unasked_s: float) -> bool:
        return os.getppid() != options.parent and unasked_s > LEFT_ALONE_S

    asyncio.run(serve([Run(options.folder)], 0, lambda link: print(link, flush=True), is_over))


if __name__ == "__main__":
    main(sys.argv[1:])
