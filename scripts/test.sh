#!/usr/bin/env bash
# Every check there is, in the order in which they fail fastest. Needs `make setup`.
set -euo pipefail
cd "$(dirname "$0")/.."
bin=.venv/bin

step() { printf '\n== %s\n' "$*"; }

step "formatting, lints and types"
"$bin/ruff" format --check .
"$bin/ruff" check .
"$bin/mypy"
(cd engine && cargo fmt --all --check)
(cd engine && cargo clippy --profile tests --locked --workspace --all-targets --no-default-features --quiet -- -D warnings)

step "Rust tests"
(cd engine && cargo test --profile tests --tests --locked --quiet)

step "fuzzing: ${CANOPY_FUZZ_SECONDS:-60} s (CANOPY_FUZZ_SECONDS)"
scripts/fuzz.sh

step "Python tests: unit and packet-level"
"$bin/pytest" -n 2 -m "not root and not emulation"

step "Python tests: network namespaces and Mininet"
if [ "$(id -u)" -eq 0 ]; then
    "$bin/pytest" -m "root or emulation"
else
    echo "not run: live switches and Mininet need root (sudo make test runs them); everything above ran without it"
fi
