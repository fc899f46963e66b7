#!/usr/bin/env bash
# Runs the long tests:
#   - torture for SECONDS with each tracker [default: 600]
#   - a day's worth of steps, with huge pages and without: memory, mappings, descriptors and huge
#     pages must not change
#   - every property test with 20 times as many cases, with new random seeds
#   - for root: tests with swap, strict overcommit, and numbers of processes that are used again
#   - a minute of observers that attach and detach, 1,000 per second
#   - a failure of each single write of each kind of checkpoint file
#   - registered memory under three allocators, for SECONDS each
#   - host buffers of ranks of MPICH, and agents with the releases 5 of Open MPI and MPICH
#   - for root: storms over jobs of several hosts, and a job under Slurm
#   - memory regions of an RDMA adapter, in a virtual machine with soft-RoCE
# Usage: soak.sh [SECONDS]
set -euo pipefail
cd "$(dirname "$0")/.."
log=${CARGO_TARGET_DIR:-target}/ci/soak.log
mkdir -p "$(dirname "$log")"
export TCASM_SOAK_SECONDS=${1:-600} PROPTEST_CASES=${PROPTEST_CASES:-2000}
cargo build --workspace --bins --release
{
    cargo test -p tcasm-tests --release --test torture --test steady --test model --test storm \
        --test attaching -- --include-ignored --nocapture
    cargo test -p tcasm-checkpoint --release --test lost_writes \
        -- --ignored each_lost_write_of_each_file_is_reported
    ci/environment.sh
    cargo test -p tcasm-registration --release --test churn_glibc --test churn_jemalloc \
        --test churn_mimalloc
    ci/mpi.sh mpich
    ci/mpi.sh wheels
    ci/mpi.sh storm
    ci/slurm.sh
    ci/rdma.sh
    for _ in {1..20}; do cargo test -p tcasm-core -p tcasm-checkpoint -p tcasm-analytics; done
} 2>&1 | tee "$log"
ci/count.sh "$log"
