"""Host buffers: memory that exists once per host, at the same address in every process of a job."""

from __future__ import annotations

import os
import weakref
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NoReturn

import numpy as np
from numpy.typing import NDArray

from . import _tcasm
from ._errors import CannotPickle, HostBufferError, NotReady


@dataclass(frozen=True)
class Extent:
    """A range of addresses for a region: ``Producer(..., extent=part)``."""

    base: int  #: the address of the first byte
    bytes: int


class HostBuffer:
    """A buffer of the processes of ``job`` on this host, in sections of so many bytes::

        with tcasm.HostBuffer("weather", {"table": 8 << 20}, processes=64) as buffer:
            if buffer.created:
                buffer.section("table").view("float64")[:] = compute()
                buffer.seal("table")
            table = buffer.wait_sealed("table").view("float64")

    With ``processes`` all of them get the buffer within ``timeout`` seconds, or none does. With
    ``rendezvous=(address, secret)`` the hosts of the job agree on one address, through
    ``tcasm hostbuffer serve`` at ``"host:port"`` and the file of its secret. There are no locks:
    initialise a section once, then read it. Arrays keep the memory when this is closed. A process
    can have the buffer of a job only once at a time.

    With ``ranks={"state": 64}`` the section ``"state"`` is for the regions of 64 ranks, each with
    at most as many bytes of fields as ``sections`` says: see `take_part`.
    """

    def __init__(
        self,
        job: str,
        sections: Mapping[str, int],
        *,
        ranks: Mapping[str, int] | None = None,
        processes: int | None = None,
        rendezvous: tuple[str, str | os.PathLike[str]] | None = None,
        timeout: float = 60.0,
    ) -> None:
        self.job = job
        of_ranks = dict(ranks or {})
        listed = [(name, size, of_ranks.pop(name, 0)) for name, size in sections.items()]
        if of_ranks:
            raise HostBufferError(
                f"ranks has {sorted(of_ranks)}, and there are only the sections {list(sections)}; "
                "give each section of ranks a size, too"
            )
        meeting = rendezvous and (rendezvous[0], os.fspath(rendezvous[1]))
        self._core = _tcasm.HostBuffer(job, listed, processes, meeting, timeout)
        #: The writable arrays of each section, which become read-only when it is sealed.
        self._arrays: dict[str, list[weakref.ref[NDArray[np.uint8]]]] = {}

    @property
    def address(self) -> int:
        """The address of the first byte, the same in all processes."""
        return self._core.address

    @property
    def created(self) -> bool:
        """True in the process that created the buffer, and so is the one that fills it."""
        return self._core.created

    def section(self, name: str) -> NDArray[np.uint8]:
        """Returns the bytes of a section, writable unless it is sealed. Use ``.view(dtype)``.

        Any process can seal it. Then a store to an array that was made before ends this process
        with a SIGSEGV. (`seal` and `wait_sealed` make the arrays that this returned read-only, but
        not views of them.)"""
        array = self._core.section(name)
        if array.flags.writeable:
            self._arrays.setdefault(name, []).append(weakref.ref(array))
        return array

    def take_part(self, name: str, rank: int) -> Extent:
        """Takes the part of ``rank`` in a section for regions, once in a process. The region of the
        rank lies there, at the same address in each run and on each host::

            part = buffer.take_part("state", rank)
            group = tcasm.Group(rank, 64)
            with tcasm.Producer("weather", group=group, extent=part) as p:
                ...

        The buffer may be closed before the producer. Raises `HostBufferError` if the part is taken,
        or if there is no such section or rank."""
        return Extent(*self._core.take_part(name, rank))

    def seal(self, name: str) -> None:
        """Makes a section read-only in all processes, for ever. Drop views of it before."""
        self._close(name)
        self._core.seal(name)

    def wait_sealed(self, name: str, timeout: float | None = None) -> NDArray[np.uint8]:
        """Waits until a process has sealed a section, and returns its bytes, which never change.
        Raises `NotReady` after ``timeout`` seconds."""
        if not self._core.wait_sealed(name, timeout):
            raise NotReady(f"section {name!r} was not sealed within {timeout} s")
        self._close(name)
        return self._core.section(name)

    def _close(self, name: str) -> None:
        """Makes arrays of a section read-only."""
        for found in self._arrays.pop(name, []):
            array = found()
            if array is not None:
                array.flags.writeable = False

    def close(self) -> None:
        """Lets go of the buffer. It is unmapped when no array of it lives."""
        self._core.close()

    @property
    def closed(self) -> bool:
        return self._core.closed

    def __enter__(self) -> HostBuffer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> NoReturn:
        raise CannotPickle("cannot pickle a host buffer; each process makes it by the job's name")

    def __repr__(self) -> str:
        return f"<HostBuffer {self.job!r} at {self.address:#x}{' closed' if self.closed else ''}>"
