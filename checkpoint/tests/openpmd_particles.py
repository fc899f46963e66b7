"""Reads openPMD checkpoints with named meshes and particles with openPMD-api and h5py.

Usage: openpmd_particles.py DIR    with DIR/manifest.json: a case for each file of the series
run_%08T.h5. Each field has its "place" in the file, or none: "path", and for meshes "geometry".
"species" has the attributes of each.
"""

import json
import pathlib
import sys

import h5py
import numpy as np
import openpmd_api as io

from fields import check_rounding, interior, same
from openpmd import SI, check_mesh, components_of

METRE = (1.0, [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0])


def check_iteration(directory, case, series):
    iteration = series.snapshots()[case["stamp"]["step"]]
    assert iteration.time == case["stamp"]["time"]
    placed = [f for f in case["fields"] if f["place"]]
    paths = [f["place"]["path"].split("/") for f in placed]
    meshes = sorted(p[1] for p in paths if p[0] == "meshes")
    assert sorted(iteration.meshes) == meshes, list(iteration.meshes)
    species = {p[1] for p in paths if p[0] == "particles"}
    assert set(iteration.particles) == species, list(iteration.particles)
    for name in species:
        records = {p[2] for p in paths if p[:2] == ["particles", name]} | {"positionOffset"}
        assert set(iteration.particles[name]) == records, list(iteration.particles[name])
        for key, value in case["species"][name].items():
            found = iteration.particles[name].get_attribute(key)
            assert found == value and type(found) is type(value), (name, key, found)
    for field, path in zip(placed, paths):
        what = f"{field['name']} at {'/'.join(path)} in {case['file']}"
        values = interior(directory, field)
        if path[0] == "meshes":
            mesh = iteration.meshes[path[1]]
            check_mesh(what, series, mesh, field, values, field["place"])
            parameters = field["place"].get("parameters")
            assert mesh.contains_attribute("geometryParameters") == bool(parameters), what
            assert not parameters or mesh.geometry_parameters == parameters, what
        else:
            check_particles(what, series, iteration.particles[path[1]], path[2], field, values)


def check_particles(what, series, species, name, field, values):
    is_position = name == "position"
    si = METRE if is_position and not field["unit"] else SI[field["unit"]]
    names = list("xyz"[: field["components"]]) if is_position else components_of(field)
    record = check_record(what, species, name, names, si)
    assert record.get_attribute("unit") == field["unit"], what
    for i, name in enumerate(names):
        bound = field.get("relative_error")
        check_component(f"{what}, {name}", series, record[name], values[..., i], bound)
    if is_position:
        offset = check_record(what, species, "positionOffset", names, si)
        for name in names:
            check_component(f"offset of {what}", series, offset[name], np.zeros(len(values)))


def check_record(what, species, name, names, si):
    record = species[name]
    assert sorted(record) == sorted(names), (what, list(record))
    assert list(record.unit_dimension) == si[1] and record.time_offset == 0.0, what
    weighting = [record.get_attribute(a) for a in ("macroWeighted", "weightingPower")]
    assert weighting == [0, 0.0], (what, weighting)
    assert all(record[n].unit_SI == si[0] for n in names), what
    return record


def check_component(what, series, component, values, bound=None):
    assert list(component.shape) == list(values.shape), (what, component.shape)
    assert component.dtype == values.dtype, (what, component.dtype)
    if values.size:
        chunk = component.load_chunk()
        series.flush()
        same(what, chunk, values, bound)


def check_with_h5py(directory, case):
    with h5py.File(directory / case["file"]) as file:
        assert file.attrs["software"] == "tcasm"
        path = "particles/" if case["species"] else None
        assert file.attrs.get("particlesPath") == path
        base = file[f"data/{case['stamp']['step']}"]
        for name, attributes in case["species"].items():
            found = set(base["particles"][name].attrs)
            assert found == set(attributes), f"{name} has the attributes {found}"
        for field in case["fields"]:
            name = field["name"]
            dataset = file["tcasm/fields"][name]
            assert list(dataset.attrs["shape"]) == field["shape"], name
            values = np.fromfile(directory / field["dump"], dataset.dtype)
            same(name, dataset[()].ravel(), values, field.get("relative_error"))
            check_rounding(name, dataset, field)
            record = field["place"] and base[field["place"]["path"]]
            if not record or isinstance(record, h5py.Dataset):
                continue
            for part in [record, *record.values()] if 0 in field["shape"] else []:
                if "value" in part.attrs:
                    assert part.attrs["value"] == 0 and 0 in part.attrs["shape"], name
                    assert part.attrs["value"].dtype == dataset.dtype, name
            assert 0 in field["shape"] or field["components"] > 1 or "x" in record, name


def main():
    directory = pathlib.Path(sys.argv[1])
    cases = json.loads((directory / "manifest.json").read_text())
    series = io.Series(str(directory / "run_%08T.h5"), io.Access.read_only)
    assert sorted(series.iterations) == sorted(c["stamp"]["step"] for c in cases)
    for key, value in cases[0]["attrs"].items():
        assert series.get_attribute(key) == value, key
    for case in cases:
        check_iteration(directory, case, series)
        check_with_h5py(directory, case)
    series.close()
    print(len(cases), "files,", sum(len(c["fields"]) for c in cases), "fields agree")


main()
