"""Placement: an offset for every buffer, so that the peak is as low as it can be."""

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property
from itertools import pairwise
from time import thread_time

import numpy as np

from kibi.errors import CompilerWarning, PlanError, ToolchainError
from kibi.planner.order.better_orders import Greedy
from kibi.planner.placement.first_fit import first_fit, orders
from kibi.planner.placement.items import MOST_BYTES, Gap, Item, PairRule, check_items
from kibi.planner.placement.native import Native
from kibi.planner.placement.problem import PlacementProblem
from kibi.planner.placement.progress import Progress
from kibi.planner.placement.remembered import remembered
from kibi.planner.placement.search import greedy, refine
from kibi.planner.plan import Buffer, Plan, Run

_FEW_ITEMS = 64
"""So many at most are placed without native code, if that meets the lower bound."""
_NOWHERE = 2 * MOST_BYTES
_MOST_SECONDS = 1e6
_GUARD = 30.0
"""How many times the time limit may pass, in seconds of this thread, before the search ends: the machine is far too slow then."""


class Status(Enum):
    """The certainty of a placement."""

    OPTIMAL = "optimal"
    """No placement has a lower peak: proven."""
    FEASIBLE = "feasible"
    """There may be a lower peak, but not below the lower bound."""
    INFEASIBLE = "infeasible"
    """No placement fits the capacity, or respects the fixed offsets: proven."""
    UNDECIDED = "undecided"
    """No placement within the capacity was found, and none is excluded."""


@dataclass(frozen=True, slots=True)
class Solution:
    """The places of items.

    Attributes:
        offsets: of each item, in bytes; None if fixed offsets are in one another's way.
        peak_bytes: one after the last byte that any of them uses.
        lower_bound_bytes: no placement has a lower peak; raised where the search proved it.
        status: what is known.
    """

    offsets: tuple[int, ...] | None
    peak_bytes: int
    lower_bound_bytes: int
    status: Status

    @property
    def proven_optimal(self) -> bool:
        """True if no placement has a lower peak."""
        return self.peak_bytes == self.lower_bound_bytes


@dataclass(frozen=True, slots=True)
class Placement:
    """Placed buffers.

    Attributes:
        buffers: the buffers in the order in which they were given, each at its offset.
        peak_bytes: one after the last byte that any of them uses.
        lower_bound_bytes: no placement has a lower peak; raised where the search proved it.
        status: what is known.
    """

    buffers: tuple[Buffer, ...]
    peak_bytes: int
    lower_bound_bytes: int
    status: Status

    @property
    def proven_optimal(self) -> bool:
        """True if no placement has a lower peak."""
        return self.peak_bytes == self.lower_bound_bytes

    def plan(self, model: str, target: str, runs: tuple[Run, ...], *, order_bound_bytes: int = 0) -> Plan:
        """The plan of these buffers in an order of row steps; arguments as the plan's attributes."""
        bounds = (self.lower_bound_bytes, order_bound_bytes) if order_bound_bytes else (self.lower_bound_bytes,)
        return Plan(
            model=model,
            target=target,
            runs=runs,
            buffers=self.buffers,
            arena_bytes=self.peak_bytes,
            lower_bound_bytes=self.lower_bound_bytes,
            proven_optimal=self.proven_optimal,
            order_bound_bytes=order_bound_bytes,
            least_bytes=min(bounds),
        )


def place(
    buffers: Sequence[Buffer],
    *,
    rules: Sequence[PairRule] = (),
    capacity: int | None = None,
    time_limit_seconds: float = 1.0,
) -> Placement:
    """Give each buffer an offset such that buffers that live together share no byte, and the peak is low.

    Args:
        buffers: sizes, alignments and lifetimes; their offsets are ignored; pinned ones of a tensor keep their distances.
        rules: pairs of them that may share bytes, under a condition each.
        capacity: stop at a placement whose peak does not exceed it, or at the proof that none exists; None: find the
            lowest peak.
        time_limit_seconds: about how long the search may take. It is turned into an amount of work, so that the same
            buffers get the same offsets on every machine.

    Returns:
        The best placement found, with its distance from the optimum.

    Raises:
        PlanError: a buffer has a negative size, no alignment or an empty lifetime.
    """
    return Task.of(buffers, rules).place(capacity, time_limit_seconds)


