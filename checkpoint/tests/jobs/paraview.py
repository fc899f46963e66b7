"""Reads the file of a job's checkpoint for ParaView with VTK, and checks all values.

Usage: paraview.py FILE image|collection|meshes|meshes-and-grids STEP RANKS ROWS COLUMNS
"""

import sys

import numpy as np
from vtkmodules.util.numpy_support import vtk_to_numpy
from vtkmodules.vtkIOHDF import vtkHDFReader

path, kind = sys.argv[1:3]
step, ranks, rows, columns = map(int, sys.argv[3:])
# The rank whose cells of `shell` have points that it does not have.
WITH_DEFECT = 1

reader = vtkHDFReader()
assert reader.CanReadFile(path), f"VTK does not read {path}"
reader.SetFileName(path)
reader.Update()
output = reader.GetOutputDataObject(0)


def check(image, first, count):
    """Checks an image of `u`."""
    assert image.GetDimensions() == (columns, count, 1), image.GetDimensions()
    assert image.GetSpacing() == (0.25, 0.5, 1.0), image.GetSpacing()
    assert image.GetOrigin() == (0.0, 0.5 * first, 0.0), image.GetOrigin()
    assert image.GetPointData().GetNumberOfArrays() == 1
    u = vtk_to_numpy(image.GetPointData().GetArray("u")).reshape(count, columns)
    row, column = np.mgrid[first : first + count, 0:columns]
    assert np.array_equal(u, step * 1_000_000 + row * 1000 + column), u
    return u.size


def is_right(data, name, rank, count, dtype):
    """Checks the values of a field in a rank, and returns their number."""
    found = vtk_to_numpy(data.GetArray(name))
    wanted = step * 10_000 + rank * 100 + np.arange(count)
    assert found.dtype == dtype, (name, found.dtype)
    assert np.array_equal(found.ravel(), wanted), (name, rank, found)
    return count


def points_are(grid, wanted):
    if len(wanted) == 0:
        assert grid.GetNumberOfPoints() == 0
        return
    found = vtk_to_numpy(grid.GetPoints().GetData())
    assert np.array_equal(found, np.array(wanted)), found


def cells_of(grid):
    """Returns the type and the points of each cell."""
    cells = (grid.GetCell(i) for i in range(grid.GetNumberOfCells()))
    ids = lambda cell: [cell.GetPointId(i) for i in range(cell.GetNumberOfPoints())]
    return [(cell.GetCellType(), ids(cell)) for cell in cells]


def solid(grid, rank):
    points, cells = rank + 3, rank + 1
    points_are(grid, [(rank, i, 0.5) for i in range(points)])
    assert cells_of(grid) == [(5, [c, c + 1, c + 2]) for c in range(cells)]
    heat = is_right(grid.GetPointData(), "heat", rank, points, "f8")
    return heat + is_right(grid.GetCellData(), "stress", rank, 2 * cells, "f4")


def shell(grid, rank):
    points_are(grid, [(rank, i, 1) for i in range(5)])
    assert cells_of(grid) == [(9, [0, 1, 2, 3]), (5, [2, 3, 4])]
    return is_right(grid.GetPointData(), "heat", rank, 5, "f8")


def gas(grid, rank):
    count = 2 * rank
    points_are(grid, [(rank, i, 0) for i in range(count)])
    assert cells_of(grid) == [(1, [i]) for i in range(count)]
    if count == 0:
        return 0
    values = is_right(grid.GetPointData(), "mass", rank, count, "f8")
    if rank % 2 == 1:
        return values + is_right(grid.GetPointData(), "charge", rank, count, "f4")
    assert np.isnan(vtk_to_numpy(grid.GetPointData().GetArray("charge"))).all()
    return values


def box(image, rank):
    assert image.GetDimensions() == (2, 3, 1), image.GetDimensions()
    assert image.GetOrigin() == (rank, 0, 0), image.GetOrigin()
    return is_right(image.GetPointData(), "density", rank, 6, "f8")


def parts(index, of_ranks, check_part):
    """Checks a mesh with a part for each rank."""
    found = output.GetNumberOfPartitions(index)
    assert found == len(of_ranks), (index, found)
    grids = (output.GetPartition(index, part) for part in range(found))
    return sum(check_part(grid, rank) for grid, rank in zip(grids, of_ranks))


def names():
    count = output.GetNumberOfPartitionedDataSets()
    name = lambda at: output.GetMetaData(at).Get(output.NAME())
    return {name(at): at for at in range(count)}


def meshes():
    """Checks all meshes of all ranks."""
    at, everywhere = names(), list(range(ranks))
    sound = [rank for rank in everywhere if rank != WITH_DEFECT]
    values = parts(at["solid"], everywhere, solid)
    values += parts(at["shell"], sound, shell)
    values += parts(at["gas"], everywhere, gas)
    for rank in everywhere:
        values += parts(at[f"rank_{rank}_box"], [rank], box)
    return values


def grids(index_of):
    return sum(
        check(output.GetPartition(index_of(rank), 0), rank * rows, rows)
        for rank in range(ranks)
    )


if kind == "image":
    assert output.GetFieldData().GetArray("step").GetTuple1(0) == step
    count = check(output, 0, ranks * rows)
elif kind == "collection":
    assert output.GetNumberOfPartitionedDataSets() == ranks
    count = grids(lambda rank: rank)
elif kind == "meshes":
    assert len(names()) == 4 + ranks, names()
    count = meshes() + check(output.GetPartition(names()["grid"], 0), 0, ranks * rows)
else:
    assert len(names()) == 3 + 2 * ranks, names()
    count = meshes() + grids(lambda rank: names()[f"rank_{rank}"])
print(f"{count} values are right")
