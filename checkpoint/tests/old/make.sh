#!/usr/bin/env bash
# Makes the files of this folder. README.md says with which programs.
#   make.sh TCASM PRODUCER FOLDER    FOLDER must not have such files yet
set -euo pipefail

[ $# -eq 3 ] || { echo "usage: make.sh TCASM PRODUCER FOLDER" >&2; exit 2; }
tcasm=$(realpath "$1")
producer=$(realpath "$2")
mkdir -p "$3"
out=$(realpath "$3")
work=$(mktemp -d)
children=()

cleanup() {
    local child
    for child in "${children[@]}"; do
        kill "$child" 2>/dev/null || true
    done
    rm -rf "$work"
}
trap cleanup EXIT

main() {
    local follower writer simulation
    export TCASM_RUNTIME_DIR=$work/run
    mkdir -m 700 "$TCASM_RUNTIME_DIR"
    [ ! -e "$out/series.steps" ] || stop "$out has such files already"
    mkfifo "$work/lines"
    "$producer" <"$work/lines" >"$work/published" &
    simulation=$!
    children+=("$simulation")
    exec 3>"$work/lines"
    until_there grep -qx 1 "$work/published"

    "$tcasm" export plain "$out/series.vtkhdf" --follow >"$work/followed" 3>&- &
    follower=$!
    children+=("$follower")
    until_there test -e "$out/series.steps/00000001.h5"
    next 2
    # Only version 2 is due. SIGTERM asks for version 3.
    "$tcasm" checkpoint plain --fast "$out" --every 2 --increments 9 \
        >"$work/written" 3>&- &
    writer=$!
    children+=("$writer")
    until_there grep -q plain_00000002.vtkhdf "$work/written"
    next 3
    kill -TERM "$writer"
    wait "$writer" || stop "tcasm checkpoint failed"
    "$tcasm" export plain "$out/plain.h5"

    exec 3>&- # the producer ends
    wait "$simulation" || stop "the producer failed"
    wait "$follower" || stop "tcasm export --follow failed"
    children=()
    rm -f "$out"/.*.tcasm-lock
    expect plain.h5 plain.manifest plain.vtkhdf.series plain_00000002.vtkhdf \
        plain_00000003.increment.h5 series.vtkhdf series.steps/0000000{1,2,3}.h5
}

# Publishes step $1, and waits until the series has it.
next() {
    echo >&3
    until_there test -e "$out/series.steps/0000000$1.h5"
}

# Waits until a command succeeds, for at most a minute.
until_there() {
    local i
    for i in $(seq 600); do
        ! "$@" || return 0
        sleep 0.1
    done
    stop "never true: $*"
}

expect() {
    local file
    for file in "$@"; do
        [ -s "$out/$file" ] || stop "$file is missing"
        chmod 644 "$out/$file"
    done
    (cd "$out" && ls -l "$@")
}

stop() {
    echo "make: $1" >&2
    exit 1
}

main
