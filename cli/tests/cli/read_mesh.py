"""Prints what VTK reads in a file with one data set as JSON: for each version the points, the bounds
of the cells, and the arrays.

Usage: read_mesh.py FILE
"""

import json
import sys

from vtkmodules.util.numpy_support import vtk_to_numpy
from vtkmodules.vtkCommonCore import vtkOutputWindow
from vtkmodules.vtkIOHDF import vtkHDFReader


def only_part(found):
    """Returns the data set itself. Some versions of VTK put it into a set of parts."""
    if found.IsA("vtkPartitionedDataSet"):
        assert found.GetNumberOfPartitions() == 1, found
        return found.GetPartitionAsDataObject(0)
    return found


def arrays(data):
    found = [data.GetArray(i) for i in range(data.GetNumberOfArrays())]
    return {array.GetName(): vtk_to_numpy(array).tolist() for array in found}


def contents(found):
    return {
        "points": [found.GetPoint(i) for i in range(found.GetNumberOfPoints())],
        "cells": [found.GetCell(i).GetBounds() for i in range(found.GetNumberOfCells())],
        "point_data": arrays(found.GetPointData()),
        "cell_data": arrays(found.GetCellData()),
    }


def main():
    errors = []
    window = vtkOutputWindow.GetInstance()
    window.AddObserver("ErrorEvent", lambda *_: errors.append("VTK reports an error"))
    window.AddObserver("WarningEvent", lambda *_: errors.append("VTK warns"))
    reader = vtkHDFReader()
    assert reader.CanReadFile(sys.argv[1])
    reader.SetFileName(sys.argv[1])
    reader.UpdateInformation()
    versions = []
    for number in range(max(reader.GetNumberOfSteps(), 1)):
        reader.SetStep(number)
        reader.Update()
        versions.append(contents(only_part(reader.GetOutputDataObject(0))))
    assert not errors, errors
    print(json.dumps(versions))


main()
