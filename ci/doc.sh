#!/usr/bin/env bash
# Checks that the documentation builds without broken links.
set -euo pipefail
cd "$(dirname "$0")/.."
RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps
