#!/usr/bin/env bash
# The page of tcasm view in a browser without a screen, against real simulations. Within three minutes when all is installed.
#   view.sh [--figures]     write the screenshots of the documentation, too
set -euo pipefail
cd "$(dirname "$0")/.."

bin=$(realpath -m "${CARGO_TARGET_DIR:-target}")/debug
tests=view/web-tests

main() {
    local figures=
    case "${1:-}" in
        "") ;;
        --figures) figures=$PWD/docs/figures ;;
        *) stop "usage: ci/view.sh [--figures]" ;;
    esac
    install_packages
    install_modules
    # What `cargo test --workspace` builds, so that after it there is nothing to do.
    cargo build --workspace --bins --examples
    cd "$tests"
    TCASM_BIN=$bin TCASM_FIGURES=$figures timeout 600 node --test --test-concurrency=2 --test-reporter=spec | tee "$bin/view-tests.log"
    # As cargo says it, besides what node does.
    local passed failed
    passed=$(sum pass)
    failed=$(sum fail)
    echo "$passed passed, $failed failed"
}

install_packages() {
    local missing=()
    command -v node >/dev/null || missing+=(nodejs)
    command -v npm >/dev/null || missing+=(npm)
    browser >/dev/null || missing+=(chromium fonts-dejavu-core)
    ci/setup.sh "${missing[@]}"
    command -v npm >/dev/null || stop "node and npm are not on the PATH: install Node.js 20 or newer"
    browser >/dev/null || stop "there is no Chromium: install it, or say where it is (CHROMIUM=PATH)"
}

browser() {
    [ -x "${CHROMIUM:-}" ] || command -v chromium || command -v chromium-browser || command -v google-chrome
}

# What is installed is what the lock says: nothing is asked for when it is.
install_modules() {
    local stamp=$tests/node_modules/.package-lock.json
    [ -e "$stamp" ] && [ "$stamp" -nt "$tests/package-lock.json" ] && return
    (cd "$tests" && npm ci --no-audit --no-fund)
}

sum() {
    sed -n "s/^. $1 \([0-9]*\)$/\1/p" "$bin/view-tests.log"
}

stop() {
    echo "view: $1" >&2
    exit 1
}

main "$@"
