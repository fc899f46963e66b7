#!/usr/bin/env bash
#SBATCH --job-name=plate
#SBATCH --time=12:00:00
#SBATCH --signal=B:TERM@300        # five minutes before the limit, to this shell
# Continues a run where the last job ended. Also works without a batch system: bash job.sh
set -euo pipefail

fast=${FAST:-/tmp/$(id -un)/plate}   # on a disk of the node
slow=${SLOW:-$HOME/plate}          # on the parallel file system
steps=${STEPS:-5000000}
crashes=${CRASHES:-3}              # restart the simulation at most this often
seconds=${SECONDS_BETWEEN:-30}     # between checkpoints
mkdir -p "$fast" "$slow"

simulation= holder= writer=

main() {
    # At the time limit, write the newest version, finish copying, and end. The next job continues
    # from there.
    trap 'finish; exit 0' TERM INT
    tcasm keep plate >"$slow/keep.log" 2>&1 &
    holder=$!
    until run; do
        [ "$crashes" -gt 0 ] || fail "the simulation has crashed too often; see its output"
        crashes=$((crashes - 1))
    done
    kill -TERM "$holder"
    wait "$holder"
}

# Runs the simulation to its end. After a crash, the next start continues from memory.
run() {
    checkpoint_restart --name plate --steps "$steps" "$fast" "$slow" &
    simulation=$!
    # --replace-later: if a damaged checkpoint was passed over, the simulation continues from an
    # earlier one, and the later ones must be replaced.
    tcasm checkpoint plate --timeout 60 --fast "$fast" --slow "$slow" --replace-later \
        --every-seconds "$seconds" --max-overhead 5 --increments 4 --compact --keep 2 --keep-slow 4 \
        >>"$slow/checkpoint.log" 2>&1 &
    writer=$!
    local status=0
    wait "$simulation" || status=$?
    wait "$writer" || [ $? -eq 4 ] || fail "checkpoints are missing; see $slow/checkpoint.log"
    return "$status"
}

finish() {
    kill -TERM "$writer" 2>/dev/null && wait "$writer" || true
    kill -TERM "$simulation" "$holder" 2>/dev/null || true
    wait
}

fail() {
    echo "job: $1" >&2
    kill -TERM "$holder" "$simulation" 2>/dev/null || true
    exit 1
}

main
