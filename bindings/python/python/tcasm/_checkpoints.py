"""Checkpoints, with the interface of live versions."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from . import _tcasm
from ._errors import CheckpointError, EndOfStream, VersionGone
from ._fields import Field
from ._versions import AnyVersion, Index

if TYPE_CHECKING:
    from ._dask import Source


class StoredVersion(AnyVersion):
    """A version in a checkpoint. Each read reads the file."""

    _core: _tcasm.Checkpoint

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._core = _tcasm.Checkpoint(self.path)

    def read(self, name: str, index: Index = None, *, copy: bool = False) -> NDArray[Any]:
        array = _array(self.field(name), self._core.read(name))
        array.flags.writeable = copy
        part: NDArray[Any] = array if index is None else array[index]
        return part.copy(order="K") if copy else part

    def _source(self, name: str) -> Source:
        from ._dask import StoredSource

        return StoredSource(str(self.path.absolute()), name, self.field(name))


def _array(field: Field, data: NDArray[np.uint8]) -> NDArray[Any]:
    """Returns the array whose memory is ``data``."""
    if field.structure is not None:
        return data.reshape(field.shape)
    if data.size == 0:
        return np.empty(field.shape, field.dtype)
    return np.ndarray(field.shape, field.dtype, buffer=data, strides=field.strides)


class Checkpoints:
    """The checkpoints of a run, oldest first. Iterate as often as you like."""

    def __init__(self, paths: list[Path]) -> None:
        self._paths = paths

    def __iter__(self) -> Iterator[StoredVersion]:
        for path in self._paths:
            yield StoredVersion(path)

    def __len__(self) -> int:
        return len(self._paths)

    def latest(self) -> StoredVersion:
        """Returns the newest checkpoint."""
        if not self._paths:
            raise EndOfStream("there is no checkpoint")
        return StoredVersion(self._paths[-1])

    def available(self) -> list[int]:
        """Returns the numbers of the versions."""
        return [version.number for version in self]

    def version(self, number: int) -> StoredVersion:
        """Returns the version of that number."""
        for version in self:
            if version.number == number:
                return version
        raise VersionGone(f"version {number} is not there; there are {self.available()}")

    def close(self) -> None:
        """Does nothing: versions have files of their own open."""

    def __enter__(self) -> Checkpoints:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Checkpoints {[str(path) for path in self._paths]}>"


def open(path: str | os.PathLike[str], name: str | None = None) -> Checkpoints:
    """Opens the checkpoints in a folder, those of a ``NAME.vtkhdf.series``, or one file. A folder
    with the checkpoints of several runs needs the ``name`` of one."""
    if not hasattr(_tcasm, "Checkpoint"):
        raise CheckpointError("this package was built without HDF5 (feature files)")
    place = Path(path)
    if place.name.endswith(".vtkhdf.series"):
        place, name = place.parent, place.name.removesuffix(".vtkhdf.series")
    if place.is_file():
        return Checkpoints([place])
    found = [Path(file) for file in _tcasm.checkpoint_files(place, name)]
    names = sorted({_split(file)[0] for file in found})
    if len(names) > 1:
        raise CheckpointError(f"{place} has the checkpoints of {names}: give the name of one")
    return Checkpoints(sorted(found, key=lambda file: _split(file)[1]))


def _split(path: Path) -> tuple[str, int]:
    """Returns the name and the step in the name of a file."""
    found = re.match(r"(.*)_(\d+)\.", path.name)
    return (found[1], int(found[2])) if found else (path.name, 0)
