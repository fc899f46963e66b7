"""Opens a checkpoint with h5py and finds the checksums of its fields in the log of an undisturbed
run.

Usage: read-checkpoint.py FILE.vtkhdf LOG
"""

import sys

import h5py
import numpy as np


def checksum(array):
    """Returns the checksum that the simulation prints: sum of bits[i] * (2 i + 1) modulo 2^64."""
    bits = np.ascontiguousarray(array).view("u8").ravel()
    return int((bits * (2 * np.arange(bits.size, dtype="u8") + 1)).sum())


def newest(dataset):
    """Returns the newest step of a dataset, which may have a leading dimension of time."""
    return dataset[-1] if dataset.ndim == 4 else dataset[()]


def main(path, log):
    with h5py.File(path, "r") as file:
        data = file["VTKHDF"].get("PointData") or file["VTKHDF/CellData"]
        fields = {name: newest(data[name]) for name in ("u", "v")}
    for name, array in fields.items():
        print(f"{name}: shape {array.shape} {array.dtype}, {array.min():.6f} .. {array.max():.6f}")
    wanted = [f"{checksum(array):016x}" for array in fields.values()]
    for line in open(log, encoding="ascii"):
        if all(word in line.split() for word in wanted):
            print(f"the bits are those of the undisturbed run at step {line.split()[1]}")
            return 0
    print("the undisturbed run has no step with these fields", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
