"""Builds the Debian packages: `canopy-agents`, what hosts need that send and receive, and `canopy`, everything.

Each is a virtual environment at /usr/lib/canopy, with this Debian's Python, and one program, /usr/bin/canopy. So its
modules (`hosts`, `engine`, ...) are private to it, and what they import is in it, in the versions of constraints.txt:
Debian's own Typer and Rich are older than what the command line needs. Everything is compiled beforehand, so that
removing the package removes every file. Needs `make setup`.
"""

import argparse
import compileall
import hashlib
import importlib.metadata
import importlib.util
import os
import py_compile
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
HERE: Final = ROOT / "deploy"
WORK: Final = ROOT / "build" / "deploy"
LIBRARY: Final = "usr/lib/canopy"
DEBIANS_PYTHON: Final = "/usr/bin/python3"

AGENTS_VENDORED: Final = (
    *("annotated-doc", "markdown-it-py", "mdurl", "prometheus-client", "pygments", "rich", "shellingham", "typer"),
)
"""What the agents' modules import, with what that imports (tests/deploy/test_build.py)."""
LEFT_OUT: Final = ("__pycache__", "*.pyc", "*.so", "crates", "target", "fuzz", "stubs", "Cargo.*", "rustfmt.toml")
PYTHON: Final = f"{sys.version_info.major}.{sys.version_info.minor}"
NEXT_PYTHON: Final = f"{sys.version_info.major}.{sys.version_info.minor + 1}"
LIBC: Final = "2.34"
"""Symbols of the engine are not newer (its tests look)."""


@dataclass(frozen=True, slots=True)
class Package:
    """One of the two."""

    name: str
    summary: str
    ours: Sequence[str]
    """Folders of this repository."""
    data: Sequence[str]
    """Files of it that programs read, as patterns."""
    depends: Sequence[str]
    units: Sequence[str]
    system_packages: bool
    """Whether Debian's Python packages are seen, for Mininet is one."""


AGENTS: Final = Package(
    "canopy-agents",
    "congestion-controlled multicast: sends and receives files and streams",
    ("engine/__init__.py", "engine/command", "hosts"),
    (),
    (),
    ("canopy-recv@.service",),
    system_packages=False,
)
EVERYTHING: Final = Package(
    "canopy",
    "congestion-controlled multicast: agents, P4 switch, controller, emulation, simulation",
    ("engine", "hosts", "controller", "topologies", "experiments"),
    ("p4src/*.json", "p4src/*.txtpb"),
    ("iproute2", "mininet", "ethtool", "procps"),
    ("canopy-recv@.service", "canopy-switch@.service", "canopy-controller.service"),
    system_packages=True,
)


def build(package: Package, output: Path) -> Path:
    """The package's file, in the folder `output`."""
    tree = WORK / package.name
    shutil.rmtree(tree, ignore_errors=True)
    site = tree / LIBRARY / f"lib/python{PYTHON}/site-packages"
    site.mkdir(parents=True)
    _copy_ours(package, site)
    _vendor(package, site)
    _copy_engine(site)
    _describe_ourselves(site)
    _compile(site, tree)
    _environment(package, tree)
    _documents(package, tree)
    return _pack(package, tree, output)


def requirements(package: Package) -> list[str]:
    """What pip installs into it."""
    if package is AGENTS:
        return ["--no-deps", *AGENTS_VENDORED]
    return list(_project()["dependencies"])


def version() -> str:
    """Of all of Canopy."""
    return str(_project()["version"])


def _project() -> dict[str, list[str]]:
    project: dict[str, list[str]] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    return project


def _copy_ours(package: Package, site: Path) -> None:
    for name in package.ours:
        source, target = ROOT / name, site / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns(*LEFT_OUT))
        else:
            shutil.copy(source, target)
    for pattern in package.data:
        for source in sorted(ROOT.glob(pattern)):
            target = site / source.relative_to(ROOT)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, target)


def _vendor(package: Package, site: Path) -> None:
    """From pip's cache or the index; wheels only, for nothing is compiled here."""
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-warn-conflicts"]
    pip += ["--no-compile", "--only-binary=:all:", "--constraint", str(ROOT / "constraints.txt"), "--target", str(site)]
    subprocess.run([*pip, *requirements(package)], check=True)
    shutil.rmtree(site / "bin", ignore_errors=True)


def _copy_engine(site: Path) -> None:
    """The Rust part as `make setup` built it, without what is for debuggers."""
    found = importlib.util.find_spec("canopy_engine")
    if found is None or found.origin is None:
        raise SystemExit("deploy/build.py: no canopy_engine: run `make setup`")
    target = site / "canopy_engine"
    shutil.copytree(Path(found.origin).resolve().parent, target, ignore=shutil.ignore_patterns("__pycache__"))
    for module in target.glob("*.so"):
        subprocess.run(["strip", "--strip-unneeded", str(module)], check=True)


