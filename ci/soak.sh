#!/usr/bin/env bash
# The torture and the model for long: SECONDS of torture with each tracker (600 unless said), and every property
# with 20 times the cases, drawn anew; for root, tests with swap and strict overcommit; a minute of
# observers that come and go, 1,000 a second; a failure of each single write of each kind of
# checkpoint file.
set -euo pipefail
cd "$(dirname "$0")/.."
log=${CARGO_TARGET_DIR:-target}/ci/soak.log
mkdir -p "$(dirname "$log")"
export TCASM_SOAK_SECONDS=${1:-600} PROPTEST_CASES=${PROPTEST_CASES:-2000}
cargo build --workspace --bins --release
{
    cargo test -p tcasm-tests --release --test torture --test model --test storm --test attaching -- --include-ignored --nocapture
    cargo test -p tcasm-checkpoint --release --test lost_writes -- --ignored each_lost_write_of_each_file_is_told
    ci/environment.sh
    for _ in {1..20}; do cargo test -p tcasm-core -p tcasm-checkpoint -p tcasm-analytics; done
} 2>&1 | tee "$log"
ci/count.sh "$log"
