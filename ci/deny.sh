#!/usr/bin/env bash
# Checks licences, sources, duplicates and known vulnerabilities of all dependencies, as deny.toml
# says. Needs cargo-deny, and the network for the list of vulnerabilities. Installs nothing.
set -euo pipefail
cd "$(dirname "$0")/.."

if ! cargo deny --version >/dev/null 2>&1; then
    echo "ci/deny.sh: NOT RUN: needs 'cargo install --locked cargo-deny', which takes minutes"
    exit 0
fi
cargo deny check licenses sources
# The users of crates in two versions would fill a thousand lines; `cargo tree --invert` shows them.
cargo deny check --hide-inclusion-graph bans
if message=$(cargo deny fetch db 2>&1); then
    cargo deny check advisories
else
    echo "$message"
    echo "ci/deny.sh: advisories: NOT RUN: the advisory database cannot be fetched"
fi
