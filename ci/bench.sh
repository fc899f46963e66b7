#!/usr/bin/env bash
# All benches, or those whose name contains the argument. A full run also compares TCASM with its rivals, which takes
# half an hour or more (with QUICK=1 smaller buffers, and some minutes; with MIB=512 larger ones, where there are 64 GiB:
# fifty observers that fall behind pin as many versions), and rewrites docs/performance.md and the figures in
# docs/figures.
set -euo pipefail
cd "$(dirname "$0")/.."
target=${CARGO_TARGET_DIR:-target}
size=(--mib "${MIB:-128}")
[ -z "${QUICK:-}" ] || size=(--quick)
[ $# -ne 0 ] || rm -rf "$target/criterion"
cargo bench -p tcasm-benches --benches -- "$@"
if [ $# -eq 0 ]; then
    # For the rows of ADIOS2; without it they are left out, and the comparison says so.
    ci/python-env.sh || true
    # A page of the live view is one of the things measured.
    ci/view.sh --install
    # `tcasm` and `statistics` run beside what is measured.
    cargo build --release -p tcasm -p tcasm-benches --bins
    cargo run --release -p tcasm-benches --bin bars | tee "$target/bars.md"
    cargo run --release -p tcasm-benches --bin checkpoints | tee "$target/checkpoints.md"
    cargo run --release -p tcasm-compare -- "${size[@]}" --json "$target/compare.json" --figures "$target/figures"
    cargo run --quiet --release -p tcasm-benches --bin report -- "$target/criterion" "$target/bars.md" \
        "$target/checkpoints.md" "$target/compare.json" \
        >"$target/performance.md"
    mkdir -p docs/figures
    mv "$target"/figures/*.svg "$target"/figures/*.png docs/figures/
    mv "$target/performance.md" docs/performance.md
    echo "docs/performance.md and docs/figures are new"
fi
