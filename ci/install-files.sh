#!/usr/bin/env bash
# Builds the command with its manual pages and completion scripts, installs them and the files of
# packaging/, or removes them. Changes nothing else: docs/userfaultfd.md says how an administrator
# puts the udev rule and the group of packaging/ into effect.
#   install-files.sh build | install | uninstall
# Variables:
#   PREFIX   where the files go [/usr/local]. BINDIR, MANDIR and DATADIR are below it
#   DESTDIR  a folder that stands for / while a package is made [none]
#   PROFILE  the profile of cargo [release]
#   SELECT   the packages, targets and features that cargo builds [-p tcasm --bins --features pages]
set -euo pipefail
cd "$(dirname "$0")/.."

commands=(
    checkpoint checkpoints clean completions demo doctor dump export hostbuffer info keep ls restore
    stats verify view watch
)
prefix=${PREFIX:-/usr/local}
bin=${DESTDIR:-}${BINDIR:-$prefix/bin}
data=${DESTDIR:-}${DATADIR:-$prefix/share}
lib=${DESTDIR:-}$prefix/lib
man=${DESTDIR:-}${MANDIR:-${DATADIR:-$prefix/share}/man}/man1
profile=${PROFILE:-release}
read -ra select <<<"${SELECT:--p tcasm --bins --features pages}"
built=${CARGO_TARGET_DIR:-target}/${profile/#dev/debug}
pages=$built/pages-of-tcasm

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
}

# Under sudo, cargo may be missing. Then the files must have been built before.
build_or_find() {
    if command -v cargo >/dev/null; then
        build
    elif [ ! -e "$built/tcasm" ] || [ ! -e "$pages/tcasm.1" ]; then
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
    "$1" 644 "$pages/tcasm.1" "$man/tcasm.1"
    local command
    for command in "${commands[@]}"; do
        "$1" 644 "$pages/tcasm-$command.1" "$man/tcasm-$command.1"
    done
    "$1" 644 "$pages/tcasm.bash" "$data/bash-completion/completions/tcasm"
    "$1" 644 "$pages/_tcasm" "$data/zsh/site-functions/_tcasm"
    "$1" 644 "$pages/tcasm.fish" "$data/fish/vendor_completions.d/tcasm.fish"
    local rule=60-tcasm-userfaultfd.rules group=tcasm-userfaultfd.conf
    "$1" 644 "packaging/$rule" "$lib/udev/rules.d/$rule"
    "$1" 644 "packaging/$group" "$lib/sysusers.d/$group"
}

put() {
    install -D -m "$1" "$2" "$3"
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
