"""Reshapes of values whose axes are stored in another order than ONNX's: elements move only where they must."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from kibi.frontends.onnx.emitter import Emitter, Scramble, Stored, channels_last, plain_order
from kibi.frontends.onnx.problems import Unsupported


@dataclass(frozen=True, slots=True)
class _Group:
    """Axes before and after a reshape that have the same elements.

    Attributes:
        before, after: axes of more than one element, in ONNX's order.
    """

    before: tuple[int, ...]
    after: tuple[int, ...]


def give_reshaped(e: Emitter, name: str, stored: Stored, shape: Sequence[int]) -> None:
    """Says that a value is another one in a new shape.

    Args:
        e: the emitter.
        name: of the result.
        stored: what is reshaped.
        shape: of the result, in ONNX's order of axes.

    Raises:
        Unsupported: the shapes have different numbers of elements.
    """
    after = tuple(shape)
    stored = e.unscrambled(stored)
    before = tuple(stored.tensor.shape[stored.order.index(axis)] for axis in range(len(stored.order)))
    if math.prod(before) != math.prod(after):
        raise Unsupported(f"shape {list(before)} does not fit {list(after)}", "Export the model again")
    if stored.tensor.data is not None:
        e.give(name, e.reshaped(e.reordered(stored, plain_order(len(before))), after))
        return
    groups = _groups(before, after)
    sequence = [axis for axis in stored.order if before[axis] > 1]
    scramble = _scramble(stored, groups, sequence, before, after)
    if scramble is not None:
        e.give(name, e.reshaped(stored.tensor, after), plain_order(len(after)), scramble)
        return
    first = sorted(groups, key=lambda group: sequence.index(min(group.before, key=sequence.index)))
    wanted = [axis for group in first for axis in group.before]
    if wanted != sequence:
        stored = Stored(e.reordered(stored, _with_units(wanted, before)), _with_units(wanted, before))
    order = _with_units([axis for group in first for axis in group.after], after)
    e.give(name, e.reshaped(stored.tensor, [after[axis] for axis in order]), order)


def _groups(before: Sequence[int], after: Sequence[int]) -> list[_Group]:
    """The smallest groups of axes whose elements are the same, in ONNX's order."""
    olds = [axis for axis, size in enumerate(before) if size > 1]
    news = [axis for axis, size in enumerate(after) if size > 1]
    groups: list[_Group] = []
    while olds:
        taken, made = [olds.pop(0)], [news.pop(0)]
        left, right = before[taken[0]], after[made[0]]
        while left != right:
            if left < right:
                taken.append(olds.pop(0))
                left *= before[taken[-1]]
            else:
                made.append(news.pop(0))
                right *= after[made[-1]]
        groups.append(_Group(tuple(taken), tuple(made)))
    return groups


def _with_units(axes: Sequence[int], shape: Sequence[int]) -> tuple[int, ...]:
    """An order that has the given axes in their sequence, and those of one element where they fit best."""
    rank = len(shape)
    for order in (plain_order(rank), channels_last(rank)):
        if [axis for axis in order if shape[axis] > 1] == list(axes):
            # What is one pixel or one channel is ready for a convolution as it is.
            is_spatial = rank in (3, 4) and order == plain_order(rank) and _is_same(channels_last(rank), axes, shape)
            return channels_last(rank) if is_spatial and 1 in shape[1:] else order
    mixed = list(axes)
    for axis in range(rank):
        if shape[axis] == 1:
            mixed.insert(mixed.index(axis - 1) + 1 if axis else 0, axis)
    return tuple(mixed)


def _is_same(order: tuple[int, ...], axes: Sequence[int], shape: Sequence[int]) -> bool:
    return [axis for axis in order if shape[axis] > 1] == list(axes)


def _scramble(
    stored: Stored, groups: Sequence[_Group], sequence: Sequence[int], before: tuple[int, ...], after: tuple[int, ...]
) -> Scramble | None:
    """How the last axis is stored if that alone joins axes, which are at the end, in another order; else None."""
    if not groups or len(groups[-1].after) != 1 or groups[-1].after[0] != len(after) - 1:
        return None
    *others, last = groups
    leading = min(last.before)
    kept = [axis for group in others for axis in group.before]
    is_apart = stored.order[:leading] == plain_order(leading) and list(sequence[: len(kept)]) == kept
    is_moved = list(sequence[len(kept) :]) != list(last.before)
    del before
    return Scramble(stored.tensor.shape, stored.order, leading) if is_apart and is_moved else None
