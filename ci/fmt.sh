#!/usr/bin/env bash
# Checks that the code is formatted.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo fmt --all --check
