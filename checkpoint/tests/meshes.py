"""Reads files and time series with named meshes with VTK (so ParaView), PyVista and h5py.

Usage: meshes.py DIR [--pyvista]    with DIR/manifest.json:
[{"file", "series", "versions": [{"stamp", "table", "dumps", "places"}]}].
Without --pyvista, PyVista reads nothing. It takes a second to start.
The table is a field table. "dumps" has a file with the bytes of each field as they lay in memory,
and "places" the paths under which the field must be in the file, or none if VTK cannot show it.
"""

import json
import pathlib
import sys

import h5py
import hdf5plugin  # registers Blosc
import numpy as np
from vtkmodules.util.numpy_support import vtk_to_numpy
from vtkmodules.vtkCommonCore import vtkIdList
from vtkmodules.vtkIOHDF import vtkHDFReader

from fields import check_rounding, dtype_of, interior, same
from vtk_log import VtkLog

# The number of points of each type of cell.
CORNERS = {1: 1, 3: 2, 5: 3, 9: 4, 10: 4, 12: 8, 13: 6, 14: 5}
CORNERS |= {21: 3, 22: 6, 23: 8, 24: 10, 25: 20}


class Version:
    """The fields and meshes that a version must have."""

    def __init__(self, directory, described, is_series):
        self.directory = directory
        self.is_series = is_series
        self.images = set()  # the groups that are images
        self.stamp = described["stamp"]
        self.meshes = described["table"].get("meshes", [])
        self.places = described["places"]
        self.fields = {f["name"]: f for f in described["table"]["fields"]}
        for name, field in self.fields.items():
            field["dump"] = described["dumps"][name]

    def now(self, mesh):
        """Returns a mesh of another version as it is in this one."""
        named = (other for other in self.meshes if mesh and other["name"] == mesh["name"])
        return next(named, mesh)

    def array(self, name):
        """Returns the interior of a field: one row for each point or cell, x fastest."""
        array = interior(self.directory, self.fields[name])
        return array.reshape(-1, array.shape[-1])

    def extents(self, name):
        return interior(self.directory, self.fields[name]).shape[:-1]

    def raw(self, name):
        field = self.fields[name]
        return np.fromfile(self.directory / field["dump"], dtype_of(field))

    def data(self, path, group):
        """Returns the fields in a group of the data set at a path, by their names there."""
        found = {}
        for name, paths in self.places.items():
            for place in paths:
                where, _, array = place.rpartition("/")
                if where == f"{path}/{group}":
                    found[array] = name
        return found


def lattice(extents):
    """Returns the cells of a grid with so many points along (z, y, x), some of which may be 1."""
    ids = np.arange(np.prod(extents, dtype=int)).reshape(extents).squeeze()
    if ids.size == 0:
        return []
    if ids.ndim == 0:
        return [(1, [0])]
    low, high = slice(None, -1), slice(1, None)
    if ids.ndim == 1:
        corners, cell = [ids[low], ids[high]], 3
    elif ids.ndim == 2:
        around = [(low, low), (low, high), (high, high), (high, low)]
        corners, cell = [ids[at] for at in around], 9
    else:
        around = [(low, low), (low, high), (high, high), (high, low)]
        corners, cell = [ids[(side, *at)] for side in (low, high) for at in around], 12
    return [(cell, list(c)) for c in np.stack(corners, -1).reshape(-1, len(corners)).tolist()]


def grid_of(axes):
    """Returns the points and the cells of a grid with these coordinates along x, y and z."""
    z, y, x = np.meshgrid(*axes[::-1], indexing="ij")
    points = np.stack([x, y, z], -1).reshape(-1, 3)
    return points, lattice([len(axis) for axis in axes[::-1]])


def is_uniform(mesh):
    """Returns whether a mesh is uniform. That of the fields on no named mesh, which is None, is."""
    return mesh is None or "uniform" in mesh["kind"]


def is_unused(mesh):
    """Returns whether a uniform mesh has no points in a version."""
    return mesh is not None and is_uniform(mesh) and 0 in mesh["kind"]["uniform"]["points"]


