#!/usr/bin/env bash
# Builds what the checks run besides the engine: the crates' tests, the fuzz targets, what clippy reads, the Python tests'
# bytecode, and, where p4c is installed, the P4 programs once more, to compare them; and installs the page's browser.
# `make test` does it once, and again when the crates have changed.
set -euo pipefail
cd "$(dirname "$0")/.."

# The browser that the tests of the runs' page look through. Where it cannot be installed they are left out, and say so.
browser() {
    command -v chromium-headless-shell chromium chromium-browser google-chrome >/dev/null && return
    {
        apt-get update --quiet=2
        DEBIAN_FRONTEND=noninteractive apt-get install --yes --quiet=2 --no-install-recommends chromium-headless-shell
    } >/dev/null 2>&1 || echo "set-up: no Chromium could be installed; the page's tests need one on PATH" >&2
}
browser & # while the compilers work
(
    cd engine
    cargo test --profile tests --tests --locked --quiet --no-run
    # As the check itself, whose verdict it leaves to it: other arguments would be other builds.
    cargo clippy --profile tests --locked --workspace --all-targets --no-default-features --quiet -- -D warnings || true
)
scripts/fuzz.sh --build
# All tests' bytecode, which pytest writes: else each of several processes would compile all of it at the same time.
env -u PYTHONDONTWRITEBYTECODE .venv/bin/pytest --collect-only -qq >/dev/null || true
.venv/bin/mypy >/dev/null || true # what it remembers of libraries; its verdict, too, is left to the check itself
if command -v p4c >/dev/null; then
    # Its verdict, too, is left to the check itself, which remembers it.
    .venv/bin/pytest -q -k test_compiling_again_gives_the_same tests/p4src/whole/test_artifacts.py \
        tests/experiments/bench/test_switch.py || true
fi
wait
