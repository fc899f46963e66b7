"""A session of ParaView during a simulation: opens a time series, reads all times, and reloads it
when it has grown.

Usage: pvpython watch_with_paraview.py FILE

Each line of standard input is the number of versions that FILE has now. Every value of the field
`t` of a version is its step.
"""

import sys

from paraview import servermanager
from paraview.simple import GetParaViewVersion, ReloadFiles, VTKHDFReader
from vtkmodules.util.numpy_support import vtk_to_numpy


def look(reader, count):
    reader.UpdatePipelineInformation()
    times = list(reader.TimestepValues)
    assert len(times) == count, times
    for time in times:
        reader.UpdatePipeline(time)
        image = servermanager.Fetch(reader)
        step = image.GetFieldData().GetArray("step").GetTuple1(0)
        values = vtk_to_numpy(image.GetPointData().GetArray("t"))
        assert image.GetDimensions() == (5, 4, 3), image.GetDimensions()
        assert len(values) == 60 and (values == step).all(), (time, step, values)
        assert step == round(time * 100), (time, step)


def main():
    version = GetParaViewVersion()
    if (version.major, version.minor) < (5, 12):
        name = f"ParaView {version.major}.{version.minor}"
        sys.exit(f"{name} cannot read these files; use 5.12 or newer (docs/paraview.md)")
    reader = None
    for line in iter(sys.stdin.readline, ""):
        if reader is None:
            reader = VTKHDFReader(FileName=sys.argv[1])
        else:
            assert ReloadFiles(reader)
        look(reader, int(line))
        print(f"ParaView {version}: {line.strip()} versions are correct", flush=True)


main()
