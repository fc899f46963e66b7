"""Reads checkpoints with the programs of our users: VTK (so ParaView), openPMD-api and h5py.

Usage: read_back.py DIR    with DIR/manifest.json: [{"file", "stamp", "points", "fields": [...]}].
The fields are as in a field table. Each also has "dump", a file with its bytes as they lay in
memory, and "on_grid", which is true if VTK shows it.
"""

import json
import pathlib
import sys

import h5py
import hdf5plugin  # registers Blosc
import numpy as np
from vtkmodules.util.numpy_support import vtk_to_numpy
from vtkmodules.vtkIOHDF import vtkHDFReader

import openpmd
from fields import check_rounding, dtype_of, interior_zyx, same
from vtk_log import VtkLog


def check_with_vtk(directory, case):
    path = str(directory / case["file"])
    reader = vtkHDFReader()
    assert reader.CanReadFile(path), f"VTK does not read {path}"
    reader.SetFileName(path)
    reader.Update()
    image = reader.GetOutput()
    points = case["points"]
    assert list(image.GetDimensions()) == points[::-1], (path, image.GetDimensions())
    mesh = next((f["mesh"] for f in case["fields"] if f["mesh"]), None)
    if mesh:
        assert list(image.GetOrigin()) == mesh["origin"], image.GetOrigin()
        assert list(image.GetSpacing()) == mesh["spacing"], image.GetSpacing()
    stamp = case["stamp"]
    for name, value in [("TimeValue", stamp["time"]), ("step", stamp["step"])]:
        array = image.GetFieldData().GetArray(name)
        assert array is not None and array.GetTuple1(0) == value, f"{path}: {name}"
    for field in case["fields"]:
        point = field["centering"] == "point"
        data = image.GetPointData() if point else image.GetCellData()
        other = image.GetCellData() if point else image.GetPointData()
        name, what = field["name"], f"VTK: {field['name']} in {path}"
        assert other.GetArray(name) is None, f"{what}: on the wrong side"
        array = data.GetArray(name)
        assert (array is not None) == field["on_grid"], f"{what}: {array}"
        if array is not None:
            extent = [n if point else max(n - 1, 1) for n in points]
            got = vtk_to_numpy(array).reshape(extent + [array.GetNumberOfComponents()])
            same(what, got, interior_zyx(directory, field), field.get("relative_error"))


def check_with_h5py(directory, case):
    with h5py.File(directory / case["file"]) as file:
        own = file["tcasm"]
        rounded = any("relative_error" in field for field in case["fields"])
        assert own.attrs["format"] == (2 if rounded else 1)
        assert {k: own.attrs[k] for k in case["stamp"]} == case["stamp"]
        assert own.attrs["region"] == "test"
        assert sorted(own["fields"]) == sorted(f["name"] for f in case["fields"])
        for field in case["fields"]:
            name, what = field["name"], f"h5py: {field['name']} in {case['file']}"
            dataset = own["fields"][name]
            array = np.fromfile(directory / field["dump"], dtype_of(field))
            same(what, np.asarray(dataset[()]).ravel(), array, field.get("relative_error"))
            check_rounding(what, dataset, field)
            assert dataset.dtype == dtype_of(field), what
            assert list(dataset.attrs["shape"]) == field["shape"], what
            assert dataset.attrs["order"] == field["order"], what
            assert dataset.attrs["unit"] == field["unit"], what
            assert dataset.attrs["dtype"] == dtype_of(field).name, what
            for key, value in field["attrs"].items():
                assert np.array_equal(dataset.attrs[f"attr_{key}"], value), f"{what}: {key}"
            ghosts = any(g != [0, 0] for g in field["ghosts"])
            if is_openpmd(case):
                openpmd.check_stored(file, case["stamp"]["step"], field, dataset, ghosts)
                continue
            group = {"point": "PointData", "cell": "CellData"}[field["centering"]]
            on_grid = file["VTKHDF"][group].get(name)
            assert (on_grid is not None) == field["on_grid"], what
            if on_grid is not None:
                assert (on_grid == dataset) == (not ghosts), f"{what}: stored once"
                check_rounding(what, on_grid, field)


def is_openpmd(case):
    return case["file"].endswith(".h5")


def is_zstd(directory, case):
    with h5py.File(directory / case["file"]) as file:
        name = case["fields"][0]["name"]
        return str(hdf5plugin.Blosc.filter_id) in file["tcasm/fields"][name]._filters


def main():
    directory = pathlib.Path(sys.argv[1])
    log = VtkLog(directory)
    cases = json.loads((directory / "manifest.json").read_text())
    for case in cases:
        if is_zstd(directory, case):
            pass  # VTK and openPMD-api have no Blosc
        elif is_openpmd(case):
            openpmd.check(directory, case)
        else:
            check_with_vtk(directory, case)
        check_with_h5py(directory, case)
    openpmd.check_series(directory, cases)
    for path in directory.glob("*.series"):
        series = json.loads(path.read_text())
        assert series["file-series-version"] == "1.0"
        listed = [f["name"] for f in series["files"]]
        assert listed == sorted(c["file"] for c in cases if c["file"].startswith("run_")), listed
        for entry in series["files"]:
            with h5py.File(directory / entry["name"]) as file:
                assert file["VTKHDF/FieldData/TimeValue"][0] == entry["time"]
    log.check()
    print(len(cases), "files,", sum(len(c["fields"]) for c in cases), "fields agree")


main()
