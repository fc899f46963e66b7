"""The smallest observer: prints every version that it sees, until the end of the stream."""

import tcasm

with tcasm.Observer("hello") as run:
    for version in run:
        print(f"step {version.step}: {version['heat']}", flush=True)
