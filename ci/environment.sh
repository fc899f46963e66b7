#!/usr/bin/env bash
# Runs tests under settings of the whole machine that no test may change: with each setting of
# transparent huge pages, with swap, with strict overcommit, where the kernel promises no more memory
# than it has, and with a process that gets the number of a dead one. Needs root, and a machine that nobody else uses meanwhile. Restores the
# settings at the end, also after an error or a signal.
set -euo pipefail
cd "$(dirname "$0")/.."
source ci/everything.sh

if [ "$(id -u)" != 0 ]; then
    echo "ci/environment.sh: NOT RUN: only root can change the settings of the machine"
    exit 0
fi
cargo test "${everything[@]}" --no-run
folder=$(mktemp -d)
overcommit=$(cat /proc/sys/vm/overcommit_memory)
thp=/sys/kernel/mm/transparent_hugepage
huge=$(sed 's/.*\[\(.*\)\].*/\1/' $thp/enabled)
huge_shared=$(sed 's/.*\[\(.*\)\].*/\1/' $thp/shmem_enabled)
restore() {
    echo "$huge" >$thp/enabled
    echo "$huge_shared" >$thp/shmem_enabled
    echo "$overcommit" >/proc/sys/vm/overcommit_memory
    if grep -q "^$folder/swap " /proc/swaps; then swapoff "$folder/swap"; fi
    rm -rf "$folder"
}
trap restore EXIT
trap 'exit 130' INT TERM HUP

for setting in always/advise madvise/advise never/advise never/never madvise/deny; do
    echo "== transparent huge pages: $setting"
    echo "${setting%/*}" >$thp/enabled
    echo "${setting#*/}" >$thp/shmem_enabled
    # Where the kernel may give no huge pages, the tests of these have nothing to see. With `always`,
    # memory of which a program uses single pages is not sparse.
    tests=(--test deferred --test shared --test copies --test handover)
    skipped=()
    case $setting in
        always/*)
            tests+=(--test huge)
            skipped=(--skip pages_that_are_in_no_plane --skip sparse_memory_that_is_cold
                --skip memory_of_unused_frames)
            ;;
        madvise/advise) tests+=(--test huge) ;;
    esac
    cargo test "${everything[@]}" "${tests[@]}" -- "${skipped[@]}"
done
echo "$huge" >$thp/enabled
echo "$huge_shared" >$thp/shmem_enabled

echo "== swap"
dd if=/dev/zero of="$folder/swap" bs=1M count=256 status=none
chmod 600 "$folder/swap"
mkswap "$folder/swap" >/dev/null
swapon "$folder/swap"
cargo test "${everything[@]}" --test paging -- --nocapture
swapoff "$folder/swap"

echo "== numbers of processes"
cargo test "${everything[@]}" --test transfer -- --ignored number

echo "== vm.overcommit_memory=2"
cargo test "${everything[@]}" --no-run --test changed_limits --test paging --test observing
echo 2 >/proc/sys/vm/overcommit_memory
cargo test "${everything[@]}" --test changed_limits --test paging --test observing
