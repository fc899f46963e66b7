#!/usr/bin/env bash
# The long tests: marked #[ignore], named soak_*.
set -euo pipefail
cd "$(dirname "$0")/.."
log=${CARGO_TARGET_DIR:-target}/ci/soak.log
mkdir -p "$(dirname "$log")"
cargo build --workspace --bins --release
cargo test -p tcasm-tests --release soak_ -- --ignored --nocapture 2>&1 | tee "$log"
ci/count.sh "$log"
