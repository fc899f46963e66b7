"""What publish and reading cost in Python besides the work of the library itself.

Usage: costs.py [VERSIONS]      with the package installed

`publish` says how long the library took (`duration` of the receipt). The rest of the call is Python.
An observer takes the next version, gets an array of it and lets go; that is measured as a whole.
Prints medians, p99 and maximum in microseconds.
"""

import os
import sys
import tempfile
from time import perf_counter

import numpy as np


def show(name, times):
    median, p99, most = np.percentile(times, [50, 99, 100]) * 1e6
    print(f"{name:40} {median:8.1f} {p99:8.1f} {most:8.1f} us")


def main():
    versions = int(sys.argv[1]) if len(sys.argv) > 1 else 5000
    import tcasm

    published, read = [], []
    with tcasm.Producer("costs-python", capacity=1 << 20) as producer:
        u = producer.field("u", (64, 64))
        with tcasm.Observer("costs-python") as run:
            for step in range(1, versions + 1):
                u[0, 0] = step
                start = perf_counter()
                receipt = producer.publish(step=step)
                published.append(perf_counter() - start - receipt.duration)
                start = perf_counter()
                with run.next(timeout=10) as version:
                    array = version["u"]
                read.append(perf_counter() - start)
                assert array[0, 0] == step
                del array
    show("publish besides the library", published)
    show("next, one array, release", read)


with tempfile.TemporaryDirectory() as folder:
    os.environ.setdefault("TCASM_RUNTIME_DIR", folder)
    main()
