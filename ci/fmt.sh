#!/usr/bin/env bash
# Checks that the code is formatted, and that no line is longer than 100 columns. (rustfmt leaves long
# comments, string literals and the arguments of macros as they are.) Of the live view, also checks
# JavaScript and Markdown. A row of a table in Markdown must be one line, however long.
set -euo pipefail
cd "$(dirname "$0")/.."
cargo fmt --all --check

long=$(git ls-files -z '*.rs' 'view/*.js' 'view/*.md' |
    xargs -0 awk 'length($0) > 100 && !(FILENAME ~ /\.md$/ && /^\|/) { print FILENAME ":" FNR }')
if [ -n "$long" ]; then
    printf 'These lines are longer than 100 columns:\n%s\n' "$long" >&2
    exit 1
fi
