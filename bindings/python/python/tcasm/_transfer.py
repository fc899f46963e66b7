"""Transfers of bytes between two processes of one machine, by cookie."""

from __future__ import annotations

import os
import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import DTypeLike, NDArray

from . import _tcasm
from ._errors import CannotPickle, DeclareError, TransferError

if TYPE_CHECKING:
    from ._gathered import Gathered


def SharedArray(shape: int | Sequence[int], dtype: DTypeLike = "float64") -> NDArray[Any]:
    """Returns an array of zeros in memory that peers may write and map, if it (or a view of it) is
    declared. Peers that have mapped it keep it."""
    kind = np.dtype(dtype)
    sizes = (shape,) if isinstance(shape, int) else tuple(shape)
    if kind.hasobject:
        raise DeclareError(f"{kind} has Python objects, which mean nothing in other processes")
    count = int(np.prod(sizes, dtype=object))
    memory = _tcasm.SharedMemory(count * kind.itemsize).array()
    return memory[: count * kind.itemsize].view(kind).reshape(sizes)


def _memory_of(array: NDArray[Any]) -> _tcasm.SharedMemory | None:
    """Returns the memory of a `SharedArray` that the array is a view of."""
    base: Any = array
    while isinstance(base, np.ndarray):
        base = base.base
    return base if isinstance(base, _tcasm.SharedMemory) else None


class Owner:
    """Declares arrays, and serves peers of the same user from a thread of its own::

        with tcasm.Owner() as owner:
            cookie = owner.declare(u[:, 0])          # send it with owner.address

    Closing this ends all connections, and closes what is `Gathered` for it.
    """

    def __init__(self) -> None:
        self._core = _tcasm.Owner()
        #: What it has declared besides arrays. Each keeps the owner.
        self._gathered: weakref.WeakSet[Gathered] = weakref.WeakSet()

    @property
    def address(self) -> Path:
        """Where peers find this owner."""
        return Path(self._core.address)

    def declare(self, array: NDArray[Any], access: str = "read", *, once: bool = False) -> bytes:
        """Lets peers read (``"read"``) or write (``"write"``, ``"readwrite"``) an array, which may
        be strided. Returns its cookie, 16 bytes: who has it may do so. The bytes are those of the
        elements in C order. Peers write only to a `SharedArray` or views of one. A declaration for
        one use (``once``) ends when one peer has transferred all bytes.

        The memory is kept until `revoke` has returned true. You may change it: a peer that reads
        meanwhile can get old and new bytes."""
        if array.dtype.hasobject:
            raise DeclareError(f"{array.dtype} has Python objects, which mean nothing elsewhere")
        if access != "read" and not array.flags.writeable:
            raise DeclareError("the array is read-only, so peers must not write it")
        return bytes(self._core.declare(array, _memory_of(array), access, once))

    def revoke(self, cookie: bytes, timeout: float | None = None) -> bool:
        """Ends a cookie, and waits until no transfer uses it. Returns false if one still does after
        ``timeout`` seconds: then leave the memory alone, and call this again."""
        return self._core.revoke(cookie, timeout)

    @property
    def declarations(self) -> int:
        """How many declarations there are."""
        return self._core.declarations()

    def close(self) -> None:
        """Ends all connections. Memory that peers still copy stays for ever."""
        for gathered in list(self._gathered):
            gathered.close()
        self._core.close()

    @property
    def closed(self) -> bool:
        return self._core.closed

    def __enter__(self) -> Owner:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> NoReturn:
        raise CannotPickle("cannot pickle an owner; send its address, and connect a tcasm.Peer")

    def __repr__(self) -> str:
        return f"<Owner {str(self.address)!r}{' closed' if self.closed else ''}>"


@dataclass(frozen=True)
class Declared:
    """The facts that an owner tells of a declaration."""

    nbytes: int
    access: str
    mapped: bool  #: it can be mapped
    once: bool
    version: int | None  #: the version, if it is memory that nobody writes


