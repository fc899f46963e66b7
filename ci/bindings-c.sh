#!/usr/bin/env bash
# Tests the library for C as it is installed: installs it into a new folder, builds programs against
# it with pkg-config and with CMake, also in C++ and Fortran, and runs them, also with
# AddressSanitizer, which finds leaks, too, and observers with valgrind. Does the same with the
# library that has checkpoints. Uses the profile of the tests, so that most is compiled already.
set -euo pipefail
cd "$(dirname "$0")/.."
source ci/everything.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
prefix=$work/prefix
export TCASM_RUNTIME_DIR=$work/run
export LD_LIBRARY_PATH=$prefix/lib TCASM_COMMAND=$prefix/bin/tcasm
warnings=(-std=c11 -D_GNU_SOURCE -g -Wall -Wextra -Wpedantic -Werror)
warnings_of_cpp=(-std=c++20 -g -Wall -Wextra -Wpedantic -Wconversion -Werror)

main() {
    ci/setup.sh cmake valgrind g++ gfortran "${needs_of_mpi[@]}"
    mkdir -m 700 "$work/run"
    install_library "$prefix"
    # Not before: build scripts of cargo ask for it, and run again when it changes.
    export PKG_CONFIG_PATH=$prefix/lib/pkgconfig
    check_symbols
    check_random_calls
    run_tests shared
    run_tests static
    run_tests address -fsanitize=address,undefined
    run_mdspan
    run_files shared
    run_files address -fsanitize=address,undefined
    run_files_in_cpp shared
    run_files_in_cpp address -fsanitize=address,undefined
    run_files_in_fortran
    build_examples
    find_through_a_link
    check_versions
    link_with_flags
    run_hello
    run_readme c
    run_readme fortran
    run_readme_in_rust
    run_heat
    echo "bindings-c: all programs did what they should"
}

# The shared library exports the functions of the header, with a version, and nothing else.
check_symbols() {
    local library other name
    for library in libtcasm libtcasm_files; do
        other=$(nm -D --defined-only "$prefix/lib/$library.so" |
            grep -Ev ' T tcasm_[a-z_]+@@TCASM(_FILES)?_[0-9.]+$| A TCASM(_FILES)?_[0-9.]+$' || true)
        [ -z "$other" ] || stop "$library.so exports more than the functions of its header:
$other"
        name=$(readelf -d "$prefix/lib/$library.so" | sed -n 's/.*SONAME.*\[\(.*\)\]/\1/p')
        [ -e "$prefix/lib/$name" ] || stop "nothing is installed under the soname '$name'"
    done
    ! readelf -d "$prefix/lib/libtcasm.so" | grep -qi 'NEEDED.*hdf5' || stop "libtcasm.so needs HDF5"
    readelf -d "$prefix/lib/libtcasm_files.so" | grep -qi 'NEEDED.*hdf5' ||
        stop "libtcasm_files.so does not need HDF5, which this check would see"
}

# The test with random calls knows each function of the library, so that a new one is not forgotten.
check_random_calls() {
    local missing
    missing=$(comm -23 <(sed -n 's/^ *\(tcasm_[a-z_]*\);$/\1/p' bindings/c/tcasm.map | sort) \
        <(sed -n 's/^CALL(\(tcasm_[a-z_]*\))$/\1/p' bindings/c/tests/c/random_*.h | sort))
    [ -z "$missing" ] || stop "add random calls of these functions to bindings/c/tests/c/random_*.h:
$missing"
}

# run_tests NAME FLAGS...: builds and runs each program of the tests.
run_tests() {
    local kind=$1 libs source program version
    shift
    version=$(pkg-config --modversion tcasm)
    libs=$(pkg-config --cflags --libs tcasm)
    if [ "$kind" = static ]; then
        libs="$(pkg-config --cflags tcasm) $prefix/lib/libtcasm.a $(private_libs)"
    fi
    for source in bindings/c/tests/c/*.c; do
        program=$work/$kind-$(basename "$source" .c)
        # shellcheck disable=SC2086 # lists of flags
        "${CC:-cc}" "${warnings[@]}" -DINSTALLED_VERSION="\"$version\"" "$@" "$source" \
            -o "$program" $libs
        timeout -s KILL 120 "$program" "${program##*/}" || stop "$program failed with status $?"
    done
}

