"""The layout of a graph in storeys, with lines that pass between boxes: pure geometry, for `packages.py`."""  # noqa: INP001

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import fmean

Point = tuple[float, float]
_SWEEPS = 24
_LANE_WEIGHT = 4.0
"""The weight of a bend in a line, relative to a box that is not in the middle of its neighbours."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """The measures of a picture, in pixels.

    Attributes:
        box: width and height of a box.
        lane: width that a line takes where it passes a storey.
        gap: least distance of two things in a storey, and of two storeys.
        margin: distance of everything from the picture's edges.
    """

    box: Point
    lane: float
    gap: Point
    margin: float


@dataclass(frozen=True, slots=True)
class Layout:
    """The places of boxes and lines.

    Attributes:
        width: of the picture.
        height: of the picture.
        corners: the upper left corner of each box, by name.
        lines: the points of each line, from the lower edge of one box to the upper edge of another, by both names.
    """

    width: float
    height: float
    corners: Mapping[str, Point]
    lines: Mapping[tuple[str, str], tuple[Point, ...]]


@dataclass(frozen=True, slots=True)
class _Rows:
    """The things in each storey from left to right: boxes, and lanes of lines that pass; and which things lines join."""

    things: tuple[tuple[str, ...], ...]
    above: Mapping[str, Sequence[str]]
    below: Mapping[str, Sequence[str]]


def layout(storeys: Sequence[Sequence[str]], arrows: Mapping[str, frozenset[str]], sizes: Sizes) -> Layout:
    """Returns the places of boxes and lines: a line that passes a storey has a lane of its own between the boxes there.

    Args:
        storeys: the names in each storey, the ground floor first.
        arrows: for each name the names below it that a line leads to.
        sizes: the measures.
    """
    level = {name: at for at, names in enumerate(storeys) for name in names}
    chains = {
        (upper, lower): (upper, *(f"{at} {upper} {lower}" for at in range(level[upper] - 1, level[lower], -1)), lower)
        for upper in sorted(arrows)
        for lower in sorted(arrows[upper])
    }
    rows = _ordered(_rows(storeys, chains.values()))
    middles = _middles(rows, frozenset(level), sizes)
    pitch = sizes.box[1] + sizes.gap[1]
    height = 2 * sizes.margin + len(storeys) * pitch - sizes.gap[1]
    tops = {
        thing: height - sizes.margin - sizes.box[1] - at * pitch for at, row in enumerate(rows.things) for thing in row
    }
    ends = {thing: sizes.box[0] / 2 if thing in level else 0.0 for thing in middles}
    left = min(middles[thing] - ends[thing] for thing in middles) - sizes.margin
    width = max(middles[thing] + ends[thing] for thing in middles) + sizes.margin - left
    at = {thing: middle - left for thing, middle in middles.items()}
    return Layout(
        width,
        height,
        {name: (at[name] - sizes.box[0] / 2, tops[name]) for name in level},
        {pair: _points(chain, rows, at, tops, sizes) for pair, chain in chains.items()},
    )


def _rows(storeys: Sequence[Sequence[str]], chains: Iterable[Sequence[str]]) -> _Rows:
    """Returns the boxes of each storey and the lanes through it, in the order of names."""
    things = [list(names) for names in storeys]
    above: dict[str, list[str]] = {}
    below: dict[str, list[str]] = {}
    for chain in chains:
        for lane in chain[1:-1]:
            things[int(lane.split()[0])].append(lane)
        for upper, lower in pairwise(chain):
            below.setdefault(upper, []).append(lower)
            above.setdefault(lower, []).append(upper)
    return _Rows(tuple(map(tuple, things)), above, below)


def _ordered(rows: _Rows) -> _Rows:
    """Returns the rows in the order with the fewest crossings of a number of sweeps, alternately up and down.

    A sweep sorts each row by the mean place of what its things are joined to in the row before.
    """
    best, fewest = rows, _crossings(rows)
    things = [list(row) for row in rows.things]
    for sweep in range(_SWEEPS):
        joined = rows.above if sweep % 2 else rows.below
        order = range(len(things)) if sweep % 2 == 0 else range(len(things) - 1, -1, -1)
        for at in order:
            before = at - 1 if sweep % 2 == 0 else at + 1
            if 0 <= before < len(things):
                place = {thing: float(index) for index, thing in enumerate(things[before])}
                now = {thing: float(index) for index, thing in enumerate(things[at])}
                means = {each: fmean([place[other] for other in joined.get(each, ())] or [now[each]]) for each in now}
                things[at].sort(key=lambda each, means=means: means[each])  # type: ignore[misc]  # binds the loop's value
        tried = _Rows(tuple(map(tuple, things)), rows.above, rows.below)
        crossings = _crossings(tried)
        if crossings < fewest:
            best, fewest = tried, crossings
    return best


def _crossings(rows: _Rows) -> int:
    """Returns how many pairs of lines cross between neighbouring rows."""
    count = 0
    for lower, upper in zip(rows.things, rows.things[1:], strict=False):
        place = {thing: index for index, thing in enumerate(lower)}
        ends = [sorted(place[other] for other in rows.below.get(thing, ())) for thing in upper]
        pairs = [(index, end) for index, each in enumerate(ends) for end in each]
        count += sum(a < c and d < b for i, (a, b) in enumerate(pairs) for c, d in pairs[i + 1 :])
    return count


def _middles(rows: _Rows, boxes: frozenset[str], sizes: Sizes) -> dict[str, float]:
    """Returns the middle of each thing: near the mean of the things it is joined to, where order and gaps allow."""
    middles: dict[str, float] = {}
    for row in rows.things:
        for index, thing in enumerate(row):
            middles[thing] = (index - len(row) / 2) * sizes.box[0]
    for sweep in range(_SWEEPS):
        for row in rows.things if sweep % 2 == 0 else reversed(rows.things):
            wanted = []
            for thing in row:
                joined = (*rows.above.get(thing, ()), *rows.below.get(thing, ()))
                wanted.append(fmean([middles[other] for other in joined] or [middles[thing]]))
            halves = [(sizes.box[0] if thing in boxes else sizes.lane) / 2 for thing in row]
            weights = [1.0 if thing in boxes else _LANE_WEIGHT for thing in row]
            middles.update(zip(row, _spread(wanted, weights, halves, sizes.gap[0]), strict=True))
    return middles


def _spread(wanted: Sequence[float], weights: Sequence[float], halves: Sequence[float], gap: float) -> list[float]:
    """Returns the places nearest to those that are wanted, in least squares, at which no two things are too close."""
    shifts = [0.0]
    for left, right in pairwise(halves):
        shifts.append(shifts[-1] + left + right + gap)
    pools: list[tuple[float, float, int]] = []
    for place, weight, shift in zip(wanted, weights, shifts, strict=True):
        pool = (place - shift, weight, 1)
        while pools and pools[-1][0] > pool[0]:
            mean, total, count = pools.pop()
            pool = ((mean * total + pool[0] * pool[1]) / (total + pool[1]), total + pool[1], count + pool[2])
        pools.append(pool)
    means = [mean for mean, _, count in pools for _ in range(count)]
    return [mean + shift for mean, shift in zip(means, shifts, strict=True)]


def _points(
    chain: Sequence[str], rows: _Rows, at: Mapping[str, float], tops: Mapping[str, float], sizes: Sizes
) -> tuple[Point, ...]:
    """Returns the points of a line: it leaves one box, passes each storey upright in its lane, and meets another box."""
    upper, *lanes, lower = chain
    points = [(_port(upper, chain[1], rows.below, at, sizes), tops[upper] + sizes.box[1])]
    for lane in lanes:
        points += [(at[lane], tops[lane]), (at[lane], tops[lane] + sizes.box[1])]
    return (*points, (_port(lower, chain[-2], rows.above, at, sizes), tops[lower]))


def _port(box: str, other: str, joined: Mapping[str, Sequence[str]], at: Mapping[str, float], sizes: Sizes) -> float:
    """Returns where on a box's edge the line to another thing is: ports are side by side in the order of their ends."""
    order = sorted(joined[box], key=lambda each: at[each])
    return at[box] + sizes.box[0] * ((order.index(other) + 1) / (len(order) + 1) - 0.5)
