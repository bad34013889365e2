"""`make package-test`: packages in clean Debian systems, the image, and docs/deploy.md followed to the letter.

Needs root, debootstrap, buildah and systemd-nspawn (package systemd-container), and what `make package` has built.

Each package is installed by apt into a system of debootstrap's smallest kind, sends a file between two network
namespaces, and is purged; then no file may be there that was not there before. The image of deploy/Containerfile is
built, and a file goes from one container of it to another. After that the page's five machines are booted, and get what
the page says that a reader types. Everything happens in namespaces that go away.
"""

import contextlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from deploy import image
from deploy.build import AGENTS, EVERYTHING, ROOT, WORK
from deploy.machines import Machine, booted, link, overlay, run
from deploy.page import blocks
from engine.command.exits import EXIT_INTERRUPTED

PACKAGES: Final = ROOT / "build"
BASE: Final = WORK / "base"
ARCHIVES: Final = WORK / "archives"
"""What apt downloads, so that the next run does not."""
PAGE: Final = ROOT / "docs" / "deploy.md"
MACHINES_NEED: Final = ("systemd-sysv", "iproute2", "iputils-ping", "nftables", "procps")
"""What any Debian server has and debootstrap's smallest does not."""
LARGEST_MB: Final = 40
"""What canopy-agents may take, besides Python."""
UNINTERESTING: Final = (
    "var/log/",
    "var/lib/dpkg/",
    "var/lib/apt/",
    "var/cache/",
    "tmp/",
    "run/",
    "proc/",
    "dev/",
    "sys/",
)

WIRES: Final = [("head", "eth1", "s1", "eth1"), ("s1", "eth2", "s2", "eth1"), ("s1", "eth0", "s2", "eth0"),
                ("s2", "eth2", "v1", "eth1"), ("s2", "eth3", "v2", "eth1"), ("v1", "eth0", "v2", "eth0")]  # fmt: skip
"""The page's picture; v1's and v2's eth0 are the office."""
MACS: Final = {"head": "02:00:0a:00:00:01", "v1": "02:00:0a:00:00:02", "v2": "02:00:0a:00:00:03"}
ADDRESSES: Final = {"s1": "192.168.77.1/24", "s2": "192.168.77.2/24", "v1": "192.168.1.1/24", "v2": "192.168.1.2/24"}
"""Of eth0, which machines have before anybody reads the page."""

STAGES: Final[dict[str, tuple[str, ...]]] = {
    "base": (), "clean": (), "image": (), "use-image": ("--net",), "page": ("--net",)
}  # fmt: skip
"""What is done one after the other -> the namespaces that it has besides."""
PRIVATE: Final = (
    *("setpriv", "--pdeathsig", "KILL"),
    *("unshare", "--mount", "--propagation", "private", "--pid", "--fork", "--kill-child", "--mount-proc"),
)
"""What a stage starts, mounts and boots goes away with it, even when it is killed."""

_SCP: Final = re.compile(r"scp ((?:/\S+ )+)root@(\w+):(/\S+)\n")


def say(text: str) -> None:
    """One line of what goes on."""
    print(f"package-test: {text}", flush=True)


def main() -> None:
    stage = sys.argv[1] if len(sys.argv) > 1 else ""
    if stage == "":
        if os.geteuid() != 0:
            sys.exit("package-test: needs root")
        for name, options in STAGES.items():
            again = [*PRIVATE, *options, sys.executable, "-m", "deploy.proof", name]
            if subprocess.run(again, cwd=ROOT, check=False).returncode:
                sys.exit(f"package-test: failed ({name})")
        say("all of it holds")
    elif stage == "base":
        _make_base()
    elif stage == "clean":
        for package in (AGENTS.name, EVERYTHING.name):
            check_clean(package)
    elif stage == "image":
        image.build(BASE, PACKAGES)
    elif stage == "use-image":
        image.use()
        say("the image: built; a file came from one container to another")
    else:
        follow_page()


# --- clean systems


