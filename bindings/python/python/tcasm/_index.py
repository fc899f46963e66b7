"""The box of indices that an index of numpy selects."""

from typing import Any


def bounds_of(
    index: Any, shape: tuple[int, ...]
) -> tuple[list[tuple[int, int]], tuple[Any, ...]] | None:
    """Returns the first index and the end along each axis, and the index to apply to that box.
    Returns None for an index that selects nothing, or that is not made of integers and slices."""
    parts = list(index) if isinstance(index, tuple) else [index]
    if Ellipsis in [part for part in parts if part is Ellipsis]:
        at = next(i for i, part in enumerate(parts) if part is Ellipsis)
        parts[at : at + 1] = [slice(None)] * (len(shape) - len(parts) + 1)
    parts += [slice(None)] * (len(shape) - len(parts))
    if len(parts) != len(shape):
        return None
    boxes = [_axis(part, n) for part, n in zip(parts, shape)]
    if not boxes or None in boxes:
        return None
    found = [box for box in boxes if box is not None]
    return [box[0] for box in found], tuple(box[1] for box in found)


def _axis(part: Any, n: int) -> tuple[tuple[int, int], Any] | None:
    if isinstance(part, slice):
        chosen = range(*part.indices(n))
        if not chosen:
            return None
        low, high = min(chosen[0], chosen[-1]), max(chosen[0], chosen[-1])
        return (low, high + 1), slice(None, None, chosen.step)
    if isinstance(part, int) and not isinstance(part, bool) and -n <= part < n:
        return (part % n, part % n + 1), 0
    return None
