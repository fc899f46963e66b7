"""Heat in a plate, in numpy arrays that are fields of a region. The edges are cold, and the middle
is hot. Each step is published: look at it with `tcasm view heat`.

    python heat.py [NAME [STEPS [SIZE]]]

With Numba, if it is installed, the loops run as machine code on all processors. The result has the
same bits.
"""

import sys

import numpy as np
import tcasm

try:
    from numba import njit, prange
except ImportError:
    njit = None


def relax(now, following):
    """Computes the next temperatures from those of now."""
    around = (now[:-2, 1:-1] + now[2:, 1:-1]) + (now[1:-1, :-2] + now[1:-1, 2:])
    np.multiply(around, 0.25, out=following[1:-1, 1:-1])


if njit is not None:

    @njit(parallel=True)
    def relax(now, following):  # noqa: F811 - the same, as loops
        for i in prange(1, now.shape[0] - 1):
            for j in range(1, now.shape[1] - 1):
                around = (now[i - 1, j] + now[i + 1, j]) + (now[i, j - 1] + now[i, j + 1])
                following[i, j] = around * 0.25


def main(name="heat", steps="10000", size="256"):
    n = int(size)
    with tcasm.Producer(name, capacity=2 * 8 * n * n + (1 << 20)) as region:
        region.field("t", (n, n), unit="K")
        following = region.buffer_like("t")  # another buffer, to compute the next step in
        for step in range(1, int(steps) + 1):
            relax(region["t"], following.array)
            following.array[n // 2, n // 2] = 100.0
            following = region.bind("t", following)  # returns the buffer that t was bound to
            # An observer that takes every version may be behind: it gets a second to catch up.
            region.publish(step=step, time=0.1 * step, timeout=1)


if __name__ == "__main__":
    main(*sys.argv[1:])
