"""Sweeps through time, and problems turned round in time and upside down."""

from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from kibi.planner.placement.items import Gap, Item, PairRule
from kibi.planner.placement.mirror import Mirror, is_better_mirrored, mirrored
from kibi.planner.placement.native import Native
from kibi.planner.placement.placing import Status, place_items
from kibi.planner.placement.problem import PlacementProblem
from kibi.planner.placement.strategy import Ending, ItemRule, SectionRule, Strategy
from kibi.planner.placement.sweep import backwards, ways
from tests.planner.brute_force import is_right, optimum

_SECTIONS, _RULES = tuple(SectionRule), tuple(ItemRule)


@st.composite
def _dying(draw: st.DrawFn) -> Item:
    """An item whose bytes die from below, as those of a model input do."""
    start, length, size = draw(st.integers(0, 3)), draw(st.integers(2, 5)), draw(st.integers(2, 4))
    left = sorted(draw(st.lists(st.integers(1, size - 1), max_size=length - 1)))
    gaps = tuple(Gap(start + k + 1, start + k + 2, (low, size)) for k, low in enumerate(left))
    return Item(start, start + length, size, gaps=gaps)


def _item(alignments: tuple[int, ...] = (1, 1, 2)) -> st.SearchStrategy[Item]:
    return st.builds(
        lambda start, length, units, alignment: Item(start, start + length, units * alignment, alignment),
        st.integers(0, 6),
        st.integers(1, 5),
        st.integers(1, 3),
        st.sampled_from(alignments),
    )


@st.composite
def _rules(draw: st.DrawFn, items: list[Item]) -> list[PairRule]:
    pairs = [(first, second) for first in range(len(items)) for second in range(first)]
    chosen = draw(st.lists(st.sampled_from(pairs), unique=True, max_size=3)) if pairs else []
    return [PairRule(first, second, draw(st.integers(-2, 3))) for first, second in chosen]


@settings(max_examples=80)
@given(st.data())
def test_sweep_every_way_finds_nothing_wrong_and_nothing_below_the_optimum(data: st.DataObject) -> None:
    """Whatever a sweep finds is a placement; below the optimum it finds none; with room for all it finds one."""
    items = data.draw(st.lists(st.one_of(_item(), _dying()), min_size=1, max_size=5))
    rules = data.draw(_rules([item for item in items if not item.gaps]))
    items = sorted(items, key=lambda item: bool(item.gaps))
    best = optimum(items, rules)
    assert best is not None
    problem = PlacementProblem.of(items, rules)
    room = sum(item.size_bytes + item.alignment for item in items)
    for way in ways(problem, Native(problem)):
        for capacity in (best - 1, best, room):
            sweep = replace(way.sweep, width=8, noise=3, seed=capacity)
            ending, offsets, _ = way.native.search(sweep, capacity, 1_000_000, lambda: True)
            assert ending in ((Ending.NOT_FOUND,) if capacity < best else (Ending.FOUND, Ending.NOT_FOUND))
            assert capacity < room or ending is Ending.FOUND
            assert ending is Ending.NOT_FOUND or is_right(items, offsets.tolist(), rules)


def test_sweep_is_stopped_by_its_limit_and_by_its_caller() -> None:
    """A sweep ends when its work is used up, and when the caller says so."""
    problem = PlacementProblem.of([Item(k, k + 3, 8) for k in range(600)])
    way = ways(problem, Native(problem))[0]
    assert way.native.search(replace(way.sweep, width=4), 24, 10**9, lambda: True)[0] is Ending.FOUND
    assert way.native.search(replace(way.sweep, width=4), 24, 100, lambda: True)[0] is Ending.STOPPED
    assert way.native.search(replace(way.sweep, width=4), 24, 10**9, lambda: False)[0] is Ending.STOPPED


@given(st.lists(st.one_of(_item(), _dying()), min_size=1, max_size=6))
def test_backwards_and_mirrored_twice_is_the_same(items: list[Item]) -> None:
    """Turned round twice, in time or upside down, a problem is what it was."""
    problem = PlacementProblem.of(items)
    for turned in (backwards(backwards(problem)), mirrored(mirrored(problem))):
        for name in ("first", "last", "weights", "low", "high", "rule_distances"):
            assert np.array_equal(getattr(turned, name), getattr(problem, name))


@settings(max_examples=60)
@given(st.data())
def test_mirror_search_equals_brute_force(data: st.DataObject) -> None:
    """Upside down, every strategy fits the optimum where alignment lets it, and proves what brute force says."""
    items = [data.draw(_dying()), *data.draw(st.lists(_item((1, 1, 1)), min_size=1, max_size=4))]
    rules = [PairRule(r.first + 1, r.second + 1, r.minimum_distance_bytes) for r in data.draw(_rules(items[1:]))]
    best, problem = optimum(items, rules), PlacementProblem.of(items, rules)
    assert best is not None
    if not problem.is_exact or not is_better_mirrored(problem):
        return
    mirror = Mirror(problem, Native(problem))
    strategy = Strategy(data.draw(st.sampled_from(_SECTIONS)), data.draw(st.sampled_from(_RULES)))
    ending, offsets, _ = mirror.search(strategy, best, 1_000_000, lambda: True)
    assert ending in (Ending.FOUND, Ending.NOT_FOUND)
    assert ending is Ending.NOT_FOUND or is_right(items, offsets.tolist(), rules)
    ending, _, _ = mirror.search(strategy, best - 1, 1_000_000, lambda: True)
    assert ending in (Ending.IMPOSSIBLE, Ending.NOT_FOUND)


@settings(max_examples=100)
@given(st.lists(st.one_of(_item(), _dying()), min_size=1, max_size=5), st.integers(0, 2))
def test_place_items_proof_that_none_fits_equals_brute_force(items: list[Item], less: int) -> None:
    """What is called infeasible is, what is not has a placement that fits, and the bound never exceeds the optimum."""
    best = optimum(items)
    assert best is not None
    found = place_items(items, capacity=max(0, best - less), time_limit_seconds=2.0)
    assert found.lower_bound_bytes <= best
    assert (found.status is Status.INFEASIBLE) <= (less > 0)
    assert found.offsets is not None
    assert is_right(items, found.offsets)
    assert less > 0 or found.peak_bytes == best


def test_place_items_capacity_between_possible_peaks_bounds_the_next_one() -> None:
    """A capacity that no peak can equal raises the bound to the next possible peak, not beyond it."""
    lives = ((3, 1, 3), (3, 6, 8), (2, 2, 6), (2, 5, 8), (2, 4, 6), (3, 1, 2), (1, 2, 5))
    found = place_items([Item(start, end, 10 * size) for size, start, end in lives], capacity=65)
    assert (found.status, found.peak_bytes, found.lower_bound_bytes) == (Status.INFEASIBLE, 70, 70)


def test_place_items_rows_of_a_network_with_a_dying_input_meet_the_bound() -> None:
    """Rows of different sizes fill what a stored input leaves as its rows die, without a byte of waste."""
    gaps = tuple(Gap(k, k + 1, (96 * k - 96, 9216)) for k in range(2, 97))
    items = [Item(0, 97, 9216, gaps=gaps)]
    items += [Item(k, k + 6, 768) for k in range(1, 95, 2)] + [Item(k, k + 5, 384) for k in range(3, 95, 2)]
    found = place_items(items, time_limit_seconds=0.5)
    assert found.status is Status.OPTIMAL
    assert found.offsets is not None
    assert is_right(items, found.offsets)
