#!/usr/bin/env bash
# Tests the Python package: installs it into a fresh environment as the README says, builds it from
# its sdist, checks its types with mypy, and runs its tests. Uses the profile of the tests, so that
# most dependencies are compiled already. Python packages come from the index that pip uses.
#   bindings-python.sh [OPTION...]        with these options of pytest
#   bindings-python.sh --unpack FOLDER    only puts the package into FOLDER. Builds it if there is
#                                         none, or a source is newer
set -euo pipefail
cd "$(dirname "$0")/.."
source ci/everything.sh
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
work=$target/bindings-python
tools=$target/venv-bindings
wanted='maturin>=1.9.4,<2 numpy>=1.26 pytest>=8 mypy>=1.11 nbclient>=0.10 ipykernel>=6
    xarray>=2024.1 dask[array]>=2024.1 matplotlib>=3.8 h5py>=3.10 numba>=0.60'
export CARGO_TARGET_DIR=$target PIP_DISABLE_PIP_VERSION_CHECK=1
export MATURIN_PEP517_ARGS="--profile dev --locked"
# As maturin sets it, so that all builds share what is compiled.
export PYO3_BUILD_EXTENSION_MODULE=1 TCASM_SIMULATION=$target/debug/examples/simulation
export TCASM_COMMAND=$target/debug/tcasm

main() {
    if [ "${1:-}" = --unpack ]; then
        is_built || build_wheel
        mkdir -p "$2"
        python3 -m zipfile -e "$work"/tcasm-*.whl "$2"
        return
    fi
    (cd bindings/python && cargo fmt --check && cargo clippy --locked --all-targets -- -D warnings)
    build_wheel
    install_fresh
    "$tools/bin/pip" install --quiet --no-deps --force-reinstall "$work"/tcasm-*.whl
    cargo build --quiet --locked "${everything[@]}" --lib --bins --examples --tests
    cd bindings/python
    "$tools/bin/pytest" -q "$@"
}

# Builds the wheel from the sdist, so nothing of the repository besides is needed.
build_wheel() {
    make_tools
    PATH=$tools/bin:$PATH
    rm -rf "$work"
    (cd bindings/python && "$tools/bin/maturin" sdist --out "$work/sdist" >/dev/null)
    "$tools/bin/pip" wheel --quiet --no-deps --no-build-isolation --wheel-dir "$work" \
        "$work"/sdist/tcasm-*.tar.gz
    # One wheel serves all versions of Python.
    compgen -G "$work/tcasm-*-abi3-*.whl" >/dev/null || stop "the wheel is not abi3: $(ls "$work")"
}

# Returns true if there is a wheel that is newer than what it is made of.
is_built() {
    local wheel changed
    wheel=$(find "$work" -maxdepth 1 -name 'tcasm-*.whl' 2>/dev/null) || return 1
    [ -n "$wheel" ] || return 1
    # Not all of bindings/python: its tests leave files there.
    changed=$(find Cargo.toml core producer observer checkpoint restart hostbuffer transfer \
        bindings/python/{src,python,Cargo.toml,Cargo.lock,pyproject.toml} \
        -name __pycache__ -prune -o -newer "$wheel" -type f -print -quit)
    [ -z "$changed" ]
}

# Makes the environment of the tests, unless it exists.
make_tools() {
    [ "$(cat "$tools/.ready" 2>/dev/null)" != "$wanted" ] || return 0
    python3 -m venv "$tools"
    # shellcheck disable=SC2086 # a list
    "$tools/bin/pip" install --quiet $wanted
    echo "$wanted" >"$tools/.ready"
}

# Installs the package into an environment that has nothing else, as the README says, and uses it
# there. pip fetches maturin for this build.
install_fresh() {
    python3 -m venv "$work/fresh"
    "$work/fresh/bin/pip" install --quiet ./bindings/python
    TCASM_RUNTIME_DIR=$work/run "$work/fresh/bin/python" - <<'END'
import tcasm

with tcasm.Producer("fresh", capacity=1 << 20) as p:
    p.field("u", 4)[:] = 1.0
    p.publish(step=1)
    with tcasm.Observer("fresh") as run:
        assert run.latest()["u"].sum() == 4.0
END
    "$work/fresh/bin/python" -m tcasm >/dev/null
}

stop() {
    echo "bindings-python: $1" >&2
    exit 1
}

main "$@"
