#!/usr/bin/env bash
# Checks that all code passes the lints, including tests, benches and the program that writes the
# manual pages.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo clippy --workspace --all-targets --features tcasm/pages -- -D warnings
