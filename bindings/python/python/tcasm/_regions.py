"""Lists the regions of this user."""

from dataclasses import dataclass

from . import _tcasm
from ._errors import AttachError, Error, RegionNotFound, Status
from ._observer import Observer


@dataclass(frozen=True)
class Region:
    """A region, and its newest version."""

    name: str
    kept: bool  #: a process keeps what its dead producer has left
    state: str  #: the name of a `Status`, ``"DEAD"``, or why this process cannot attach
    pid: int | None = None
    version: int | None = None
    step: int | None = None
    time: float | None = None
    fields: tuple[str, ...] = ()


def regions() -> list[Region]:
    """Returns the regions of this user, living and dead."""
    return [_region(name, kept) for name, kept in _tcasm.regions()]


def _region(name: str, kept: bool) -> Region:
    try:
        run = Observer(name, kept=kept)
    except RegionNotFound:
        return Region(name, kept, "DEAD")
    except AttachError as error:
        return Region(name, kept, str(error))
    with run:
        state, pid = run.status.name, run.info()["pid"]
        try:
            with run.latest() as v:
                return Region(name, kept, state, pid, v.number, v.step, v.time, tuple(v))
        except Error:
            return Region(name, kept, state, pid)
