"""Observers of running simulations."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING, Any, NoReturn

from numpy.typing import NDArray

from . import _tcasm
from ._errors import CannotPickle, EndOfStream, Status
from ._follow import follow
from ._index import bounds_of
from ._versions import AnyVersion, Index

if TYPE_CHECKING:
    from ._dask import Source


class Version(AnyVersion):
    """A version of a running simulation. It is pinned while this object, or an array of it, lives:
    its memory is not reused, and its values never change."""

    _core: _tcasm.Version

    def __init__(self, core: _tcasm.Version, created: int) -> None:
        self._core = core
        self._created = created

    @property
    def published(self) -> int:
        """When it was published, in nanoseconds of the Unix epoch."""
        return self._core.published

    def read(self, name: str, index: Index = None, *, copy: bool = False) -> NDArray[Any]:
        if index is None:
            array = self._core.read(name, None)
        else:
            array = self._part(name, index)
        return array.copy(order="K") if copy else array

    def _part(self, name: str, index: Index) -> NDArray[Any]:
        """Maps only the part that the index selects, if that is a box that is not empty."""
        field = self.field(name)
        axes = len(field.shape) - (field.components > 1)
        found = bounds_of(index, field.shape[:axes]) if field.structure is None else None
        if found is None:
            whole: NDArray[Any] = self._core.read(name, None)[index]
            return whole
        ranges, rest = found
        part: NDArray[Any] = self._core.read(name, ranges)[rest]
        return part

    def changes(self, since: Version | None = None) -> dict[str, Any]:
        """Returns the number of pages and the names of the fields that differ from ``since``, or
        from the version before."""
        return self._core.changes(None if since is None else since._core)

    def changed_ranges(self, name: str, since: Version | None = None) -> list[tuple[int, int]]:
        """Returns the offset and the length of each range of bytes of a field that may differ from
        ``since``, or from the version before: whole pages, cut to the field, ascending, not
        touching. Offsets count from the first byte of the field in memory. The whole field is
        returned if it is new, lies elsewhere or has another length. Of a field in C order::

            data = version["u"].reshape(-1).view("uint8")
            for offset, length in version.changed_ranges("u", since=older):
                send(offset, data[offset : offset + length])

        Raises `FieldNotFound`, or `FieldLost` if this version has no values of it."""
        return self._core.changed_ranges(name, None if since is None else since._core)

    def _source(self, name: str) -> Source:
        from ._dask import LiveSource

        return LiveSource(self, name, self._created)


class Observer:
    """An attachment to a region::

        with tcasm.Observer("run") as run:
            for version in run:
                u = version["u"]

    A loop takes every version that exists when it asks for the next, until the end of the stream.
    If the producer dies it raises `ProducerLost`. ``timeout`` is how many seconds to wait for the
    producer to start. With ``kept=True`` it attaches to what ``tcasm keep`` holds of a dead one.
    """

    def __init__(self, name: str, *, timeout: float = 0.0, kept: bool = False) -> None:
        self._core = _tcasm.Observer(name, timeout, kept)
        self.name = name
        self._created: int = self._core.info()["created"]

    def latest(self) -> Version:
        """Returns the newest version, also after the end of the stream."""
        return Version(self._core.latest(), self._created)

    def wait(self, timeout: float | None = None) -> Version:
        """Waits for a version that is newer than all that were returned before. Returns the newest
        one. Raises `NotReady` after ``timeout`` seconds."""
        return Version(self._core.wait(timeout), self._created)

    def next(self, timeout: float | None = None) -> Version:
        """Does the same as `wait`, but returns the oldest such version."""
        return Version(self._core.next(timeout), self._created)

    def every_version(self, on: bool = True) -> None:
        """Makes `next` and loops take every version from now on, beginning with the oldest that
        exists. The producer reclaims none that was not taken yet, so these fill its bounds:
        `Producer.publish` skips then, or waits if it has a timeout."""
        self._core.every_version(on)

    def missed(self) -> list[tuple[int, int]]:
        """Returns the first and the last number of each range that was left out since
        `every_version`. Most are numbers of versions that never became visible."""
        return self._core.missed()

    def version(self, number: int) -> Version:
        """Returns the version of that number, if it exists."""
        return Version(self._core.version(number), self._created)

    def available(self) -> list[int]:
        """Returns the numbers of the versions that exist."""
        return self._core.available()

    @property
    def status(self) -> Status:
        return Status[self._core.status()]

    def info(self) -> dict[str, Any]:
        """Returns what is known of the region besides its versions, counters among it."""
        return self._core.info()

    def stats(self) -> dict[str, int]:
        """Returns what the arrays of this observer take of this process."""
        return self._core.stats()

    def observers(self) -> list[dict[str, Any]]:
        """Returns all observers, with the versions that they pin."""
        return self._core.observers()

    def set_copy_budget(self, bytes: int) -> None:
        """Sets how much memory copies of scattered pages may take."""
        self._core.set_copy_budget(bytes)

    def fileno(self) -> int:
        """Returns a descriptor that is readable when something has happened."""
        return self._core.fileno()

    def __iter__(self) -> Iterator[Version]:
        while True:
            try:
                version = self.next()
            except EndOfStream:
                return
            yield version
            del version  # the loop may wait long, and this must not hold the version

    def __aiter__(self) -> AsyncIterator[Version]:
        return follow(self)

    def close(self) -> None:
        """Detaches. Versions and arrays that live stay as they are."""
        self._core.close()

    @property
    def closed(self) -> bool:
        return self._core.closed

    def __enter__(self) -> Observer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> NoReturn:
        raise CannotPickle(
            "cannot pickle an observer: it belongs to this process. Send the name of the region, "
            "and attach in the other process"
        )

    def __repr__(self) -> str:
        return f"<Observer {self.name!r}{' closed' if self.closed else ''}>"
