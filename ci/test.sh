#!/usr/bin/env bash
# Runs all tests, including those in the documentation, and those with ranks under mpirun. For root,
# the tests of agents make hosts of namespaces.
set -euo pipefail
cd "$(dirname "$0")/.."
source ci/everything.sh
ci/setup.sh "${needs_of_mpi[@]}"
log=${CARGO_TARGET_DIR:-target}/ci/test.log
mkdir -p "$(dirname "$log")"
# Use the same random cases in every run, so that a new failure is caused by a change of the code.
# `make soak` uses new cases.
export PROPTEST_RNG_SEED=${PROPTEST_RNG_SEED:-20261121}
# This builds all programs as well: some tests start them, and ci/install.sh installs them.
cargo test "${everything[@]}" --no-fail-fast 2>&1 | tee "$log"
ci/count.sh "$log"
