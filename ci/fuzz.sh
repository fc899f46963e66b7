#!/usr/bin/env bash
# Fuzzes the readers of untrusted bytes, and the library for C: random and damaged input, and calls
# in any order, must give errors, never crashes.
#   fuzz.sh [SECONDS]    time for each target [default: 30]
#
# With a nightly toolchain and a C++ compiler, uses libFuzzer and the address sanitizer. Otherwise
# runs the tests that call the same functions with random bytes. With TCASM_FUZZ_CHECKPOINTS=1, also
# fuzzes manifests and files of checkpoints, which takes minutes to build. The tests always read
# random bytes as those.
set -euo pipefail
cd "$(dirname "$0")/.."
source ci/everything.sh
seconds=${1:-30}
target=${CARGO_TARGET_DIR:-$PWD/target}/fuzz
mkdir -p "$target"
# The library for C makes sockets and lock files there.
TCASM_RUNTIME_DIR=$(mktemp -d)
export TCASM_RUNTIME_DIR
trap 'rm -rf "$TCASM_RUNTIME_DIR"' EXIT

main() {
    local missing
    missing=$(missing_for_libfuzzer)
    if [ -n "$missing" ]; then
        echo "fuzz: libFuzzer cannot be used ($missing); testing with random bytes instead"
        random_bytes
    else
        build
        fuzz c_interface 2048
        fuzz hostbuffer 512
        fuzz index_reader 8192
        fuzz messages 256
        fuzz requests 512
        fuzz transfers 512
        if [ -n "${TCASM_FUZZ_CHECKPOINTS:-}" ]; then
            fuzz manifests 2048
            fuzz checkpoints 512
        fi
    fi
}

missing_for_libfuzzer() {
    if ! cargo +nightly --version >/dev/null 2>&1; then
        echo "needs 'rustup toolchain install nightly'"
    elif ! command -v c++ >/dev/null; then
        echo "needs a C++ compiler"
    fi
}

# Builds the targets as cargo-fuzz would, which need not be installed.
build() {
    local flags=(
        --cfg fuzzing -Zsanitizer=address -Ccodegen-units=1 -Cpasses=sancov-module
        -Cllvm-args=-sanitizer-coverage-level=4
        -Cllvm-args=-sanitizer-coverage-inline-8bit-counters
        -Cllvm-args=-sanitizer-coverage-pc-table
        -Cllvm-args=-sanitizer-coverage-trace-compares
    )
    host=$(rustc -vV | sed -n 's/^host: //p')
    # With --target, cargo builds build scripts and macros without these flags.
    RUSTFLAGS="${flags[*]}" cargo +nightly build --manifest-path fuzz/Cargo.toml --release \
        --target "$host" --target-dir "$target" ${TCASM_FUZZ_CHECKPOINTS:+--features checkpoints}
}

# fuzz TARGET LENGTH: fuzzes with inputs of at most LENGTH bytes. The corpus is kept for later runs.
fuzz() {
    local corpus=$target/corpus/$1 log=$target/$1.log
    mkdir -p "$corpus"
    # Start with the seeds, if there are any: random bytes alone would not get far.
    [ ! -d "fuzz/seeds/$1" ] || cp "fuzz/seeds/$1"/* "$corpus"
    echo "fuzz: $1 for $seconds s"
    if ! "$target/$host/release/$1" "$corpus" -max_total_time="$seconds" -max_len="$2" \
        -timeout=10 -rss_limit_mb=4096 -print_final_stats=1 -artifact_prefix="$target/$1-" \
        >"$log" 2>&1; then
        tail -n 60 "$log"
        echo "fuzz: $1 failed; see $log"
        exit 1
    fi
    sed -n 's/^stat::number_of_executed_units: */fuzz: inputs tried: /p' "$log"
}

random_bytes() {
    TCASM_FUZZ_SECONDS=$seconds \
        cargo test "${everything[@]}" --test outside 2>&1 |
        tee "$target/random.log"
    ci/count.sh "$target/random.log"
}

main
