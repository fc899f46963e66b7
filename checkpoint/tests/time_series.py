"""Reads time series with the programs of our users: VTK (so ParaView), PyVista and h5py.

Usage: time_series.py DIR    with DIR/manifest.json:
[{"file", "points", "times", "versions": [{"stamp", "fields": [...]}]}].
The fields are as in a field table. Each also has "dump", a file with its bytes as they lay in
memory, and "on_grid", which is true if VTK shows it.
"""

import json
import pathlib
import sys

import h5py
import hdf5plugin  # noqa: F401 registers Blosc
import numpy as np
import pyvista
from vtkmodules.util.numpy_support import vtk_to_numpy
from vtkmodules.vtkCommonExecutionModel import vtkStreamingDemandDrivenPipeline
from vtkmodules.vtkIOHDF import vtkHDFReader

from fields import dtype_of, interior_zyx, same
from vtk_log import VtkLog


def check_image(what, image, points, directory, version):
    assert list(image.GetDimensions()) == points[::-1], (what, image.GetDimensions())
    for name in ["step", "version"]:
        array = image.GetFieldData().GetArray(name)
        assert array is not None and array.GetNumberOfValues() == 1, f"{what}: {name} {array}"
        assert array.GetTuple1(0) == version["stamp"][name], f"{what}: {name}"
    for field in version["fields"]:
        point = field["centering"] == "point"
        data = image.GetPointData() if point else image.GetCellData()
        name = field["name"]
        array = data.GetArray(name)
        assert (array is not None) == field["on_grid"], f"{what}: {name}"
        if array is not None:
            extent = [n if point else max(n - 1, 1) for n in points]
            got = vtk_to_numpy(array).reshape(extent + [array.GetNumberOfComponents()])
            same(f"{what}: {name}", got, interior_zyx(directory, field))


def check_with_vtk(directory, case):
    path = str(directory / case["file"])
    reader = vtkHDFReader()
    assert reader.CanReadFile(path), f"VTK does not read {path}"
    reader.SetFileName(path)
    reader.UpdateInformation()
    keys = vtkStreamingDemandDrivenPipeline
    times = reader.GetOutputInformation(0).Get(keys.TIME_STEPS()) or ()
    if len(case["versions"]) > 1:
        assert list(times) == case["times"], (path, times)
    for number, version in enumerate(case["versions"]):
        if len(case["versions"]) > 1:
            reader.UpdateTimeStep(case["times"][number])
        else:
            reader.Update()
        what = f"VTK: step {number} of {path}"
        check_image(what, reader.GetOutput(), case["points"], directory, version)


def check_with_pyvista(directory, case):
    reader = pyvista.get_reader(str(directory / case["file"]))
    steps = reader.reader  # VTK's own reader has the times; PyVista 0.49 has no function for them
    steps.UpdateInformation()
    assert steps.GetNumberOfSteps() == len(case["versions"]), steps.GetNumberOfSteps()
    for number, version in enumerate(case["versions"]):
        steps.SetStep(number)
        image = reader.read()
        what = f"PyVista: step {number} of {case['file']}"
        assert isinstance(image, pyvista.ImageData), what
        check_image(what, image, case["points"], directory, version)


def check_with_h5py(directory, case):
    count = len(case["versions"])
    with h5py.File(directory / case["file"]) as file:
        own = file["tcasm"]
        assert own.attrs["kind"] == "time series"
        for key in ["step", "version", "time"]:
            expected = [v["stamp"][key] for v in case["versions"]]
            assert np.array_equal(own[key][()], expected), (key, own[key][()])
        assert file["VTKHDF/Steps"].attrs["NSteps"] == count
        assert file["VTKHDF/Steps/Values"].shape == (count,)
        for number, version in enumerate(case["versions"]):
            for field in version["fields"]:
                name, what = field["name"], f"h5py: {field['name']} {number} in {case['file']}"
                if any(g != [0, 0] for g in field["ghosts"]) or not field["on_grid"]:
                    array = np.fromfile(directory / field["dump"], dtype_of(field))
                    stored = own["fields"][name]
                    assert stored.shape[0] == count, what
                    same(what, np.asarray(stored[number]).ravel(), array)
                    assert stored.attrs["unit"] == field["unit"], what
                if field["on_grid"]:
                    group = {"point": "PointData", "cell": "CellData"}[field["centering"]]
                    stored = file["VTKHDF"][group][name]
                    row = stored[number] if count > 1 else stored[()]
                    expected = interior_zyx(directory, field).ravel()
                    same(what, np.asarray(row).ravel(), expected)


def is_zstd(directory, case):
    """Returns whether rows are compressed by a filter that VTK and PyVista do not have."""
    rows = sorted((directory / case["file"]).with_suffix(".steps").glob("*.h5"))
    with h5py.File(rows[0]) as file:
        first = next(iter(file["tcasm/fields"].values()))
        return str(hdf5plugin.Blosc.filter_id) in first._filters


def main():
    directory = pathlib.Path(sys.argv[1])
    log = VtkLog(directory)
    cases = json.loads((directory / "manifest.json").read_text())
    for case in cases:
        check_with_h5py(directory, case)
        if not is_zstd(directory, case):
            check_with_vtk(directory, case)
            check_with_pyvista(directory, case)
    log.check()
    print(len(cases), "series,", sum(len(c["versions"]) for c in cases), "versions agree")


main()
