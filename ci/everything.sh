# To be sourced. The packages and features that the checks build: all, those with MPI, too. Every
# command of cargo in a check has these, and selects targets only. With fewer packages or features
# cargo would compile most dependencies once more, because others of them would be in use.
#
# The feature mpi of tcasm-hostbuffer is not among them: the libraries for C must not need MPI.
# shellcheck shell=bash disable=SC2034 # used by the scripts that source this
everything=(
    --workspace --features
    tcasm/pages,tcasm-agent/files,tcasm-agent/pages,tcasm-examples/mpi,tcasm-tests/mpi
)
# The packages of Debian and Ubuntu that these need besides those of ci/setup.sh.
needs_of_mpi=(openmpi-bin libopenmpi-dev libclang-dev)
# `make install` builds this for a check. The tests have built all of it before.
export SELECT="${everything[*]} --lib --bins --examples --tests"

# install_library FOLDER: installs the command and the library for C into a folder, as users do.
install_library() {
    make --no-print-directory install PROFILE=dev PREFIX="$1" >/dev/null
}
