#!/usr/bin/env bash
# Demonstrates a job of several hosts: 8 ranks on 4 hosts compute, agents on each host write
# checkpoints, a rank is killed, the job continues, a host is lost with its disk, and the job
# continues on the other hosts with 6 ranks. Then shows that all of it has the bits of an undisturbed
# run of one process. The hosts are folders on this machine, each with its own sockets and its own
# "disk"; the tests in agent/tests/hosts use network namespaces. Takes two minutes after building.
#   demo-mpi.sh [--dir DIR]     the folder of its files [default: target/demo-mpi]
# Needs MPI with its compiler wrapper, and libclang.
set -euo pipefail
cd "$(dirname "$0")/.."
source ci/checksums.sh

profile=${PROFILE:-release}
bin=$(pwd)/${CARGO_TARGET_DIR:-target}/${profile/#dev/debug}
dir=target/demo-mpi
hosts=(h1 h2 h3 h4)
plan=(--size "${SIZE:-64}" --steps "${STEPS:-3000}" --publish-every 5)
every=${EVERY:-100}
job=
agents=

main() {
    options "$@"
    prepare
    trap clean_up EXIT
    trap 'exit 130' INT TERM

    title "1. 8 ranks on 4 hosts, an agent on each host, and the commands of one host"
    start_agents "${hosts[@]}"
    start_job first 2 "${hosts[@]}"
    until_committed $((every * 3))
    on h1 tcasm ls
    on h1 tcasm info gray_scott
    on h1 tcasm stats gray_scott.0 v # the block of one rank

    title "2. A rank is killed (SIGKILL): all ranks end, and the agents wait for the next run"
    kill_one h3 gray_scott_mpi
    wait_end first
    show "$bin/tcasm" checkpoints "$dir/slow"

    title "3. The job continues from the newest checkpoint"
    start_job second 2 "${hosts[@]}" --restart "$dir/slow" "${hosts[@]/#/$dir/}"
    until_committed $(($(newest) + every * 3))

    title "4. Host h2 is lost, with its processes and its disk"
    kill_one h2 gray_scott_mpi
    kill_one h2 tcasm-agent
    wait_end second
    wait "$agents" 2>/dev/null || true
    rm -rf "${dir:?}/h2"
    show ls "$dir"

    title "5. 6 ranks continue on the other hosts; the blocks of h2 come from parity"
    start_job third 2 h1 h3 h4 --restart "$dir/slow" "$dir/h1" "$dir/h3" "$dir/h4"
    wait "$job" || fail "the continued job failed; see $dir/third.log"
    job=
    tail -n 1 "$dir/third.log"

    title "6. One process computes the same, without interruption"
    "$bin/gray_scott_plain" "${plan[@]}" >"$dir/plain.log"
    tail -n 1 "$dir/plain.log"
    compare_runs
}

options() {
    if [ $# -eq 2 ] && [ "$1" = --dir ]; then
        dir=$2
    elif [ $# -ne 0 ]; then
        echo "usage: ci/demo-mpi.sh [--dir DIR]" >&2
        exit 2
    fi
}

# Builds the programs and empties the folder of an earlier demo, but never any other folder.
prepare() {
    command -v mpirun >/dev/null || fail "mpirun is not on the PATH: install Open MPI"
    cargo build --profile "$profile" -p tcasm --bins
    cargo build --profile "$profile" -p tcasm-agent --features files --bin tcasm-agent
    cargo build --profile "$profile" -p tcasm-examples --features mpi --bins
    if [ -n "$(ls -A "$dir" 2>/dev/null)" ] && [ ! -e "$dir/.tcasm-demo" ]; then
        fail "$dir is not empty and is not from an earlier demo; choose another --dir"
    fi
    rm -rf "$dir"
    mkdir -p "$dir/slow" "${hosts[@]/#/$dir/}"
    dir=$(cd "$dir" && pwd)
    touch "$dir/.tcasm-demo"
    runtime=$(mktemp -d)
    mkdir "${hosts[@]/#/$runtime/}"
}

# Runs a command of TCASM on a host.
on() {
    printf '\n%s$ %s\n' "$1" "${*:2}"
    TCASM_RUNTIME_DIR=$runtime/$1 "$bin/$2" "${@:3}"
}

# Becomes mpirun, so that a signal to this background job reaches it.
launch() {
    exec mpirun --allow-run-as-root --oversubscribe --mca btl self,vader "$@"
}

# start_job LOG RANKS-PER-HOST HOST... [--restart DIR...]: starts the ranks of a run.
start_job() {
    local log=$1 ranks=$2 parts=() host
    shift 2
    local all=()
    while [ $# -gt 0 ] && [ "$1" != --restart ]; do
        all+=("$1")
        shift
    done
    for host in "${all[@]}"; do
        [ ${#parts[@]} -eq 0 ] || parts+=(:)
        parts+=(-n "$ranks" env "TCASM_RUNTIME_DIR=$runtime/$host" "TCASM_LOCAL_RANKS=$ranks"
            "TCASM_RUN=$log" "$bin/gray_scott_mpi" "${plan[@]}" "$@")
    done
    say "gray_scott_mpi on ${all[*]}: $((ranks * ${#all[@]})) ranks ${*:+($*)}"
    launch "${parts[@]}" >"$dir/$log.log" 2>&1 </dev/null &
    job=$!
}

start_agents() {
    local parts=() host
    for host in "$@"; do
        [ ${#parts[@]} -eq 0 ] || parts+=(:)
        parts+=(-n 1 env "TCASM_RUNTIME_DIR=$runtime/$host" "$bin/tcasm-agent" gray_scott --stay
            --every "$every" --fast "$dir/$host" --slow "$dir/slow" --failure-group "$host")
    done
    say "tcasm-agent gray_scott --every $every --fast DIR --slow DIR, on $*"
    launch "${parts[@]}" >"$dir/agents.log" 2>&1 </dev/null &
    agents=$!
}

# Kills one process of a host, which is found by its environment.
kill_one() {
    local process
    for process in $(pgrep -x "$(cut -c 1-15 <<<"$2")"); do
        if tr '\0' '\n' <"/proc/$process/environ" 2>/dev/null |
            grep -qx "TCASM_RUNTIME_DIR=$runtime/$1"; then
            say "kill -KILL $process ($2 on $1)"
            kill -KILL "$process"
            return
        fi
    done
    fail "no $2 runs on $1; see the logs in $dir"
}

wait_end() {
    wait "$job" 2>/dev/null && fail "the job ended early; see $dir/$1.log"
    job=
    say "$(grep ^step "$dir/$1.log" | tail -n 1)"
}

# Prints the newest committed step.
newest() {
    "$bin/tcasm" checkpoints "$dir/slow" 2>/dev/null |
        awk '$1 == "step" && $2 > n { n = $2 } END { print n + 0 }'
}

until_committed() {
    local deadline=$((SECONDS + 120))
    until [ "$(newest)" -ge "$1" ]; do
        [ "$SECONDS" -lt "$deadline" ] || fail "step $1 is not committed; see $dir/agents.log"
        kill -0 "$job" 2>/dev/null || fail "the job ended early; see the logs in $dir"
        sleep 0.2
    done
    say "step $(newest) is committed"
}

# Compares the checksums of u and v that the runs print: they must be equal at each step.
compare_runs() {
    local run compared=0 count
    for run in first second third; do
        count=$(compare_checksums "$dir/$run.log" "$dir/plain.log") ||
            fail "the $run run differs from the undisturbed one, or has no steps to compare"
        compared=$((compared + count))
    done
    [ "$(last_checksum "$dir/third.log")" = "$(last_checksum "$dir/plain.log")" ] ||
        fail "the final fields differ"
    say "the bits are the same at all $compared steps compared and at the end"
}

show() {
    printf '\n$ %s\n' "$*"
    "$@"
}

title() {
    printf '\n== %s\n' "$1"
}

say() {
    printf '%s\n' "$1"
}

fail() {
    printf 'demo-mpi: %s\n' "$1" >&2
    exit 1
}

clean_up() {
    local child
    for child in $(jobs -rp); do
        kill "$child" 2>/dev/null || true
    done
    wait
    rm -rf "$runtime"
}

main "$@"