def _describe_ourselves(site: Path) -> None:
    """`canopy --version` asks for it."""
    folder = site / f"canopy-{version()}.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: canopy\nVersion: {version()}\n")


def _compile(site: Path, tree: Path) -> None:
    """Python never looks at the sources' times: who removes the package finds no file that it does not know."""
    compileall.compile_dir(
        site,
        quiet=2,
        stripdir=str(tree),
        prependdir="/",
        workers=1,
        invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH,
    )


def _environment(package: Package, tree: Path) -> None:
    """A virtual environment is known by its pyvenv.cfg, beside the folder of the Python that it links to."""
    library = tree / LIBRARY
    system = "true" if package.system_packages else "false"
    (library / "pyvenv.cfg").write_text(f"home = /usr/bin\ninclude-system-site-packages = {system}\n")
    (library / "bin").mkdir()
    (library / "bin/python3").symlink_to(DEBIANS_PYTHON)
    program = tree / "usr/bin/canopy"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/{LIBRARY}/bin/python3 -I\nfrom engine.command.entry import main\n\nmain()\n")
    program.chmod(0o755)
    units = tree / "usr/lib/systemd/system"
    units.mkdir(parents=True)
    for unit in package.units:
        shutil.copy(HERE / "systemd" / unit, units)


def _documents(package: Package, tree: Path) -> None:
    licences = tree / "usr/share/doc" / package.name
    licences.mkdir(parents=True)
    shutil.copy(HERE / "copyright", licences)
    folder = tree / "usr/share/doc/canopy"
    folder.mkdir(exist_ok=True)
    for page in ("deploy.md", "status.md", "controller.md", "switch.md"):
        shutil.copy(ROOT / "docs" / page, folder)
    shutil.copytree(HERE / "examples", folder / "examples")
    if package is EVERYTHING:
        shutil.copytree(ROOT / "topologies", folder / "topologies", ignore=_all_but_yaml)


def _all_but_yaml(folder: str, names: list[str]) -> list[str]:
    return [name for name in names if not name.endswith(".yaml") or (Path(folder) / name).is_dir()]


def _pack(package: Package, tree: Path, output: Path) -> Path:
    files = sorted(path for path in tree.rglob("*") if path.is_file() and not path.is_symlink())
    control = tree / "DEBIAN"
    control.mkdir()
    kibibytes = sum(-(-path.stat().st_size // 1024) for path in files)
    architecture = subprocess.run(
        ["dpkg", "--print-architecture"], capture_output=True, text=True, check=True
    ).stdout.strip()
    other = EVERYTHING if package is AGENTS else AGENTS
    relations = {
        "Depends": ", ".join(
            [
                f"python3 (>= {PYTHON})",
                f"python3 (<< {NEXT_PYTHON})",
                f"libc6 (>= {LIBC})",
                "libgcc-s1",
                *package.depends,
            ]
        ),
        "Conflicts": other.name,
        "Replaces": other.name,
    }
    if package is EVERYTHING:
        relations["Provides"] = AGENTS.name
    fields = {
        "Package": package.name,
        "Version": version(),
        "Architecture": architecture,
        "Maintainer": "Canopy <canopy@localhost>",
        "Installed-Size": str(kibibytes),
        **relations,
        "Section": "net",
        "Priority": "optional",
        "Description": package.summary,
    }
    (control / "control").write_text("".join(f"{name}: {value}\n" for name, value in fields.items()))
    (control / "md5sums").write_text(
        "".join(f"{hashlib.md5(path.read_bytes()).hexdigest()}  {path.relative_to(tree)}\n" for path in files)
    )
    for path in (tree, *tree.rglob("*")):
        if not path.is_symlink():
            executable = path.is_dir() or os.access(path, os.X_OK)
            path.chmod(0o755 if executable else 0o644)
    output.mkdir(parents=True, exist_ok=True)
    made = output / f"{package.name}_{version()}_{architecture}.deb"
    subprocess.run(["dpkg-deb", "--root-owner-group", "-Zzstd", "--build", str(tree), str(made)], check=True)
    return made


def main() -> None:
    parser = argparse.ArgumentParser(description="Build the Debian packages.")
    parser.add_argument("names", nargs="*", metavar="PACKAGE", help=f"{AGENTS.name} or {EVERYTHING.name}; else both")
    parser.add_argument("--output", type=Path, default=ROOT / "build", help="folder for them (build)")
    options = parser.parse_args()
    for package in (AGENTS, EVERYTHING):
        if not options.names or package.name in options.names:
            made = build(package, options.output)
            print(f"{made}: {made.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
