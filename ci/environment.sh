#!/usr/bin/env bash
# Runs tests under settings of the whole machine that no test may change: with swap, with strict
# overcommit, where the kernel promises no more memory than it has, and with a process that gets the
# number of a dead one. Needs root, and a machine that nobody else uses meanwhile. Restores the
# settings at the end, also after an error or a signal.
set -euo pipefail
cd "$(dirname "$0")/.."

if [ "$(id -u)" != 0 ]; then
    echo "ci/environment.sh: NOT RUN: only root can enable swap and change vm.overcommit_memory"
    exit 0
fi
cargo build --bins -p tcasm-tests
folder=$(mktemp -d)
overcommit=$(cat /proc/sys/vm/overcommit_memory)
restore() {
    echo "$overcommit" >/proc/sys/vm/overcommit_memory
    if grep -q "^$folder/swap " /proc/swaps; then swapoff "$folder/swap"; fi
    rm -rf "$folder"
}
trap restore EXIT
trap 'exit 130' INT TERM HUP

echo "== swap"
dd if=/dev/zero of="$folder/swap" bs=1M count=256 status=none
chmod 600 "$folder/swap"
mkswap "$folder/swap" >/dev/null
swapon "$folder/swap"
cargo test -p tcasm-tests --test paging -- --nocapture
swapoff "$folder/swap"

echo "== numbers of processes"
cargo test -p tcasm-tests --test transfer -- --ignored number

echo "== vm.overcommit_memory=2"
cargo test -p tcasm-tests --no-run --test changed_limits --test paging --test observing
echo 2 >/proc/sys/vm/overcommit_memory
cargo test -p tcasm-tests --test changed_limits --test paging --test observing
