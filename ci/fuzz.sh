#!/usr/bin/env bash
# Bytes from outside: random and damaged ones must give errors, never crashes.
set -euo pipefail
cd "$(dirname "$0")/.."
log=${CARGO_TARGET_DIR:-target}/ci/fuzz.log
mkdir -p "$(dirname "$log")"
cargo test -p tcasm-core --release fuzz_ 2>&1 | tee "$log"
ci/count.sh "$log"
