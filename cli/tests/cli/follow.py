"""Reads a time series repeatedly while it grows, with unchanged VTK and h5py. No read may fail or
return wrong values.

Usage: follow.py FILE

Runs until standard input ends. Every value of the field `t` of a version is its step.
"""

import os
import random
import sys
import threading

import h5py
import numpy as np
from vtkmodules.util.numpy_support import vtk_to_numpy
from vtkmodules.vtkCommonCore import vtkOutputWindow
from vtkmodules.vtkIOHDF import vtkHDFReader


def link(path, now):
    while True:
        try:
            return os.link(path, now)
        except FileNotFoundError:
            # The file was replaced between the lookup and the link, and the kernel does not link a
            # file that has no name any more. Make sure that there is a new one, and try again.
            os.stat(path)


def read_with_vtk(path):
    # VTK 9.6 and 9.7 open a file several times to read it, and crash if it has grown meanwhile. The
    # file is never written in place, only replaced. So a second link to it does not change.
    now = os.path.join(os.path.dirname(path), "now.vtkhdf")
    link(path, now)
    try:
        return read_link_with_vtk(now)
    finally:
        os.unlink(now)


def read_link_with_vtk(path):
    reader = vtkHDFReader()
    assert reader.CanReadFile(path)
    reader.SetFileName(path)
    reader.UpdateInformation()
    count = reader.GetNumberOfSteps()
    for number in {0, count - 1, random.randrange(count)}:
        reader.SetStep(number)
        reader.Update()
        image = reader.GetOutput()
        step = image.GetFieldData().GetArray("step").GetTuple1(0)
        values = vtk_to_numpy(image.GetPointData().GetArray("t"))
        assert len(values) and (values == step).all(), (number, step, values)
    return count


def read_with_h5py(path):
    with h5py.File(path) as file:
        steps = file["tcasm/step"][()]
        values = np.atleast_2d(file["VTKHDF/PointData/t"][()])
        assert (np.diff(steps.astype(int)) > 0).all(), steps
        assert (values == steps[:, None]).all(), (steps, values)
    return len(steps)


def main():
    path = sys.argv[1]
    errors = []
    window = vtkOutputWindow.GetInstance()
    window.AddObserver("ErrorEvent", lambda *_: errors.append("VTK reports an error"))
    window.AddObserver("WarningEvent", lambda *_: errors.append("VTK warns"))
    ended = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), ended.set()), daemon=True).start()
    reads, longest = 0, 0
    last = False
    while not last:
        last = ended.is_set()
        count = max(read_with_vtk(path), read_with_h5py(path))
        assert count >= longest, (count, longest)
        assert not errors, errors
        reads, longest = reads + 1, count
    print(reads, longest)


main()
