"""Warns before a process forks while it has arrays that a child cannot read."""

import os
import warnings

from . import _tcasm


def _warn() -> None:
    arrays = _tcasm.live_arrays()
    if arrays:
        warnings.warn(
            f"this process forks while it has {arrays} arrays of TCASM: the child has no memory "
            "there, and ends if it reads them. Start workers with "
            'multiprocessing.get_context("spawn"), or attach in the worker',
            RuntimeWarning,
            stacklevel=2,
        )


os.register_at_fork(before=_warn)
