#!/usr/bin/env bash
# Checks licences, sources, duplicates and known vulnerabilities of all dependencies, those of fuzz/
# and of the Python package among them, as deny.toml says. Needs cargo-deny, and the network for the
# list of vulnerabilities and for dependencies that cargo has not fetched yet. Installs nothing.
set -euo pipefail
cd "$(dirname "$0")/.."
others=(fuzz/Cargo.toml bindings/python/Cargo.toml)

main() {
    if ! cargo deny --version >/dev/null 2>&1; then
        echo "ci/deny.sh: NOT RUN: needs 'cargo install --locked cargo-deny', which takes minutes"
        return
    fi
    check Cargo.toml
    # Workspaces of their own, each of which needs only a part of what deny.toml allows.
    local own
    for own in "${others[@]}"; do
        check "$own" --allow license-not-encountered --allow license-exception-not-encountered
    done
    local message
    if message=$(cargo deny fetch db 2>&1); then
        for own in Cargo.toml "${others[@]}"; do
            cargo deny --manifest-path "$own" check advisories
        done
    else
        echo "$message"
        echo "ci/deny.sh: advisories: NOT RUN: the advisory database cannot be fetched"
    fi
}

# check MANIFEST [OPTION...]: checks all but vulnerabilities.
check() {
    local deny=(cargo deny --manifest-path "$1" check "${@:2}")
    "${deny[@]}" licenses sources
    # The users of crates in two versions would fill a thousand lines; `cargo tree --invert` shows
    # them.
    "${deny[@]}" --hide-inclusion-graph bans
}

main
