#!/usr/bin/env bash
# Builds ADIOS2 with MPI, its SST engine and its Python interface from the sources on PyPI, for
# ci/jobs-bench.py: Debian 12 and the wheels have none with MPI. Installs it in target/adios2-mpi,
# and needs Open MPI and Debian's Python. Takes half an hour on two processors. Does nothing if it is
# there.
set -euo pipefail
cd "$(dirname "$0")/.."

version=2.12.1.1001
to=$(realpath -m "${CARGO_TARGET_DIR:-target}")/adios2-mpi

if compgen -G "$to/lib/python3*/*-packages/adios2" >/dev/null; then
    exit 0
fi
ci/setup.sh openmpi-bin libopenmpi-dev cmake ninja-build python3-dev python3-mpi4py python3-numpy \
    python3-pip
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m pip download --quiet --no-deps --no-binary adios2 --dest "$work" "adios2==$version"
tar -xzf "$work/adios2-$version.tar.gz" -C "$work"
cmake -G Ninja -S "$work/adios2-$version" -B "$work/build" -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_INSTALL_PREFIX="$to" -DPython_EXECUTABLE=/usr/bin/python3 -DBUILD_TESTING=OFF \
    -DADIOS2_BUILD_EXAMPLES=OFF -DADIOS2_USE_MPI=ON -DADIOS2_USE_SST=ON -DADIOS2_USE_Python=ON \
    -DADIOS2_USE_Fortran=OFF -DADIOS2_USE_HDF5=OFF -DADIOS2_USE_DataMan=OFF -DADIOS2_USE_UCX=OFF \
    -DADIOS2_USE_Campaign=OFF -DADIOS2_USE_Derived_Variable=OFF
cmake --build "$work/build"
cmake --install "$work/build"
