#!/usr/bin/env bash
# What one looks at while one works: formatting, lints, types, and the tests of what has changed since HEAD (or, with
# nothing changed, in HEAD). Needs `make setup`. `make test` has every check.
set -euo pipefail
cd "$(dirname "$0")/.."
bin=.venv/bin
unset PYTHONDONTWRITEBYTECODE # or each run compiles all that it imports

step() { printf '\n== %s\n' "$*"; }

step "formatting, lints and types"
"$bin/ruff" format --check .
"$bin/ruff" check .
"$bin/mypy" &
types=$!
(cd engine && cargo fmt --all --check)

step "tests of what has changed"
changed=$( (git diff --name-only HEAD && git ls-files --others --exclude-standard) | sort -u)
[ -n "$changed" ] || changed=$(git diff --name-only HEAD~1 HEAD 2>/dev/null || true)
tests=(tests/test_layers.py tests/test_tree.py)
rust=no
while IFS= read -r path; do
    folder=tests/$(dirname "$path")
    name=$(basename "$path")
    case $path in
        tests/*/whole/*) ;; # what takes several modules together may take long
        tests/*test_*.py) [ -f "$path" ] && tests+=("$path") ;;
        engine/crates/* | engine/Cargo.*) rust=yes ;;
        *.md) tests+=(tests/test_documents.py) ;;
        *.py | *.p4) [ -f "$folder/test_${name%.*}.py" ] && tests+=("$folder/test_${name%.*}.py") ;;
    esac
done <<<"$changed"
mapfile -t tests < <(printf '%s\n' "${tests[@]}" | sort -u)
if [ "$rust" = yes ]; then
    (cd engine && cargo clippy --profile tests --locked --workspace --all-targets --no-default-features --quiet -- -D warnings)
fi
wait "$types"
timeout "${CANOPY_CHECK_SECONDS:-60}" "$bin/pytest" -n 2 -m "not root and not emulation" "${tests[@]}"
