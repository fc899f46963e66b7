#!/usr/bin/env bash
# Measures how long a step of LAMMPS takes with TCASM and without, for 32000 atoms (4 N^3) that are
# published every 1, 10 and 100 steps while another process observes them
# (examples/lammps/overhead.c). Both run in turn in one process. Prints medians, 99th percentiles
# and maxima, with facts about the machine.
#   lammps-bench.sh [PAIRS [N]]     [300, 20]; a tenth of the pairs for 100 steps
set -euo pipefail
cd "$(dirname "$0")/.."
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
pairs=${1:-300} n=${2:-20}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM
export TCASM_RUNTIME_DIR=$work/run CARGO_TARGET_DIR=$target

main() {
    ci/setup.sh liblammps-dev >/dev/null
    mkdir -m 700 "$work/run"
    cargo build --quiet --locked --release -p tcasm-c
    # shellcheck disable=SC2046 # lists of flags
    cc -O2 -D_GNU_SOURCE -Ibindings/c/include $(pkg-config --cflags liblammps) \
        examples/lammps/{overhead,atoms}.c "$target/release/libtcasm_c.a" \
        $(pkg-config --libs liblammps) -lgcc_s -lutil -lrt -lpthread -lm -ldl -o "$work/overhead"
    printf 'variable n index %d\ninclude %s\n' "$n" "$PWD/examples/lammps/in.melt" >"$work/in"
    facts
    local every
    for every in 1 10 100; do
        # Nobody is interested in the first pairs, in which memory is touched for the first time.
        "$work/overhead" "$work/in" "$every" $((5 + (every == 100 ? pairs / 10 : pairs))) |
            tail -n +6 >"$work/times"
        table "$every" <"$work/times"
    done
}

facts() {
    echo "$((4 * n * n * n)) atoms; $(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -1)," \
        "$(nproc) processors, Linux $(uname -r), load $(cut -d' ' -f1-3 /proc/loadavg) at the start"
    printf '\n| published every | | median [ms] | p99 | max | median of the ratios |\n'
    printf '|---|---|---|---|---|---|\n'
}

# Prints the rows for pairs of times, and for the calls of publish.
table() {
    python3 -c '
import statistics, sys
every = int(sys.argv[1])
rows = [[float(word) for word in line.split()] for line in sys.stdin]
plain, published, publish, plain_cpu, published_cpu = zip(*rows)
def row(begin, name, seconds, steps, ratio=""):
    ms = sorted(1e3 * s / steps for s in seconds)
    p99 = ms[min(len(ms) - 1, int(0.99 * len(ms)))]
    print(f"| {begin} | {name} | {statistics.median(ms):.3f} | {p99:.3f} | {ms[-1]:.3f} | {ratio} |")
def ratio(without, with_):
    return f"{statistics.median(b / a for a, b in zip(without, with_)):.4f}"
row(f"{every} steps", "step without TCASM", plain, every)
row("", "step with", published, every, ratio(plain, published))
row("", "processor time of a step without", plain_cpu, every)
row("", "processor time of a step with", published_cpu, every, ratio(plain_cpu, published_cpu))
row("", "a call of publish", publish, 1)
' "$1"
}

main
