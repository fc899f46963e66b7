#!/usr/bin/env bash
# Runs one stage of `make test` and records how long it takes.
#   stage.sh --first         forgets earlier stages
#   stage.sh NAME COMMAND    runs COMMAND
#   stage.sh --summary       prints the time of each stage, then the totals of the tests
set -euo pipefail
cd "$(dirname "$0")/.."
notes=${CARGO_TARGET_DIR:-target}/ci
mkdir -p "$notes"

case $1 in
--first)
    rm -f "$notes"/*
    ;;
--summary)
    printf '\n== time\n'
    awk '{ printf "%6d s  %s\n", $1, $2; all += $1 } END { printf "%6d s  in total\n", all }' \
        "$notes/stages"
    printf '\n== tests\n'
    ci/count.sh "$notes/test.log"
    ;;
*)
    name=$1
    shift
    printf '\n== %s\n' "$name"
    SECONDS=0
    "$@" || { status=$?; echo "== $name failed after $SECONDS s"; exit "$status"; }
    echo "$SECONDS $name" >>"$notes/stages"
    ;;
esac
