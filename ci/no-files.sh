#!/usr/bin/env bash
# Checks the command without HDF5 (without its feature `files`): warnings, what it depends on, what
# it says of commands that it does not have, and its demo. Builds with the debug profile.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
trap 'exit 130' INT TERM
tcasm=$folder/tcasm
# Users may type what they know from elsewhere.
missing=(
    "checkpoint heat --fast /tmp --every=1" "checkpoints --help" "export -h" "export"
    "restore --kept heat --out -" "verify -- /tmp"
)

main() {
    check_dependencies
    build
    # Moved, so that nobody takes it for the whole command.
    mv "${CARGO_TARGET_DIR:-target}/debug/tcasm" "$tcasm"
    check_missing
    check_demo
    echo "no-files: the command does without HDF5"
}

# Code that nothing uses without HDF5 gives a warning.
build() {
    local log=$folder/build.log
    # Nothing is measured, so this need not be optimised.
    CARGO_PROFILE_DEV_OPT_LEVEL=0 cargo build -p tcasm --no-default-features --bin tcasm 2>&1 |
        tee "$log"
    ! grep -q '^warning' "$log" || stop "the command without HDF5 has warnings"
}

check_dependencies() {
    local whole without
    whole=$(packages)
    without=$(packages --no-default-features)
    [[ $whole == *hdf5* ]] || stop "this check would not see HDF5"
    [[ $without != *hdf5* ]] || stop "without its feature files, tcasm depends on:
$(grep hdf5 <<<"$without")"
}

# packages [OPTION...]: prints the packages that tcasm links.
packages() {
    cargo tree --offline -e normal -p tcasm --prefix none "$@"
}

check_missing() {
    local version line arguments text status
    version=$("$tcasm" --version)
    [[ $version == *"without HDF5"* ]] || stop "tcasm --version prints '$version'"
    for line in "${missing[@]}"; do
        read -ra arguments <<<"$line"
        status=0
        text=$("$tcasm" "${arguments[@]}" 2>&1) || status=$?
        if [ "$status" -ne 2 ] || [[ $text != *"need HDF5"* ]]; then
            stop "'tcasm $line' ends with status $status and prints:
$text"
        fi
    done
}

# Runs a simulation and an observer.
check_demo() {
    local text
    text=$(TCASM_RUNTIME_DIR=$folder/run "$tcasm" demo) || stop "tcasm demo fails"
    [[ $text == *"300 versions were published"*"No checkpoint was written"* ]] ||
        stop "tcasm demo prints:
$text"
}

stop() {
    echo "no-files: $1" >&2
    exit 1
}

main "$@"