@dataclass(frozen=True)
class Task:
    """Buffers to place, ready to be placed several times: greedy orders are tried once, and each search goes on from there.

    Attributes:
        buffers: as `place` takes them.
        groups: the positions of those that are placed as one.
        items: one for each group.
    """

    buffers: tuple[Buffer, ...]
    groups: list[list[int]]
    items: "_Items"

    @staticmethod
    def of(buffers: Sequence[Buffer], rules: Sequence[PairRule], *, by_run: bool = False) -> "Task":
        """The task; arguments and errors as of `place`; `by_run`: scratch may have a place for each run of its node."""
        groups = groups_of(buffers, by_run=by_run)
        if len(groups) == len(buffers):
            return Task(tuple(buffers), groups, _Items.of([item_of([buffer]) for buffer in buffers], rules))
        number = {index: place for place, group in enumerate(groups) for index in group}
        kept = [PairRule(number[r.first], number[r.second], r.minimum_distance_bytes) for r in rules]
        return Task(
            tuple(buffers), groups, _Items.of([item_of([buffers[index] for index in group]) for group in groups], kept)
        )

    def place(self, capacity: int | None, time_limit_seconds: float) -> Placement:
        """Place them; arguments and errors as of `place`."""
        return self.placed(self.solved(capacity, time_limit_seconds))

    def solved(
        self, capacity: int | None, time_limit_seconds: float, known: Sequence[Buffer] | None = None
    ) -> Solution:
        """Returns the offsets of the groups; arguments and errors as of `place`.

        Args:
            capacity: as for `place`.
            time_limit_seconds: as for `place`.
            known: a placement of the same rows, and of scratch that lives at least as long; the search goes on from there.
        """
        if known is None:
            return self.items.place(capacity, time_limit_seconds)
        places = {each: buffer.offset for buffer in known for each in _holds(buffer)}
        offsets = [
            min(places[each] for index in group for each in _holds(self.buffers[index])) for group in self.groups
        ]
        return self.items.place(capacity, time_limit_seconds, offsets)

    def placed(self, found: Solution) -> Placement:
        """Returns the buffers at the offsets of their groups."""
        placed = list(self.buffers)
        for group, base in zip(self.groups, found.offsets or (), strict=True):
            lowest = min(self.buffers[index].offset for index in group)
            for index in group:
                shift = self.buffers[index].offset - lowest if self.buffers[index].is_pinned else 0
                placed[index] = replace(self.buffers[index], offset=base + shift)
        return Placement(tuple(placed), found.peak_bytes, found.lower_bound_bytes, found.status)


def _holds(buffer: Buffer) -> Iterator[tuple[str, int, int]]:
    """What a buffer holds: rows from some row of a tensor on, or the scratch of nodes."""
    if buffer.tensor is not None:
        yield "rows", buffer.tensor, buffer.first_row
    yield from (("scratch", node, 0) for node in buffer.nodes)


def groups_of(buffers: Sequence[Buffer], *, by_run: bool = False) -> list[list[int]]:
    """Returns the buffers that are placed as one: pinned rows of a tensor, in order, and scratch of a node; others alone.

    With `by_run` scratch is alone, too.
    """
    groups: dict[object, list[int]] = {}
    for index, buffer in enumerate(buffers):
        key = ("rows", buffer.tensor) if buffer.is_pinned else ("scratch", buffer.nodes) if buffer.nodes else index
        key = index if by_run and buffer.nodes else key
        groups.setdefault(key, []).append(index)
    return list(groups.values())


def item_of(group: Sequence[Buffer]) -> Item:
    """Returns one item for buffers that are in order, or for the scratch of a node."""
    if len(group) == 1:
        only = group[0]
        return Item(only.start, only.end, only.size_bytes, only.alignment)
    return _scratch_item(group) if group[0].nodes else _pinned_item(group)


def _scratch_item(group: Sequence[Buffer]) -> Item:
    """All of it is free between the buffers, which come one after another."""
    ordered = sorted(group, key=lambda buffer: buffer.start)
    gaps = tuple(Gap(before.end, after.start) for before, after in pairwise(ordered) if before.end < after.start)
    size, alignment = max(each.size_bytes for each in group), max(each.alignment for each in group)
    return Item(ordered[0].start, ordered[-1].end, size, alignment, gaps=gaps)


def _pinned_item(group: Sequence[Buffer]) -> Item:
    """What is left of it, as its parts die, is a window of its bytes."""
    lowest = min(buffer.offset for buffer in group)
    size = max(buffer.offset + buffer.size_bytes for buffer in group) - lowest
    dying = sorted(group, key=lambda buffer: buffer.end, reverse=True)
    gaps, low, high = [], size, 0
    for buffer, before in pairwise(dying):  # from the end of the item's life back: what is left grows
        low = min(low, buffer.offset - lowest)
        high = max(high, buffer.offset + buffer.size_bytes - lowest)
        if before.end < buffer.end:
            gaps.append(Gap(before.end, buffer.end, (low, high)))
    alignment = max(buffer.alignment for buffer in group)
    return Item(min(buffer.start for buffer in group), dying[0].end, size, alignment, gaps=tuple(reversed(gaps)))


def place_items(
    items: Sequence[Item],
    *,
    rules: Sequence[PairRule] = (),
    capacity: int | None = None,
    time_limit_seconds: float = 1.0,
) -> Solution:
    """Give each item an offset such that items that live together share no byte, and the peak is low.

    Greedy orders first; where none meets the lower bound, or the capacity, search by native code, which is compiled
    when it is needed first. Where it cannot be compiled, the greedy result stands.

    Args:
        items: what to place.
        rules: pairs of them that may share bytes, under a condition each.
        capacity: as for `place`.
        time_limit_seconds: as for `place`.

    Raises:
        PlanError: an item or a rule makes no sense, or the time limit is no number from 0 on.
    """
    return _Items.of(items, rules).place(capacity, time_limit_seconds)


