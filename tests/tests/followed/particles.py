"""Compares exports of the example `md` with the plain file that it has written itself.

Usage: particles.py some|all DUMP FILE...    FILE.vtkhdf, FILE.h5 or the pattern FILE_%T.h5
"""

import pathlib
import sys

import h5py
import numpy as np
import openpmd_api as io
import pyvista
from vtkmodules.util.numpy_support import vtk_to_numpy
from vtkmodules.vtkCommonDataModel import vtkPolyData

from dump import array, check_versions, records, vtk_versions
from fields import same
from vtk_log import VtkLog


def read(words, n):
    return {
        "position": words.take(n, "<f8", 3),
        "velocity": words.take(n, "<f8", 3),
        "kinetic_energy": words.take(n, "<f8"),
        "id": words.take(n),
        "energy": words.take(2, "<f8"),
    }


def check_vtk(what, data, atoms):
    assert isinstance(data, vtkPolyData), f"{what}: {data.GetClassName()}"
    count = len(atoms["id"])
    assert data.GetNumberOfPoints() == count, f"{what}: {data.GetNumberOfPoints()} points"
    same(f"{what}: points", vtk_to_numpy(data.GetPoints().GetData()), atoms["position"])
    vertices = vtk_to_numpy(data.GetVerts().GetConnectivityArray())
    assert np.array_equal(np.sort(vertices), np.arange(count)), f"{what}: vertices {vertices}"
    for name in ["velocity", "kinetic_energy", "id"]:
        same(f"{what}: {name}", array(data.GetPointData(), name), atoms[name])


def check_pyvista(path, atoms_of):
    """Checks that PyVista reads the newest version of a file as points with arrays."""
    reader = pyvista.get_reader(path)
    steps = reader.reader  # VTK's own
    steps.UpdateInformation()
    if steps.GetNumberOfSteps() > 1:
        steps.SetStep(steps.GetNumberOfSteps() - 1)
    points = reader.read()
    assert isinstance(points, pyvista.PolyData), f"PyVista: {type(points)} in {path}"
    step = int(points.field_data["step"][0])
    atoms, what = atoms_of[step], f"PyVista: step {step} of {path}"
    count = len(atoms["id"])
    assert (points.n_points, points.n_verts) == (count, count), what
    same(f"{what}: points", np.asarray(points.points), atoms["position"])
    for name in ["velocity", "kinetic_energy", "id"]:
        same(f"{what}: {name}", np.asarray(points.point_data[name]), atoms[name])
    return step


def check_stored(path, atoms_of):
    """Checks what h5py reads of a file of one version."""
    with h5py.File(path) as file:
        own = file["tcasm"]
        if "step" in own:
            return
        for name, values in atoms_of[int(own.attrs["step"])].items():
            same(f"h5py: {name} in {path}", own["fields"][name][()], values)


def check_openpmd(path, atoms_of):
    series = io.Series(path, io.Access.read_only)
    lengths = {}
    for step in series.iterations:
        atoms, what = atoms_of[step], f"openPMD: step {step} of {path}"
        species = series.iterations[step].particles["atoms"]
        for record in ["position", "velocity"]:
            for axis, component in enumerate("xyz"):
                expected = atoms[record][:, axis]
                check_component(f"{what}: {record}", series, species[record][component], expected)
        zeros = np.zeros(len(atoms["id"]))
        for component in "xyz":
            offset = species["positionOffset"][component].load_chunk()
            series.flush()
            assert np.array_equal(offset, zeros), f"{what}: positionOffset {offset}"
        for record in ["kinetic_energy", "id"]:
            scalar = species[record][io.Record_Component.SCALAR]
            check_component(f"{what}: {record}", series, scalar, atoms[record])
        lengths[step] = len(atoms["id"])
    series.close()
    return lengths


def check_component(what, series, component, expected):
    values = component.load_chunk()
    series.flush()
    assert component.unit_SI > 0.0, what
    same(what, values, np.ascontiguousarray(expected))


def main():
    mode, dump, *files = sys.argv[1:]
    log = VtkLog(pathlib.Path(dump).parent)
    atoms_of = records(dump, 2, lambda n: 8 * n + 2, read)
    lengths = {}
    for path in files:
        if path.endswith(".h5"):
            lengths.update(check_openpmd(path, atoms_of))
            continue
        for step, data in vtk_versions(path):
            check_vtk(f"VTK: step {step} of {path}", data, atoms_of[step])
            lengths[step] = data.GetNumberOfPoints()
        check_stored(path, atoms_of)
    for path in [path for path in files if path.endswith(".vtkhdf")][-1:]:
        step = check_pyvista(path, atoms_of)
        assert mode == "some" or step == max(atoms_of), f"PyVista reads step {step}"
    log.check()
    check_versions(mode, lengths, atoms_of)


main()
