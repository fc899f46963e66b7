#!/usr/bin/env bash
# Draws docs/figures/watch.png: a terminal in which `tcasm watch` shows Gray-Scott. Needs tmux,
# python3 and Chromium.
set -euo pipefail
cd "$(dirname "$0")/.."
bin=${CARGO_TARGET_DIR:-target}/release
work=$(mktemp -d)
export TCASM_RUNTIME_DIR=$work COLORTERM=truecolor
tmux=(tmux -u -f /dev/null -L "tcasm-figure-$$")

cleanup() {
    "${tmux[@]}" kill-server 2>/dev/null || true
    [ -z "${simulation:-}" ] || kill "$simulation" 2>/dev/null || true
    rm -rf "$work"
}
trap cleanup EXIT

main() {
    cargo build --release -p tcasm -p tcasm-examples --bins
    "$bin/gray_scott" --size 64 --steps 100000 --publish-every 10 >"$work/log" &
    simulation=$!
    "${tmux[@]}" new-session -d -x 120 -y 40 "$bin/tcasm" watch gray_scott
    until_step 1200
    # Select v, which has the pattern.
    "${tmux[@]}" send-keys j
    until_step 2200
    "${tmux[@]}" capture-pane -e -p >"$work/screen"
    python3 ci/terminal-to-html.py <"$work/screen" >"$work/screen.html"
    chromium --headless --no-sandbox --disable-gpu --hide-scrollbars \
        --force-device-scale-factor=1 --window-size=1080,720 \
        --screenshot=docs/figures/watch.png "file://$work/screen.html" 2>"$work/chromium.log"
}

until_step() {
    local step=0
    until [ "$step" -ge "$1" ]; do
        sleep 1
        step=$("${tmux[@]}" capture-pane -p | sed -n 's/.* step \([0-9]*\) .*/\1/p' | head -1)
        step=${step:-0}
    done
}

main
