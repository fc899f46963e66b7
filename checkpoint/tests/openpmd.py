"""Reads openPMD checkpoints with openPMD-api."""

import re

import openpmd_api as io

from fields import interior, same

# The factors to SI and the powers of length, mass, time, current, temperature, amount of substance
# and luminous intensity.
SI = {
    "": (1.0, [0.0] * 7),
    "furlong": (1.0, [0.0] * 7),  # not known
    "K": (1.0, [0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0]),
    "bar": (1e5, [-1.0, 1.0, -2.0, 0.0, 0.0, 0.0, 0.0]),
    "nm": (1e-9, [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]),
    "nm/ps": (1e3, [1.0, 0.0, -1.0, 0.0, 0.0, 0.0, 0.0]),
    "u": (1.66053906892e-27, [0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0]),
}


def record_of(field):
    return field["name"].replace("-", "_")


def is_mesh(field):
    return field["kind"] == "array" and field["dtype"] not in ("c32", "c64")


def components_of(field):
    count = field["components"]
    if count == 1:
        return [io.Mesh_Record_Component.SCALAR]
    return list("xyz"[:count]) if count in (2, 3) else [str(i) for i in range(count)]


def check(directory, case):
    step = case["stamp"]["step"]
    pattern = re.sub(r"_\d{8}\.h5$", "_%08T.h5", case["file"])
    series = io.Series(str(directory / pattern), io.Access.read_only)
    encoding = "fileBased" if "%" in pattern else "groupBased"
    assert series.get_attribute("iterationEncoding") == encoding, pattern
    if encoding == "fileBased":
        assert series.get_attribute("iterationFormat") == pattern
    assert series.openPMD == "1.1.0" and series.openPMD_extension == 0
    iteration = series.snapshots()[step]
    assert iteration.time == case["stamp"]["time"]
    expected = {record_of(f): f for f in case["fields"] if is_mesh(f)}
    assert sorted(iteration.meshes) == sorted(expected), (case["file"], list(iteration.meshes))
    for name, field in expected.items():
        what = f"openPMD: {name} in {case['file']}"
        check_mesh(what, series, iteration.meshes[name], field, interior(directory, field))
    series.close()


def check_mesh(what, series, mesh, field, values, given=None):
    """Checks a mesh record. `given` is its place, if the field is on a named mesh."""
    dims = max(1, len(field["shape"]))
    given = given or field["mesh"] or {"spacing": [1.0] * 3, "origin": [0.0] * 3}
    geometry = given.get("geometry", "cartesian")
    factor, dimension = SI[field["unit"]]
    pad = [0.0] * max(0, dims - 3)
    labels = ["x", "y", "z"] + [f"axis{i}" for i in range(3, dims)]
    assert mesh.axis_labels == labels[:dims][::-1], (what, mesh.axis_labels)
    assert mesh.data_order == "C" and mesh.get_attribute("geometry") == geometry, what
    assert (mesh.geometry == io.Geometry.cartesian) == (geometry == "cartesian"), what
    assert mesh.grid_spacing == (given["spacing"] + [1.0 for _ in pad])[:dims][::-1], what
    assert mesh.grid_global_offset == (given["origin"] + pad)[:dims][::-1], what
    assert mesh.grid_unit_SI == 1.0 and list(mesh.unit_dimension) == dimension, what
    assert mesh.get_attribute("unit") == field["unit"], what
    names = components_of(field)
    assert sorted(mesh) == sorted(names), (what, list(mesh))
    position = {"point": 0.0, "cell": 0.5, "none": 0.0}[field["centering"]]
    for i, name in enumerate(names):
        component = mesh[name]
        assert component.position == [position] * dims and component.unit_SI == factor, what
        part = values[..., i]
        part = part.reshape(part.shape or (1,))
        assert list(component.shape) == list(part.shape), (what, component.shape)
        if part.size:
            chunk = component.load_chunk()
            series.flush()
            same(f"{what}, {name}", chunk, part, field.get("relative_error"))


def check_stored(file, step, field, dataset, ghosts):
    """Checks that a field is stored only once if its bytes are what openPMD needs."""
    record = file[f"data/{step}/meshes"].get(record_of(field))
    assert (record is not None) == is_mesh(field), field["name"]
    if record is not None:
        empty = [] in field["attrs"].values() or not field["shape"]
        once = field["components"] == 1 and not ghosts and not empty
        assert (record == dataset) == once, f"{field['name']}: stored once"


def check_series(directory, cases):
    """Checks that all files of a run are one series."""
    steps = sorted(c["stamp"]["step"] for c in cases if re.match(r"run_.*\.h5$", c["file"]))
    if steps:
        series = io.Series(str(directory / "run_%08T.h5"), io.Access.read_only)
        assert sorted(series.iterations) == steps, list(series.iterations)
        series.close()
