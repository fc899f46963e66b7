"""The fields that a file must have, from the dumps of the tests."""

import numpy as np

NUMPY = {"c32": "complex64", "c64": "complex128", "f32": "float32", "f64": "float64"}


def dtype_of(field):
    name = field["dtype"]
    return np.dtype(NUMPY.get(name) or name.replace("i", "int").replace("u", "uint"))


def whole(directory, field):
    """Returns the array by its indices with ghost layers, and a last axis for the components."""
    values = np.fromfile(directory / field["dump"], dtype_of(field))
    shape, components = field["shape"], [field["components"]]
    if field["order"] == "C":
        return values.reshape(shape + components)
    array = values.reshape(shape[::-1] + components)
    return array.transpose(list(range(len(shape)))[::-1] + [len(shape)])


def interior(directory, field):
    """Returns the interior from the slowest to the fastest axis, and a last axis for components."""
    array = whole(directory, field)
    array = array[tuple(slice(a, n - b) for (a, b), n in zip(field["ghosts"], field["shape"]))]
    if field["order"] == "F":
        dims = len(field["shape"])
        array = array.transpose(list(range(dims))[::-1] + [dims])
    return array


def interior_zyx(directory, field):
    """Returns the interior as (z, y, x, component)."""
    array = interior(directory, field)
    return array.reshape([1] * (4 - array.ndim) + list(array.shape))


def same(what, got, expected):
    assert got.shape == expected.shape, f"{what}: shape {got.shape}, not {expected.shape}"
    assert got.dtype == expected.dtype, f"{what}: {got.dtype}, not {expected.dtype}"
    assert np.array_equal(got, expected), f"{what}: values differ: {got} not {expected}"
