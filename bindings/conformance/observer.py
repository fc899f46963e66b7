"""The observer of the conformance suite in Python. README.md says what it does."""

import sys

import numpy as np
import tcasm

KINDS = {int: "int", float: "float", str: "text", list: "floats"}


def print_attrs(attrs):
    for name, value in sorted(attrs.items()):
        kind = KINDS[type(value)]
        if kind.startswith("float"):
            value = " ".join(f"{v:.2f}" for v in np.atleast_1d(value))
        print("attr", name, kind, value)


def text(value):
    if np.iscomplexobj(value):
        return f"{value.real:.2f}:{value.imag:.2f}"
    return str(int(value)) if np.issubdtype(value.dtype, np.integer) else f"{value:.2f}"


def print_field(version, name):
    f, array = version.field(name), version[name]
    # A complex of two singles is "c32" here, and complex64 in numpy.
    kind, size = f.dtype.kind, f.dtype.itemsize * (4 if f.dtype.kind == "c" else 8)
    shape = ",".join(map(str, array.shape))
    ghosts = ",".join(f"{a}:{b}" for a, b in f.ghosts)
    print(
        f"field {name} {kind}{size} shape={shape} order={f.order} ghosts={ghosts} "
        f"components={f.components} place={ {'point': 'points', 'cell': 'cells'}[f.centring]} "
        f"capacity={f.capacity or 0} unit={f.unit} mesh={f.mesh or ''} quantity={f.quantity}"
    )
    print_attrs(f.attrs)
    print(" ".join(["values", *(text(array[i]) for i in np.ndindex(array.shape))]))


def print_mesh(mesh):
    def numbers(values, form="d"):
        return ",".join(format(v, form) for v in values or (0, 0, 0))

    none = {"of": "", "level": 0, "refinement": (0, 0, 0), "offset": (0, 0, 0)}
    block = mesh.block or none
    print(
        f"mesh {mesh.name} {mesh.kind} geometry={','.join(mesh.geometry)} "
        f"cells={mesh.cell_type or 0} points={numbers(mesh.points)} "
        f"origin={numbers(mesh.origin, '.2f')} spacing={numbers(mesh.spacing, '.2f')} "
        f"block={block['of']} level={block['level']} "
        f"refinement={numbers(block['refinement'])} offset={numbers(block['offset'])}"
    )
    print_attrs(mesh.attrs)


def print_version(version):
    print(f"version {version.number} step {version.step} time {version.time:.2f}")
    print_attrs(version.attrs)
    for mesh in version.meshes.values():
        print_mesh(mesh)
    for name in version.keys():
        try:
            print_field(version, name)
        except tcasm.FieldLost as lost:
            print("field", name, lost.status.name)


def main():
    held = []
    with tcasm.Observer(sys.argv[1], timeout=10) as run:
        print("ready\n.", flush=True)
        for line in sys.stdin:
            status = run.status
            try:
                if line in ("next\n", "latest\n"):
                    held.append(run.next(timeout=5) if line == "next\n" else run.latest())
                    print_version(held[-1])
                    status = tcasm.Status.OK
            except tcasm.Error as error:
                status = error.status
            if line == "every\n":
                run.every_version()
                status = tcasm.Status.OK
            if line == "again\n":
                print_version(held[0])
            if line == "release\n":
                held.clear()
            print(f"{status.name}\n.", flush=True)


main()
