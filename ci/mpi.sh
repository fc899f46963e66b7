#!/usr/bin/env bash
# Checks the parts that use MPI (the feature `mpi` of tcasm-hostbuffer) or are started by it: lints,
# and tests with real ranks under mpirun. Installs Open MPI and libclang where they are missing (Debian and Ubuntu).
set -euo pipefail
cd "$(dirname "$0")/.."
ci/setup.sh openmpi-bin libopenmpi-dev libclang-dev
for program in mpicc mpirun; do
    command -v "$program" >/dev/null || {
        echo "mpi: $program is not on the PATH: install Open MPI with its compiler wrappers" >&2
        exit 1
    }
done
log=${CARGO_TARGET_DIR:-target}/ci/mpi.log
mkdir -p "$(dirname "$log")"
cargo clippy -p tcasm-hostbuffer --features mpi --all-targets -- -D warnings
cargo clippy -p tcasm-tests --features mpi --test mpirun -- -D warnings
cargo test -p tcasm-hostbuffer --features mpi --no-fail-fast 2>&1 | tee "$log"
cargo test -p tcasm-tests --features mpi --test mpirun 2>&1 | tee -a "$log"
ci/count.sh "$log"
