"""Versions in an event loop."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from ._errors import EndOfStream, NotReady

if TYPE_CHECKING:
    from ._group import GroupObserver, GroupVersion
    from ._observer import Observer, Version

#: How often to look although there was no notice, as for a producer that was killed.
LOOK = 0.25
#: How often to look for a step of a group, which has no descriptor of its own.
LOOK_AT_GROUP = 0.02


async def follow(run: Observer) -> AsyncIterator[Version]:
    """Returns versions as a loop over ``run`` does, and lets other tasks run meanwhile."""
    # The first call waits for the producer's answer.
    descriptor = os.dup(await asyncio.to_thread(run.fileno))
    try:
        while True:
            try:
                version = run.next(timeout=0)
            except NotReady:
                await _readable(descriptor)
                continue
            except EndOfStream:
                return
            yield version
            del version
    finally:
        os.close(descriptor)


async def follow_group(group: GroupObserver) -> AsyncIterator[GroupVersion]:
    """Returns steps as a loop over ``group`` does, and lets other tasks run meanwhile. No thread
    waits for it: a task that is cancelled would lose the step that its thread then takes."""
    while True:
        try:
            version = group.wait(timeout=0)
        except NotReady:
            await asyncio.sleep(LOOK_AT_GROUP)
            continue
        except EndOfStream:
            return
        yield version
        del version


async def _readable(descriptor: int) -> None:
    """Waits until the descriptor is readable, but not long."""
    loop = asyncio.get_running_loop()
    ready = asyncio.Event()
    loop.add_reader(descriptor, ready.set)
    try:
        await asyncio.wait_for(ready.wait(), LOOK)
    except TimeoutError:
        pass
    except asyncio.TimeoutError:  # before Python 3.11 it is another class
        pass
    finally:
        loop.remove_reader(descriptor)