class Peer:
    """A connection to an owner. ``only`` fixes the transport: ``"direct"``, ``"mapped"`` or
    ``"ring"``. By default each transfer takes the best one that works."""

    def __init__(self, address: str | os.PathLike[str], *, only: str | None = None) -> None:
        self._core = _tcasm.Peer(address, only)
        self.address = Path(address)

    @property
    def not_direct(self) -> str | None:
        """The reason why direct copies do not work, if they do not."""
        return self._core.not_direct()

    def describe(self, cookie: bytes) -> Declared:
        """Asks what a cookie stands for."""
        return Declared(**self._core.describe(cookie))

    def read(
        self, cookie: bytes, out: NDArray[Any] | None = None, *, offset: int = 0
    ) -> NDArray[Any]:
        """Reads bytes of a declaration from ``offset`` on, as many as ``out`` has, which is
        contiguous. Returns ``out``, or a new array of all bytes that follow.

        The result *may be torn*: if the owner or a peer writes meanwhile, it can have old and new
        bytes in any mixture. For consistent data, publish versions. After an error ``out`` may have
        any bytes. Nothing else may use ``out`` during the call."""
        if out is None:
            out = self._room(cookie, offset)
        self._core.read(cookie, offset, _to_write(out))
        return out

    def _room(self, cookie: bytes, offset: int) -> NDArray[np.uint8]:
        """Returns an array for all bytes of a declaration from an offset on."""
        rest = self.describe(cookie).nbytes - offset
        if rest <= 0:
            raise TransferError(f"there are no bytes from offset {offset} on")
        return np.empty(rest, np.uint8)

    def read_version(
        self, cookie: bytes, out: NDArray[Any] | None = None, *, offset: int = 0
    ) -> tuple[int, NDArray[Any]]:
        """Reads as `read` does, of a cookie that stands for a version, as that of `Gathered`. All
        bytes are of the same version, whose number is returned, too. Raises `TransferError` if the
        cookie is of live memory."""
        if out is None:
            out = self._room(cookie, offset)
        return self._core.read_version(cookie, offset, _to_write(out)), out

    def read_vectored(
        self, cookie: bytes, outs: Sequence[NDArray[Any]], *, offset: int = 0
    ) -> int | None:
        """Reads bytes of a declaration from ``offset`` on into several arrays, one after another.
        These may be strided, as ``a[:, 3]``: their elements are filled in C order. They must not
        overlap. Returns the number of the version if the cookie stands for one, and otherwise None:
        then the result *may be torn*, as that of `read`, whose rules hold here as well."""
        for index, out in enumerate(outs):
            if not out.flags.writeable:
                raise TransferError(f"array {index} is read-only")
        return self._core.read_vectored(cookie, offset, _pieces_of(outs))

    def write_vectored(
        self, cookie: bytes, arrays: Sequence[NDArray[Any]], *, offset: int = 0
    ) -> None:
        """Writes the bytes of several arrays, one after another, to a declaration from ``offset``
        on. They may be strided: their elements are written in C order, without a copy before.
        Nothing may write the arrays during the call. After an error any part may be written."""
        self._core.write_vectored(cookie, offset, _pieces_of(arrays))

    def write(self, cookie: bytes, array: NDArray[Any], *, offset: int = 0) -> None:
        """Writes the bytes of an array, in C order, to a declaration from ``offset`` on. After an
        error any part of it may be written."""
        self._core.write(cookie, offset, _bytes_of(np.ascontiguousarray(array)))

    def map(self, cookie: bytes) -> NDArray[np.uint8]:
        """Returns the bytes of a contiguous `SharedArray` of the owner, without a copy. The array
        is read-only, but its values change when the owner writes, so what is read *may be torn*.
        It stays when the cookie is revoked and when the owner ends."""
        return self._core.map(cookie)

    def close(self) -> None:
        self._core.close()

    @property
    def closed(self) -> bool:
        return self._core.closed

    def __enter__(self) -> Peer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> NoReturn:
        raise CannotPickle("cannot pickle a peer; send the address, and connect in that process")

    def __repr__(self) -> str:
        return f"<Peer {str(self.address)!r}{' closed' if self.closed else ''}>"


def _to_write(out: NDArray[Any]) -> NDArray[np.uint8]:
    """Returns the memory of a contiguous array as bytes that can be written."""
    if not out.flags.writeable:
        raise TransferError("out is read-only")
    return _bytes_of(out)


def _pieces_of(arrays: Sequence[NDArray[Any]]) -> list[NDArray[np.uint8]]:
    """Returns the memory of arrays as bytes, not as copies, in the order of their indices."""
    pieces = [_strided_bytes_of(array) for array in arrays if array.nbytes]
    if not pieces:
        raise TransferError("the arrays have no bytes; give one that has elements")
    return pieces


def _strided_bytes_of(array: NDArray[Any]) -> NDArray[np.uint8]:
    """Returns the memory of an array as bytes: a last axis more if its own is not contiguous."""
    if array.dtype.hasobject:
        raise TransferError(f"{array.dtype} has Python objects, which mean nothing elsewhere")
    if array.flags.c_contiguous:
        return array.reshape(-1).view(np.uint8)
    if array.strides[-1] != array.itemsize:
        array = array[..., np.newaxis]
    return array.view(np.uint8)


def _bytes_of(array: NDArray[Any]) -> NDArray[np.uint8]:
    """Returns the memory of a contiguous array as bytes, not as a copy."""
    if not array.flags.c_contiguous or array.dtype.hasobject:
        raise TransferError("the array is not contiguous in C order, or has Python objects")
    return array.reshape(-1).view(np.uint8)
