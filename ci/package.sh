#!/usr/bin/env bash
# Checks that the published packages could be published: what their manifests say, the files that
# they contain, and their sizes. Compiles nothing and uses no network.
#   package.sh [--list]      also lists the files of each package
set -euo pipefail
cd "$(dirname "$0")/.."
target=${CARGO_TARGET_DIR:-target}/package-check
most=$((10 * 1024 * 1024)) # the limit of the public registry

main() {
    local packages package options=()
    # A package on each line: NAME VERSION. Fails if a manifest lacks something.
    packages=$(cargo metadata --offline --no-deps --format-version 1 | python3 ci/manifests.py)
    while read -r package _; do
        options+=(-p "$package")
    done <<<"$packages"
    rm -rf "$target"
    cargo package --quiet --offline --no-verify --no-metadata --allow-dirty \
        --target-dir "$target" "${options[@]}"
    while read -r package version; do
        check "$package-$version" "${1:-}"
    done <<<"$packages"
}

# check NAME-VERSION [--list]
check() {
    local crate=$target/package/$1.crate files file bytes
    files=$(tar -tzf "$crate")
    for file in README.md LICENSE-MIT LICENSE-APACHE; do
        [ "$(tar -xzOf "$crate" "$1/$file" 2>/dev/null | wc -c)" -gt 100 ] || stop "$1 lacks $file"
    done
    bytes=$(stat -c %s "$crate")
    [ "$bytes" -le "$most" ] || stop "$1 has $bytes bytes, more than $most"
    printf '%-24s %4d files  %5d KiB\n' "$1" "$(wc -l <<<"$files")" $((bytes / 1024))
    [ "$2" != --list ] || sed 's/^/    /' <<<"$files"
    if [[ $1 == tcasm-view-[0-9]* ]]; then check_page "$crate"; fi
}

# Checks that the package contains the files of other projects that the page uses, and their
# licences, which are among them. Git does not have these files.
check_page() {
    local folder=$target/page
    mkdir -p "$folder"
    tar -xzf "$1" -C "$folder" --strip-components=1
    (cd "$folder/assets/vendor" && cmp ../../vendor/files.sha256 files.sha256 &&
        sha256sum --check --quiet files.sha256) ||
        stop "tcasm-view lacks files that view/vendor/files.sha256 lists: run 'make setup'"
}

stop() {
    echo "package: $1" >&2
    exit 1
}

main "$@"