def uniform_grid(version, mesh, path):
    """Returns the number of points of a uniform mesh, its origin and its spacing: x, y, z."""
    if mesh:
        grid = mesh["kind"]["uniform"]
        return grid["points"], grid["origin"], grid["spacing"]
    names = version.data(path, "PointData").values()
    grid = next(version.fields[n]["mesh"] for n in names if version.fields[n].get("mesh"))
    extents = version.extents(next(iter(names)))[::-1]
    return list(extents) + [1] * (3 - len(extents)), grid["origin"], grid["spacing"]


def points_and_cells(version, mesh, path):
    """Returns the points of a mesh, with three coordinates each, and its cells."""
    if is_uniform(mesh):
        grid = zip(*uniform_grid(version, mesh, path), strict=True)
        return grid_of([origin + np.arange(n) * spacing for n, origin, spacing in grid])
    ((kind, what),) = mesh["kind"].items()
    if kind == "rectilinear":
        axes = [version.raw(name).astype(float) for name in what["coordinates"]]
        return grid_of(axes + [np.zeros(1)] * (3 - len(axes)))
    if kind == "curvilinear":
        return version.array(what["coordinates"]), lattice(version.extents(what["coordinates"]))
    if kind == "particles":
        positions = version.array(what["positions"])
        points = np.zeros((len(positions), 3), positions.dtype)
        points[:, : positions.shape[1]] = positions
        return points, [(1, [i]) for i in range(len(points))]
    ((of, cells),) = what["cells"].items()
    ids = version.raw(cells["connectivity"])
    if of == "same":
        corners = CORNERS[cells["cell_type"]]
        cells = [(cells["cell_type"], c) for c in ids.reshape(-1, corners).tolist()]
    else:
        offsets, types = version.raw(cells["offsets"]), version.raw(cells["types"])
        parts = [ids[offsets[i] : offsets[i + 1]].tolist() for i in range(len(types))]
        cells = list(zip(types.tolist(), parts, strict=True))
    return version.array(what["points"]), cells


def vtk_class(version, mesh, path):
    """Returns the class that a mesh has in VTK."""
    if mesh and "particles" in mesh["kind"]:
        return "vtkPolyData"
    # An image cannot change, so in a time series its size is fixed, and it does not move.
    if is_uniform(mesh) and not version.is_series:
        return "vtkImageData"
    return "vtkImageData" if path in version.images else "vtkUnstructuredGrid"


def check_image(what, image, version, mesh, path):
    """Checks the grid of a uniform mesh, or of the fields that are on no named mesh."""
    points, origin, spacing = uniform_grid(version, mesh, path)
    assert list(image.GetDimensions()) == points, f"{what}: {image.GetDimensions()}"
    assert list(image.GetOrigin()) == origin, f"{what}: {image.GetOrigin()}"
    assert list(image.GetSpacing()) == spacing, f"{what}: {image.GetSpacing()}"


def check_cells(what, found, version, mesh, path):
    """Checks the points and the cells of a mesh whose points have coordinates."""
    points, cells = points_and_cells(version, mesh, path)
    count = 0 if found is None else found.GetNumberOfPoints()
    assert count == len(points), f"{what}: {count} points, not {len(points)}"
    if count == 0:
        return
    same(f"{what}: points", vtk_to_numpy(found.GetPoints().GetData()), points)
    assert found.GetNumberOfCells() == len(cells), f"{what}: {found.GetNumberOfCells()} cells"
    ids = vtkIdList()
    for number, (cell, corners) in enumerate(cells):
        found.GetCellPoints(number, ids)
        got = [ids.GetId(i) for i in range(ids.GetNumberOfIds())]
        assert got == corners, f"{what}: cell {number} has {got}, not {corners}"
        assert found.GetCellType(number) == cell, f"{what}: type of cell {number}"


def check_data(what, found, version, path):
    """Checks the fields on a mesh."""
    groups = {"PointData": found.GetPointData(), "CellData": found.GetCellData()}
    for group, data in groups.items():
        expected = version.data(path, group)
        names = [data.GetArrayName(i) for i in range(data.GetNumberOfArrays())]
        assert sorted(names) == sorted(expected), f"{what}: {group} has {names}"
        for array, name in expected.items():
            vtk = data.GetArray(array)
            got = vtk_to_numpy(vtk).reshape(-1, vtk.GetNumberOfComponents())
            values, bound = version.array(name), version.fields[name].get("relative_error")
            if not values.size or not got.size:
                # VTK has no cells where a grid has no points.
                assert not got.size, f"{what}: {array}"
                continue
            same(f"{what}: {array}", got, values, bound)


