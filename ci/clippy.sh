#!/usr/bin/env bash
# Checks that all code passes the lints, including tests, benches, and what uses MPI; then what users
# build without MPI, and agents without checkpoints.
set -euo pipefail
cd "$(dirname "$0")/.."
source ci/everything.sh
ci/setup.sh "${needs_of_mpi[@]}"
cargo clippy "${everything[@]}" --features tcasm-hostbuffer/mpi --all-targets -- -D warnings
cargo clippy --workspace --lib --bins -- -D warnings
cargo clippy --workspace --features tcasm-agent/mpi --lib --bin tcasm-agent -- -D warnings
