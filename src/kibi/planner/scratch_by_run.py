"""Scratch that each run of a node has where bytes are free at that time, and less of it where the most bytes live.

Rows come and go between the runs of a node, so that one place for the scratch of all runs keeps bytes from rows. With a place for
each run the arena gets smaller. At the few steps where the most bytes live, a kernel may have a call that takes less scratch and
more instructions; it reads the same constants.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

import numpy as np

from kibi.ir import KernelCall
from kibi.planner.in_place import in_place_rules
from kibi.planner.lifetimes import Followed
from kibi.planner.order.by_row import worth_splitting
from kibi.planner.order.row_steps import Ints
from kibi.planner.placement.items import PairRule
from kibi.planner.placement.placing import Task
from kibi.planner.plan import Buffer, Plan, Run
from kibi.planner.roomy_scratch import constants_read_bytes, may_vary, rooms
from kibi.selection import LoweredGraph, apart_call, call_with_room, narrower_call, read_bytes, with_room
from kibi.selection.variant import PARTS

_SEARCH_SECONDS = 0.25
"""About how long placement may search; an amount of work."""
_ROOMY_SECONDS = 1.0
"""The same where most runs have as much scratch as is of use, so that fewer placements are possible."""
_STEPS_EACH, _ROOMY_STEPS_EACH = 8, 4
"""At most one of so many steps of a node has less scratch than the others: it takes more instructions. The second is for
plans that are taken only where they read constants less often."""
_MANY_BYTES = 512
"""Fewer constants of a node mostly stay in the caches of boards that have some, however often they are read."""
_PRICE = 8
"""Reads of constants take about an eighth of the time where flash has wait states: for a part of the arena, they may grow by
eight times that part."""


def with_scratch_by_run(graph: LoweredGraph, plan: Plan, effort: int = 1, *, room_bytes: int = 0) -> Plan:
    """Returns the plan with a smaller arena where scratch that has a place for each run of a node makes one possible.

    Each run has as much scratch as the plan gives to its node, but for a few at the steps where the most bytes live.

    Args:
        graph: of the plan's nodes and steps, with kernels that take the scratch that they need.
        plan: of one arena.
        effort: how many times the usual work may be done.
        room_bytes: the most scratch of a run; 0: as much as the plan gives to its node, but no blocks side by side.
    """
    roomy = with_room(graph, [room_bytes] * len(graph.nodes) if room_bytes else rooms(plan, graph)).calls
    # What may grow again where bytes are free is placed with less.
    calls = tuple(
        call if room_bytes and call.constant_bytes < _MANY_BYTES else apart_call(graph, node, call)
        for node, call in enumerate(roomy)
    )
    made = Followed.of(graph, plan.runs).scratch(range(len(graph.nodes)))
    several = {each.nodes[0] for each, after in pairwise(made) if each.nodes == after.nodes}
    if not several or not all(may_vary(graph, node) for node in several):
        return plan
    rows = [each for each in plan.buffers if each.tensor is not None]
    pieces = [replace(each, size_bytes=calls[each.nodes[0]].scratch_bytes) for each in made]
    rules = in_place_rules(graph, plan.runs, rows)
    steps_each = _ROOMY_STEPS_EACH if room_bytes else _STEPS_EACH
    less = _Less(graph, calls, _levels([*rows, *pieces], rules, len(plan.steps)), pieces, steps_each)
    less.lower()
    task = Task.of([*rows, *less.pieces], rules, by_run=True)
    if task.items.problem.lower_bound_bytes >= plan.arena_bytes:
        return plan
    found = task.solved(None, effort * (_ROOMY_SECONDS if room_bytes else _SEARCH_SECONDS), plan.buffers)
    if found.peak_bytes >= plan.arena_bytes:
        return plan
    placed = task.placed(found).buffers
    held = [each for each in placed if each.tensor is not None or graph.views[each.nodes[0]].accumulates]
    runs = _Runs.of(graph, roomy, calls, placed, held, found.peak_bytes)
    kept, grown = (
        replace(
            plan,
            buffers=(*held, *buffers),
            arena_bytes=found.peak_bytes,
            lower_bound_bytes=found.lower_bound_bytes,
            proven_optimal=found.proven_optimal,
            least_bytes=min(plan.least_bytes or found.lower_bound_bytes, found.lower_bound_bytes),
        )
        for buffers in (runs.gathered(), runs.grown())
    )
    read = constants_read_bytes(graph, kept)
    return grown if read - constants_read_bytes(graph, grown) > read // PARTS else kept


def least_by_run(graph: LoweredGraph, runs: Sequence[Run]) -> int:
    """Returns a bound below which no placement of an order is, even if each run has the least scratch that its kernel can have.

    Args:
        graph: with kernels that take the scratch that they need.
        runs: the order.
    """
    split = worth_splitting(graph, runs)
    made = Followed.of(graph, runs).buffers(split=split, by_run=range(len(graph.nodes)))
    least = [
        _down_to(graph, node, call, 0)[-1].scratch_bytes if may_vary(graph, node) else call.scratch_bytes
        for node, call in enumerate(graph.calls)
    ]
    buffers = [
        replace(each, size_bytes=max(least[node] for node in each.nodes)) if each.nodes else each for each in made
    ]
    task = Task.of(buffers, in_place_rules(graph, tuple(runs), buffers), by_run=True)
    return task.items.problem.lower_bound_bytes


def is_worth_it(graph: LoweredGraph, held: Plan, moved: Plan) -> bool:
    """True if a smaller arena is worth the constants that kernels with less scratch read more often.

    Args:
        graph: with kernels that take the scratch that they need.
        held: the plan with one place for the scratch of all runs of a node.
        moved: the plan with a place for each run.
    """
    saved = held.arena_bytes - moved.arena_bytes
    if saved > held.arena_bytes // PARTS:
        return True
    before, after = (constants_read_bytes(graph, plan) for plan in (held, moved))
    return after - before <= max(before // PARTS, _PRICE * before * saved // max(1, held.arena_bytes))


def reads_more(graph: LoweredGraph, plan: Plan, room_bytes: int) -> bool:
    """True if kernels read constants so much more often than with room for scratch that a plan with that room may be worth more.

    Args:
        graph: with kernels that take the scratch that they need.
        plan: with a place for each run.
        room_bytes: scratch that each run could have.
    """
    roomy = with_room(graph, [room_bytes] * len(graph.nodes)).calls
    least = sum(graph.views[node].steps * read_bytes(call) for node, call in enumerate(roomy))
    return constants_read_bytes(graph, plan) - least > least // PARTS


def _levels(buffers: Sequence[Buffer], rules: Sequence[PairRule], steps: int) -> Ints:
    """The bytes that live at each step, less what pairs of buffers may share."""
    change = np.zeros(steps + 1, np.int64)
    for each in buffers:
        change[each.start] += each.size_bytes
        change[each.end] -= each.size_bytes
    for rule in rules:
        first, second = buffers[rule.first], buffers[rule.second]
        most = min(first.size_bytes, second.size_bytes, second.size_bytes - rule.minimum_distance_bytes)
        if most > 0:
            change[max(first.start, second.start)] -= most
            change[min(first.end, second.end)] += most
    return np.cumsum(change)[:-1]


@dataclass(slots=True)
class _Less:
    """The scratch of runs, which gets smaller at the steps where the most bytes live.

    Attributes:
        graph: the nodes.
        calls: of each node, with as much scratch as most runs have.
        levels: the bytes that live at each step.
        pieces: the scratch of each run.
        steps_each: at most one of so many steps of a node has less.
        narrow: the calls with less scratch, by their nodes.
        taken: the positions of the pieces that have it, by their nodes.
    """

    graph: LoweredGraph
    calls: Sequence[KernelCall]
    levels: Ints
    pieces: list[Buffer]
    steps_each: int
    narrow: dict[int, KernelCall] = field(default_factory=dict)
    taken: dict[int, set[int]] = field(default_factory=dict)

    def lower(self) -> None:
        """Makes scratch smaller at the steps where the most bytes live, until it cannot be smaller at one of them."""
        at = {
            step: place
            for place, each in enumerate(self.pieces)
            if not self.graph.views[each.nodes[0]].accumulates
            for step in range(each.start, each.end)
        }
        while True:
            most = int(self.levels.max())
            places = {at.get(int(step)) for step in np.flatnonzero(self.levels == most)}
            calls = [None if place is None else self._smaller(place) for place in places]
            for place, call in zip(places, calls, strict=True):
                if place is None or call is None:
                    return
            for place, call in zip(places, calls, strict=True):
                if place is not None and call is not None:
                    self._give(place, call)

    def _smaller(self, place: int) -> KernelCall | None:
        """The call with less scratch that a run may have; None if no call takes less."""
        piece, node = self.pieces[place], self.pieces[place].nodes[0]
        taken, call = self.taken.get(node, set()), self.narrow.get(node)
        steps = sum(self.pieces[each].end - self.pieces[each].start for each in taken | {place})
        if steps * self.steps_each > self.graph.views[node].steps:
            return None
        if call is None or call.scratch_bytes >= piece.size_bytes:
            return narrower_call(self.graph, node, call or self.calls[node])
        return call

    def _give(self, place: int, call: KernelCall) -> None:
        """Gives a run the scratch of a call; all runs of its node that have less than most have that."""
        node = self.pieces[place].nodes[0]
        self.narrow[node] = call
        self.taken.setdefault(node, set()).add(place)
        for each in self.taken[node]:
            old = self.pieces[each]
            self.levels[old.start : old.end] += call.scratch_bytes - old.size_bytes
            self.pieces[each] = replace(old, size_bytes=call.scratch_bytes)


@dataclass(frozen=True, slots=True)
class _Runs:
    """The scratch of runs after all buffers have been placed: it may be wherever no row and no accumulator is.

    Attributes:
        graph: with kernels that take the scratch that they need.
        roomy: of each node, the call with as much scratch as is of use.
        calls: of each node, the call with which most of its runs have been placed.
        of_node: the scratch of each run of a node, as it has been placed.
        free: for each of them, the bytes that are free meanwhile.
    """

    graph: LoweredGraph
    roomy: Sequence[KernelCall]
    calls: Sequence[KernelCall]
    of_node: dict[int, list[Buffer]]
    free: dict[int, list[list[tuple[int, int]]]]

    @staticmethod
    def of(
        graph: LoweredGraph,
        roomy: Sequence[KernelCall],
        calls: Sequence[KernelCall],
        placed: Sequence[Buffer],
        held: Sequence[Buffer],
        arena_bytes: int,
    ) -> "_Runs":
        """Of all placed buffers, and those that stay where they are."""
        of_node: dict[int, list[Buffer]] = {}
        kept = set(map(id, held))
        for each in placed:
            if id(each) not in kept:
                of_node.setdefault(each.nodes[0], []).append(each)
        free = {node: [_free(run, held, arena_bytes) for run in runs] for node, runs in of_node.items()}
        return _Runs(graph, roomy, calls, of_node, free)

    def gathered(self) -> list[Buffer]:
        """At as few places for each node as possible, in its usual sizes."""
        return self._at_few_places(self._usual_sizes)

    def grown(self) -> list[Buffer]:
        """The same, but of nodes with many constants each run has the larger scratch of two calls where it has room for it."""
        return self._at_few_places(self._grown_sizes)

    def _at_few_places(self, sizes: Callable[[int], Sequence[int]]) -> list[Buffer]:
        found = list[Buffer]()
        for node, runs in self.of_node.items():
            found += _at_few_places(runs, sizes(node), self.free[node])
        return found

    def _usual_sizes(self, node: int) -> list[int]:
        """Of each run: as much as is of use, if all runs that have as much as most have room for it."""
        runs, rooms_bytes = self.of_node[node], self._rooms(node)
        full = [run.size_bytes >= self.calls[node].scratch_bytes for run in runs]
        useful = self.roomy[node].scratch_bytes
        larger = all(room >= useful for room, is_full in zip(rooms_bytes, full, strict=True) if is_full)
        most = useful if larger else self.calls[node].scratch_bytes
        return [
            most if is_full or room >= most else run.size_bytes
            for run, room, is_full in zip(runs, rooms_bytes, full, strict=True)
        ]

    def _grown_sizes(self, node: int) -> list[int]:
        """Of each run: that of the larger of two calls, if it has room for it, else of the smaller."""
        if self.calls[node].constant_bytes < _MANY_BYTES:
            return self._usual_sizes(node)
        wide, narrow = self._two_calls(node)
        return [(wide if wide.scratch_bytes <= room else narrow).scratch_bytes for room in self._rooms(node)]

    def _rooms(self, node: int) -> list[int]:
        """The bytes that the scratch of each run of a node could have."""
        return [max(end - start for start, end in ranges) for ranges in self.free[node]]

    def _two_calls(self, node: int) -> tuple[KernelCall, KernelCall]:
        """The call for the runs of a node that have room for it, and the one for all others, so that the least is read."""
        rooms_bytes, call = self._rooms(node), self.calls[node]
        wide = call_with_room(self.graph, node, max(rooms_bytes))
        chain = _down_to(self.graph, node, wide, min(rooms_bytes))
        if chain[-1].scratch_bytes > min(rooms_bytes):
            chain = _down_to(self.graph, node, call, min(rooms_bytes))

        def read(wide: KernelCall) -> int:
            return sum(
                (run.end - run.start) * read_bytes(wide if wide.scratch_bytes <= room else chain[-1])
                for run, room in zip(self.of_node[node], rooms_bytes, strict=True)
            )

        enough = [each for each in chain if each.scratch_bytes >= call.scratch_bytes]
        return min(enough, key=lambda each: (read(each), each.scratch_bytes)), chain[-1]


def _down_to(graph: LoweredGraph, node: int, call: KernelCall, size_bytes: int) -> list[KernelCall]:
    """A call and its smaller calls, in descending order of scratch, up to the first that fits into so many bytes, if one does."""
    found = [call]
    while found[-1].scratch_bytes > size_bytes:
        smaller = narrower_call(graph, node, found[-1])
        if smaller is None:
            break
        found.append(smaller)
    return found


def _at_few_places(
    runs: Sequence[Buffer], sizes: Sequence[int], free: Sequence[Sequence[tuple[int, int]]]
) -> list[Buffer]:
    """The scratch of a node's runs: again and again, the place that most of the runs left can have.

    Args:
        runs: the scratch of each.
        sizes: its bytes.
        free: the bytes that are free meanwhile.
    """
    ranges = [
        [(start, end - size) for start, end in its if end - start >= size]
        for size, its in zip(sizes, free, strict=True)
    ]
    left, found = list(range(len(runs))), list(runs)
    while left:
        starts = dict.fromkeys(start for place in left for start, _ in ranges[place])
        fitting = {start: [place for place in left if _may_be_at(start, ranges[place])] for start in starts}
        best = min(starts, key=lambda start: (-len(fitting[start]), start))
        for place in fitting[best]:
            found[place] = replace(runs[place], offset=best, size_bytes=sizes[place])
        left = [place for place in left if place not in fitting[best]]
    return found


def _may_be_at(start: int, ranges: Sequence[tuple[int, int]]) -> bool:
    return any(low <= start <= high for low, high in ranges)


def _free(run: Buffer, held: Sequence[Buffer], arena_bytes: int) -> list[tuple[int, int]]:
    """The bytes that are free while a run's scratch lives, from aligned offsets on."""
    alive = sorted(
        (each.offset, each.offset + each.size_bytes) for each in held if each.start < run.end and run.start < each.end
    )
    found, low = [], 0
    for start, end in [*alive, (arena_bytes, arena_bytes)]:
        aligned = low + -low % run.alignment
        if aligned < start:
            found.append((aligned, start))
        low = max(low, end)
    return found
