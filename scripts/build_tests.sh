#!/usr/bin/env bash
# Builds what the checks run besides the engine: the crates' tests, the fuzz targets, and what clippy reads. `make test`
# does it once, and again when the crates have changed.
set -euo pipefail
cd "$(dirname "$0")/.."
(
    cd engine
    cargo test --profile tests --tests --locked --quiet --no-run
    # As the check itself, whose verdict it leaves to it: other arguments would be other builds.
    cargo clippy --profile tests --locked --workspace --all-targets --no-default-features --quiet -- -D warnings || true
)
scripts/fuzz.sh --build
