#!/usr/bin/env bash
# Add up the "test result" lines of a log of cargo test; fail when no test ran.
set -euo pipefail
awk '
    /^test result:/ { passed += $4; failed += $6; ignored += $8 }
    END {
        printf "%d passed; %d failed; %d ignored\n", passed, failed, ignored
        exit failed > 0 || passed == 0
    }' "$1"
