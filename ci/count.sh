#!/usr/bin/env bash
# Adds up the "test result" lines of a log of cargo test. Fails if a test failed or none ran.
set -euo pipefail
awk '
    /^test result:/ { passed += $4; failed += $6; ignored += $8 }
    END {
        printf "%d passed; %d failed; %d ignored\n", passed, failed, ignored
        exit failed > 0 || passed == 0
    }' "$1"
