#!/usr/bin/env bash
# The page of tcasm view in a browser without a screen, against real simulations. Within three minutes when all is installed.
#   view.sh [--figures | --install]     write the screenshots of the documentation, too; or install what is needed, and no more
set -euo pipefail
cd "$(dirname "$0")/.."

bin=$(realpath -m "${CARGO_TARGET_DIR:-target}")/debug
tests=view/web-tests

main() {
    local figures=
    case "${1:-}" in
        "") ;;
        --figures) figures=$PWD/docs/figures ;;
        --install) ;;
        *) stop "usage: ci/view.sh [--figures | --install]" ;;
    esac
    install_packages
    install_modules
    [ "${1:-}" != --install ] || return 0
    # What `cargo test --workspace` builds, so that after it there is nothing to do.
    cargo build --workspace --bins --examples
    cd "$tests"
    local log=$bin/view-tests.log status=0
    TCASM_BIN=$bin TCASM_FIGURES=$figures timeout 600 node --test --test-concurrency=1 --test-reporter=spec | tee "$log" || status=$?
    # As cargo says it, besides what node does.
    echo "$(sum pass "$log") passed, $(sum fail "$log") failed"
    return "$status"
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
    [ -x "${CHROMIUM:-}" ] || [ -x /usr/bin/chromium ] || command -v chromium || command -v chromium-browser || command -v google-chrome
}

# What is installed is what the lock says: nothing is asked for when it is.
install_modules() {
    local stamp=$tests/node_modules/.package-lock.json
    [ -e "$stamp" ] && [ "$stamp" -nt "$tests/package-lock.json" ] && return
    (cd "$tests" && npm ci --no-audit --no-fund)
}

sum() {
    sed -n "s/^[^a-z]*$1 \([0-9]*\)$/\1/p" "$2"
}

stop() {
    echo "view: $1" >&2
    exit 1
}

main "$@"
