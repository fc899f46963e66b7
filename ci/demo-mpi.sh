#!/usr/bin/env bash
# Demonstrates a job of several hosts: 8 ranks on 4 hosts compute, agents on each host write
# checkpoints, a rank is killed, the job continues, a host is lost with its disk, and the job
# continues on the other hosts with 6 ranks. Then shows that all of it has the bits of an
# undisturbed run of one process. Takes two minutes after building.
#
# The hosts are folders on this machine, each with its own sockets and its own "disk". A program
# gets the disk of its own host only, and the slow folder has no copies, so a restart brings files
# by messages. Where root starts the demo, a program finds the disks of other hosts empty. The tests
# in agent/tests/hosts use network namespaces.
#   demo-mpi.sh [--dir DIR]     the folder of its files [default: target/demo-mpi]
# Needs MPI with its compiler wrapper, and libclang.
set -euo pipefail
cd "$(dirname "$0")/.."
source ci/checksums.sh

profile=${PROFILE:-release}
bin=$(pwd)/${CARGO_TARGET_DIR:-target}/${profile/#dev/debug}
dir=target/demo-mpi
hosts=(h1 h2 h3 h4)
publish=5
plan=(--size "${SIZE:-64}" --steps "${STEPS:-3000}" --publish-every "$publish")
every=${EVERY:-100}
# Starts a program that finds all disks empty but one: DISK PROGRAM ARGUMENTS...
# shellcheck disable=SC2016 # the shell that runs this expands it
hide='own=$1; shift
for disk in "${own%/*}"/h?; do [ "$disk" = "$own" ] || mount -t tmpfs none "$disk"; done
exec "$@"'
can_hide=
job=
agents=

main() {
    options "$@"
    prepare
    trap clean_up EXIT
    trap 'exit 130' INT TERM

    title "1. 8 ranks on 4 hosts, an agent on each host, and the commands of one host"
    start_agents "${hosts[@]}"
    start_job first "${hosts[@]}"
    until_committed $((every * 3))
    on h1 tcasm ls
    on h1 tcasm info gray_scott
    on h1 tcasm stats gray_scott.0 v # the block of one rank

    title "2. A rank is killed (SIGKILL): all ranks end, and the agents write the agreed step"
    kill_one h3 gray_scott_mpi
    wait_end first
    poll "a checkpoint of the agreed step" agreed_is_committed
    show "$bin/tcasm" checkpoints "$dir/slow"

    title "3. The job continues from the agreed step; each rank reads the disk of its own host only"
    local from
    from=$(newest)
    start_job second --continue "${hosts[@]}"
    until_committed $((from + every * 3))
    began_after second "$from"

    title "4. Host h2 is lost, with its processes and its disk"
    kill_one h2 gray_scott_mpi
    kill_one h2 tcasm-agent
    wait_end second
    wait "$agents" 2>/dev/null || true
    rm -rf "${dir:?}/h2"
    show ls "$dir"

    title "5. 6 ranks continue on the other hosts; the blocks of h2 come from parity, in messages"
    from=$(newest)
    start_job third --continue h1 h3 h4
    wait "$job" || fail "the continued job failed; see $dir/third.log"
    job=
    began_after third "$from"
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
    if [ "$(id -u)" -eq 0 ] && unshare --mount mount -t tmpfs none "$dir/h1" 2>/dev/null; then
        can_hide=yes
        say "the programs of a host see no disk but that of their own host"
    else
        say "this user cannot hide disks: the programs of a host are only told of no other disk"
    fi
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

# add_part HOST COUNT [VARIABLE=VALUE...] PROGRAM...: adds processes of a host to `parts`.
add_part() {
    local host=$1 count=$2 hidden=()
    shift 2
    [ -z "$can_hide" ] || hidden=(unshare --mount sh -ec "$hide" sh "$dir/$host")
    [ ${#parts[@]} -eq 0 ] || parts+=(:)
    parts+=(-n "$count" "${hidden[@]}" env "TCASM_RUNTIME_DIR=$runtime/$host" "$@")
}

# start_job LOG [--continue] HOST...: starts two ranks on each host. With --continue, they begin
# with the newest checkpoint, and get the disk of their own host only.
start_job() {
    local log=$1 continues= parts=() restart=() host
    shift
    if [ "$1" = --continue ]; then
        continues=" --restart SLOW DISK"
        shift
    fi
    for host in "$@"; do
        [ -z "$continues" ] || restart=(--restart "$dir/slow" "$dir/$host")
        add_part "$host" 2 TCASM_LOCAL_RANKS=2 "TCASM_RUN=$log" \
            "$bin/gray_scott_mpi" "${plan[@]}" "${restart[@]}"
    done
    say "gray_scott_mpi$continues, $((2 * $#)) ranks on $*"
    launch "${parts[@]}" >"$dir/$log.log" 2>&1 </dev/null &
    job=$!
}

start_agents() {
    local parts=() host
    for host in "$@"; do
        add_part "$host" 1 "$bin/tcasm-agent" gray_scott --stay --every "$every" \
            --fast "$dir/$host" --slow "$dir/slow" --drain-every 0 --failure-group "$host"
    done
    say "tcasm-agent gray_scott --every $every --fast DISK --slow SLOW --drain-every 0, on $*"
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
    poll "a checkpoint of step $1" committed "$1"
    say "step $(newest) is committed"
}

committed() {
    kill -0 "$job" 2>/dev/null || fail "the job ended early; see the logs in $dir"
    [ "$(newest)" -ge "$1" ]
}

# The agents have written the step that they have agreed on last.
agreed_is_committed() {
    [ "$(newest)" -eq "$(awk '$1 == "agreed" { n = $3 } END { print n + 0 }' "$dir/agents.log")" ]
}

# poll WHAT COMMAND...: waits until the command says yes.
poll() {
    local what=$1 deadline=$((SECONDS + 120))
    shift
    until "$@"; do
        [ "$SECONDS" -lt "$deadline" ] || fail "waited 120 s for $what; see the logs in $dir"
        sleep 0.2
    done
}

# began_after LOG STEP: checks that a run has continued from this step.
began_after() {
    local first
    first=$(awk '$1 == "step" { print $2; exit }' "$dir/$1.log")
    [ "$first" -eq $(($2 + publish)) ] ||
        fail "the $1 run begins with step $first, and not after step $2; see $dir/$1.log"
    say "the $1 run has continued from step $2"
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