@dataclass(frozen=True)
class _Items:
    """Items to place.

    Attributes:
        fixed: the offset of each; 0 where it may be anywhere.
        solid: the positions of those that take room.
        problem: what these are.
    """

    fixed: tuple[int, ...]
    solid: tuple[int, ...]
    problem: PlacementProblem

    @staticmethod
    def of(items: Sequence[Item], rules: Sequence[PairRule]) -> "_Items":
        """From checked items and rules.

        Raises:
            PlanError: an item or a rule makes no sense.
        """
        check_items(items, rules)
        solid = [index for index, item in enumerate(items) if _takes_room(item)]
        number = {index: position for position, index in enumerate(solid)}
        kept = [
            PairRule(number[rule.first], number[rule.second], rule.minimum_distance_bytes)
            for rule in rules
            if rule.first in number and rule.second in number
        ]
        return _Items(
            tuple(item.offset or 0 for item in items),
            tuple(solid),
            PlacementProblem.of([items[index] for index in solid], kept),
        )

    def place(self, capacity: int | None, time_limit_seconds: float, known: Sequence[int] | None = None) -> Solution:
        """Place them; arguments and errors as of `place_items`; `known`: offsets of the items that are possible."""
        if not time_limit_seconds >= 0:
            raise PlanError(f"a search cannot take {time_limit_seconds} seconds. Give a number from 0 on.")
        seconds = min(time_limit_seconds, _MOST_SECONDS)
        capacity = None if capacity is None else min(capacity, MOST_BYTES)
        begun = self._begun if capacity is None else _Begun.of(self.problem, capacity)
        progress = replace(begun.progress)
        if known is not None:
            offsets_known = np.array([known[index] for index in self.solid], np.int64)
            progress.keep(offsets_known, self.problem.peak_bytes(offsets_known))
        if begun.native is not None and progress.offsets is not None and not progress.is_done(capacity) and seconds > 0:
            native, starts, go_on = begun.native, begun.starts, _clock(seconds)

            def search() -> bool:
                refine(self.problem, native, progress, starts, capacity=capacity, seconds=seconds, go_on=go_on)
                return go_on()

            remembered(self.problem, progress, capacity, seconds, search)
        status = _status(progress, capacity)
        if progress.offsets is None:
            return Solution(None, 0, progress.lower_bound_bytes, status)
        offsets = list(self.fixed)
        for index, offset in zip(self.solid, progress.offsets.tolist(), strict=True):
            offsets[index] = offset
        return Solution(tuple(offsets), progress.peak_bytes, progress.lower_bound_bytes, status)

    @cached_property
    def _begun(self) -> "_Begun":
        return _Begun.of(self.problem, None)


@dataclass(frozen=True, slots=True)
class _Begun:
    """A problem after the greedy orders.

    Attributes:
        progress: what is known.
        native: the problem in the native code's hands; None where that is not needed, or not there.
        starts: what greedy orders gave, the best first.
    """

    progress: Progress
    native: Native | None
    starts: tuple[Greedy, ...]

    @staticmethod
    def of(problem: PlacementProblem, capacity: int | None) -> "_Begun":
        progress = Progress(None, _NOWHERE, problem.lower_bound_bytes)
        if problem.items <= _FEW_ITEMS:
            _greedy_in_python(problem, progress, capacity)
            if progress.is_done(capacity):
                return _Begun(progress, None, ())
        try:
            native = Native(problem)
        except ToolchainError as error:
            text = f"memory is placed without a search, which takes more RAM than needed: {error}"
            warnings.warn(text, CompilerWarning, stacklevel=2)
            _greedy_in_python(problem, progress, capacity)
            return _Begun(progress, None, ())
        return _Begun(progress, native, tuple(greedy(problem, native, progress, capacity)))


def _takes_room(item: Item) -> bool:
    """True if the item has bytes, and does not leave all of them to others all its life."""
    if item.size_bytes == 0:
        return False
    free = sum(gap.end - gap.start for gap in item.gaps if gap.window is None or gap.window[0] == gap.window[1])
    return free < item.end - item.start


def _greedy_in_python(problem: PlacementProblem, progress: Progress, capacity: int | None) -> None:
    for order in orders(problem):
        offsets = first_fit(problem, order)
        if offsets is not None:
            progress.keep(offsets, problem.peak_bytes(offsets))
        if progress.is_done(capacity):
            return


def _clock(seconds: float) -> Callable[[], bool]:
    until = thread_time() + seconds * _GUARD
    return lambda: thread_time() < until


def _status(progress: Progress, capacity: int | None) -> Status:
    if progress.offsets is None or (capacity is not None and progress.lower_bound_bytes > capacity):
        return Status.INFEASIBLE
    if progress.peak_bytes == progress.lower_bound_bytes:
        return Status.OPTIMAL
    if capacity is not None and progress.peak_bytes > capacity:
        return Status.UNDECIDED
    return Status.FEASIBLE
