"""Buffers of a producer: the memory that fields are bound to, and free copies of it."""

from __future__ import annotations

import weakref
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from . import _tcasm
from ._errors import CannotPickle, DefineError


class Buffer:
    """Memory of a producer. Versions have it while it is bound to a field."""

    def __init__(
        self,
        producer: _tcasm.Producer,
        core: _tcasm.Buffer,
        field: str,
        handed_over: bool,
        structure: np.dtype[Any] | None = None,
    ) -> None:
        self._structure = structure
        self._producer, self._core, self._handed_over = producer, core, handed_over
        self._field = field
        self._writable = True
        #: Those of handed-over memory, which become read-only when a version gets it.
        self._arrays: list[weakref.ref[NDArray[Any]]] = []

    @property
    def array(self) -> NDArray[Any]:
        """The live memory: all that there is room for. That of a handed-over buffer which a version
        has is read-only until `Producer.rewrite`."""
        array = self._producer.array(self._core, self._writable)
        if self._structure is not None:
            array = array.view(self._structure)[:, 0]
        if self._handed_over and self._writable:
            self._arrays = [old for old in self._arrays if old() is not None]
            self._arrays.append(weakref.ref(array))
        return array

    def _rewrite(self) -> NDArray[Any]:
        self._producer.rewrite(self._core)
        self._writable = True
        return self.array

    def _published(self) -> None:
        """Makes arrays of a handed-over buffer read-only: a version has their pages now."""
        if not self._handed_over:
            return
        self._writable = False
        for found in self._arrays:
            array = found()
            if array is not None:
                array.flags.writeable = False
        self._arrays.clear()

    def _check_in_place(self) -> None:
        if self._handed_over:
            raise DefineError(
                f"field {self._field!r} is handed over, so devices and other mappings must not "
                "write it; add it without handed_over"
            )

    def __reduce__(self) -> NoReturn:
        raise CannotPickle(
            "cannot pickle a buffer: its memory belongs to this process. Send a copy: "
            "buffer.array.copy()"
        )

    def __repr__(self) -> str:
        return f"<Buffer like {self._field!r}{' handed over' * self._handed_over}>"
