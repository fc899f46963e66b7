"""Versions of memory in pieces, which peers read by cookie."""

from __future__ import annotations

import atexit
import weakref
from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from . import _tcasm
from ._errors import CannotPickle, DeclareError
from ._transfer import Owner

_open: weakref.WeakSet[Gathered] = weakref.WeakSet()


class Gathered:
    """An array, or several ones, published as versions of the region ``name``::

        with tcasm.Owner() as owner, tcasm.Gathered(owner, "columns", u[:, :2]) as gathered:
            cookie = gathered.cookie                 # send it with owner.address
            for step in range(1, 11):
                u += 1.0
                gathered.publish(step)               # peers read this version from now on

    The arrays may be strided. The region has one field, ``bytes``: those of the elements in C
    order, one array after another. The first version is published at once, with step 0. Peers read
    the newest one by the cookie, each transfer from one version, and observers attach to the
    region. The arrays are kept until `close`. No other thread may store to them while this is made
    and while `publish` runs.

    Raises `DeclareError` for arrays that have no elements, overlap or have Python objects, and
    `CreateError` if the region cannot be created.
    """

    def __init__(
        self, owner: Owner, name: str, arrays: NDArray[Any] | Sequence[NDArray[Any]]
    ) -> None:
        listed: list[NDArray[Any]]
        listed = [arrays] if isinstance(arrays, np.ndarray) else list(arrays)
        for kind in (array.dtype for array in listed):
            if kind.hasobject:
                raise DeclareError(f"{kind} has Python objects, which mean nothing elsewhere")
        self._core = _tcasm.Gathered(owner._core, name, listed)
        self.owner, self.name = owner, name
        owner._gathered.add(self)
        _open.add(self)

    @property
    def cookie(self) -> bytes:
        """The cookie of the newest version, 16 bytes: `Peer.read`, `Peer.read_version`."""
        return bytes(self._core.cookie)

    def publish(self, step: int, time: float = 0.0) -> _tcasm.Receipt:
        """Publishes the present content of the arrays as the next version. All of it is compared,
        and pages that differ are copied. Does not wait: if there is no room the receipt is false,
        and peers read the version before."""
        return self._core.publish(step, time)

    def close(self) -> None:
        """Ends the region and its cookie, and lets go of the arrays. Observers, and peers that are
        reading, keep their version."""
        self._core.close()

    @property
    def closed(self) -> bool:
        return self._core.closed

    def __enter__(self) -> Gathered:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> NoReturn:
        raise CannotPickle(
            "cannot pickle gathered memory; send its cookie and the address of its owner"
        )

    def __repr__(self) -> str:
        return f"<Gathered {self.name!r}{' closed' if self.closed else ''}>"


@atexit.register
def _close_all() -> None:
    for gathered in list(_open):
        gathered.close()