def _make_base() -> None:
    """Debian's smallest, as of this machine's release."""
    if BASE.exists():
        return
    release = dict(line.split("=", 1) for line in Path("/etc/os-release").read_text().splitlines() if "=" in line)
    codename = release["VERSION_CODENAME"].strip('"')
    sources = run("apt-get", "indextargets", "--format", "$(CODENAME) $(REPO_URI)", "Identifier: Packages")
    mirrors = [uri for name, _, uri in (line.partition(" ") for line in sources.splitlines()) if name == codename]
    making = BASE.with_name("base-in-the-making")
    shutil.rmtree(making, ignore_errors=True)
    say(f"debootstrap {codename}; some minutes")
    run("debootstrap", "--variant=minbase", codename, str(making), *mirrors[:1])
    (making / "etc/apt/sources.list").unlink(missing_ok=True)
    for source in ("sources.list", "sources.list.d/debian.sources", "apt.conf.d", "trusted.gpg.d"):
        place, target = Path("/etc/apt") / source, making / "etc/apt" / source
        if place.is_dir():
            shutil.copytree(place, target, dirs_exist_ok=True)
        elif place.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(place, target)
    (making / "etc/dpkg/dpkg.cfg.d").mkdir(exist_ok=True)
    (making / "etc/dpkg/dpkg.cfg.d/quick").write_text("force-unsafe-io\n")  # nothing here outlives a power cut
    making.rename(BASE)


@contextlib.contextmanager
def _system(lower: Path, place: Path) -> Iterator[Path]:
    """A system to be used by chroot."""
    ARCHIVES.mkdir(parents=True, exist_ok=True)
    with overlay(lower, place) as root, contextlib.ExitStack() as mounts:
        for source, target in (("/proc", "proc"), ("/dev", "dev"), (str(ARCHIVES), "var/cache/apt/archives")):
            run("mount", "--bind", source, str(root / target))
            mounts.callback(run, "umount", "--lazy", str(root / target))
        shutil.copy("/etc/resolv.conf", root / "etc/resolv.conf")
        policy = root / "usr/sbin/policy-rc.d"  # nothing is to be started by being installed
        policy.write_text("#!/bin/sh\nexit 101\n")
        policy.chmod(0o755)
        yield root
        policy.unlink(missing_ok=True)


def _apt(root: Path, *arguments: str) -> None:
    environment = ["env", "DEBIAN_FRONTEND=noninteractive", "LANG=C.UTF-8"]
    run("chroot", str(root), *environment, "apt-get", "--yes", "--quiet=2", "--no-install-recommends", *arguments)


def package_file(name: str) -> Path:
    """What `make package` made."""
    found = sorted(PACKAGES.glob(f"{name}_*.deb"))
    if not found:
        sys.exit(f"package-test: no {name}_*.deb in {PACKAGES}: run `make package`")
    return found[-1]


def check_clean(name: str) -> None:
    """Install, use, remove; what is needed by it stays for the machines."""
    package = package_file(name)
    depends = run("dpkg-deb", "--field", str(package), "Depends").strip()
    with _system(BASE, WORK / f"system-{name}") as root:
        _apt(root, "update")
        _apt(root, "satisfy", depends)
        before = _files(root)
        shutil.copy(package, root / "tmp")
        _apt(root, "install", f"/tmp/{package.name}")
        (root / "tmp" / package.name).unlink()
        megabytes = sum(path.lstat().st_size for path in (root / "usr/lib/canopy").rglob("*")) / 1e6
        say(f"{name}: {megabytes:.0f} MB in /usr/lib/canopy")
        if name == AGENTS.name and megabytes > LARGEST_MB:
            raise RuntimeError(f"{name}: {megabytes:.0f} MB")
        inside = [sys.executable, "-c", f"from deploy.proof import use; use({name!r}, {str(root)!r})"]
        subprocess.run(["unshare", "--net", "--mount", *inside], cwd=ROOT, check=True)
        _apt(root, "purge", name)
        left = sorted(_files(root) - before)
        if left:
            raise RuntimeError(f"{name}: {len(left)} files are left after its removal, as {left[:5]}")
        say(f"{name}: removed, and nothing is left")
        _apt(root, "install", *MACHINES_NEED)


def _files(root: Path) -> set[str]:
    """All that there is, as far as a package may have to do with it."""
    found = set()
    for parent, folders, names in os.walk(root):
        place = os.path.relpath(parent, root)
        prefix = "" if place == "." else f"{place}/"
        folders[:] = [name for name in folders if not f"{prefix}{name}/".startswith(UNINTERESTING)]
        found |= {f"{prefix}{name}" for name in (*folders, *names)}
    return found


