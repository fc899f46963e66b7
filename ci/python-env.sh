#!/bin/sh
# Make a Python environment with the programs that read our files: h5py with Blosc, VTK, PyVista, openPMD-api, numpy; and ADIOS2 to compare with,
# where it installs. Does nothing when it is there.
# Usage: ci/python-env.sh [DIR]     (default: target/venv in the repository)
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
venv=${1:-$root/target/venv}
wanted='h5py>=3.10 hdf5plugin>=5 numpy>=1.26 openpmd-api>=0.16 pyvista>=0.44 vtk>=9.3'
optional='adios2>=2.11'
stamp=$venv/.ready

mkdir -p "$venv"
# Tests call this from several processes at once: one makes it, the others wait.
exec 9>"$venv/.lock"
flock 9

if [ "$(cat "$stamp" 2>/dev/null)" = "$wanted $optional" ]; then
    exit 0
fi
python3 -m venv "$venv" || {
    echo "cannot make a Python environment: install python3-venv" >&2
    exit 1
}
# shellcheck disable=SC2086 # a list
"$venv/bin/pip" install --quiet --disable-pip-version-check $wanted
# Nothing depends on it: tcasm-compare leaves its rows out, and says so.
"$venv/bin/pip" install --quiet --disable-pip-version-check "$optional" ||
    echo "adios2 does not install here: tcasm-compare will leave it out" >&2
echo "$wanted $optional" >"$stamp"
