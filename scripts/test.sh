#!/usr/bin/env bash
# Every check there is. Needs what `make test` makes before it: the engine, and the builds of scripts/build_tests.sh.
# Lanes run side by side; emulations have namespaces of their own there, and the right of way. Then come, alone, the tests
# that measure real time. Each step's output is shown when it ends, whole; the first failure of a lane ends the lane. What
# failed is said once more at the end, for another lane's output may have come after it.
set -euo pipefail
cd "$(dirname "$0")/.."
bin=.venv/bin
unset PYTHONDONTWRITEBYTECODE # or each of some thousand processes compiles what it imports
logs=$(mktemp -d)
lanes=()
trap 'status=$?; for lane in "${lanes[@]}"; do kill -- "-$lane" 2>/dev/null || true; done; rm -rf "$logs"; exit $status' EXIT
set -m # each lane is a process group, so that Ctrl-C leaves nothing behind

# step NAME COMMAND...: the command's output, and how long it took, in one piece.
step() {
    local name=$1 begun=$SECONDS result=ok log
    log=$(mktemp -p "$logs")
    shift
    "$@" >"$log" 2>&1 || result=FAILED
    flock "$logs" bash -c 'printf "\n== %s\n" "$1"; cat "$2"; printf -- "-- %s: %s, %s s\n" "$1" "$3" "$4"' \
        - "$name" "$log" "$result" $((SECONDS - begun))
    [ "$result" = ok ] && return
    { printf -- '\n-- FAILED: %s; its output ends with:\n' "$name" && tail -n 40 "$log"; } >>"$logs/failed"
    return 1
}

formatting() {
    "$bin/ruff" format --check . && "$bin/ruff" check . && (cd engine && cargo fmt --all --check)
}
clippy() {
    (cd engine && cargo clippy --profile tests --locked --workspace --all-targets --no-default-features --quiet -- -D warnings)
}
rust_tests() {
    (cd engine && cargo test --profile tests --tests --locked --quiet)
}
# One more than a processor each, for many of them wait for programs and sockets. What the fuzzing lane runs for a minute
# is not begun here as well.
unit_tests() {
    "$bin/pytest" -n "$(($(nproc) + 1))" --dist worksteal -m "not root and not emulation and not alone" \
        --ignore tests/engine/switch/p4runtime/whole/test_fuzz.py
}
# Each worker is in namespaces of its own: emulations see, and at their end remove, only what is theirs. They read no
# other files than those whose text has the mark (tests/conftest.py).
mapfile -t marked < <(grep -rlE "mark\.(root|emulation)" tests --include="test_*.py")
mapfile -t alone < <(grep -rl "mark\.alone" tests --include="test_*.py")
private="unshare --net --mount --pid --fork --kill-child --mount-proc"
emulations() {
    "$bin/pytest" --dist loadfile --tx "3*popen//python=$private $bin/python" -m "(root or emulation) and not alone" \
        "${marked[@]}"
}
real_time_tests() {
    "$bin/pytest" -m "$1" "${alone[@]}"
}
root=$([ "$(id -u)" -eq 0 ] && echo yes || echo no)

if [ "$root" = yes ]; then
    step "Python tests: network namespaces and Mininet" emulations &
    lanes+=($!)
fi
(
    renice -n 5 -p $BASHPID >/dev/null
    step "formatting and lints" formatting
    step "types" "$bin/mypy"
    step "Python tests: unit and packet-level" unit_tests
) &
lanes+=($!)
(
    renice -n 10 -p $BASHPID >/dev/null
    step "lints of the Rust crates" clippy
    step "Rust tests" rust_tests
    step "fuzzing: ${CANOPY_FUZZ_SECONDS:-60} s (CANOPY_FUZZ_SECONDS)" scripts/fuzz.sh
) &
lanes+=($!)
failed=0
for lane in "${lanes[@]}"; do
    wait "$lane" || failed=1
done
lanes=()
if [ "$failed" -ne 0 ]; then
    cat "$logs/failed" || true # a lane that was killed has left none
    exit 1
fi

if [ "$root" = yes ]; then
    step "Python tests: real time" real_time_tests alone
else
    step "Python tests: real time" real_time_tests "alone and not root and not emulation"
    echo "not run: live switches and Mininet need root (sudo make test runs them); everything above ran without it"
fi
echo "all checks passed in $SECONDS s"
