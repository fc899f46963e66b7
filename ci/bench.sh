#!/usr/bin/env bash
# All benches, or those whose name contains the argument. A full run rewrites docs/performance.md.
set -euo pipefail
cd "$(dirname "$0")/.."
target=${CARGO_TARGET_DIR:-target}
[ $# -ne 0 ] || rm -rf "$target/criterion"
cargo bench -p tcasm-benches --benches -- "$@"
if [ $# -eq 0 ]; then
    cargo run --quiet --release -p tcasm-benches --bin report -- "$target/criterion" >"$target/performance.md"
    mv "$target/performance.md" docs/performance.md
    echo "docs/performance.md is new"
fi
