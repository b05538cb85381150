"""Places the buffers of long plans part by part of their time, where one search over all of them finds too little.

Where few bytes live, the time of a plan is divided into parts, each with so few buffers that search works well. Those that live in
several parts are placed first, and then the others of each part. The part that needs the most then comes before all others in the
next round, with its long-lived buffers.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from kibi.ir import Graph
from kibi.planner.in_place import in_place_rules
from kibi.planner.lifetimes import Followed
from kibi.planner.order.row_steps import Ints
from kibi.planner.placement.items import Item, PairRule
from kibi.planner.placement.placing import groups_of, item_of, place_items
from kibi.planner.plan import Buffer, Plan

_FEW_ITEMS = 1_000
"""Plans of no more buffers are searched well as they are."""
_MOST_ITEMS = 1_200
"""Buffers of a part, wherever that is possible."""
_ROUNDS = 2
"""How often all parts are placed."""
_SEARCH_SECONDS = 0.7
"""About how long the search for each part may take; an amount of work."""
_SMALL_GAP = 0.01
"""Of the bound: no part is searched for less."""


def placed_by_parts(graph: Graph, plan: Plan, effort: int = 1) -> Plan:
    """Returns the plan with a smaller arena where one is found, in the same order and with the same buffers of tensors.

    Scratch is as the plan has it, or held from the first to the last step of its nodes: search finds more with one or the other.

    Args:
        graph: of the plan's nodes.
        plan: of one arena.
        effort: how many times the usual work may be done.
    """
    tensors = tuple(each for each in plan.buffers if each.tensor is not None)
    held = (*tensors, *Followed.of(graph, plan.runs).scratch())
    best = plan
    for buffers in dict.fromkeys((plan.buffers, held)):
        best = _placed(graph, best, buffers, effort)
    return best


def _placed(graph: Graph, plan: Plan, buffers: Sequence[Buffer], effort: int) -> Plan:
    """Returns the plan with these buffers where they take a smaller arena than its own."""
    groups = groups_of(buffers)
    most_bytes = min(plan.arena_bytes, int(plan.lower_bound_bytes * (1 + _SMALL_GAP)))
    if len(groups) <= _FEW_ITEMS or plan.arena_bytes <= most_bytes:
        return plan
    number = {index: place for place, group in enumerate(groups) for index in group}
    rules = [
        PairRule(number[rule.first], number[rule.second], rule.minimum_distance_bytes)
        for rule in in_place_rules(graph, plan.runs, buffers, effort)
    ]
    items = [item_of([buffers[index] for index in group]) for group in groups]
    best = _Parts.of(items, rules, effort * _SEARCH_SECONDS, most_bytes).placed(plan.arena_bytes)
    if best is None:
        return plan
    placed = list(buffers)
    for place, group in enumerate(groups):
        lowest = min(buffers[index].offset for index in group)
        for index in group:
            old = buffers[index]
            placed[index] = replace(old, offset=best[place] + (old.offset - lowest if old.is_pinned else 0))
    peak_bytes = max(each.offset + each.size_bytes for each in placed)
    is_least = peak_bytes == plan.lower_bound_bytes
    return replace(plan, buffers=tuple(placed), arena_bytes=peak_bytes, proven_optimal=is_least)


@dataclass(frozen=True, slots=True)
class _Parts:
    """Items to place, and the parts of their time.

    Attributes:
        items: what to place.
        rules: of pairs of them, by each of both.
        times: where the parts begin, and the end of the last one.
        long: the items that live in several parts.
        seconds: about how long the search for a part may take.
        enough: no part is searched for fewer bytes.
    """

    items: Sequence[Item]
    rules: Mapping[int, Sequence[PairRule]]
    times: Sequence[int]
    long: frozenset[int]
    seconds: float
    enough: int
    _starts: Ints
    _ends: Ints
    _known: dict[object, dict[int, int] | None] = field(default_factory=dict)

    @staticmethod
    def of(items: Sequence[Item], rules: Sequence[PairRule], seconds: float, enough: int) -> "_Parts":
        """Returns the parts of items; arguments as the attributes."""
        starts, ends = (np.array([getattr(item, end) for item in items], np.int64) for end in ("start", "end"))
        times = _times(starts, ends, np.array([item.size_bytes for item in items], np.int64))
        inside = np.array(times[1:-1], np.int64)
        crossed = np.searchsorted(inside, ends) > np.searchsorted(inside, starts, side="right")
        by_item: dict[int, list[PairRule]] = {}
        for rule in rules:
            for index in (rule.first, rule.second):
                by_item.setdefault(index, []).append(rule)
        return _Parts(items, by_item, times, frozenset(np.flatnonzero(crossed).tolist()), seconds, enough, starts, ends)

    def placed(self, peak_bytes: int) -> dict[int, int] | None:
        """Returns the offset of each item, with a smaller peak than this one; None where no such is found."""
        hard: list[int] = []
        best: dict[int, int] | None = None
        for _ in range(_ROUNDS):
            made, worst = self._round(hard, peak_bytes)
            if made is not None:
                best, peak_bytes = made, max(self._peaks(made))
            if worst in hard or peak_bytes <= self.enough:
                break
            hard.append(worst)
        return best

    def _round(self, hard: Sequence[int], peak_bytes: int) -> tuple[dict[int, int] | None, int]:
        """Returns the offsets with these parts first, None where they are no better; and the part that needs the most."""
        offsets: dict[int, int] = {}
        needed = self.enough
        for part in hard:
            found = self._searched(self._living(part), offsets, 0)
            if found is None:
                return None, part
            needed = max(needed, self._top(found))
            offsets |= {index: offset for index, offset in found.items() if index in self.long}
        found = self._searched(self.long, offsets, 0)
        if found is None:
            return None, hard[-1]
        offsets |= found
        for part in range(len(self.times) - 1):
            found = self._searched(self._living(part), offsets, needed)
            if found is not None and self._top(found) > needed:
                found = self._searched(self._living(part), offsets, 0)
            if found is None:
                return None, part
            offsets |= found
            needed = max(needed, self._top(found))
            if needed >= peak_bytes:
                return None, part
        peaks = self._peaks(offsets)
        return offsets, int(np.argmax(peaks))

    def _peaks(self, offsets: Mapping[int, int]) -> list[int]:
        """The bytes that each part needs."""
        parts = [self._living(part) for part in range(len(self.times) - 1)]
        return [self._top({index: offsets[index] for index in part}) for part in parts]

    def _top(self, offsets: Mapping[int, int]) -> int:
        """One after the last byte of some items."""
        return max((offset + self.items[index].size_bytes for index, offset in offsets.items()), default=0)

    def _living(self, part: int) -> frozenset[int]:
        """The items that live in a part."""
        first, end = self.times[part], self.times[part + 1]
        return frozenset(np.flatnonzero((self._starts < end) & (self._ends > first)).tolist())

    def _searched(self, wanted: frozenset[int], known: Mapping[int, int], enough: int) -> dict[int, int] | None:
        """Returns the offsets of items, with those that are known as they are, and with all known ones that live beside them."""
        free = np.array(sorted(wanted - known.keys()), np.int64)
        if not len(free):
            return {index: known[index] for index in wanted}
        first, end = int(self._starts[free].min()), int(self._ends[free].max())
        beside = [index for index in known if self._starts[index] < end and self._ends[index] > first]
        chosen = sorted({*wanted, *beside})
        key = (tuple(chosen), tuple(known.get(index) for index in chosen), enough)
        if key not in self._known:
            place = {index: number for number, index in enumerate(chosen)}
            inside = {
                rule
                for index in chosen
                for rule in self.rules.get(index, ())
                if {rule.first, rule.second} <= place.keys()
            }
            moved = [(place[rule.first], place[rule.second], rule.minimum_distance_bytes) for rule in inside]
            kept = [PairRule(*rule) for rule in sorted(moved)]
            items = [replace(self.items[index], offset=known.get(index)) for index in chosen]
            made = place_items(items, rules=kept, capacity=enough or None, time_limit_seconds=self.seconds)
            offsets = made.offsets
            self._known[key] = None if offsets is None else dict(zip(chosen, offsets, strict=True))
        return self._known[key]


def _times(starts: Ints, ends: Ints, sizes: Ints) -> list[int]:
    """Returns where parts begin, and the end of the last: where few bytes live, and parts have few enough items."""
    last = int(ends.max())
    live, count = np.zeros((2, last + 1), np.int64)
    np.add.at(live, starts, sizes)
    np.subtract.at(live, ends, sizes)
    live = np.cumsum(live)
    np.add.at(count, starts, 1)
    begun = np.cumsum(count)  # items that have begun by then
    finished = np.cumsum(np.bincount(ends, minlength=last + 1))
    times = [0]
    while times[-1] < last:
        first = times[-1]
        end = max(first + 1, int(np.searchsorted(begun, _MOST_ITEMS + finished[first], side="right")))
        if end < last:
            half = (first + end) // 2 + 1
            end = half + int(np.argmin(live[half : end + 1])) if half <= end else end
        times.append(min(end, last))
    return times