def place_of_block(mesh):
    """Returns the arrays that tell the place of a block."""
    block = (mesh or {}).get("block")
    if not block:
        return {}
    place = {name: block[name] for name in ["refinement", "offset"]}
    return place | {"level": [block["level"]]}


def check_global(what, found, version, place):
    """Checks the number of the version, and the place of a block."""
    expected = {name: [version.stamp[name]] for name in ["step", "version"]} | place
    for name, values in expected.items():
        array = found.GetFieldData().GetArray(name)
        got = None if array is None else vtk_to_numpy(array).ravel().tolist()
        assert got == values, f"{what}: {name} is {got}, not {values}"


def check_mesh(what, found, version, mesh, path):
    what = f"{what}: {mesh['name'] if mesh else 'grid'}"
    expected = vtk_class(version, mesh, path)
    assert found is None or found.IsA(expected), f"{what}: no {expected}: {found}"
    if expected == "vtkImageData":
        check_image(what, found, version, mesh, path)
    else:
        check_cells(what, found, version, mesh, path)
    if found is None or is_unused(mesh):
        return  # an empty mesh
    check_data(what, found, version, path)
    if path == "/VTKHDF":  # VTK does not read the field data of collections
        check_global(what, found, version, place_of_block(mesh))


def only_part(found):
    """Returns the data set itself. Some versions of VTK put it into a set of parts."""
    if found is not None and found.IsA("vtkPartitionedDataSet"):
        assert found.GetNumberOfPartitions() <= 1, found
        return found.GetPartitionAsDataObject(0)
    return found


def check_output(what, output, version, paths):
    if list(paths) == ["/VTKHDF"]:
        (mesh,) = paths.values()
        check_mesh(what, only_part(output), version, version.now(mesh), "/VTKHDF")
        return
    assert output.IsA("vtkPartitionedDataSetCollection"), f"{what}: {output}"
    assert output.GetNumberOfPartitionedDataSets() == len(paths), what
    for number, (path, mesh) in enumerate(paths.items()):
        found = only_part(output.GetPartitionedDataSet(number))
        check_mesh(what, found, version, version.now(mesh), path)
    tree = output.GetDataAssembly()
    for number, (path, mesh) in enumerate(paths.items()):
        of = mesh["block"]["of"] if mesh and mesh.get("block") else None
        of = of or path.rpartition("/")[2]
        node = tree.FindFirstNodeWithName(of)
        assert number in tree.GetDataSetIndices(node), f"{what}: {of} is not in the tree"


def meshes_by_path(file, version):
    """Returns the mesh of each data set in a file, in their order. The free grid is None."""
    meshes = {mesh["name"]: mesh for mesh in version.meshes}
    root = file["VTKHDF"]
    if not any(version.places.values()):
        return {}  # VTK shows nothing
    if root.attrs["Type"] != b"PartitionedDataSetCollection":
        return {"/VTKHDF": meshes[root.attrs["name"]]}
    groups = [group for group in root.values() if "Index" in group.attrs]
    groups.sort(key=lambda group: group.attrs["Index"])
    return {group.name: meshes.get(group.attrs.get("name")) for group in groups}


def check_with_vtk(directory, case, versions, paths):
    path = str(directory / case["file"])
    reader = vtkHDFReader()
    assert reader.CanReadFile(path), f"VTK does not read {path}"
    reader.SetFileName(path)
    reader.UpdateInformation()
    times = [version.stamp["time"] for version in versions]
    for number, version in enumerate(versions):
        what = f"VTK: step {number} of {case['file']}"
        if len(versions) > 1:
            # VTK 9.7.2 forgets the number of steps of a collection when it reads one.
            reader.Modified()
            reader.UpdateInformation()
            assert reader.GetNumberOfSteps() == len(versions), what
            reader.UpdateTimeStep(times[number])
        else:
            reader.Update()
        check_output(what, reader.GetOutputDataObject(0), version, paths)


