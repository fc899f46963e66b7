"""The interface that live versions and those in checkpoints share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import numpy as np
from numpy.typing import NDArray

from . import _tcasm
from ._errors import CannotPickle, FieldNotFound
from ._fields import Attr, Field, Mesh, field_of, mesh_of

if TYPE_CHECKING:
    import dask.array
    import xarray

    from ._dask import Source

#: An index: an integer or a slice, or a tuple of these.
Index = Any
_Self = TypeVar("_Self", bound="AnyVersion")


class AnyVersion(ABC):
    """One version: ``version["u"]`` is a numpy array. See `Version` and `StoredVersion`."""

    _core: _tcasm.Version | _tcasm.Checkpoint

    @property
    def number(self) -> int:
        return self._core.number

    @property
    def step(self) -> int:
        return self._core.step

    @property
    def time(self) -> float:
        return self._core.time

    @property
    def region(self) -> str:
        return self._core.region

    @property
    def fields(self) -> Mapping[str, Field]:
        """The fields, by name."""
        return {name: self.field(name) for name in self.keys()}

    @property
    def meshes(self) -> Mapping[str, Mesh]:
        """The named meshes, by name."""
        return {found["name"]: mesh_of(found) for found in self._core.meshes()}

    @property
    def attrs(self) -> dict[str, Attr]:
        """The attributes of the region."""
        return self._core.attrs()

    def field(self, name: str) -> Field:
        """Returns the description of a field."""
        found = self._core.describe(name)
        if found is None:
            raise FieldNotFound(f"there is no field {name!r}; the version has {self.keys()}")
        return field_of(found)

    def keys(self) -> list[str]:
        """Returns the names of the fields."""
        return self._core.names()

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys())

    def __len__(self) -> int:
        return len(self.keys())

    def __contains__(self, name: object) -> bool:
        return name in self.keys()

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self.read(name)

    @abstractmethod
    def read(self, name: str, index: Index = None, *, copy: bool = False) -> NDArray[Any]:
        """Returns a field, or the part of it that an index selects, as a read-only array. With
        ``copy=True`` it is a copy, which can be written and pins nothing."""

    def interior(self, name: str, *, copy: bool = False) -> NDArray[Any]:
        """Returns a field without its ghost layers."""
        array = self.read(name)[self.field(name).interior]
        return array.copy() if copy else array

    def stats(self, name: str) -> dict[str, float]:
        """Returns count, nan (their number), min, max, mean and std of a field without its ghost
        layers. NaN values are only counted."""
        values = self.interior(name).ravel()
        good = values[~np.isnan(values)]
        found = {"count": good.size, "nan": values.size - good.size}
        if good.size:
            found |= {key: getattr(np, key)(good).item() for key in ("min", "max", "mean", "std")}
        return found

    def to_xarray(self) -> xarray.Dataset:
        """Returns all fields without their ghost layers as a dataset of xarray, which must be
        installed. Its arrays are those of `interior`, without a copy."""
        from ._xarray import dataset

        return dataset(self)

    def to_dask(self, name: str, chunks: Any = "auto") -> dask.array.Array:
        """Returns a field as an array of dask, which must be installed. A worker reads its chunks
        by name and version, so it must run on this node. The version stays pinned by the array, as
        long as that lives in this process."""
        from ._dask import array

        return array(self._source(name), chunks)

    @abstractmethod
    def _source(self, name: str) -> Source: ...

    def release(self) -> None:
        """Lets go of the version. Arrays of it that live stay as they are."""
        self._core.release()

    def __enter__(self: _Self) -> _Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    def __reduce__(self) -> NoReturn:
        raise CannotPickle(
            "cannot pickle a version: its pin belongs to this process. Send the name of the region "
            "and version.number, open the version there, and hold it here until then; or send a "
            "copy: version.read(name, copy=True)"
        )

    def __repr__(self) -> str:
        kind, at = type(self).__name__, f"step={self.step} time={self.time}"
        return f"<{kind} {self.region!r} number={self.number} {at}>"
