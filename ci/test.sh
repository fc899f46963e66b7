#!/usr/bin/env bash
# All tests, those in the documentation included.
set -euo pipefail
cd "$(dirname "$0")/.."
log=${CARGO_TARGET_DIR:-target}/ci/test.log
mkdir -p "$(dirname "$log")"
# Tests of several processes start these programs.
cargo build --workspace --bins
cargo test --workspace --no-fail-fast 2>&1 | tee "$log"
ci/count.sh "$log"
