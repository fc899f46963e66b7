"""Read checkpoints with the programs that our users have: VTK (so ParaView) and h5py.

Usage: read_back.py DIR    with DIR/manifest.json: [{"file", "stamp", "points", "fields": [...]}],
the fields as in a field table, each with "dump", a file with its bytes as they lay in memory, and "on_grid".
"""

import json
import pathlib
import sys

import h5py
import numpy as np
from vtkmodules.util.numpy_support import vtk_to_numpy
from vtkmodules.vtkCommonCore import vtkFileOutputWindow, vtkOutputWindow
from vtkmodules.vtkIOHDF import vtkHDFReader

NUMPY = {"c32": "complex64", "c64": "complex128", "f32": "float32", "f64": "float64"}


def dtype_of(field):
    name = field["dtype"]
    return np.dtype(NUMPY.get(name) or name.replace("i", "int").replace("u", "uint"))


def whole(directory, field):
    """The array by its indices, ghost layers included; a last axis for the components."""
    values = np.fromfile(directory / field["dump"], dtype_of(field))
    shape, components = field["shape"], [field["components"]]
    if field["order"] == "C":
        return values.reshape(shape + components)
    array = values.reshape(shape[::-1] + components)
    return array.transpose(list(range(len(shape)))[::-1] + [len(shape)])


def interior_zyx(directory, field):
    """The interior as (z, y, x, component)."""
    array = whole(directory, field)
    array = array[tuple(slice(a, n - b) for (a, b), n in zip(field["ghosts"], field["shape"]))]
    if field["order"] == "F":
        dims = len(field["shape"])
        array = array.transpose(list(range(dims))[::-1] + [dims])
    return array.reshape([1] * (4 - array.ndim) + list(array.shape))


def same(what, got, expected):
    assert got.shape == expected.shape, f"{what}: shape {got.shape}, not {expected.shape}"
    assert got.dtype == expected.dtype, f"{what}: {got.dtype}, not {expected.dtype}"
    assert np.array_equal(got, expected), f"{what}: values differ: {got} not {expected}"


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
            same(what, got, interior_zyx(directory, field))


def check_with_h5py(directory, case):
    with h5py.File(directory / case["file"]) as file:
        own = file["tcasm"]
        assert own.attrs["format"] == 1
        assert {k: own.attrs[k] for k in case["stamp"]} == case["stamp"]
        assert own.attrs["region"] == "test"
        assert sorted(own["fields"]) == sorted(f["name"] for f in case["fields"])
        for field in case["fields"]:
            name, what = field["name"], f"h5py: {field['name']} in {case['file']}"
            dataset = own["fields"][name]
            array = np.fromfile(directory / field["dump"], dtype_of(field))
            same(what, np.asarray(dataset[()]).ravel(), array)
            assert dataset.dtype == dtype_of(field), what
            assert list(dataset.attrs["shape"]) == field["shape"], what
            assert dataset.attrs["order"] == field["order"], what
            assert dataset.attrs["unit"] == field["unit"], what
            assert dataset.attrs["dtype"] == dtype_of(field).name, what
            for key, value in field["attrs"].items():
                assert dataset.attrs[f"attr_{key}"] == value, f"{what}: {key}"
            group = {"point": "PointData", "cell": "CellData"}[field["centering"]]
            on_grid = file["VTKHDF"][group].get(name)
            ghosts = any(g != [0, 0] for g in field["ghosts"])
            assert (on_grid is not None) == field["on_grid"], what
            if on_grid is not None:
                assert (on_grid == dataset) == (not ghosts), f"{what}: stored once"


def main():
    window = vtkFileOutputWindow()
    directory = pathlib.Path(sys.argv[1])
    window.SetFileName(str(directory / "vtk.log"))
    vtkOutputWindow.SetInstance(window)
    cases = json.loads((directory / "manifest.json").read_text())
    for case in cases:
        check_with_vtk(directory, case)
        check_with_h5py(directory, case)
    for path in directory.glob("*.series"):
        series = json.loads(path.read_text())
        assert series["file-series-version"] == "1.0"
        listed = [f["name"] for f in series["files"]]
        assert listed == sorted(c["file"] for c in cases if c["file"].startswith("run_")), listed
        for entry in series["files"]:
            with h5py.File(directory / entry["name"]) as file:
                assert file["VTKHDF/FieldData/TimeValue"][0] == entry["time"]
    log = directory / "vtk.log"
    assert not log.exists() or not log.read_text(), log.read_text()
    print(len(cases), "files,", sum(len(c["fields"]) for c in cases), "fields agree")


main()
