#!/usr/bin/env bash
# Runs producers and observers in Rust, C, C++, Fortran and Python with each other, and checks that
# all agree on every field and status (bindings/conformance/README.md). Then runs the other tests in
# Fortran and C++. Programs in C, C++ and Fortran are built as users build theirs: against the
# library as it is installed, with CMake, with pkg-config and by the lines of docs/fortran.md.
# Observers in these languages also run in valgrind. Programs in C and C++, and the other tests,
# also run with AddressSanitizer.
set -euo pipefail
cd "$(dirname "$0")/.."
source ci/everything.sh
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
work=$target/conformance
export CARGO_TARGET_DIR=$target PIP_DISABLE_PIP_VERSION_CHECK=1
warnings=(-Wall -Wextra -Wpedantic -Werror)
suite=bindings/conformance
prefix=$(mktemp -d)
trap 'rm -rf "$prefix"' EXIT
trap 'exit 130' INT TERM

main() {
    ci/setup.sh cmake valgrind g++ gfortran "${needs_of_mpi[@]}"
    mkdir -p "$work/sanitized"
    cargo build --quiet --locked "${everything[@]}" --lib --bins --examples --tests
    build_python
    install_library "$prefix"
    gfortran -std=f2018 -Wall -Wextra -Werror -O1 -J "$work" -c "$prefix/include/tcasm.f90" \
        -o "$work/tcasm.o"
    local program
    for program in producer observer; do
        cpp "$suite/$program.cpp" "$work/$program-cpp"
        cpp "$suite/$program.cpp" "$work/sanitized/$program-cpp" -fsanitize=address
        fortran "$suite/$program.f90" "$work/$program-fortran"
    done
    c "$work"
    c "$work/sanitized" -fsanitize=address
    run_pairs
    run_sanitized_pairs
    run_observers_in_valgrind
    run_others
    run_others -fsanitize=address,undefined
    run_with_flang
}

# c FOLDER FLAGS...: builds both programs in C into a folder.
c() {
    local log=$1/cmake.log
    rm -rf "$1/cmake"
    cmake -S "$suite" -B "$1/cmake" -DCMAKE_PREFIX_PATH="$prefix" \
        -DCMAKE_RUNTIME_OUTPUT_DIRECTORY="$1" -DCMAKE_C_FLAGS="-O1 -g ${warnings[*]} ${*:2}" \
        >"$log" 2>&1 && cmake --build "$1/cmake" >>"$log" 2>&1 ||
        stop "cmake cannot build the programs in C: $(cat "$log")"
}

# cpp SOURCE PROGRAM FLAGS...
cpp() {
    local library
    # Only here: build scripts of cargo ask for the variable, and run again when it changes.
    read -ra library <<<"$(PKG_CONFIG_PATH=$prefix/lib/pkgconfig pkg-config --cflags --libs tcasm)"
    g++ -O1 -g -std=c++20 -Wconversion "${warnings[@]}" "${@:3}" "$1" -o "$2" "${library[@]}" \
        -Wl,-rpath,"$prefix/lib"
}

# fortran SOURCE PROGRAM FLAGS...
fortran() {
    gfortran -O1 -g -std=f2018 -Wall -Wextra -Wno-integer-division -Werror -fcheck=all -I "$work" \
        "${@:3}" "$1" "$work/tcasm.o" -o "$2" -L"$prefix/lib" -ltcasm -Wl,-rpath,"$prefix/lib"
}

# Makes a folder with the Python package, and an environment with numpy.
build_python() {
    local venv=$target/venv-conformance
    rm -rf "$work/python"
    ci/bindings-python.sh --unpack "$work/python"
    [ -e "$venv/.ready" ] && return
    python3 -m venv "$venv"
    "$venv/bin/pip" install --quiet 'numpy>=1.26'
    touch "$venv/.ready"
}

run_pairs() {
    local role programs=()
    local python="env PYTHONPATH=$work/python $target/venv-conformance/bin/python"
    for role in producer observer; do
        programs+=(
            "Rust=$role=$target/debug/conformance_$role"
            "C=$role=$work/$role-c"
            "C++=$role=$work/$role-cpp"
            "Fortran=$role=$work/$role-fortran"
            "Python=$role=$python $suite/$role.py"
        )
    done
    in_scratch python3 "$suite/run.py" "${programs[@]}"
}

# Runs the pairs of C and C++ once more. AddressSanitizer checks these programs, and not the library
# itself.
run_sanitized_pairs() {
    local language role programs=()
    for language in c cpp; do
        for role in producer observer; do
            programs+=("$language-sanitized=$role=$work/sanitized/$role-$language")
        done
    done
    in_scratch python3 "$suite/run.py" "${programs[@]}"
}

# Valgrind cannot run a producer: only one of its threads runs at a time, also where it waits for a
# page that another one must copy first.
run_observers_in_valgrind() {
    local language programs=("Rust=producer=$target/debug/conformance_producer")
    local valgrind="valgrind --quiet --error-exitcode=9 --leak-check=full
        --show-leak-kinds=definite --errors-for-leak-kinds=definite"
    for language in c cpp fortran; do
        programs+=("$language in valgrind=observer=$valgrind $work/observer-$language")
    done
    in_scratch python3 "$suite/run.py" "${programs[@]}"
}

# run_others FLAGS...: runs the tests of the module for Fortran and of the headers for C++ that need
# no other language.
run_others() {
    local name module=$work/test_region.o
    gfortran -std=f2018 -Wall -Wextra -Werror -O1 -g -fcheck=all -I "$work" -J "$work" "$@" \
        -c bindings/fortran/tests/test_region.f90 -o "$module"
    # files.f90 needs the other library: ci/bindings-c.sh runs it.
    for name in host_buffer transfers stream counters groups; do
        fortran "bindings/fortran/tests/$name.f90" "$work/$name-fortran" "$module" "$@"
        # gfortran does not free what the main program has allocated.
        ASAN_OPTIONS=detect_leaks=0 in_scratch "$work/$name-fortran"
    done
    for name in between stream; do
        cpp "bindings/cpp/tests/$name.cpp" "$work/$name-cpp" "$@"
        in_scratch "$work/$name-cpp" "cpp-$name"
    done
}

# Runs the programs in Fortran with another compiler.
run_with_flang() {
    local flang folder=$work/flang name
    flang=$(command -v flang-19 || command -v flang-new-19) || {
        echo "bindings-conformance: flang: NOT RUN: there is no flang-19"
        return
    }
    mkdir -p "$folder"
    "$flang" -O1 -module-dir "$folder" -c "$prefix/include/tcasm.f90" -o "$folder/tcasm.o"
    "$flang" -O1 -I "$folder" -module-dir "$folder" -c bindings/fortran/tests/test_region.f90 \
        -o "$folder/test_region.o"
    for name in host_buffer transfers stream counters groups; do
        "$flang" -O1 -I "$folder" "bindings/fortran/tests/$name.f90" \
            "$folder/test_region.o" "$folder/tcasm.o" -L"$prefix/lib" -ltcasm \
            -Wl,-rpath,"$prefix/lib" -o "$folder/$name"
        in_scratch "$folder/$name"
    done
}

# Calls a command with a runtime folder of its own.
in_scratch() {
    local folder status=0
    folder=$(mktemp -d)
    TCASM_RUNTIME_DIR=$folder "$@" || status=$?
    rm -rf "$folder"
    return "$status"
}

stop() {
    echo "$1" >&2
    exit 1
}

main
