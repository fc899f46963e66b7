#!/usr/bin/env bash
# Builds the command with its manual pages and completion scripts, the library for C with its manual
# pages, and the one that `tcasm run` preloads; installs them and the files of packaging/, or removes
# them. Changes nothing else: docs/userfaultfd.md says how an administrator puts the udev rule and
# the group of packaging/ into effect.
#   install-files.sh build | install | uninstall
# With AGENT=1, also the program tcasm-agent with its manual page, which needs MPI, its compiler
# wrapper and libclang.
# Variables:
#   PREFIX   where the files go [/usr/local]. BINDIR, MANDIR, DATADIR, LIBDIR and INCLUDEDIR are
#            below it if they are relative
#   DESTDIR  a folder that stands for / while a package is made [none]
#   PROFILE  the profile of cargo [release]
#   AGENT    1 to build and install tcasm-agent [0]. `uninstall` always removes it
#   SELECT   the packages, targets and features that cargo builds
#            [-p tcasm -p tcasm-c -p tcasm-c-files -p tcasm-preload --bins --lib
#            --features tcasm/pages]
set -euo pipefail
cd "$(dirname "$0")/.."

commands=(
    checkpoint checkpoints clean completions demo doctor dump export hostbuffer info keep ls mirror
    restore run stats verify view watch
)

# below FOLDER PATH: prints the whole path of PATH, which is below FOLDER if it is relative.
below() {
    case $2 in
        /*) echo "$2" ;;
        *) realpath -ms "$1/$2" ;;
    esac
}

# Whole paths, because build systems read some of them in files.
prefix=$(below . "${PREFIX:-/usr/local}")
datadir=$(below "$prefix" "${DATADIR:-share}")
libdir=$(below "$prefix" "${LIBDIR:-lib}")
includedir=$(below "$prefix" "${INCLUDEDIR:-include}")
bin=${DESTDIR:-}$(below "$prefix" "${BINDIR:-bin}")
data=${DESTDIR:-}$datadir
lib=${DESTDIR:-}$prefix/lib
pages_of_man=${DESTDIR:-}$(below "$prefix" "${MANDIR:-$datadir/man}")
man=$pages_of_man/man1
profile=${PROFILE:-release}
packages="-p tcasm -p tcasm-c -p tcasm-c-files -p tcasm-preload --bins --lib"
read -ra select <<<"${SELECT:-$packages --features tcasm/pages}"
[ "${AGENT:-0}" != 1 ] || select+=(-p tcasm-agent --features tcasm-agent/files,tcasm-agent/pages)
built=${CARGO_TARGET_DIR:-target}/${profile/#dev/debug}
pages=$built/pages-of-tcasm
library=$built/library-of-tcasm
version=$(sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"/\1/p' Cargo.toml)

main() {
    case "${1:-}" in
        build) build ;;
        install)
            build_or_find
            each put
            ;;
        uninstall) each remove ;;
        *) stop "usage: ci/install-files.sh build | install | uninstall" ;;
    esac
}

build() {
    cargo build --locked --profile "$profile" "${select[@]}"
    rm -rf "$pages"
    mkdir -p "$pages"
    "$built/tcasm-pages" "$pages"
    check_commands
    [ "${AGENT:-0}" != 1 ] || "$built/tcasm-agent-page" >"$pages/tcasm-agent.1"
    rm -rf "$library"
    ci/library.sh "$built" "$library" "$prefix" "$libdir" "$includedir"
}

# Under sudo, cargo may be missing. Then the files must have been built before.
build_or_find() {
    if command -v cargo >/dev/null; then
        build
    elif [ ! -e "$built/tcasm" ] || [ ! -e "$pages/tcasm.1" ] ||
        [ ! -e "$library/tcasm.pc" ]; then
        stop "cargo is not on the PATH: run 'make build' first, as a user who has it"
    fi
}

# Checks that the list above is the program's, so that `uninstall` need not build it.
check_commands() {
    local page found=()
    for page in "$pages"/tcasm-*.1; do
        page=${page##*/tcasm-}
        found+=("${page%.1}")
    done
    [ "${found[*]}" = "${commands[*]}" ] ||
        stop "the list of commands in ci/install-files.sh must be: ${found[*]}"
}

