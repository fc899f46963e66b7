#!/usr/bin/env bash
# Demonstrates the main use on a real simulation: look at it while it runs (also in a browser),
# checkpoint it, kill it and continue it. Then shows that the result has the same bits as that of an
# undisturbed run. Takes up to two minutes after building.
#   demo.sh [--dir DIR]     the folder of its files [default: target/demo]
set -euo pipefail
cd "$(dirname "$0")/.."

size=96
target=${CARGO_TARGET_DIR:-target}
bin=$target/release
dir=target/demo
checkpoints=$dir/checkpoints
runtime=
bar_of=

main() {
    options "$@"
    prepare
    trap clean_up EXIT
    trap 'exit 130' INT TERM
    choose_length

    title "0. Optional: open this address in a browser, which shows the simulation until the end"
    start_view

    title "1. A simulation of $size^3 cells starts, and other programs read it"
    start_simulation first.log
    start_checkpoints first
    show tcasm ls
    show tcasm info gray_scott
    watch_statistics first.log

    title "2. It is killed (SIGKILL) after about half of its $steps steps"
    kill_simulation first.log
    local newest
    newest=$(newest_checkpoint)
    [ -n "$newest" ] || fail "no checkpoint was written; see $dir/first.checkpoint.log"
    say "newest checkpoint: $newest"

    title "3. It continues from there to the end"
    start_simulation second.log --restart "$checkpoints"
    start_checkpoints second
    finish_simulation second.log

    title "4. The plain program computes the same, without TCASM and without interruption"
    "$bin/gray_scott_plain" "${plan[@]}" >"$dir/plain.log" &
    finish "$!" plain.log || fail "the plain program failed; see $dir/plain.log"
    tail -n 1 "$dir/plain.log"
    compare_runs
    read_checkpoint "$(newest_checkpoint)"
    list_files
}

