#!/usr/bin/env bash
# Tests that ParaView opens time series that grow, steps through their times and reloads them. Needs
# pvpython 5.12 or newer on the PATH (Debian 13: apt-get install paraview python3-paraview). This
# takes 1.3 GB, so it is not part of `make test`.
set -euo pipefail
cd "$(dirname "$0")/.."
command -v pvpython >/dev/null || {
    echo "pvpython is missing: install ParaView 5.12 or newer" \
        "(Debian 13: apt-get install paraview python3-paraview)" >&2
    exit 1
}
cargo test -p tcasm --test cli paraview -- --ignored --nocapture --test-threads 1
