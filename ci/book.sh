#!/usr/bin/env bash
# Checks the links of all Markdown pages, and builds the book of them in target/book.
#
# The pages lie where GitHub shows them: at the top, in docs/, beside the code. mdBook takes pages
# from one folder, and copies everything else in it to the book, which at the top would be target/
# as well. So the pages are copied to target/book-src, with the files that they link to (figures,
# sources, licences), all at their own paths. There every relative link holds as it is written. Only
# the links of docs/SUMMARY.md, the table of contents, change: it moves to the top.
#
# Uses an mdBook 0.5 on the PATH. If there is none, installs one in target/tools, which takes
# minutes, once. Without the network the book is not built, but links are checked all the same.
set -euo pipefail
cd "$(dirname "$0")/.."

version=0.5.4
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
source=$target/book-src
PATH=$target/tools/bin:$PATH

main() {
    python3 ci/links-test.py
    python3 ci/links.py
    if ! have_mdbook && ! install_mdbook; then
        echo "ci/book.sh: the book: NOT RUN: mdBook $version cannot be installed (see above)"
        exit 0
    fi
    copy_pages
    mdbook build "$source"
    python3 ci/links.py --html "$target/book"
    echo "book: $target/book/index.html"
}

have_mdbook() {
    [[ $(mdbook --version 2>/dev/null) == "mdbook v0.5."* ]]
}

install_mdbook() {
    echo "book: installing mdBook $version"
    SECONDS=0
    cargo install mdbook --version "=$version" --locked --root "$target/tools" \
        --no-default-features --features search --debug || return
    echo "book: installed mdBook in $SECONDS s"
}

copy_pages() {
    rm -rf "$source"
    mkdir -p "$source/src"
    cp docs/book.toml "$source"
    python3 ci/links.py --files | tar -cf - -T - | tar -xf - -C "$source/src"
    # Links relative to docs/ become links relative to the top.
    sed -E 's|\]\(|](docs/|; s|\]\(docs/\.\./|](|' docs/SUMMARY.md >"$source/src/SUMMARY.md"
}

main
