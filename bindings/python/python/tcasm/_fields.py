"""Descriptions of fields and meshes."""

from dataclasses import dataclass
from typing import Any

import numpy as np

Attr = int | float | str | list[float]


@dataclass(frozen=True)
class Field:
    """A field of one version, or of a producer."""

    name: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]  #: ghost layers included; the last axis of a vector is its components
    strides: tuple[int, ...]  #: in bytes
    components: int
    order: str  #: ``"C"`` or ``"F"``
    ghosts: tuple[tuple[int, int], ...]  #: layers before and after the interior, of each axis
    unit: str
    centring: str  #: ``"point"``, ``"cell"`` or ``"none"``
    mesh: str | None  #: the named mesh that it is on
    origin: tuple[float, ...] | None  #: x, y, z of a uniform mesh of its own
    spacing: tuple[float, ...] | None
    quantity: str
    capacity: int | None  #: the largest length of a variable field
    in_checkpoints: bool
    structure: str | None  #: the type of raw structures; their array has a row of bytes for each
    attrs: dict[str, Attr]

    @property
    def interior(self) -> tuple[slice, ...]:
        """The index that leaves ghost layers out: ``array[field.interior]``."""
        pairs = zip(self.ghosts, self.shape)
        return tuple(slice(before, n - after) for (before, after), n in pairs)


@dataclass(frozen=True)
class Mesh:
    """A named mesh of one version."""

    name: str
    kind: str  #: uniform, rectilinear, curvilinear, unstructured or particles
    geometry: tuple[str, ...]  #: names of the fields that are its geometry
    cell_type: int | None  #: VTK's number of the type of all cells
    points: tuple[int, ...] | None  #: of a uniform mesh, along x, y, z
    origin: tuple[float, ...] | None
    spacing: tuple[float, ...] | None
    block: dict[str, Any] | None  #: place among the blocks of an adaptive mesh
    attrs: dict[str, Attr]


def _tuple(value: Any) -> Any:
    return None if value is None else tuple(value)


def field_of(found: dict[str, Any]) -> Field:
    """Returns the field that the compiled part describes."""
    found["dtype"] = np.dtype(found["dtype"])
    for key in ("shape", "strides", "ghosts", "origin", "spacing"):
        found[key] = _tuple(found[key])
    return Field(**found)


def mesh_of(found: dict[str, Any]) -> Mesh:
    """Returns the mesh that the compiled part describes."""
    for key in ("geometry", "points", "origin", "spacing"):
        found[key] = _tuple(found[key])
    return Mesh(**found)
