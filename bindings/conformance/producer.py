"""The producer of the conformance suite in Python. README.md says what it does."""

import ctypes
import mmap
import sys

import numpy as np
import tcasm

DTYPES = {
    "i8": "int8", "i16": "int16", "i32": "int32", "i64": "int64", "u8": "uint8", "u16": "uint16",
    "u32": "uint32", "u64": "uint64", "f32": "float32", "f64": "float64", "c32": "complex64",
    "c64": "complex128",
}  # fmt: skip
ATTRS = {"cells": -42, "dt": 0.25, "code": "conformance \u00e9", "box": [-3.0, 1.0, 2.5]}
EXTENTS = (2, 3, 2, 2, 1, 2, 3)

libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t] + [ctypes.c_int] * 3 + [ctypes.c_long]
libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]


def create(region):
    """Returns the region, and its fields with their names."""
    p = tcasm.Producer(region, capacity=16 << 20, versions=4, attrs=ATTRS)
    fields = {}
    for i, (name, dtype) in enumerate(DTYPES.items()):
        fields[name] = p.field(name, (3, 4), dtype, order="CF"[i % 2])
    for order in "CF":
        for rank in range(8):
            name = f"{order.lower()}{rank}"
            fields[name] = p.field(name, EXTENTS[:rank], order=order)
    fields["ghosts"] = p.field(
        "ghosts", (4, 5), order="F", ghosts=[(1, 2), (0, 1)], unit="K", centring="cell", attrs=ATTRS
    )
    fields["vector"] = p.field("vector", (3, 2, 3), "float32", order="F", vector=True)
    fields["variable"] = p.field("variable", 8, "int32", variable=True)
    fields["handed"] = p.field("handed", 6, handed_over=True)
    p.mesh("grid", "uniform", points=(4, 3, 1), origin=(0, 1, 0), spacing=(0.5, 0.25, 1))
    place = {"of": "amr", "level": 1, "refinement": (2, 2, 1), "offset": (0, 0, 0)}
    p.mesh(
        "fine", "uniform", points=(5, 3, 1), origin=(1, 1, 0), spacing=(0.25, 0.5, 1),
        block=place, attrs=ATTRS,
    )  # fmt: skip
    p.mesh("axes", "rectilinear", ["c1", "f1"])
    fields["meshed"] = p.field("meshed", (3, 4), on="grid", quantity="heat")
    adopt(p, fields)
    return p, fields


def adopt(p, fields):
    fields["adopted"] = np.zeros((40, 30))
    p.adopt("adopted", fields["adopted"], unit="Pa")
    # Nothing else is mapped near this address.
    access, flags = mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
    address = libc.mmap(0x300000000000, 50 * 60 * 4, access, flags, -1, 0)
    memory = (ctypes.c_float * (50 * 60)).from_address(address)
    fields["doomed"] = np.frombuffer(memory, "float32").reshape((50, 60), order="F")
    p.adopt("doomed", fields["doomed"])


def value(dtype, b):
    if dtype.kind in "iu":
        return np.frombuffer(bytes([b]) * dtype.itemsize, dtype)[0]
    return (b - 125) * 0.25 + (b * 0.5j if dtype.kind == "c" else 0)


def publish(p, fields, step):
    p.set_len("variable", 2 + step)
    p.set_block("fine", level=1, refinement=(2, 2, 1), offset=(step, -2, 0))
    fields["handed"] = p.rewrite("handed")
    for seed, array in enumerate(fields.values()):
        for n, index in enumerate(np.ndindex(array.shape)):
            array[index] = value(array.dtype, (n * 7 + seed * 13 + step * 101) % 251)
    receipt = p.publish(step=step, time=step * 0.5)
    for name in p.lost:
        print("lost", name)
    return "published" if receipt else "skipped"


def unmap(fields):
    doomed = fields.pop("doomed")
    return "still mapped" if libc.munmap(doomed.ctypes.data, doomed.nbytes) else "unmapped"


def main():
    p, fields = create(sys.argv[1])
    print("ready\n.", flush=True)
    step = 0
    for line in sys.stdin:
        if line == "publish\n":
            step += 1
            print(publish(p, fields, step))
        elif line == "unmap\n":
            print(unmap(fields))
        else:
            p.release("doomed")
            print("dropped")
        print(".", flush=True)
    p.close()


main()
