#!/usr/bin/env bash
# Runs all benches, or those whose names contain the argument.
#
# A full run also compares TCASM with other methods, which takes half an hour or more, and with
# itself without each adaptive mechanism (ci/ablation.sh, a quarter of an hour). It rewrites
# docs/performance.md and the figures in docs/figures. If root runs it, the goals and a part of the
# comparison are also measured as an ordinary user. With QUICK=1 the buffers are smaller and it
# takes some minutes. With MIB=512 they are larger, which needs 64 GiB: fifty observers that fall
# behind pin as many versions.
set -euo pipefail
cd "$(dirname "$0")/.."
target=${CARGO_TARGET_DIR:-target}
size=(--mib "${MIB:-128}")
[ -z "${QUICK:-}" ] || size=(--quick)
[ $# -ne 0 ] || rm -rf "$target/criterion"
cargo bench -p tcasm-benches --benches -- "$@"
if [ $# -eq 0 ]; then
    # ADIOS2 is one of the methods. Without it, its rows are left out, and the comparison says so.
    ci/python-env.sh || true
    # A page of the live view is one of the benches.
    ci/view.sh --install
    # `tcasm` and `statistics` run during the measurements.
    cargo build --release -p tcasm -p tcasm-benches --bins
    cargo run --release -p tcasm-benches --bin bars | tee "$target/bars.md"
    cargo run --release -p tcasm-benches --bin checkpoints | tee "$target/checkpoints.md"
    # Status 3: some cases failed and have no rows. Readers of ADIOS2 crash at times.
    cargo run --release -p tcasm-compare -- "${size[@]}" \
        --json "$target/compare.json" --figures "$target/figures" || [ $? -eq 3 ]
    # Root may do more than the users of a cluster, so some rows are measured as such a user too.
    ordinary=()
    if [ "$(id -u)" -eq 0 ]; then
        cargo run --release -p tcasm-compare -- "${size[@]}" --user ordinary --only tcasm,copy \
            --json "$target/compare-ordinary.json" || [ $? -eq 3 ]
        ordinary=("$target/compare-ordinary.json")
    fi
    ci/ablation.sh
    cargo run --quiet --release -p tcasm-benches --bin report -- \
        "$target/criterion" "$target/bars.md" "$target/checkpoints.md" "$target/compare.json" \
        "$target/ablation.md" "${ordinary[@]}" >"$target/performance.md"
    mkdir -p docs/figures
    mv "$target"/figures/*.svg "$target"/figures/*.png docs/figures/
    mv "$target/performance.md" docs/performance.md
    echo "docs/performance.md and docs/figures are rewritten"
fi
