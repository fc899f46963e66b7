#!/usr/bin/env bash
# Makes the library for C, the module for Fortran, and the files that build systems find them with,
# in a folder. Links libtcasm.so from libtcasm_c.a, which cargo has built: rustc can make a shared
# library, too, but not one with a soname and with versions of its symbols.
#   library.sh BUILT OUT PREFIX LIBDIR INCLUDEDIR
# CC is the compiler, which may be several words (CC="ccache gcc"), and LDFLAGS has further options.
# BUILT is the folder of cargo with libtcasm_c.a. The last three are paths in the files.
set -euo pipefail
cd "$(dirname "$0")/.."
built=$1 out=$2 prefix=$3 libdir=$4 includedir=$5
version=$(sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"/\1/p' Cargo.toml)
# Programs that were linked with one version run with all versions of the same soname.
soversion=${version%%.*}
# The libraries that libtcasm.a needs: `cargo rustc -p tcasm-c -- --print native-static-libs`.
libs=(gcc_s util rt pthread m dl)

main() {
    mkdir -p "$out"
    cp "$built/libtcasm_c.a" "$out/libtcasm.a"
    local compiler flags
    read -ra compiler <<<"${CC:-cc}"
    read -ra flags <<<"${LDFLAGS:-}"
    "${compiler[@]}" -shared "${flags[@]}" -o "$out/libtcasm.so.$version" -Wl,-soname,"libtcasm.so.$soversion" \
        -Wl,--version-script=bindings/c/tcasm.map -Wl,--gc-sections -Wl,--no-undefined \
        -Wl,--whole-archive "$out/libtcasm.a" -Wl,--no-whole-archive "${libs[@]/#/-l}"
    python3 bindings/fortran/generate.py "$out/tcasm.f90"
    local name
    for name in tcasm.pc tcasmConfig.cmake tcasmConfigVersion.cmake; do
        fill <"bindings/c/packaging/$name.in" >"$out/$name"
    done
}

# Replaces the names in a template.
fill() {
    sed -e "s|@prefix@|$prefix|" -e "s|@libdir@|$libdir|" -e "s|@includedir@|$includedir|" \
        -e "s|@version@|$version|" -e "s|@soversion@|$soversion|" \
        -e "s|@libs@|$(printf -- '-l%s ' "${libs[@]}")|" \
        -e "s|@cmake_libs@|$(IFS=';' && echo "${libs[*]}")|" \
        -e "s|@include_from_lib@|$(realpath -m --relative-to="$libdir" "$includedir")|"
}

main
