# To be sourced. Compares the checksums of u and v that runs of gray_scott_mpi print.
# shellcheck shell=bash

# compare_checksums LOG OTHER: prints the number of steps that both logs have. Fails if it is 0, or if
# the checksums of a step differ.
compare_checksums() {
    join <(sums "$1") <(sums "$2") | awk '
        $2 != $4 || $3 != $5 { print "differs at step " $1 > "/dev/stderr"; differs = 1; exit }
        END { print NR; exit differs || NR == 0 }'
}

# last_checksum LOG: prints the step and the checksums of the last line.
last_checksum() {
    sums "$1" | tail -n 1
}

# Prints STEP CHECKSUM_U CHECKSUM_V for each line of a log, in the order that join needs.
sums() {
    awk '$1 == "step" { printf "%09d %s %s\n", $2, $(NF - 2), $NF }' "$1"
}