# Runs the test of views with a standard library that has std::mdspan.
run_mdspan() {
    local compiler program=$work/mdspan found=()
    for compiler in "${CXX:-c++}" "clang++-19 -stdlib=libc++"; do
        [ ${#found[@]} -eq 0 ] && has_mdspan "$compiler" && read -ra found <<<"$compiler"
    done
    if [ ${#found[@]} -eq 0 ]; then
        echo "bindings-c: std::mdspan: NOT RUN: needs clang++-19 and libc++-19-dev"
        return
    fi
    # shellcheck disable=SC2046 # lists of flags
    "${found[@]}" -std=c++23 -g -Wall -Wextra -Werror bindings/cpp/tests/stream.cpp -o "$program" \
        $(pkg-config --cflags --libs tcasm)
    timeout -s KILL 120 "$program" mdspan || stop "$program failed with status $?"
}

# has_mdspan COMPILER: returns whether it can build programs with std::mdspan.
has_mdspan() {
    # shellcheck disable=SC2086 # a command and its arguments
    printf '%s\n' '#include <version>' '#ifndef __cpp_lib_mdspan' '#error' '#endif' 'int main() {}' |
        $1 -std=c++23 -x c++ - -o "$work/has-mdspan" 2>/dev/null
}

# run_files NAME FLAGS...: runs the test of checkpoints and restarts.
run_files() {
    local program=$work/$1-files folder=$work/$1-checkpoints
    shift
    mkdir "$folder"
    # shellcheck disable=SC2046 # lists of flags
    "${CC:-cc}" "${warnings[@]}" "$@" bindings/c-files/tests/c/files.c -o "$program" \
        $(pkg-config --cflags --libs tcasm_files)
    PATH=$prefix/bin:$PATH timeout -s KILL 120 "$program" "${program##*/}" "$folder" ||
        stop "$program failed with status $?"
}

# run_files_in_cpp NAME FLAGS...: does the same in C++.
run_files_in_cpp() {
    local program=$work/$1-files-cpp folder=$work/$1-checkpoints-cpp
    shift
    mkdir "$folder"
    # shellcheck disable=SC2046 # lists of flags
    "${CXX:-c++}" "${warnings_of_cpp[@]}" "$@" bindings/cpp/tests/files.cpp -o "$program" \
        $(pkg-config --cflags --libs tcasm_files)
    PATH=$prefix/bin:$PATH timeout -s KILL 120 "$program" "${program##*/}" "$folder" ||
        stop "$program failed with status $?"
}

# Does the same in Fortran, with the installed modules.
run_files_in_fortran() {
    local folder=$work/fortran-checkpoints program=$work/files-fortran pipe=$work/pipe run
    mkdir "$folder"
    (cd "$work" && gfortran -std=f2018 -c "$prefix/include/tcasm.f90" "$prefix/include/tcasm_files.f90")
    # shellcheck disable=SC2046 # lists of flags
    gfortran -std=f2018 -fcheck=all -I "$work" bindings/fortran/tests/files.f90 "$work/tcasm.o" \
        "$work/tcasm_files.o" -o "$program" $(pkg-config --libs tcasm_files)
    mkfifo "$pipe"
    "$program" "$folder" new <"$pipe" >"$work/said" &
    run=$!
    exec 7>"$pipe"
    until grep -q published "$work/said"; do
        kill -0 "$run" || stop "files.f90 ended before it published"
        sleep 0.1
    done
    "$prefix/bin/tcasm" checkpoint fortran --every 1 --no-wait --fast "$folder" \
        >/dev/null 7>&- &
    local writer=$!
    until [ -n "$(find "$folder" -name '*.vtkhdf')" ]; do
        kill -0 "$writer" || stop "the checkpoint of files.f90 ended before it wrote one"
        sleep 0.1
    done
    echo >&7
    exec 7>&-
    wait "$run" && wait || stop "files.f90 or its checkpoint failed"
    "$program" "$folder" again </dev/null || stop "files.f90 cannot continue"
}

# Prints the libraries that libtcasm.a needs.
private_libs() {
    sed -n 's/^Libs.private: //p' "$prefix/lib/pkgconfig/tcasm.pc"
}

# Builds the examples of all languages with CMake, into build/LANGUAGE.
build_examples() {
    local language log=$work/cmake.log
    for language in c cpp fortran openmp; do
        cmake -S "examples/$language" -B "$work/build/$language" -DCMAKE_PREFIX_PATH="$prefix" \
            >"$log" 2>&1 && cmake --build "$work/build/$language" >>"$log" 2>&1 || {
            cat "$log" >&2
            stop "cmake cannot build examples/$language"
        }
        if grep -qi 'warning:' "$log"; then
            cat "$log" >&2
            stop "examples/$language has warnings"
        fi
    done
}

# Many systems have a link /lib to /usr/lib, and no /include.
find_through_a_link() {
    mkdir "$work/root"
    ln -s "$prefix/lib" "$work/root/lib"
    cmake -S examples/c -B "$work/linked" -DCMAKE_PREFIX_PATH="$work/root" >"$work/cmake.log" 2>&1 ||
        stop "cmake finds other folders through a link: $(cat "$work/cmake.log")"
}

# CMake takes the library for requests of older versions of the same soname, and for no others.
check_versions() {
    local file=$work/version.cmake wanted found
    sed 's/set(PACKAGE_VERSION .*)/set(PACKAGE_VERSION "0.2.5")/' \
        "$prefix/lib/cmake/tcasm/tcasmConfigVersion.cmake" >"$file"
    for wanted in 0.1=yes 0.2=yes 0.2.5=yes 0.2.6=no 0.3=no 1.0=no; do
        cat >"$work/ask.cmake" <<END
set(PACKAGE_FIND_VERSION ${wanted%=*})
set(PACKAGE_FIND_VERSION_MAJOR ${wanted%%.*})
include($file)
if(PACKAGE_VERSION_COMPATIBLE)
  message(yes)
else()
  message(no)
endif()
END
        found=$(cmake -P "$work/ask.cmake" 2>&1)
        [ "$found" = "${wanted#*=}" ] || stop "version 0.2.5 for a request of ${wanted%=*}: $found"
    done
}

# A compiler of several words and flags of the linker are used.
link_with_flags() {
    local built=${CARGO_TARGET_DIR:-target}/debug
    CC="env TCASM_TEST=1 cc" LDFLAGS="-Wl,-z,now -Wl,--hash-style=sysv" \
        ci/library.sh "$built" "$work/flags" /usr lib include
    readelf -d "$work"/flags/libtcasm.so.* | grep -q BIND_NOW || stop "LDFLAGS is ignored"
}

# The observer of each language sees steps until the producer is killed, and says so. It runs in
# valgrind, which cannot run a producer: only one of its threads runs at a time, also where it waits
# for a page that another one must copy first.
run_hello() {
    local language
    for language in c cpp fortran; do
        hello "$language" valgrind --quiet --error-exitcode=9 --leak-check=full \
            --show-leak-kinds=definite --errors-for-leak-kinds=definite
    done
}

# run_readme LANGUAGE: builds the programs in the README as it says, and runs them.
run_readme() {
    local folder=$work/readme-$1
    mkdir "$folder"
    python3 ci/readme-programs.py "$1" "$folder"
    (cd "$folder" && bash -eu build.sh) || stop "the programs in $1 in the README do not compile"
    see_readme "$1" '^heat:( +[0-9.]+)+$'
}

# Does the same in Rust, with the libraries that cargo has built.
run_readme_in_rust() {
    local folder=$work/readme-rust built program
    built=$(realpath "${CARGO_TARGET_DIR:-target}/debug")
    mkdir "$folder"
    python3 ci/readme-programs.py rust "$folder"
    for program in producer observer; do
        rustc --edition 2024 --extern "tcasm_$program=$built/libtcasm_$program.rlib" \
            -L "dependency=$built/deps" -o "$folder/$program" "$folder/$program.rs" ||
            stop "the programs in Rust in the README do not compile"
    done
    see_readme rust '^step [0-9]+: \[([0-9.]+, ){7}[0-9.]+\]$'
}

# see_readme LANGUAGE LINE: runs both programs until the observer has printed three such lines.
see_readme() {
    local folder=$work/readme-$1 producer observer
    "$folder/producer" &
    producer=$!
    until "$TCASM_COMMAND" info hello >"$folder/info" 2>&1; do
        kill -0 "$producer" || stop "the producer in $1 in the README ended"
        sleep 0.1
    done
    "$folder/observer" >"$folder/seen" 2>&1 &
    observer=$!
    until [ "$(grep -Ec "$2" "$folder/seen")" -ge 3 ]; do
        kill -0 "$observer" || stop "the observer in $1 in the README ended: $(cat "$folder/seen")"
        sleep 0.1
    done
    kill -9 "$producer"
    wait "$producer" "$observer" || true
}

# hello LANGUAGE COMMAND...: runs both programs, and the observer by the command.
hello() {
    local language=$1 producer observer status=0
    shift
    "$work/build/$language/hello_producer" &
    producer=$!
    "$@" "$work/build/$language/hello_observer" >"$work/seen" 2>"$work/said" &
    observer=$!
    until [ "$(grep -c step "$work/seen")" -ge 3 ]; do
        kill -0 "$observer" || stop "hello_observer in $language ended: $(cat "$work/said")"
        sleep 0.1
    done
    kill -9 "$producer"
    wait "$observer" || status=$?
    grep -Eqx ' *step +[0-9]+:( +[0-9.E+]+){8}' "$work/seen" ||
        stop "hello_observer in $language printed: $(cat "$work/seen")"
    [ "$status" != 9 ] && grep -q lost "$work/said" ||
        stop "hello_observer in $language ended with $status: $(cat "$work/said")"
    wait "$producer" || true
}

# All programs compute the same, those in Rust too.
run_heat() {
    local wanted language program printed built=${CARGO_TARGET_DIR:-target}/debug
    mkdir "$work/build/rust"
    ln -s "$(realpath "$built")"/{heat_plain,heat} "$work/build/rust/"
    wanted=$("$work/build/c/heat_plain")
    for language in rust c cpp fortran; do
        for program in heat_plain heat; do
            printed=$("$work/build/$language/$program")
            [ "${printed//[[:space:]]/}" = "$wanted" ] ||
                stop "$language/$program prints $printed, not $wanted"
        done
    done
}

stop() {
    echo "bindings-c: $1" >&2
    exit 1
}

main
