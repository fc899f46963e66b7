"""Heat in a plate, in ordinary memory. The edges are cold, and the middle is heated."""

import numpy as np

N, STEPS = 128, 1000


def step(now, after):
    """Computes the next temperatures from those of now."""
    middle = now[1:-1, 1:-1]
    around = now[:-2, 1:-1] + now[2:, 1:-1] + now[1:-1, :-2] + now[1:-1, 2:]
    after[1:-1, 1:-1] = middle + 0.2 * (around - 4.0 * middle)
    after[N // 2, N // 2] = 100.0


def main():
    now, after = np.zeros((N, N)), np.zeros((N, N))

    for _ in range(1, STEPS + 1):
        step(now, after)
        now, after = after, now
    print(f"{now[N // 2, N // 2 + 10]:.17g}")


main()
