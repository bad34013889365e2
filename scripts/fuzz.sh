#!/usr/bin/env bash
# Runs the fuzz targets of engine/fuzz from our own programs and packets, of which it makes their corpus, and beside them,
# all at the same time, the one of the P4Runtime server: fuzz.sh [SECONDS] [TARGET...]; targets are program, packets,
# headers, p4runtime. fuzz.sh --build only builds them.
#
# The flags are those that cargo-fuzz gives, but for the sanitizers, which need a nightly compiler and look for misuse of
# memory, of which code without `unsafe` is not capable; p4vm has one module of it, where native code is entered. So any
# stable compiler does; cargo-fuzz itself works there too.
set -euo pipefail
cd "$(dirname "$0")/../engine/fuzz"
host=$(rustc -vV | awk '/^host:/ {print $2}')
passes=(-Cpasses=sancov-module)
for option in level=4 inline-8bit-counters pc-table trace-compares; do
    passes+=("-Cllvm-args=-sanitizer-coverage-$option")
done
RUSTFLAGS="--cfg=fuzzing ${passes[*]}" cargo build --profile fuzz --package canopy-fuzz --locked --quiet --target "$host"
[ "${1:-}" != --build ] || exit 0

seconds=${1:-${CANOPY_FUZZ_SECONDS:-60}}
shift || true
targets=("$@")
[ ${#targets[@]} -gt 0 ] || targets=(program packets headers p4runtime)

# An input may take a minute and a target a gigabyte; both are far beyond what any takes that is as it should be. The
# minute is by the clock: with four targets beside the tests on two cores an empty input has taken 11 s.
limits=(-timeout=60 -rss_limit_mb=1024 -malloc_limit_mb=512)
mkdir -p found
(cd ../.. && .venv/bin/python -m tests.engine.whole.fuzz_corpus)
pids=()
for target in "${targets[@]}"; do
    mkdir -p "work/$target"
    if [ "$target" = p4runtime ]; then
        (cd ../.. && CANOPY_FUZZ_SECONDS="$seconds" .venv/bin/pytest -q tests/engine/switch/p4runtime/whole/test_fuzz.py) \
            >"work/$target.log" 2>&1 &
        pids+=($!)
        continue
    fi
    options=("${limits[@]}" -max_total_time="$seconds" -artifact_prefix="found/$target-" -print_final_stats=1)
    "../target/$host/fuzz/$target" "${options[@]}" "work/$target" "corpus/$target" >"work/$target.log" 2>&1 &
    pids+=($!)
done
failed=0
for at in "${!targets[@]}"; do
    target=${targets[$at]}
    if wait "${pids[$at]}"; then
        runs=$(awk '/stat::number_of_executed_units/ {print " " $2 " inputs in"}' "work/$target.log")
        echo "fuzzing: $target:$runs ${seconds} s, nothing found"
    else
        failed=1
        echo "fuzzing: $target failed; what it found is in engine/fuzz/found or in its log, which ends:" >&2
        tail -n 40 "work/$target.log" >&2
    fi
done
exit "$failed"
