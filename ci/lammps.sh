#!/usr/bin/env bash
# Tests the programs of examples/lammps with LAMMPS itself: builds those in C against the installed
# library, runs them and the one in Python, and compares every atom of their versions with what
# LAMMPS dumps (ci/lammps-check.py). Installs LAMMPS where it is missing (Debian and Ubuntu). Uses
# the profile and the features of the tests, so that most is compiled already.
#   lammps.sh [TEST...]     only these tests of ci/lammps-check.py
set -euo pipefail
cd "$(dirname "$0")/.."
source ci/everything.sh
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
prefix=$work/prefix
venv=$target/venv-lammps
wanted='numpy>=1.26 h5py>=3.10'
# The Python for which the system has the package of LAMMPS.
system_python=${PYTHON:-/usr/bin/python3}
export LD_LIBRARY_PATH=$prefix/lib TCASM_RUNTIME_DIR=$work/run PYTHONPATH=$work/python
export TCASM_COMMAND=$prefix/bin/tcasm PIP_DISABLE_PIP_VERSION_CHECK=1
export CARGO_TARGET_DIR=$target

main() {
    ci/setup.sh cmake liblammps-dev python3-lammps python3-venv "${needs_of_mpi[@]}"
    mkdir -m 700 "$work/run"
    install_library "$prefix"
    build_examples
    build_python
    check c "$work/build/driver" "$@"
    check python "$venv/bin/python examples/lammps/driver.py" "$@"
    measure_a_little
    echo "lammps: the atoms of all versions are those that LAMMPS has dumped"
}

build_examples() {
    local log=$work/cmake.log
    cmake -S examples/lammps -B "$work/build" -DCMAKE_PREFIX_PATH="$prefix" >"$log" 2>&1 &&
        cmake --build "$work/build" >>"$log" 2>&1 || stop "cmake failed: $(cat "$log")"
    ! grep -i 'warning:' "$log" || stop "examples/lammps has warnings"
}

# Makes a folder with the Python package, and an environment that has LAMMPS of the system, too.
build_python() {
    ci/bindings-python.sh --unpack "$work/python"
    [ "$(cat "$venv/.ready" 2>/dev/null)" != "$wanted" ] || return 0
    "$system_python" -m venv --system-site-packages "$venv"
    # shellcheck disable=SC2086 # a list
    "$venv/bin/pip" install --quiet $wanted
    echo "$wanted" >"$venv/.ready"
}

# check LANGUAGE DRIVER TEST...
check() {
    mkdir "$work/check-$1"
    timeout -s KILL 300 "$venv/bin/python" ci/lammps-check.py "$work/check-$1" "$2" "${@:3}" ||
        stop "the driver in $1 failed"
}

# The measurement of ci/lammps-bench.sh runs. Nothing is said about its times.
measure_a_little() {
    "$work/build/overhead" examples/lammps/in.melt 1 2 >"$work/times" ||
        stop "overhead failed with status $?"
    [ "$(wc -l <"$work/times")" = 2 ] || stop "overhead printed: $(cat "$work/times")"
}

stop() {
    echo "lammps: $1" >&2
    exit 1
}

main "$@"
