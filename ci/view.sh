#!/usr/bin/env bash
# Tests the page of tcasm view in a headless browser, with real simulations. Takes up to three
# minutes if everything is installed.
#   view.sh --figures    also writes the screenshots of the documentation
#   view.sh --install    only installs what the tests need
set -euo pipefail
cd "$(dirname "$0")/.."
source ci/everything.sh

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
    # The programs and examples that ci/test.sh has built.
    cargo test "${everything[@]}" --no-run
    cd "$tests"
    local log=$bin/view-tests.log status=0
    TCASM_BIN=$bin TCASM_FIGURES=$figures \
        timeout 600 node --test --test-concurrency=1 --test-reporter=spec |
        tee "$log" || status=$?
    # Print the totals in the words of cargo.
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
    browser >/dev/null || stop "Chromium is missing: install it, or set CHROMIUM=PATH"
}

browser() {
    [ -x "${CHROMIUM:-}" ] || [ -x /usr/bin/chromium ] || command -v chromium ||
        command -v chromium-browser || command -v google-chrome
}

# Installs the modules that package-lock.json lists, if they are not installed yet.
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
