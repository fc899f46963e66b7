#!/usr/bin/env bash
# Checks that the modules of each published package import each other in one direction only.
set -euo pipefail
cd "$(dirname "$0")/.."
python3 ci/cycles-test.py
python3 ci/cycles.py