def check_with_pyvista(directory, case, version, paths):
    """Checks that PyVista reads a file of one version as its own types. PyVista has none for a
    collection, but for each data set in it."""
    import pyvista

    what = f"PyVista: {case['file']}"
    reader = pyvista.get_reader(str(directory / case["file"]))
    if list(paths) == ["/VTKHDF"]:
        parts = [reader.read()]
    else:
        reader.reader.Update()
        collection = reader.reader.GetOutputDataObject(0)
        numbers = range(collection.GetNumberOfPartitionedDataSets())
        parts = [only_part(collection.GetPartitionedDataSet(number)) for number in numbers]
    assert len(parts) == len(paths), what
    for part, (path, mesh) in zip(parts, paths.items()):
        part = only_part(part)
        if part is None:
            continue  # an empty mesh of a collection
        found = pyvista.wrap(part)
        expected = getattr(pyvista, vtk_class(version, mesh, path).removeprefix("vtk"))
        assert isinstance(found, expected), f"{what}: {type(found)} at {path}"
        check_mesh(what, found, version, mesh, path)
        check_arrays(what, found, version, path)


def check_arrays(what, found, version, path):
    """Checks the arrays that PyVista finds by their names."""
    for group, data in {"PointData": found.point_data, "CellData": found.cell_data}.items():
        expected = version.data(path, group)
        assert sorted(data.keys()) == sorted(expected), f"{what}: {group} has {data.keys()}"
        for array, name in expected.items():
            values = version.array(name)
            rounded = version.fields[name].get("relative_error")
            if rounded is None and data[array].size:
                got = np.asarray(data[array]).reshape(values.shape)
                same(f"{what}: {array}", got, values)


def check_with_h5py(file, case, versions):
    """Checks the values under /tcasm, and that those that VTK can have are stored once."""
    if case["series"]:
        for key in ["step", "version", "time"]:
            assert file["tcasm"][key][()].tolist() == [v.stamp[key] for v in versions], key
        return
    (version,) = versions
    for path, mesh in meshes_by_path(file, version).items():
        expected = {name: [version.stamp[name]] for name in ["step", "version"]}
        for name, values in (expected | place_of_block(mesh)).items():
            assert file[path]["FieldData"][name][()].tolist() == values, f"{path}: {name}"
    own = file["tcasm/fields"]
    assert sorted(own) == sorted(version.fields)
    for name, field in version.fields.items():
        what = f"h5py: {name} in {case['file']}"
        same(what, own[name][()].ravel(), version.raw(name), field.get("relative_error"))
        check_rounding(what, own[name], field)
        assert list(own[name].attrs["shape"]) == field["shape"], what
        ghosts = any(g != [0, 0] for g in field["ghosts"])
        for place in version.places[name]:
            shown = file[place]
            check_rounding(what, shown, field)
            is_alike = shown.dtype == own[name].dtype and shown.size == own[name].size > 0
            assert ghosts or not is_alike or shown == own[name], f"{what}: stored twice"


def is_zstd(file):
    """Returns whether a file is compressed by a filter that VTK does not have."""
    fields = file["tcasm/fields"].values()
    blosc = str(hdf5plugin.Blosc.filter_id)
    return any(blosc in field._filters for field in fields)


def main():
    directory = pathlib.Path(sys.argv[1])
    log = VtkLog(directory)
    cases = json.loads((directory / "manifest.json").read_text())
    for case in cases:
        versions = [Version(directory, v, case["series"]) for v in case["versions"]]
        with h5py.File(directory / case["file"]) as file:
            check_with_h5py(file, case, versions)
            paths, skip = meshes_by_path(file, versions[0]), is_zstd(file)
            for version in versions:
                version.images = {p for p in paths if file[p].attrs["Type"] == b"ImageData"}
        if paths and not skip:
            check_with_vtk(directory, case, versions, paths)
            if "--pyvista" in sys.argv[2:] and not case["series"]:
                check_with_pyvista(directory, case, versions[0], paths)
    log.check()
    print(len(cases), "files,", sum(len(c["versions"]) for c in cases), "versions agree")


main()
