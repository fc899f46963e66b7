"""Prints step, number of atoms and temperature of the versions of a running driver, in units of
Lennard-Jones with masses of 1:

    python temperature.py NAME
"""

import sys

import numpy as np
import tcasm


def main(name):
    with tcasm.Observer(name, timeout=60) as run:
        for version in run:
            v = version["v"]
            kinetic = 0.5 * np.square(v).sum()
            print(version.step, len(v), 2 * kinetic / (3 * max(len(v) - 1, 1)), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
