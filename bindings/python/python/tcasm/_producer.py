"""Regions that Python publishes."""

from __future__ import annotations

import atexit
import weakref
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

import numpy as np
from numpy.typing import DTypeLike, NDArray

from . import _tcasm
from ._buffers import Buffer
from ._errors import CannotPickle, DefineError, FieldNotFound
from ._fields import Attr, Field, field_of
from ._hostbuffer import Extent

Receipt = _tcasm.Receipt
Group = _tcasm.Group
_open: weakref.WeakSet[Producer] = weakref.WeakSet()


class Producer:
    """A region of memory whose versions observers can map::

        with tcasm.Producer("run") as p:
            u = p.field("u", (64, 64), "float64", unit="K")
            for step in range(10):
                u += 1.0                               # compute in place
                p.publish(step=step, time=step * 0.1)

    In a parallel program each rank gives its ``group``, and its region is called ``name.RANK``.

    ``capacity`` is the bytes of all fields together, rounded up to pages [1 GiB]. Memory that is
    not touched takes only addresses. While `publish` runs, no other thread may store to fields.
    Arrays stay valid after the end of the stream, but nobody sees what is written then.

    Versions: at most ``versions`` are alive at once, of which ``history`` besides the newest one
    stay although nobody pins them, and all together hold at most ``memory`` bytes [four times the
    capacity]. ``reserve_for_every=n`` keeps room for two versions of steps that are multiples of
    ``n``: for jobs in which a step counts only if no rank has skipped it.

    Changes: ``tracker`` fixes how stores are noticed, ``"uffd-async"``, ``"cow"`` or ``"compare"``
    [the best one that works here]. ``capture`` says when densely written fields are copied:
    ``"inline"`` in `publish`, ``"deferred"`` after it, or ``"auto"``. Up to 256 ``copiers`` copy
    then, on the processors ``copier_affinity`` [any] and with the nice value ``copier_nice``.
    Memory that is not written for some versions is shared with the newest one unless
    ``shared_backing`` is false. ``huge_pages`` are ``"transparent"``, ``"off"`` or ``"reserved"``
    (by an administrator). With ``check_hand_over`` a store to a handed-over field that is published
    ends the program with a SIGSEGV, and bytes that a rewriting leaves out are 0xFF.

    Place and access: the region lies at ``base``, a multiple of the page size, or in an ``extent``
    (`HostBuffer.take_part`), whose size is its capacity then; otherwise its name gives the address.
    ``allow`` is ``"same-user"``, ``"everyone"`` or a list of user ids.

    Settings that cannot be, such as an unknown tracker, are a `DefineError`; a region that cannot
    be created, also because a tracker does not work here, is a `CreateError`.
    """

    def __init__(
        self,
        name: str,
        *,
        capacity: int | None = None,
        versions: int = 8,
        history: int = 1,
        first_version: int = 1,
        memory: int | None = None,
        reserve_for_every: int | None = None,
        tracker: str | None = None,
        capture: str = "auto",
        wait_for_capture: bool = False,
        no_kernel_writes: bool = False,
        shared_backing: bool = True,
        huge_pages: str = "transparent",
        copiers: int | None = None,
        copier_affinity: Sequence[int] = (),
        copier_nice: int | None = None,
        check_hand_over: bool | None = None,
        allow: str | Sequence[int] = "same-user",
        max_observers: int = 64,
        base: int | None = None,
        extent: Extent | None = None,
        attrs: dict[str, Attr] | None = None,
        group: Group | None = None,
    ) -> None:
        if capacity is None:
            capacity = 1 << 30 if extent is None else 0
        settings = {
            "name": name,
            "capacity": capacity,
            "versions": versions,
            "history": history,
            "first_version": first_version,
            "memory": memory,
            "reserve_for_every": reserve_for_every,
            "tracker": tracker,
            "capture": capture,
            "wait_for_capture": wait_for_capture,
            "no_kernel_writes": no_kernel_writes,
            "shared_backing": shared_backing,
            "huge_pages": huge_pages,
            "copiers": copiers,
            "copier_affinity": list(copier_affinity),
            "copier_nice": copier_nice,
            "check_hand_over": check_hand_over,
            "allow": allow,
            "max_observers": max_observers,
            "base": base,
            "extent": extent and (extent.base, extent.bytes),
            "attrs": attrs or {},
            "group": group,
        }
        self._core = self._made(settings)
        self.name = name
        #: The buffers that fields are bound to.
        self._bound: dict[str, Buffer] = {}
        #: The arrays of the program that are fields.
        self._adopted: dict[str, NDArray[Any]] = {}
        _open.add(self)

    def _made(self, settings: dict[str, Any]) -> _tcasm.Producer:
        return _tcasm.Producer(settings)

    def field(
        self,
        name: str,
        shape: int | Sequence[int],
        dtype: DTypeLike = "float64",
        *,
        vector: bool = False,
        variable: bool = False,
        handed_over: bool = False,
        order: str = "C",
        ghosts: Sequence[tuple[int, int]] | None = None,
        unit: str = "",
        centring: str = "point",
        on: str | None = None,
        quantity: str | None = None,
        origin: Sequence[float] | None = None,
        spacing: Sequence[float] | None = None,
        global_shape: Sequence[int] | None = None,
        global_offset: Sequence[int] | None = None,
        attrs: dict[str, Attr] | None = None,
        in_checkpoints: bool = True,
    ) -> NDArray[Any]:
        """Adds a field of zeros. Returns its live memory, to compute in. Ghost layers are part of
        the shape, and with ``vector`` its last axis is the components. A ``variable`` field has
        room for the shape, and the length that `set_len` gives it. A ``handed_over`` field is
        rewritten whole before each publish, and versions get its pages without a copy: see
        `rewrite`. In a group, a field can be a block of an array of all ranks, of ``global_shape``;
        its first value that is no ghost is at ``global_offset`` there."""
        self._core.field(
            {
                "name": name,
                "shape": [shape] if isinstance(shape, int) else list(shape),
                "dtype": _native(dtype).name,
                "vector": vector,
                "variable": variable,
                "handed_over": handed_over,
                "order": order,
                "ghosts": ghosts,
                "unit": unit,
                "centring": centring,
                "on": on,
                "quantity": quantity,
                "origin": origin,
                "spacing": spacing,
                "global_shape": global_shape,
                "global_offset": global_offset,
                "attrs": attrs or {},
                "in_checkpoints": in_checkpoints,
            }
        )
        self._bound[name] = Buffer(self._core, self._core.bound(name), name, handed_over)
        return self[name]

    def adopt(
        self,
        name: str,
        array: NDArray[Any],
        *,
        vector: bool = False,
        variable: bool = False,
        ghosts: Sequence[tuple[int, int]] | None = None,
        unit: str = "",
        centring: str = "point",
        on: str | None = None,
        quantity: str | None = None,
        origin: Sequence[float] | None = None,
        spacing: Sequence[float] | None = None,
        global_shape: Sequence[int] | None = None,
        global_offset: Sequence[int] | None = None,
        attrs: dict[str, Attr] | None = None,
        in_checkpoints: bool = True,
    ) -> None:
        """Makes an array that exists a field. It stays where it is, and is tracked in place: go on
        computing in it. It must be writable and contiguous, in C or Fortran order. The producer
        keeps it alive until `release`, or until the producer itself is gone. ``capacity`` must
        allow for its bytes, and for up to 2 MiB more."""
        kind = _native(array.dtype)
        contiguous = array.flags.c_contiguous or array.flags.f_contiguous
        if not (contiguous and array.flags.writeable and array.size):
            raise DefineError(
                f"the array for field {name!r} must be contiguous and writable, and have elements, "
                "to be adopted; adopt a copy of it, and compute in that"
            )
        self._core.adopt(
            {
                "name": name,
                "shape": list(array.shape),
                "dtype": kind.name,
                "vector": vector,
                "variable": variable,
                "handed_over": False,
                "order": "C" if array.flags.c_contiguous else "F",
                "ghosts": ghosts,
                "unit": unit,
                "centring": centring,
                "on": on,
                "quantity": quantity,
                "origin": origin,
                "spacing": spacing,
                "global_shape": global_shape,
                "global_offset": global_offset,
                "attrs": attrs or {},
                "in_checkpoints": in_checkpoints,
            },
            array.ctypes.data,
        )
        self._adopted[name] = array
        self._bound[name] = Buffer(self._core, self._core.bound(name), name, False)

    def release(self, name: str) -> None:
        """Ends the adoption of an array, which stays as it is. The next version has no such
        field. A lost field is removed as well. A field that is the geometry of a mesh stays, and is
        lost until an array is adopted under its name."""
        self._core.release(name)
        self._adopted.pop(name, None)
        self._bound.pop(name, None)

    @property
    def lost(self) -> list[str]:
        """The names of the adopted fields whose memory went away before `release`."""
        return self._core.lost()

    def mesh(
        self,
        name: str,
        kind: str,
        geometry: str | Sequence[str] = (),
        *,
        cell_type: int | None = None,
        points: Sequence[int] = (1, 1, 1),
        origin: Sequence[float] = (0.0, 0.0, 0.0),
        spacing: Sequence[float] = (1.0, 1.0, 1.0),
        block: dict[str, Any] | None = None,
        attrs: dict[str, Attr] | None = None,
    ) -> None:
        """Adds a mesh, whose geometry is fields that were added before: none of a ``uniform`` mesh
        (it has points, origin and spacing), the coordinates along x, y and z of a ``rectilinear``
        one, the coordinates of a ``curvilinear`` one, the positions of ``particles``, and of an
        ``unstructured`` one points and connectivity with a ``cell_type``, or points, connectivity,
        offsets and types."""
        self._core.mesh(
            {
                "name": name,
                "kind": kind,
                "geometry": [geometry] if isinstance(geometry, str) else list(geometry),
                "cell_type": cell_type,
                "points": points,
                "origin": origin,
                "spacing": spacing,
                "block": block,
                "attrs": attrs or {},
            }
        )

    def structures(self, name: str, count: int, dtype: DTypeLike) -> NDArray[Any]:
        """Adds ``count`` structures of zeros, whose dtype has named members:
        ``p.structures("pairs", 3, [("a", "f8"), ("b", "i4")])``. Returns the live memory. Give
        ``numpy.dtype(..., align=True)`` for the layout of a compiler. Versions have a row of bytes
        for each: ``version["pairs"].view(dtype)[:, 0]``."""
        kind = np.dtype(dtype)
        if kind.hasobject or kind.itemsize == 0:
            raise DefineError(f"{kind} cannot be stored as bytes")
        self._core.structures(name, count, kind.itemsize, kind.alignment, str(kind.descr))
        self._bound[name] = Buffer(self._core, self._core.bound(name), name, False, kind)
        return self[name]

    def set_block(
        self, name: str, *, level: int, refinement: Sequence[int], offset: Sequence[int]
    ) -> None:
        """Gives a mesh that was added as a block another place, from the next version on."""
        self._core.set_block(
            name, {"of": None, "level": level, "refinement": refinement, "offset": offset}
        )

    def set_uniform_mesh(
        self, name: str, points: Sequence[int], origin: Sequence[float], spacing: Sequence[float]
    ) -> None:
        """Gives a uniform mesh other points, another origin and another spacing along x, y and z,
        from the next version on."""
        self._core.set_uniform_mesh(name, list(points), list(origin), list(spacing))

    def set_unused(self, name: str) -> None:
        """Makes a uniform mesh unused from the next version on, with the variable fields on it.
        `set_uniform_mesh` uses it again."""
        self._core.set_unused(name)

    def scratch(
        self, shape: int | Sequence[int], dtype: DTypeLike = "float64"
    ) -> NDArray[Any]:
        """Returns an array of zeros in C order that lies in the region and is no field: it is never
        tracked or captured, and no version has it. It takes its bytes of the capacity, rounded up
        to pages, until the producer and all its arrays are gone. Raises `DefineError` if there is
        too little room, or if the shape has no elements."""
        sizes = [shape] if isinstance(shape, int) else list(shape)
        return self._core.array(self._core.scratch(sizes, _native(dtype).name), True)

    def __getitem__(self, name: str) -> NDArray[Any]:
        """Returns the live memory of a field: all that there is room for."""
        if name in self._adopted:
            return self._adopted[name]
        return self._buffer(name).array

    def _buffer(self, of: str | Buffer) -> Buffer:
        if isinstance(of, Buffer):
            return of
        if of not in self._bound:
            raise FieldNotFound(f"there is no field {of!r}; add it first")
        return self._bound[of]

    def buffer_like(self, name: str) -> Buffer:
        """Returns another buffer like the one that a field is bound to, to compute into its
        ``array``. Versions have it from the next one on that is published after `bind`."""
        made = self._core.buffer_like(name)
        like = self._buffer(name)
        return Buffer(self._core, made, name, like._handed_over, like._structure)

    def bind(self, name: str, buffer: Buffer) -> Buffer:
        """Binds a field to another buffer of the same shape, dtype and way of capture. Nothing is
        copied. Returns the buffer that the field was bound to."""
        self._core.bind(name, buffer._core)
        old, self._bound[name] = self._bound[name], buffer
        return old

    def rewrite(self, of: str | Buffer) -> NDArray[Any]:
        """Begins the next rewriting of a handed-over field or buffer, and returns its memory. The
        content is undefined: write every element, ghost layers included, before the next publish.
        From publish until here arrays of it are read-only, also those that this returned before.
        Take no views of them along: a store through one would change the version. Of a field that
        is computed in place this just returns the memory."""
        if isinstance(of, str) and of in self._adopted:
            return self._adopted[of]
        return self._buffer(of)._rewrite()

    def mark_dirty(self, of: str | Buffer, first: int = 0, end: int | None = None) -> None:
        """Marks bytes ``first`` to ``end`` of a field or buffer as written. Call this after a write
        that no tracker sees: by a device, or through another mapping."""
        self._core.mark_dirty(self._in_place(of)._core, first, end)

    def register_dma(self, of: str | Buffer) -> None:
        """Declares that devices write a field or buffer from now on. It is then captured in every
        version."""
        self._core.register_dma(self._in_place(of)._core)

    def _in_place(self, of: str | Buffer) -> Buffer:
        buffer = self._buffer(of)
        buffer._check_in_place()
        return buffer

    def description(self, name: str) -> Field:
        """Returns the description of a field, as the next version will have it."""
        found = self._core.describe(name)
        if found is None:
            raise FieldNotFound(f"there is no field {name!r}; add it first")
        return field_of(found)

    def set_len(self, name: str, length: int) -> None:
        """Sets the length of a variable field, or of all fields on a mesh, from the next version
        on."""
        self._core.set_len(name, length)

    def set_lens(self, lengths: Mapping[str, int]) -> None:
        """Sets several lengths at once, of variable fields or meshes by their names, from the next
        version on: ``p.set_lens({"cells": 40, "connectivity": 160})``. Each is exactly the given
        one. Raises `DefineError` if they do not fit together or there is no room for one: then all
        lengths are as they were."""
        self._core.set_lens(dict(lengths))

    def length(self, name: str) -> int:
        """Returns the length of a field or a mesh."""
        return self._core.len(name)

    def set_attr(self, name: str, value: Attr) -> None:
        """Sets an attribute of the region, from the next version on."""
        self._core.set_attr(name, value)

    def wait_captured(self, timeout: float | None = None) -> bool:
        """Waits until the capture of the last version is over. Only programs whose system calls
        write into fields (``file.readinto(u)``, MPI) and that have set ``no_kernel_writes`` need
        it. Returns false if the capture takes longer than ``timeout``."""
        return self._core.wait_captured(timeout)

    def publish(self, step: int, time: float = 0.0, *, timeout: float | None = None) -> Receipt:
        """Publishes all fields as the next version. Without a timeout it never waits: if there is
        no room it skips, and the changes are in the next version. The receipt says so: it is false,
        and has a reason. With a timeout it waits for room."""
        receipt = self._core.publish(step, time, timeout)
        if receipt:
            for buffer in self._bound.values():
                buffer._published()
        return receipt

    def rollback(self, version: int) -> tuple[int, float]:
        """Restores all fields to a version that exists. Returns its step and time."""
        return self._core.rollback(version)

    def stats(self) -> dict[str, Any]:
        """Returns counters since the beginning: ``publishes``, ``skips``, captured ``pages`` and
        ``bytes``, pages ``handed_over``, versions that were ``deferred`` and of these ``given_up``,
        ``early_stores`` that waited for a copier, ``tracker_errors``, ``pages_compacted``. And what
        there is now: ``held_bytes`` of all versions, ``shared_bytes`` of live memory, ``observers``
        and others. ``publish_us`` is the median, the 99th percentile and the longest duration of
        publish, in microseconds. ``user_mode_only`` is true if a system call that writes into a
        field during a deferred capture fails."""
        return self._core.stats()

    def trim(self) -> int:
        """Gives memory that no version uses back to the system, for example after observers have
        held many versions. Returns the number of bytes."""
        return self._core.trim()

    def revoke(self, pid: int) -> int:
        """Revokes all observers of process ``pid`` (`Observer.observers` lists them), and returns
        how many there were. They get no more versions: their calls raise `Revoked`. The versions
        that they hold stay as they are, and keep their memory until that process lets go of them or
        ends."""
        return self._core.revoke(pid)

    #: The names that ADIOS2 has for the two.
    begin_step = wait_captured
    end_step = publish

    def close(self) -> None:
        """Ends the stream. Observers keep what they have."""
        self._core.close()

    @property
    def closed(self) -> bool:
        return self._core.closed

    def __enter__(self) -> Producer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __reduce__(self) -> NoReturn:
        raise CannotPickle(
            "cannot pickle a producer: its memory belongs to this process. Other processes read it "
            "with tcasm.Observer(name)"
        )

    def __repr__(self) -> str:
        return f"<Producer {self.name!r}{' closed' if self.closed else ''}>"


def _native(dtype: DTypeLike) -> np.dtype[Any]:
    """Returns the dtype, if it is in the byte order of this machine."""
    kind = np.dtype(dtype)
    if not kind.isnative:
        raise DefineError(f"{kind} is not in the byte order of this machine")
    return kind


@atexit.register
def _close_all() -> None:
    for producer in list(_open):
        producer.close()
