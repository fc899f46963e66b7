"""Compares exports of the example `fem` with the plain file that it has written itself.

Usage: cells.py some|all DUMP FILE.vtkhdf...
"""

import pathlib
import sys

import numpy as np
import pyvista
from vtkmodules.util.numpy_support import vtk_to_numpy
from vtkmodules.vtkCommonDataModel import VTK_TRIANGLE, vtkUnstructuredGrid

from dump import array, check_versions, records, vtk_versions
from fields import same
from vtk_log import VtkLog


def read(words, points, triangles):
    return {
        "points": words.take(points, "<f8", 3),
        "triangles": words.take(triangles, "<i8", 3),
        "temperature": words.take(points, "<f8"),
        "heat_flux": words.take(triangles, "<f8", 3),
    }


def check_vtk(what, grid, plate):
    assert isinstance(grid, vtkUnstructuredGrid), f"{what}: {grid.GetClassName()}"
    sizes = (grid.GetNumberOfPoints(), grid.GetNumberOfCells())
    assert sizes == (len(plate["points"]), len(plate["triangles"])), f"{what}: {sizes}"
    same(f"{what}: points", vtk_to_numpy(grid.GetPoints().GetData()), plate["points"])
    types = {grid.GetCellType(i) for i in range(sizes[1])}
    assert types == {VTK_TRIANGLE}, f"{what}: cells of types {types}"
    cells = vtk_to_numpy(grid.GetCells().GetConnectivityArray()).reshape(-1, 3)
    assert np.array_equal(cells, plate["triangles"]), f"{what}: triangles {cells}"
    point, cell = grid.GetPointData(), grid.GetCellData()
    same(f"{what}: temperature", array(point, "temperature"), plate["temperature"])
    same(f"{what}: heat flux", array(cell, "heat_flux"), plate["heat_flux"])
    assert cell.GetArray("temperature") is None and point.GetArray("heat_flux") is None, what


def check_pyvista(path, plates):
    """Checks that PyVista reads a version, and that its triangles cover the plate."""
    grid = pyvista.read(path)
    plate = plates[len(grid.points)]
    assert np.array_equal(grid.points, plate["points"]), f"PyVista: points of {path}"
    assert np.array_equal(grid.cells_dict[VTK_TRIANGLE], plate["triangles"]), path
    assert abs(grid.area - 3 * 0.1**2) < 1e-9, f"PyVista: area {grid.area}"


def main():
    mode, dump, *files = sys.argv[1:]
    log = VtkLog(pathlib.Path(dump).parent)
    plate_of = records(dump, 3, lambda points, triangles: 4 * points + 6 * triangles, read)
    by_points = {len(plate["points"]): plate for plate in plate_of.values()}
    lengths = {}
    for path in files:
        for step, grid in vtk_versions(path):
            check_vtk(f"VTK: step {step} of {path}", grid, plate_of[step])
            lengths[step] = grid.GetNumberOfCells()
        check_pyvista(path, by_points)
    log.check()
    check_versions(mode, lengths, plate_of)


main()
