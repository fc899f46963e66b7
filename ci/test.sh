#!/usr/bin/env bash
# All tests, those in the documentation included.
set -euo pipefail
cd "$(dirname "$0")/.."
log=${CARGO_TARGET_DIR:-target}/ci/test.log
mkdir -p "$(dirname "$log")"
# The same cases at every run: a failure here is the change's own. `make soak` draws new ones.
export PROPTEST_RNG_SEED=${PROPTEST_RNG_SEED:-20261121}
# Tests of several processes start these programs.
cargo build --workspace --bins
cargo test --workspace --no-fail-fast 2>&1 | tee "$log"
ci/count.sh "$log"
