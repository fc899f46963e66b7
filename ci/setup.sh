#!/usr/bin/env bash
# Make sure that what the build needs is installed. Touches neither network nor system when it is.
#   setup.sh [PACKAGE...]     and these packages of Debian and Ubuntu, for a check that needs more
set -euo pipefail

# What Debian and Ubuntu call it.
build_packages=(libhdf5-dev libclang-dev pkg-config tmux "$@")

main() {
    need_rust
    if command -v dpkg >/dev/null && command -v apt-get >/dev/null; then
        need_packages
    else
        need_libraries
    fi
}

need_rust() {
    command -v cargo >/dev/null || stop "cargo is not on the PATH: install Rust from https://rustup.rs"
    command -v cc >/dev/null || stop "there is no C compiler (cc): install gcc or clang"
    local component
    for component in fmt clippy; do
        cargo "$component" --version >/dev/null 2>&1 || add_component "${component/#fmt/rustfmt}"
    done
}

add_component() {
    if ! command -v rustup >/dev/null || ! rustup component add "$1"; then
        stop "the Rust component $1 is missing: run 'rustup component add $1'"
    fi
}

# Debian and Ubuntu: install the packages that are missing.
need_packages() {
    local missing
    mapfile -t missing < <(missing_packages)
    if [ ${#missing[@]} -eq 0 ]; then
        echo "setup: everything is there"
        return
    fi
    echo "setup: missing: ${missing[*]}"
    local as_root
    as_root=$(root_prefix) || stop "may not install packages here; run as root:
    apt-get update && apt-get install --no-install-recommends ${missing[*]}"
    install_packages "$as_root" "${missing[@]}"
}

missing_packages() {
    local package
    for package in "${build_packages[@]}"; do
        installed "$package" || echo "$package"
    done
    command -v make >/dev/null || echo make
    [ -e /etc/ssl/certs/ca-certificates.crt ] || installed ca-certificates || echo ca-certificates
    # A Python from elsewhere serves as well as Debian's.
    command -v python3 >/dev/null || echo python3
    python3 -c 'import ensurepip, venv' 2>/dev/null || echo python3-venv
}

installed() {
    [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

# Print what makes a command run as root: nothing for root, sudo for others who may.
root_prefix() {
    if [ "$(id -u)" -eq 0 ]; then
        return
    fi
    command -v sudo >/dev/null || return 1
    # Without a terminal nobody could type a password.
    [ -t 0 ] || sudo -n true 2>/dev/null || return 1
    echo sudo
}

install_packages() {
    local as_root=$1
    shift
    local apt=(env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=300 -q -y)
    $as_root "${apt[@]}" update
    $as_root "${apt[@]}" install --no-install-recommends "$@"
    echo "setup: installed $*"
}

# Elsewhere: say what is needed, and check what can be checked.
need_libraries() {
    local missing=()
    command -v make >/dev/null || missing+=(make)
    command -v pkg-config >/dev/null || missing+=(pkg-config)
    [ -n "${HDF5_DIR:-}" ] || pkg-config --exists hdf5 2>/dev/null || missing+=("HDF5 with headers")
    have_libclang || missing+=(libclang)
    command -v tmux >/dev/null || missing+=(tmux)
    python3 -c 'import ensurepip, venv' 2>/dev/null || missing+=("python3 with venv")
    if [ ${#missing[@]} -eq 0 ]; then
        echo "setup: everything is there"
        return
    fi
    local list
    printf -v list '%s, ' "${missing[@]}"
    stop "not found: ${list%, }. Install with your system's package manager, for example
    dnf install hdf5-devel clang-devel pkgconf-pkg-config make python3 tmux
    pacman -S hdf5 clang pkgconf make python tmux
    (LIBCLANG_PATH and HDF5_DIR tell the build where they are, if they lie elsewhere)"
}

have_libclang() {
    [ -n "${LIBCLANG_PATH:-}" ] || command -v llvm-config >/dev/null ||
        ldconfig -p 2>/dev/null | grep 'libclang[-0-9]*\.so' >/dev/null
}

stop() {
    echo "setup: $1" >&2
    exit 1
}

main