options() {
    if [ $# -eq 2 ] && [ "$1" = --dir ]; then
        dir=$2
    elif [ $# -ne 0 ]; then
        echo "usage: ci/demo.sh [--dir DIR]" >&2
        exit 2
    fi
    checkpoints=$dir/checkpoints
}

# Builds the programs and empties the folder of an earlier demo, but never any other folder.
prepare() {
    cargo build --release --bins -p tcasm -p tcasm-examples
    if [ -n "$(ls -A "$dir" 2>/dev/null)" ] && [ ! -e "$dir/.tcasm-demo" ]; then
        fail "$dir is not empty and is not from an earlier demo; choose another --dir"
    fi
    rm -rf "$dir"
    mkdir -p "$checkpoints"
    touch "$dir/.tcasm-demo"
    runtime=$(mktemp -d)
    export TCASM_RUNTIME_DIR=$runtime
    PATH=$(cd "$bin" && pwd):$PATH
}

# Chooses the number of steps that take this machine about 15 seconds.
choose_length() {
    local start=$EPOCHREALTIME tried=100 micros
    "$bin/gray_scott_plain" --size "$size" --steps "$tried" >/dev/null
    micros=$((${EPOCHREALTIME/[.,]/} - ${start/[.,]/}))
    steps=$((15000000 * tried / (micros + 1) / 200 * 200))
    steps=$((steps < 400 ? 400 : steps > 8000 ? 8000 : steps))
    every=$((steps / 100))
    plan=(--size "$size" --steps "$steps" --publish-every "$every")
}

# Starts the live view. It waits for the simulation, and stays while that dies and is continued.
start_view() {
    "$bin/tcasm" view gray_scott >"$dir/view.log" 2>&1 </dev/null &
    wait_until 20 "the live view does not start; see $dir/view.log" grep -q http:// "$dir/view.log"
    grep http:// "$dir/view.log"
}

start_simulation() {
    local log=$dir/$1
    shift
    say "gray_scott ${plan[*]} $*"
    "$bin/gray_scott" "${plan[@]}" "$@" >"$log" 2>&1 &
    simulation=$!
    wait_until 20 "the region does not appear; see $log" tcasm info gray_scott
}

start_checkpoints() {
    local versions=10 # one is published every $every steps
    say "tcasm checkpoint gray_scott --fast $checkpoints --every $versions"
    tcasm checkpoint gray_scott --fast "$checkpoints" --every "$versions" \
        >"$dir/$1.checkpoint.log" 2>&1 </dev/null &
    writer=$!
}

watch_statistics() {
    local _
    for _ in 1 2 3; do
        sleep 1
        say "$(progress "$1")"
        show tcasm stats gray_scott v
    done
}

kill_simulation() {
    bar_of=$1
    wait_until 90 "the simulation does not reach half of its steps" half_done_or_gone "$1"
    bar_of=
    gone "$simulation" && fail "the simulation ended early; see $dir/$1"
    say "$(progress "$1")"
    kill -KILL "$simulation"
    wait "$simulation" 2>/dev/null || true
    end_of_checkpoints first
}

half_done_or_gone() {
    gone "$simulation" ||
        { [ "$(step_of "$1")" -ge $((steps / 2)) ] && [ -n "$(newest_checkpoint)" ]; }
}

finish_simulation() {
    local status=0
    finish "$simulation" "$1" || status=$?
    [ "$status" -eq 0 ] || fail "the continued run ended with status $status; see $dir/$1"
    say "$(progress "$1")"
    end_of_checkpoints second
}

# finish PROCESS LOG: waits for a run, with a progress bar. Returns its exit status.
finish() {
    bar_of=$2
    wait_until 110 "the run of $2 does not end" gone "$1"
    bar_of=
    wait "$1"
}

# Waits for the writer of checkpoints, which ends when the simulation ends.
end_of_checkpoints() {
    wait_until 30 "tcasm checkpoint does not end with its simulation" gone "$writer"
    wait "$writer" 2>/dev/null || true
    tail -n 1 "$dir/$1.checkpoint.log"
}

# Compares the checksums of u and v that the runs print: they must be equal at each step.
compare_runs() {
    local run compared=0 count
    for run in first second; do
        count=$(join <(sums "$run.log") <(sums plain.log) |
            awk '$2 != $4 || $3 != $5 { print "differs at step " $1 > "/dev/stderr"; exit 1 }
                 END { print NR }') ||
            fail "the $run run differs from the undisturbed one"
        compared=$((compared + count))
    done
    [ "$(tail -n 1 <(sums second.log))" = "$(tail -n 1 <(sums plain.log))" ] &&
        [ "$(step_of second.log)" -eq "$steps" ] || fail "the final fields differ"
    say "the bits are the same at all $compared steps compared and at the end"
}

# Prints STEP CHECKSUM_U CHECKSUM_V for each line of a log, in the order that join needs.
sums() {
    awk '$1 == "step" { printf "%09d %s %s\n", $2, $(NF - 2), $NF }' "$dir/$1"
}

# Reads a checkpoint with h5py, if it is installed. Any program that reads HDF5 can do this.
read_checkpoint() {
    local python
    for python in target/venv/bin/python python3; do
        if "$python" -c 'import h5py, numpy' 2>/dev/null; then
            show "$python" ci/read-checkpoint.py "$1" "$dir/plain.log"
            return
        fi
    done
    say "(h5py is not installed; ci/python-env.sh installs it)"
}

list_files() {
    title "Files"
    du -h "$dir"/*.log "$checkpoints"/*
    say "open the checkpoints in ParaView; for more commands: tcasm --help"
}

newest_checkpoint() {
    find "$checkpoints" -name '*.vtkhdf' -printf '%T@ %p\n' | sort -n | tail -n 1 | cut -d ' ' -f 2-
}

step_of() {
    awk '$1 == "step" { step = $2 } END { print step + 0 }' "$dir/$1"
}

progress() {
    sed -n 's/  checksum.*//p' "$dir/$1" | tail -n 1
}

gone() {
    ! jobs -rp | grep -x "$1" >/dev/null
}

# wait_until SECONDS COMPLAINT COMMAND...: waits until COMMAND succeeds, or fails with COMPLAINT.
wait_until() {
    local deadline=$((SECONDS + $1)) complaint=$2
    shift 2
    until "$@" >/dev/null 2>&1; do
        [ "$SECONDS" -lt "$deadline" ] || fail "$complaint"
        bar
        sleep 0.1
    done
    end_bar
}

# Draws the progress of the run whose log is $bar_of, if this is a terminal.
bar() {
    [ -t 1 ] && [ -n "$bar_of" ] || return 0
    local step width=40 full
    step=$(step_of "$bar_of")
    full=$((step * width / steps))
    printf '\r  [%s%s] step %d of %d' \
        "$(printf '%*s' "$full" '' | tr ' ' '#')" \
        "$(printf '%*s' $((width - full)) '' | tr ' ' '.')" "$step" "$steps"
}

end_bar() {
    [ -t 1 ] && [ -n "$bar_of" ] || return 0
    printf '\r\033[K'
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
    printf 'demo: %s\n' "$1" >&2
    exit 1
}

clean_up() {
    local child
    for child in $(jobs -rp); do
        kill -KILL "$child" 2>/dev/null || true
        wait "$child" 2>/dev/null || true
    done
    rm -rf "$runtime"
}

main "$@"
