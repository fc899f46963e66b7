"""The fields that every producer publishes, and the text that every observer must print.

The values follow from a formula of the logical index, so this needs no TCASM and no numpy.
"""

import itertools
import math

EXTENTS = (2, 3, 2, 2, 1, 2, 3)
DTYPES = ("i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f32", "f64", "c32", "c64")
ATTRS = [
    "box floats -3.00 1.00 2.50",
    "cells int -42",
    "code text conformance \u00e9",
    "dt float 0.25",
]


def field(name, dtype="f64", shape=(), order="C", **more):
    return {"name": name, "dtype": dtype, "shape": tuple(shape), "order": order, **more}


def fields(step):
    """Returns the fields in the order in which they are added. Memory of the producer's own is
    adopted for the last two, of which `doomed` can get lost."""
    yield from (field(d, d, (3, 4), "CF"[i % 2]) for i, d in enumerate(DTYPES))
    yield from (field(f"c{r}", shape=EXTENTS[:r]) for r in range(8))
    yield from (field(f"f{r}", shape=EXTENTS[:r], order="F") for r in range(8))
    layers = {"ghosts": "1:2,0:1", "place": "cells"}
    yield field("ghosts", "f64", (4, 5), "F", **layers, unit="K", attrs=ATTRS)
    yield field("vector", "f32", (3, 2, 3), "F", components=3, ghosts="0:0,0:0")
    yield field("variable", "i32", (2 + step,), capacity=8)
    yield field("handed", "f64", (6,))
    yield field("meshed", "f64", (3, 4), mesh="grid", quantity="heat")
    yield field("adopted", "f64", (40, 30), unit="Pa")
    yield field("doomed", "f32", (50, 60), "F")


def value(dtype, n, seed, step):
    """Returns the text of the element whose index is the n-th in row-major order."""
    b = (n * 7 + seed * 13 + step * 101) % 251
    if dtype[0] in "iu":
        size = int(dtype[1:]) // 8
        return str(int.from_bytes(bytes([b]) * size, "little", signed=dtype[0] == "i"))
    real = f"{(b - 125) * 0.25:.2f}"
    return f"{real}:{b * 0.5:.2f}" if dtype[0] == "c" else real


def described(f, seed, step):
    points = f["shape"][:-1] if f.get("components") else f["shape"]
    ghosts = f.get("ghosts", ",".join("0:0" for _ in points))
    yield (
        f"field {f['name']} {f['dtype']} shape={','.join(map(str, f['shape']))} "
        f"order={f['order']} ghosts={ghosts} "
        f"components={f.get('components', 1)} place={f.get('place', 'points')} "
        f"capacity={f.get('capacity', 0)} unit={f.get('unit', '')} mesh={f.get('mesh', '')} "
        f"quantity={f.get('quantity', f['name'])}"
    )
    yield from (f"attr {a}" for a in f.get("attrs", []))
    count = math.prod(f["shape"])
    yield " ".join(["values", *(value(f["dtype"], n, seed, step) for n in range(count))])


def meshes(step):
    """Returns the lines of the meshes."""
    none = "block= level=0 refinement=0,0,0 offset=0,0,0"
    place = f"block=amr level=1 refinement=2,2,1 offset={step},-2,0"
    zeros = "0.00,0.00,0.00"
    yield (
        "mesh grid uniform geometry= cells=0 points=4,3,1 origin=0.00,1.00,0.00 "
        f"spacing=0.50,0.25,1.00 {none}"
    )
    yield (
        "mesh fine uniform geometry= cells=0 points=5,3,1 origin=1.00,1.00,0.00 "
        f"spacing=0.25,0.50,1.00 {place}"
    )
    yield from (f"attr {a}" for a in ATTRS)
    yield (
        "mesh axes rectilinear geometry=c1,f1 cells=0 points=0,0,0 "
        f"origin={zeros} spacing={zeros} {none}"
    )


def version(number, step, doomed="there"):
    """Returns the lines that an observer prints for a version. The field `doomed` is there, lost or
    released."""
    lines = [f"version {number} step {step} time {step * 0.5:.2f}"]
    lines += [f"attr {a}" for a in ATTRS]
    lines += meshes(step)
    listed = list(fields(step))
    if doomed != "there":
        listed.pop()
    lines += itertools.chain(*(described(f, i, step) for i, f in enumerate(listed)))
    return lines + (["field doomed LOST"] if doomed == "lost" else [])
