#!/usr/bin/env bash
# Have ParaView itself open time series that grow, step through their times and reload them. Needs pvpython on the PATH, of 5.12 or
# newer (Debian 13: apt-get install paraview python3-paraview, 1.3 GB), which is why it is no part of `make test`.
set -euo pipefail
cd "$(dirname "$0")/.."
command -v pvpython >/dev/null || {
    echo "there is no pvpython: install ParaView 5.12 or newer (Debian 13: apt-get install paraview python3-paraview)" >&2
    exit 1
}
cargo test -p tcasm --test cli paraview -- --ignored --nocapture --test-threads 1
