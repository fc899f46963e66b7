#!/usr/bin/env bash
# Checks that all code passes the lints, including tests and benches.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo clippy --workspace --all-targets -- -D warnings
