"""Runs that continue from their last state."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from . import _tcasm
from ._buffers import Buffer
from ._errors import CheckpointError
from ._producer import Producer


@dataclass(frozen=True)
class Restored:
    """The last version of a region that was restored."""

    number: int
    step: int
    time: float


class _Restored(Producer):
    """A producer whose region may be there already."""

    def __init__(self, name: str, folders: list[str | os.PathLike[str]], settings: Any) -> None:
        self._folders = folders
        self.last: Restored | None = None
        super().__init__(name, **settings)
        for field in self._core.names():
            buffer = self._core.bound(field)
            self._bound[field] = Buffer(self._core, buffer, field, False)

    def _made(self, settings: dict[str, Any]) -> _tcasm.Producer:
        made, last = _tcasm.Producer.restore_or_begin(settings, self._folders)
        self.last = None if last is None else Restored(*last)
        return made


def restore_or_begin(
    name: str, folders: Sequence[str | os.PathLike[str]] = (), **settings: Any
) -> tuple[Producer, Restored | None]:
    """Creates the region ``name`` as it was at its last version, or a new one::

        p, last = tcasm.restore_or_begin("run", ["/fast", "/slow"], capacity=1 << 30)
        u = p["u"] if last else p.field("u", (64, 64))
        for step in range(last.step + 1 if last else 0, 1000):
            ...

    The last version is the one that ``tcasm keep`` holds of a dead producer, or the newest
    checkpoint of this name in ``folders`` that can be read. ``settings`` are those of `Producer`.
    Structures are rows of bytes afterwards: ``p["pairs"].view(dtype)[:, 0]``.

    A run begins anew only where there surely is no state: a folder that is missing, or checkpoints
    that cannot be used, are a `CheckpointError`.
    """
    if not hasattr(_tcasm.Producer, "restore_or_begin"):
        raise CheckpointError("this package was built without HDF5 (feature files)")
    producer = _Restored(name, list(folders), settings)
    return producer, producer.last
