#!/usr/bin/env bash
# Installs what the build needs: packages of the system, and the files of other projects that the
# page of tcasm view uses. If everything is there, it uses no network and changes nothing.
#   setup.sh [PACKAGE...]     also installs these packages (names in Debian and Ubuntu)
set -euo pipefail

# The names of the packages in Debian and Ubuntu.
build_packages=(g++ gfortran libhdf5-dev pkg-config tmux iproute2 hostname "$@")
vendor=$(dirname "$0")/vendor.sh

main() {
    need_rust
    if command -v dpkg >/dev/null && command -v apt-get >/dev/null; then
        need_packages
    else
        need_libraries
    fi
    "$vendor"
    echo "setup: everything is there"
}

need_rust() {
    command -v cargo >/dev/null ||
        stop "cargo is not on the PATH: install Rust from https://rustup.rs"
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

# Installs the missing packages on Debian and Ubuntu.
need_packages() {
    local missing
    mapfile -t missing < <(missing_packages | sort -u)
    [ ${#missing[@]} -ne 0 ] || return 0
    echo "setup: missing: ${missing[*]}"
    local as_root
    as_root=$(root_prefix) || stop "this user cannot install packages; run as root:
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
    # A Python that is not from Debian is good enough.
    command -v python3 >/dev/null || echo python3
    python3 -c 'import ensurepip, venv' 2>/dev/null || echo python3-venv
    have_npm || echo npm
}

# Returns true if npm is there, or is not needed.
have_npm() {
    command -v npm >/dev/null || "$vendor" --check
}

installed() {
    [ "$(dpkg-query -W -f='${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

# Prints the prefix that runs a command as root: nothing for root, sudo for users who may use it.
root_prefix() {
    if [ "$(id -u)" -eq 0 ]; then
        return
    fi
    command -v sudo >/dev/null || return 1
    # Without a terminal nobody can type a password.
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

# On other systems, checks what can be checked and prints what is missing.
need_libraries() {
    local missing=()
    command -v make >/dev/null || missing+=(make)
    command -v pkg-config >/dev/null || missing+=(pkg-config)
    [ -n "${HDF5_DIR:-}" ] || pkg-config --exists hdf5 2>/dev/null || missing+=("HDF5 with headers")
    command -v tmux >/dev/null || missing+=(tmux)
    command -v ip >/dev/null || missing+=(iproute2)
    command -v hostname >/dev/null || missing+=(hostname)
    python3 -c 'import ensurepip, venv' 2>/dev/null || missing+=("python3 with venv")
    have_npm || missing+=(npm)
    [ ${#missing[@]} -ne 0 ] || return 0
    local list
    printf -v list '%s, ' "${missing[@]}"
    stop "not found: ${list%, }. Install with your system's package manager, for example
    dnf install hdf5-devel pkgconf-pkg-config make python3 tmux npm iproute hostname
    pacman -S hdf5 pkgconf make python tmux npm iproute2 inetutils
    (set HDF5_DIR if HDF5 is in another place)"
}

stop() {
    echo "setup: $1" >&2
    exit 1
}

main
