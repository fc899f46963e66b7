"""Fields as arrays of dask, whose chunks are read by name and version in the worker."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import dask.array
import numpy as np
from numpy.typing import NDArray

from ._errors import VersionGone
from ._fields import Field

if TYPE_CHECKING:
    from ._observer import Observer, Version

#: The observers of this process, by region and time of creation.
_observers: dict[tuple[str, int], Observer] = {}


class Source:
    """What dask takes for an array: shape, dtype, and parts of it on demand."""

    def __init__(self, field: Field) -> None:
        self.shape, self.dtype, self.ndim = field.shape, field.dtype, len(field.shape)

    def __getitem__(self, index: Any) -> NDArray[Any]:
        raise NotImplementedError


class LiveSource(Source):
    """A field of a live version. In the process that made it, it holds the version. A copy that
    was sent to another process pins the version there for as long as it reads."""

    def __init__(self, version: Version, name: str, created: int) -> None:
        field = version.field(name)
        super().__init__(field)
        self._version: Version | None = version
        self._state = (version.region, created, version.number, name, field)

    def __reduce__(self) -> tuple[Any, ...]:
        return _sent, (self._state,)

    def __dask_tokenize__(self) -> Any:
        return self._state[:4]

    def __getitem__(self, index: Any) -> NDArray[Any]:
        region, created, number, name, _ = self._state
        version = self._version or _observer(region, created).version(number)
        return version.read(name, index)


def _sent(state: tuple[str, int, int, str, Field]) -> LiveSource:
    source = LiveSource.__new__(LiveSource)
    Source.__init__(source, state[4])
    source._version, source._state = None, state
    return source


def _observer(region: str, created: int) -> Observer:
    from ._observer import Observer

    run = _observers.get((region, created))
    if run is None:
        run = Observer(region)
        if run._created != created:
            raise VersionGone(f"region {region!r} was created again: its old versions are gone")
        _observers[region, created] = run
    return run


class StoredSource(Source):
    """A field of a checkpoint."""

    def __init__(self, path: str, name: str, field: Field) -> None:
        super().__init__(field)
        self._path, self._name, self._field = path, name, field

    def __reduce__(self) -> tuple[Any, ...]:
        return StoredSource, (self._path, self._name, self._field)

    def __dask_tokenize__(self) -> Any:
        return self._path, self._name

    def __getitem__(self, index: Any) -> NDArray[Any]:
        from ._checkpoints import StoredVersion

        return StoredVersion(self._path).read(self._name, index)


def array(source: Source, chunks: Any) -> dask.array.Array:
    """Returns the array of dask over ``source``."""
    meta = np.empty((0,) * source.ndim, source.dtype)
    made: dask.array.Array = dask.array.from_array(
        source, chunks=chunks, meta=meta, asarray=True, fancy=False
    )
    return made
