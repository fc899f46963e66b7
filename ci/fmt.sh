#!/usr/bin/env bash
# Is the code formatted?
set -euo pipefail
cd "$(dirname "$0")/.."
cargo fmt --all --check
