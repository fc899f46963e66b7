"""Reads the file of a job's checkpoint for ParaView with VTK, and checks all values of `u`.

Usage: paraview.py FILE image|collection STEP RANKS ROWS COLUMNS
"""

import sys

import numpy as np
from vtkmodules.util.numpy_support import vtk_to_numpy
from vtkmodules.vtkIOHDF import vtkHDFReader

path, kind = sys.argv[1:3]
step, ranks, rows, columns = map(int, sys.argv[3:])

reader = vtkHDFReader()
assert reader.CanReadFile(path), f"VTK does not read {path}"
reader.SetFileName(path)
reader.Update()
output = reader.GetOutputDataObject(0)


def check(image, first, count):
    assert image.GetDimensions() == (columns, count, 1), image.GetDimensions()
    assert image.GetSpacing() == (0.25, 0.5, 1.0), image.GetSpacing()
    assert image.GetOrigin() == (0.0, 0.5 * first, 0.0), image.GetOrigin()
    u = vtk_to_numpy(image.GetPointData().GetArray("u")).reshape(count, columns)
    row, column = np.mgrid[first : first + count, 0:columns]
    assert np.array_equal(u, step * 1_000_000 + row * 1000 + column), u
    return u.size


if kind == "image":
    assert output.GetFieldData().GetArray("step").GetTuple1(0) == step
    count = check(output, 0, ranks * rows)
else:
    assert output.GetNumberOfPartitionedDataSets() == ranks
    parts = [output.GetPartition(rank, 0) for rank in range(ranks)]
    count = sum(check(part, rank * rows, rows) for rank, part in enumerate(parts))
print(f"{count} values are right")
