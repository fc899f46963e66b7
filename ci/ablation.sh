#!/usr/bin/env bash
# Measures what each adaptive mechanism gains, and writes the tables to target/ablation.md and the
# values of all runs to target/ablation.json.
#   ablation.sh [ARGUMENT...]     passes the arguments on, for example --only sharing --rounds 5
#
# Takes MINUTES (default: 15) in addition to building. They are divided among all runs, so fewer
# mechanisms, workloads or rounds are measured for longer. MIB sets the size of the buffer (default:
# 128): larger buffers need more minutes. With QUICK=1 it takes three minutes, which is too short
# for mechanisms that adapt within seconds.
set -euo pipefail
cd "$(dirname "$0")/.."
target=${CARGO_TARGET_DIR:-target}
options=(--mib "${MIB:-128}" --minutes "${MINUTES:-15}")
[ -z "${QUICK:-}" ] || options=(--mib 32 --minutes "${MINUTES:-3}" --rounds 1)
mkdir -p "$target"
# The package is selected alone: it enables a feature of core, which cargo would give to all other
# packages that it builds together with this one.
cargo run --release -p tcasm-ablation -- "${options[@]}" --json "$target/ablation.json" "$@" |
    tee "$target/ablation.md"
