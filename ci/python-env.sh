#!/bin/sh
# Makes a Python environment with packages that read our files: h5py with Blosc, VTK, PyVista,
# openPMD-api and numpy. Also installs ADIOS2 for comparison, if that is possible. Does nothing if
# the environment exists.
# Usage: ci/python-env.sh [DIR]     (default: target/venv in the repository)
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
venv=${1:-$root/target/venv}
wanted='h5py>=3.10 hdf5plugin>=5 numpy>=1.26 openpmd-api>=0.16 pyvista>=0.44 vtk>=9.3'
optional='adios2>=2.11'
stamp=$venv/.ready

mkdir -p "$venv"
# Tests run this in several processes at once: one makes the environment, the others wait.
exec 9>"$venv/.lock"
flock 9

if [ "$(cat "$stamp" 2>/dev/null)" = "$wanted $optional" ]; then
    exit 0
fi
python3 -m venv "$venv" || {
    echo "cannot create a Python environment: install python3-venv" >&2
    exit 1
}
# shellcheck disable=SC2086 # a list
"$venv/bin/pip" install --quiet --disable-pip-version-check $wanted
# ADIOS2 is optional: without it, tcasm-compare leaves its rows out and says so.
"$venv/bin/pip" install --quiet --disable-pip-version-check "$optional" ||
    echo "adios2 cannot be installed here: tcasm-compare will leave it out" >&2
echo "$wanted $optional" >"$stamp"
