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
    # So few versions per second that the list of kept versions, which comes twice a second, has
    # the version that is shown.
    "$bin/gray_scott" --size 64 --steps 100000 --publish-every 400 >"$work/log" &
    simulation=$!
    "${tmux[@]}" new-session -d -x 120 -y 40 "$bin/tcasm" watch gray_scott
    until_step 1200
    # Select v, which has the pattern.
    "${tmux[@]}" send-keys j
    until_step 2200
    capture
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

# Writes a screen on which the header, the producer and the list of kept versions name the same
# version.
capture() {
    local header newest kept
    for _ in $(seq 600); do
        "${tmux[@]}" capture-pane -e -p >"$work/screen"
        sed 's/\x1b\[[0-9;:]*m//g' "$work/screen" >"$work/text"
        header=$(sed -n '1s/.* version \([0-9]*\).*/\1/p' "$work/text")
        newest=$(sed -n 's/.*newest  *version \([0-9]*\).*/\1/p' "$work/text")
        kept=$(sed -n 's/.* kept: .*\b\([0-9][0-9]*\) *$/\1/p' "$work/text")
        if [ -n "$header" ] && [ "$header" = "$newest" ] && [ "$header" = "$kept" ]; then
            return
        fi
        sleep 0.1
    done
    echo "watch-figure: the versions never agree: $header in the header, $newest newest, $kept kept" >&2
    exit 1
}

main
