#!/usr/bin/env bash
# Every interleaving of the pin and publish protocol, with up to three forced switches of thread.
set -euo pipefail
cd "$(dirname "$0")/.."
target=${CARGO_TARGET_DIR:-target}
log=$target/ci/loom.log
mkdir -p "$(dirname "$log")"
export LOOM_MAX_PREEMPTIONS=${LOOM_MAX_PREEMPTIONS:-3}
# Its own target folder: the flag would rebuild everything else, and be rebuilt by it.
RUSTFLAGS="${RUSTFLAGS:-} --cfg loom" cargo test -p tcasm-core --release --lib --tests \
    --target-dir "$target/loom" loom_ 2>&1 | tee "$log"
ci/count.sh "$log"
