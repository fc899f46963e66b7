#!/usr/bin/env bash
# Builds the container of Containerfile, and runs the demo in it: as the engine does by default, and
# with a profile that allows userfaultfd. Prints which tracker is used. This takes minutes, and
# needs podman or docker and the network, so it is not part of `make test`.
#   container.sh [PROFILE]     the engine's default seccomp profile [Podman's, if it is installed]
set -euo pipefail
cd "$(dirname "$0")/.."
profile=${1:-/usr/share/containers/seccomp.json}

main() {
    local engine allowed
    engine=$(engine) || {
        echo "ci/container.sh: NOT RUN: neither podman nor docker can run containers here"
        exit 0
    }
    "$engine" build --tag tcasm --file Containerfile .
    try "$engine"
    if [ ! -e "$profile" ]; then
        echo "ci/container.sh: with userfaultfd: NOT RUN: there is no $profile"
        exit 0
    fi
    allowed=$(mktemp)
    # shellcheck disable=SC2064 # the name must be known when the script ends
    trap "rm -f '$allowed'" EXIT
    python3 ci/seccomp.py "$profile" >"$allowed"
    try "$engine" --security-opt "seccomp=$allowed"
}

engine() {
    local engine
    for engine in podman docker; do
        if "$engine" info >/dev/null 2>&1; then
            echo "$engine"
            return
        fi
    done
    return 1
}

# try ENGINE [OPTION...]: runs the demo, and prints what tracks writes.
try() {
    local engine=$1
    shift
    printf '\n== %s run %s\n' "$engine" "$*"
    "$engine" run --rm "$@" tcasm doctor | sed -n 1p
    "$engine" run --rm "$@" tcasm demo
}

main "$@"