# each ACTION: calls ACTION with the mode, the source and the target of each file.
each() {
    "$1" 755 "$built/tcasm" "$bin/tcasm"
    if [ "${AGENT:-0}" = 1 ] || [ "$1" = remove ]; then
        "$1" 755 "$built/tcasm-agent" "$bin/tcasm-agent"
        "$1" 644 "$pages/tcasm-agent.1" "$man/tcasm-agent.1"
    fi
    "$1" 644 "$pages/tcasm.1" "$man/tcasm.1"
    local command
    for command in "${commands[@]}"; do
        "$1" 644 "$pages/tcasm-$command.1" "$man/tcasm-$command.1"
    done
    "$1" 644 "$pages/tcasm.bash" "$data/bash-completion/completions/tcasm"
    "$1" 644 "$pages/_tcasm" "$data/zsh/site-functions/_tcasm"
    "$1" 644 "$pages/tcasm.fish" "$data/fish/vendor_completions.d/tcasm.fish"
    each_of_library "$1"
    local rule=60-tcasm-userfaultfd.rules group=tcasm-userfaultfd.conf
    "$1" 644 "packaging/$rule" "$lib/udev/rules.d/$rule"
    "$1" 644 "packaging/$group" "$lib/sysusers.d/$group"
}

# Does the same for the library.
each_of_library() {
    local to=${DESTDIR:-}$libdir include=${DESTDIR:-}$includedir header name so
    for header in tcasm tcasm_files tcasm_mpi; do
        "$1" 644 "bindings/c/include/$header.h" "$include/$header.h"
    done
    for header in bindings/cpp/include/tcasm.hpp bindings/cpp/include/tcasm/*.hpp; do
        "$1" 644 "$header" "$include/${header#bindings/cpp/include/}"
    done
    # Modules of Fortran depend on the compiler, so programs compile the source.
    for name in tcasm tcasm_files; do
        so=lib$name.so.$version
        "$1" 644 "$library/$name.f90" "$include/$name.f90"
        "$1" 644 "$library/lib$name.a" "$to/lib$name.a"
        "$1" 755 "$library/$so" "$to/$so"
        "$1" link "$so" "$to/lib$name.so.${version%%.*}"
        "$1" link "$so" "$to/lib$name.so"
        "$1" 644 "$library/$name.pc" "$to/pkgconfig/$name.pc"
    done
    "$1" 755 "$built/libtcasm_preload.so" "$to/libtcasm_preload.so"
    each_of_manual "$1"
    "$1" 644 "$library/tcasmConfig.cmake" "$to/cmake/tcasm/tcasmConfig.cmake"
    "$1" 644 "$library/tcasmConfigVersion.cmake" "$to/cmake/tcasm/tcasmConfigVersion.cmake"
}

# Does the same for the manual pages of the library: each function has a link to its page.
each_of_manual() {
    local to=$pages_of_man/man3 name function page
    for name in $(python3 bindings/c/manual.py --pages); do
        "$1" 644 "$library/man3/$name.3" "$to/$name.3"
    done
    while read -r function page; do
        "$1" link "$page.3" "$to/$function.3"
    done < <(python3 bindings/c/manual.py --links)
}

# put MODE SOURCE TARGET, or put link TEXT TARGET
put() {
    case $1 in
        link) ln -sfn "$2" "$3" ;;
        *) install -D -m "$1" "$2" "$3" ;;
    esac
    echo "installed $3"
}

remove() {
    if [ -e "$3" ] || [ -L "$3" ]; then
        rm "$3"
        echo "removed $3"
    fi
}

stop() {
    echo "install: $1" >&2
    exit 1
}

main "$@"
