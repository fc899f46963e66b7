#!/usr/bin/env bash
# Fetches the files of other projects that the page of tcasm view uses. view/vendor/files.sha256
# lists them with their hashes. They come from npm packages, which package.json and
# package-lock.json beside that list pin, also with hashes. npm's settings choose the registry. If
# all files are there, neither npm nor the network is needed.
#   vendor.sh             fetches the files
#   vendor.sh --check     fetches nothing; fails if the files are not those of the list
#   vendor.sh --update    fetches the files, and writes their hashes into the list
set -euo pipefail
cd "$(dirname "$0")/../view"
list=vendor/files.sha256
files=assets/vendor

main() {
    case "${1:-}" in
        "")
            if complete; then return; fi
            fetch
            hashes | cmp -s - "$list" || stop "the files in view/$files are not those of view/$list;
    if other versions were chosen on purpose, run 'ci/vendor.sh --update'"
            ;;
        --check)
            complete
            exit
            ;;
        --update)
            fetch
            hashes >"$list"
            ;;
        *) stop "usage: ci/vendor.sh [--check | --update]" ;;
    esac
    # build.rs compares this copy with the list.
    cp "$list" "$files"
    echo "vendor: fetched the files that view/$list lists"
}

# Returns true if the folder has the files of the list, with their hashes, and no others.
complete() {
    cmp -s "$list" "$files/files.sha256" && hashes | cmp -s - "$list"
}

hashes() {
    (cd "$files" && find . -type f ! -path ./files.sha256 -printf '%P\0' | LC_ALL=C sort -z |
        xargs -0r sha256sum)
}

# Installs the packages into a temporary folder, and copies the files of the list from there.
fetch() {
    command -v npm >/dev/null || stop "npm is not on the PATH: run 'make setup', or install npm"
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    cp vendor/package.json vendor/package-lock.json "$work"
    (cd "$work" && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error) ||
        stop "npm cannot install what view/vendor/package-lock.json pins; its message is above"
    rm -rf "$files"
    local name
    while read -r _ name; do
        install -D -m 644 "$work/node_modules/$name" "$files/$name"
    done <"$list"
}

stop() {
    echo "vendor: $1" >&2
    exit 1
}

main "$@"