def use(name: str, root_text: str) -> None:
    """What somebody does first with it: in two network namespaces, from a folder whose modules have names of ours."""
    root = Path(root_text)
    run("mount", "-t", "tmpfs", "tmpfs", "/run/netns") if Path("/run/netns").exists() else None
    for side in ("one", "two"):
        run("ip", "netns", "add", side)
    run("ip", "link", "add", "eth1", "netns", "one", "type", "veth", "peer", "name", "eth1", "netns", "two")
    for number, side in enumerate(("one", "two"), 1):
        run("ip", "-n", side, "link", "set", "lo", "up")
        run("ip", "-n", side, "address", "add", f"10.0.0.{number}/8", "dev", "eth1")
        run("ip", "-n", side, "link", "set", "eth1", "up")
    folder = root / "tmp/use"
    (folder / "in").mkdir(parents=True)
    for module in ("hosts", "engine", "typer", "random"):
        (folder / f"{module}.py").write_text("raise SystemExit('the wrong module')\n")
    (folder / "sent").write_bytes(os.urandom(1_000_000))

    def on(side: str) -> list[str]:
        go = 'cd /tmp/use; HOME=/tmp/use PYTHONPATH=/tmp/use exec canopy "$@"'
        return ["ip", "netns", "exec", side, "chroot", str(root), "sh", "-c", go, "sh"]

    group = ["--group", "232.1.2.3", "--port", "5010", "--interface", "eth1"]
    for protocol in ("mtcp", "tfmcc", "rla"):
        where = [*group, "--protocol", protocol]
        receiver = subprocess.Popen([*on("two"), "recv", "--source", "10.0.0.1", "--out", "in", "--quiet", *where])
        run(*on("one"), "send", "sent", "--name", protocol, *where)
        if receiver.wait(timeout=60) or (folder / "in" / protocol).read_bytes() != (folder / "sent").read_bytes():
            raise RuntimeError(f"{name}: {protocol}'s file did not arrive")
    run(*on("two"), "doctor")
    for words in (["--version"], ["--help"], ["protocols"], ["recv", "--help"], ["stream", "send", "--help"]):
        run(*on("one"), *words)
    emulate = subprocess.run([*on("one"), "emulate", "--help"], capture_output=True, text=True, check=False)
    if (emulate.returncode == 2) != (name == AGENTS.name):
        raise RuntimeError(f"{name}: canopy emulate: exit status {emulate.returncode}: {emulate.stderr}")
    if name == EVERYTHING.name:
        run(*on("one"), "simulate", "/usr/share/doc/canopy/topologies/quickstart.yaml")
    if run("chroot", str(root), "sh", "-c", "cd /; python3 -c 'import hosts' 2>&1 || true").find("No module") < 0:
        raise RuntimeError(f"{name}: Debian's Python finds its modules")
    shutil.rmtree(folder)
    say(f"{name}: installed; files came through")


# --- the page


def follow_page() -> None:
    """In machines of which each has its own copy of a system with the packages' dependencies."""
    places = {
        name: EVERYTHING.name if name in ("s1", "s2") else AGENTS.name for name in ("head", "s1", "s2", "v1", "v2")
    }
    with contextlib.ExitStack() as stack:
        for one, there, other, place in WIRES:
            link(f"{one}-{there}", f"{other}-{place}")
        machines: dict[str, Machine] = {}
        for name, package in places.items():
            lower = f"{WORK / f'system-{package}' / 'upper'}:{BASE}"
            root = stack.enter_context(overlay(Path(lower), WORK / f"machine-{name}"))
            (root / "root").mkdir(exist_ok=True)
            shutil.copy(package_file(package), root / "root")
            interfaces = {
                there: f"{machine}-{there}" for one in WIRES for machine, there in (one[:2], one[2:]) if machine == name
            }
            macs = {"eth1": MACS[name]} if name in MACS else {}
            machines[name] = stack.enter_context(booted(name, root, interfaces, macs))
            if name in ADDRESSES:
                machines[name].shell(f"ip address add {ADDRESSES[name]} dev eth0; ip link set eth0 up")
            if name in ("v1", "v2"):
                machines[name].shell("ip route add default via 192.168.1.254 dev eth0")
        say(f"{len(machines)} machines are up")
        for block in blocks(PAGE):
            for name in block.machines:
                copies = _SCP.fullmatch(block.script)
                if copies is not None:
                    machines[copies[2]].take(machines[name], copies[1].split(), copies[3])
                    continue
                output = machines[name].shell(block.script)
                first = block.script.splitlines()[0]
                say(f"{PAGE.name}:{block.line}: on {name}: {first}")
                if os.environ.get("CANOPY_VERBOSE"):
                    print(output)
        say("the page holds")


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(EXIT_INTERRUPTED)
