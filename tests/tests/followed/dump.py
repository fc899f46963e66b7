"""The plain file of an example's `--dump`, and the versions in VTKHDF files."""

import h5py
import numpy as np
from vtkmodules.util.numpy_support import vtk_to_numpy
from vtkmodules.vtkIOHDF import vtkHDFReader


class Words:
    """A plain file: numbers of eight bytes."""

    def __init__(self, path):
        data = open(path, "rb").read()
        # A record that a killed simulation has begun is incomplete.
        self.all = np.frombuffer(data[: len(data) // 8 * 8], "<u8")
        self.at = 0

    def left(self):
        return len(self.all) - self.at

    def take(self, count, dtype="<u8", columns=None):
        values = self.all[self.at : self.at + count * (columns or 1)].view(dtype)
        self.at += count * (columns or 1)
        return values.reshape(-1, columns) if columns else values


def records(path, head, size_of, read):
    """Returns the records of a plain file by their steps. A record begins with `head` integers,
    the first of which is the step. `size_of` says how many numbers follow."""
    words, found = Words(path), {}
    while words.left() >= head:
        first = [int(n) for n in words.take(head)]
        if words.left() < size_of(*first[1:]):
            break
        found[first[0]] = read(words, *first[1:])
    assert found, f"{path} has no record"
    return found


def vtk_versions(path):
    """Yields the step and VTK's data of each version in a VTKHDF file, which is of one version or a
    time series."""
    with h5py.File(path) as file:
        own = file["tcasm"]
        steps = own["step"][()] if "step" in own else [own.attrs["step"]]
    reader = vtkHDFReader()
    assert reader.CanReadFile(path), f"VTK does not read {path}"
    reader.SetFileName(path)
    reader.UpdateInformation()
    for number, step in enumerate(np.atleast_1d(steps)):
        if len(steps) > 1:
            reader.SetStep(number)
        reader.Update()
        yield int(step), reader.GetOutputDataObject(0)


def array(data, name):
    """Returns an array of VTK's point or cell data."""
    found = data.GetArray(name)
    names = [data.GetArrayName(i) for i in range(data.GetNumberOfArrays())]
    assert found is not None, f"{name} is not among {names}"
    return vtk_to_numpy(found)


def check_versions(mode, lengths, expected):
    """Checks which versions were read: `lengths` has the length of each by its step."""
    assert set(lengths) <= set(expected), sorted(lengths)
    if mode == "all":
        assert max(expected) in lengths, "the last version is missing"
        assert len(set(lengths.values())) > 1, f"all versions have {set(lengths.values())}"
    assert lengths, "there are no versions"
    print(len(lengths), "versions agree")
