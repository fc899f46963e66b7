"""Groups: the regions of all ranks of a parallel program, observed one step at a time."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from typing import Any, NoReturn

from numpy.typing import NDArray

from . import _tcasm
from ._errors import CannotPickle, EndOfStream, VersionGone
from ._follow import follow_group
from ._index import bounds_of
from ._observer import Version
from ._versions import Index


class GroupVersion:
    """One step of a group, pinned in all ranks of this host until `release`, or until neither this
    nor an array of one of its members lives."""

    def __init__(self, core: _tcasm.GroupVersion) -> None:
        self._core = core

    @property
    def group(self) -> str:
        return self._core.group

    @property
    def run(self) -> str:
        """The name of the run that all ranks belong to."""
        return self._core.run

    @property
    def step(self) -> int:
        return self._core.step

    @property
    def time(self) -> float:
        return self._core.time

    @property
    def ranks(self) -> int:
        """The number of ranks on all hosts."""
        return self._core.ranks

    @property
    def members(self) -> dict[int, Version]:
        """The versions of the ranks of this host."""
        found = {rank: self._core.member(rank) for rank in self._core.members()}
        return {rank: Version(core, 0) for rank, core in found.items() if core is not None}

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self.read(name)

    def read(self, name: str, index: Index = None, *, concatenated: bool = False) -> NDArray[Any]:
        """Returns a global array, or the part of it that an index selects, gathered from the blocks
        of the ranks: a copy. With ``concatenated=True`` the fields of all ranks, which need no place
        in a global array, one behind the other along their first axis."""
        shape, components = self._core.shape(name, concatenated)
        whole = [(0, n) for n in shape]
        if index is None:
            return self._core.read(name, concatenated, whole)
        found = bounds_of(index, tuple(shape))
        if found is None:
            part: NDArray[Any] = self._core.read(name, concatenated, whole)[index]
            return part
        ranges, rest = found
        part = self._core.read(name, concatenated, ranges)[rest]
        return part

    def shape(self, name: str) -> tuple[int, ...]:
        """Returns the shape of a global array. The last axis of a vector is its components."""
        shape, components = self._core.shape(name, False)
        return (*shape, components) if components > 1 else tuple(shape)

    def release(self) -> None:
        """Lets go of the step in all ranks. Members that live stay as they are."""
        self._core.release()

    def __enter__(self) -> GroupVersion:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    def __reduce__(self) -> NoReturn:
        raise CannotPickle(
            "cannot pickle a step of a group: its pins belong to this process. Send the name of the "
            "group and version.step, open the step there, and hold it here until then; or send a "
            "copy: version[name]"
        )

    def __repr__(self) -> str:
        return f"<GroupVersion {self.group!r} step={self.step} ranks={self.ranks}>"


@dataclass(frozen=True)
class GroupEnds:
    """The ranks of this host that publish no more."""

    attached: int  #: the number of ranks whose regions are attached
    closed: list[int]  #: of these, the ranks that have closed their regions
    lost: list[int]  #: and those that died without closing them

    @property
    def all_closed(self) -> bool:
        """True if all ranks have closed their regions."""
        return self.attached > 0 and len(self.closed) == self.attached


class GroupObserver:
    """An attachment to the regions ``name.RANK`` of this host::

        with tcasm.GroupObserver("run") as group:
            for version in group:
                u = version["u"]                       # gathered from the blocks of all ranks

    Each rank publishes at its own speed. A loop takes the newest step that all ranks have, again and
    again, until the end of the stream. ``timeout`` is how many seconds to wait for a rank to start.
    """

    def __init__(self, name: str, *, timeout: float = 0.0) -> None:
        self._core = _tcasm.GroupObserver(name, timeout)
        self.name = name

    def latest(self) -> GroupVersion:
        """Returns the newest step that all ranks have."""
        return GroupVersion(self._core.latest())

    def wait(self, timeout: float | None = None) -> GroupVersion:
        """Waits for a step of all ranks that is newer than all that were returned before. Raises
        `NotReady` after ``timeout`` seconds."""
        return GroupVersion(self._core.wait(timeout))

    def version(self, step: int) -> GroupVersion:
        """Returns a step, if all ranks have it."""
        found = self._core.version(step)
        if found is None:
            raise VersionGone(f"not all ranks have step {step}; they have {self.steps()}")
        return GroupVersion(found)

    def agreed(self) -> GroupVersion:
        """Returns the newest step that all ranks of the job have, on all hosts, each of which needs
        a ``tcasm-agent``. After the death of ranks or of the agent it is the last one that was
        agreed, as long as that exists. Waits for nobody. Raises `NotReady` if no step is agreed
        yet, `RegionNotFound` if no agent runs on this host, `ProducerLost` if it has ended and the
        step exists no more, and `VersionGone` if the ranks of this host are of another run."""
        return GroupVersion(self._core.agreed())

    def ends(self) -> GroupEnds:
        """Returns which ranks publish no more. Waits for nobody."""
        return GroupEnds(**self._core.ends())

    def steps(self) -> list[int]:
        """Returns the steps that all ranks have now."""
        return self._core.steps()

    def __iter__(self) -> Iterator[GroupVersion]:
        while True:
            try:
                version = self.wait()
            except EndOfStream:
                return
            yield version
            del version  # the loop may wait long, and this must not hold the version

    def __aiter__(self) -> AsyncIterator[GroupVersion]:
        return follow_group(self)

    def close(self) -> None:
        """Detaches. Versions that live stay as they are."""
        self._core.close()

    @property
    def closed(self) -> bool:
        return self._core.closed

    def __enter__(self) -> GroupObserver:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> NoReturn:
        raise CannotPickle(
            "cannot pickle an observer: it belongs to this process. Send the name of the group, and "
            "attach in the other process"
        )

    def __repr__(self) -> str:
        return f"<GroupObserver {self.name!r}{' closed' if self.closed else ''}>"
