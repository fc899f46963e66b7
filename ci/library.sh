#!/usr/bin/env bash
# Makes the libraries for C, their manual pages, the modules for Fortran, and the files that build
# systems find them with, in a folder. Links libtcasm.so from libtcasm_c.a, and libtcasm_files.so from
# libtcasm_c_files.a, which cargo has built: rustc can make a shared library, too, but not one with a
# soname and with versions of its symbols.
#   library.sh BUILT OUT PREFIX LIBDIR INCLUDEDIR
# CC is the compiler, which may be several words (CC="ccache gcc"), and LDFLAGS has further options.
# BUILT is the folder of cargo with both archives. The last three are paths in the files.
set -euo pipefail
cd "$(dirname "$0")/.."
built=$1 out=$2 prefix=$3 libdir=$4 includedir=$5
version=$(sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"/\1/p' Cargo.toml)
# Programs that were linked with one version run with all versions of the same soname.
soversion=${version%%.*}
# The libraries that libtcasm.a needs, and those that libtcasm_files.a needs besides: `cargo rustc -p tcasm-c -- --print native-static-libs`.
libs=(gcc_s util rt pthread m dl)
read -ra hdf5 <<<"${HDF5_LIBS:-$(pkg-config --libs hdf5)}"

main() {
    mkdir -p "$out"
    shared tcasm tcasm_c -Wl,--version-script=bindings/c/tcasm.map
    cat bindings/c/tcasm.map bindings/c/tcasm_files.map >"$out/both.map"
    shared tcasm_files tcasm_c_files -Wl,--version-script="$out/both.map" "${hdf5[@]}"
    python3 bindings/fortran/generate.py "$out/tcasm.f90" "$out/tcasm_files.f90"
    mkdir -p "$out/man3"
    python3 bindings/c/manual.py "$out/man3"
    local name
    for name in tcasm.pc tcasm_files.pc tcasmConfig.cmake tcasmConfigVersion.cmake; do
        fill <"bindings/c/packaging/$name.in" >"$out/$name"
    done
}

# shared NAME ARCHIVE OPTION...: makes libNAME.a and libNAME.so of libARCHIVE.a.
shared() {
    local name=$1 archive=$2 compiler flags
    read -ra compiler <<<"${CC:-cc}"
    read -ra flags <<<"${LDFLAGS:-}"
    cp "$built/lib$archive.a" "$out/lib$name.a"
    "${compiler[@]}" -shared "${flags[@]}" -o "$out/lib$name.so.$version" \
        -Wl,-soname,"lib$name.so.$soversion" \
        -Wl,--gc-sections -Wl,--no-undefined -Wl,--whole-archive "$out/lib$name.a" \
        -Wl,--no-whole-archive "${@:3}" "${libs[@]/#/-l}"
}

# Replaces the names in a template.
fill() {
    sed -e "s|@prefix@|$prefix|" -e "s|@libdir@|$libdir|" -e "s|@includedir@|$includedir|" \
        -e "s|@version@|$version|" -e "s|@soversion@|$soversion|" \
        -e "s|@hdf5@|${hdf5[*]}|" -e "s|@cmake_hdf5@|$(IFS=';' && echo "${hdf5[*]}")|" \
        -e "s|@libs@|$(printf -- '-l%s ' "${libs[@]}")|" \
        -e "s|@cmake_libs@|$(IFS=';' && echo "${libs[*]}")|" \
        -e "s|@include_from_lib@|$(realpath -m --relative-to="$libdir" "$includedir")|"
}

main
