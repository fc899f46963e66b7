#!/usr/bin/env bash
# Tests every interleaving of the pin and publish protocol with up to three preemptions.
set -euo pipefail
cd "$(dirname "$0")/.."
target=${CARGO_TARGET_DIR:-target}
log=$target/ci/loom.log
mkdir -p "$(dirname "$log")"
export LOOM_MAX_PREEMPTIONS=${LOOM_MAX_PREEMPTIONS:-3}
# Use a separate target folder: otherwise the flag would make cargo rebuild everything each time.
RUSTFLAGS="${RUSTFLAGS:-} --cfg loom" cargo test -p tcasm-core --release --lib --tests \
    --target-dir "$target/loom" loom_ 2>&1 | tee "$log"
ci/count.sh "$log"
