"""The fields that a file must have, from the dumps of the tests.

A field with a `relative_error` has rounded values in the file, and exact ones in its dump.
"""

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


def same(what, got, expected, bound=None):
    """Checks that both are equal, or that no value differs by more than `bound` of itself."""
    assert got.shape == expected.shape, f"{what}: shape {got.shape}, not {expected.shape}"
    assert got.dtype == expected.dtype, f"{what}: {got.dtype}, not {expected.dtype}"
    if bound is None:
        assert np.array_equal(got, expected), f"{what}: values differ: {got} not {expected}"
    else:
        far = np.abs(got - expected) > bound * np.abs(expected)
        assert not far.any(), f"{what}: {got[far]} is far from {expected[far]}"


def check_rounding(what, dataset, field):
    """Checks that a dataset says how its values are rounded, and that they are."""
    name, bound = "_QuantizeBitRoundNumberOfSignificantBits", field.get("relative_error")
    assert (name in dataset.attrs) == (bound is not None), what
    if bound is not None:
        bits = int(dataset.attrs[name])
        assert dataset.attrs[name].dtype == "int32", what
        assert dataset.attrs["relative_error"] == bound, what
        assert 2.0 ** -(bits + 1) <= bound < 2.0**-bits, f"{what}: {bits} bits"
        mantissa = np.finfo(dataset.dtype).nmant
        word = np.uint32 if mantissa == 23 else np.uint64
        words = np.atleast_1d(dataset[()]).ravel().view(word)
        cut = words & word((1 << (mantissa - bits)) - 1)
        assert not cut.any(), f"{what}: bits are left"
