"""Heat in a plate, in a region. The edges are cold, and the middle is heated. Each step is
published: look at it with `tcasm view heat`."""

import tcasm

N, STEPS = 128, 1000


def step(now, after):
    """Computes the next temperatures from those of now."""
    middle = now[1:-1, 1:-1]
    around = now[:-2, 1:-1] + now[2:, 1:-1] + now[1:-1, :-2] + now[1:-1, 2:]
    after[1:-1, 1:-1] = middle + 0.2 * (around - 4.0 * middle)
    after[N // 2, N // 2] = 100.0


def main():
    with tcasm.Producer("heat", capacity=1 << 20) as heat:
        heat.field("t", (N, N))
        after = heat.buffer_like("t")

        for n in range(1, STEPS + 1):
            step(heat["t"], after.array)
            after = heat.bind("t", after)
            heat.publish(step=n, time=0.1 * n)
        print(f"{heat['t'][N // 2, N // 2 + 10]:.17g}")


main()
