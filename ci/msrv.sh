#!/usr/bin/env bash
# Checks that the published packages compile with the oldest Rust that Cargo.toml promises, and that
# CONTRIBUTING.md names the same one. Installs that toolchain where rustup can.
set -euo pipefail
cd "$(dirname "$0")/.."

version=$(sed -n 's/^rust-version = "\(.*\)"$/\1/p' Cargo.toml)
grep -q "in \[Cargo.toml\](Cargo.toml) is $version," CONTRIBUTING.md || {
    echo "msrv: CONTRIBUTING.md does not say why rust-version is $version" >&2
    exit 1
}
# Prints the name of the toolchain, if it is installed.
installed() {
    rustup toolchain list 2>/dev/null |
        sed -n "s/^\($version\(\.[0-9]*\)\?-[^ ]*\).*/\1/p" | head -n 1
}

toolchain=$(installed) || true
if [ -z "$toolchain" ] && command -v rustup >/dev/null; then
    timeout 300 rustup toolchain install --profile minimal "$version" || true
    toolchain=$(installed) || true
fi
if [ -z "$toolchain" ]; then
    echo "ci/msrv.sh: NOT RUN: needs 'rustup toolchain install --profile minimal $version'"
    exit 0
fi
# The command depends on all other published packages. Another compiler would make cargo rebuild
# everything in the usual folder.
rustup run "$toolchain" cargo check --locked -p tcasm --features pages \
    --target-dir "${CARGO_TARGET_DIR:-target}/msrv"
