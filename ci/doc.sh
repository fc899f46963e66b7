#!/usr/bin/env bash
# Does the documentation build, with every link leading somewhere?
set -euo pipefail
cd "$(dirname "$0")/.."
RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps
