"""The image of deploy/Containerfile, built and used: `make package-test`'s part that needs buildah.

The image's base is the clean system of the package's own test instead of one from a registry, so that nothing is
loaded but Debian's packages, and what is tried is what docs/deploy.md says. Images and containers live in a folder of
their own, and containers run by chroot: neither a daemon nor a kernel's user namespaces are needed.
"""

import os
import shutil
import subprocess
from pathlib import Path
from typing import Final

from deploy.build import HERE, ROOT, WORK
from deploy.machines import run

STORE: Final = WORK / "images"
BASE_IMAGE: Final = "docker.io/library/debian:bookworm-slim"
"""What the Containerfile's FROM means."""
IMAGE: Final = "canopy-agents"
SIZE: Final = 1_000_000
"""bytes of the file that goes from one container to the other"""
WAIT_S: Final = 60
_BUILDAH: Final = ("buildah", "--root", str(STORE / "root"), "--runroot", str(STORE / "run"), "--storage-driver", "vfs")


def buildah(*arguments: str) -> str:
    """buildah on a storage of our own; its output. RuntimeError when it fails."""
    return run(*_BUILDAH, *arguments)


def build(base: Path, packages: Path) -> None:
    """Build the image from the folder of packages, on `base`, a system's root folder."""
    shutil.rmtree(STORE, ignore_errors=True)
    container = buildah("from", "--quiet", "scratch").strip()
    run("cp", "--archive", f"{base}/.", buildah("mount", container).strip())
    buildah("commit", "--quiet", "--rm", container, BASE_IMAGE)
    recipe = ["--pull-never", "--isolation", "chroot", "--file", str(HERE / "Containerfile")]
    buildah("build", *recipe, "--tag", IMAGE, str(packages))


def use() -> None:
    """A file from one container to another, each with a folder of the host's, over the loopback interface.

    To be called in a network namespace of one's own.
    """
    run("ip", "link", "set", "lo", "up", "multicast", "on")
    run("ip", "route", "add", "224.0.0.0/4", "dev", "lo")
    films, sent = STORE / "films", STORE / "sent"
    run("install", "--directory", "--owner=nobody", str(films))  # as docs/deploy.md has it
    sent.mkdir()
    (sent / "film").write_bytes(os.urandom(SIZE))
    group = ["--group", "239.10.0.1", "--port", "5010", "--interface", "lo"]
    receiver = subprocess.Popen([*_in_container(films), "recv", "--out", "/data", *group], cwd=ROOT)
    try:
        run(*_in_container(sent), "send", "/data/film", *group)
        if receiver.wait(timeout=WAIT_S) or (films / "film").read_bytes() != (sent / "film").read_bytes():
            raise RuntimeError("the image: the file did not arrive")
    finally:
        receiver.kill()
        receiver.wait()
        buildah("rm", "--all")


def _in_container(folder: Path) -> list[str]:
    """`podman run --volume folder:/data IMAGE`, without podman."""
    container = buildah("from", "--quiet", "--pull-never", IMAGE).strip()
    options = ["--isolation", "chroot", "--volume", f"{folder}:/data"]
    return [*_BUILDAH, "run", *options, container, "--", "/usr/bin/canopy"]
