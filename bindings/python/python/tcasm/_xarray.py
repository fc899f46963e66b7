"""Versions as datasets of xarray."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import xarray

if TYPE_CHECKING:
    from ._fields import Field
    from ._versions import AnyVersion

#: The axes of a structured field in C order. Fields in Fortran order have them the other way.
AXES = ("z", "y", "x")


def dataset(version: AnyVersion) -> xarray.Dataset:
    """Returns the fields of a version without ghost layers."""
    sizes: dict[str, int] = {}
    found: dict[str, Any] = {}
    for name, field in version.fields.items():
        if field.structure is None:
            values = version.interior(name)
            array = xarray.DataArray(values, dims=_dims(field, values.shape, sizes))
            array.attrs = {**field.attrs, "units": field.unit, "centring": field.centring}
            found[name] = array.assign_coords(_coordinates(field, array))
    attrs = {
        **version.attrs,
        "region": version.region,
        "version": version.number,
        "step": version.step,
        "time": version.time,
    }
    return xarray.Dataset(found, attrs=attrs)


def _dims(field: Field, shape: tuple[int, ...], sizes: dict[str, int]) -> list[str]:
    """Returns names of dimensions, which fields of one mesh share. Fields on a uniform mesh of
    their own, or on none, share names if their sizes and places agree."""
    spatial = len(shape) - (field.components > 1)
    axes = [f"axis{n}" for n in range(spatial)]
    if 0 < spatial <= len(AXES):
        axes = list(AXES[-spatial:])
    if field.order == "F":
        axes.reverse()
    prefix = _prefix(field)
    names = [prefix + axis for axis in axes]
    if any(sizes.get(name, n) != n for name, n in zip(names, shape)):
        names = [f"{field.name}_{axis}" for axis in axes]
    sizes.update(zip(names, shape))
    return names + [f"component{field.components}"] * (field.components > 1)


def _prefix(field: Field) -> str:
    """Returns the beginning of names of dimensions, which tells meshes apart."""
    cell = "cell_" if field.centring == "cell" else ""
    if field.centring == "none":
        return f"{field.name}_"
    if field.mesh is not None:
        return f"{field.mesh}_{cell}"
    if field.origin is None or field.spacing is None:
        return cell
    place = (field.origin, field.spacing)
    is_plain = place == ((0.0, 0.0, 0.0), (1.0, 1.0, 1.0))
    return cell if is_plain else f"{cell}{field.name}_"


def _coordinates(field: Field, array: xarray.DataArray) -> dict[str, Any]:
    """Returns the coordinates along each axis of a field with a uniform mesh of its own."""
    if field.origin is None or field.spacing is None:
        return {}
    half = 0.5 if field.centring == "cell" else 0.0
    found = {}
    for dim in array.dims:
        axis = "xyz".find(str(dim)[-1])
        if axis >= 0 and not str(dim).startswith("component"):
            steps = np.arange(array.sizes[dim]) + half
            found[str(dim)] = field.origin[axis] + field.spacing[axis] * steps
    return found
