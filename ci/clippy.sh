#!/usr/bin/env bash
# Does the code pass the lints, tests and benches included?
set -euo pipefail
cd "$(dirname "$0")/.."
cargo clippy --workspace --all-targets -- -D warnings
