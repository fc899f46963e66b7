#!/usr/bin/env bash
# All benches, or those whose name contains the argument.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo bench -p tcasm-benches -- "$@"
