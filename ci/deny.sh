#!/usr/bin/env bash
# Checks licences, sources, duplicates and known vulnerabilities of all dependencies, those of fuzz/
# among them, as deny.toml says. Needs cargo-deny, and the network for the list of vulnerabilities
# and for dependencies of fuzz/ that cargo has not fetched yet. Installs nothing.
set -euo pipefail
cd "$(dirname "$0")/.."

main() {
    if ! cargo deny --version >/dev/null 2>&1; then
        echo "ci/deny.sh: NOT RUN: needs 'cargo install --locked cargo-deny', which takes minutes"
        return
    fi
    check Cargo.toml
    # A workspace of its own, which needs only a part of what deny.toml allows.
    check fuzz/Cargo.toml --allow license-not-encountered --allow license-exception-not-encountered
    local message
    if message=$(cargo deny fetch db 2>&1); then
        cargo deny check advisories
        cargo deny --manifest-path fuzz/Cargo.toml check advisories
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
