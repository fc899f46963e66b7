#!/usr/bin/env bash
#SBATCH --job-name=plate
#SBATCH --time=12:00:00
#SBATCH --signal=B:TERM@300        # five minutes before the limit, to this shell
# A run that goes on where the last job left it. Runs without a batch system as well: bash job.sh
set -euo pipefail

fast=${FAST:-/tmp/$(id -un)/plate}   # on a disk of the node
slow=${SLOW:-$HOME/plate}          # on the parallel file system
steps=${STEPS:-5000000}
crashes=${CRASHES:-3}              # the simulation is started again so often
seconds=${SECONDS_BETWEEN:-30}     # between checkpoints
mkdir -p "$fast" "$slow"

simulation= keeper= writer=

main() {
    # The time limit: write the newest version, copy what there is, and end. The next job goes on from there.
    trap 'finish; exit 0' TERM INT
    tcasm keep plate >"$slow/keep.log" 2>&1 &
    keeper=$!
    until run; do
        [ "$crashes" -gt 0 ] || fail "the simulation has crashed too often"
        crashes=$((crashes - 1))
    done
    kill -TERM "$keeper"
    wait "$keeper"
}

# One start of the simulation, to its end. What has crashed goes on from memory.
run() {
    checkpoint_restart --name plate --steps "$steps" "$fast" "$slow" &
    simulation=$!
    # --replace-later: where a damaged checkpoint was passed over, the simulation begins before it.
    tcasm checkpoint plate --wait 60 --fast "$fast" --slow "$slow" --replace-later \
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
    kill -TERM "$simulation" "$keeper" 2>/dev/null || true
    wait
}

fail() {
    echo "job: $1" >&2
    kill -TERM "$keeper" "$simulation" 2>/dev/null || true
    exit 1
}

main
