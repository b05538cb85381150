"""The order of attack: better greedy orders, capacities to look at, and that every search comes to an end."""

from itertools import islice

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kibi.errors import PlanError
from kibi.planner.order.better_orders import better_orders
from kibi.planner.placement import search
from kibi.planner.placement.items import MOST_BYTES, Gap, Item
from kibi.planner.placement.native import Native
from kibi.planner.placement.placing import Status, place_items
from kibi.planner.placement.problem import PlacementProblem
from kibi.planner.placement.progress import Capacity, Progress
from kibi.planner.placement.search import greedy
from tests.planner.brute_force import is_right, optimum
from tests.support.amount import sample


def _items(count: int, seed: int) -> list[Item]:
    rng = np.random.default_rng(seed)
    starts, lengths, sizes = rng.integers(0, 60, count), rng.integers(1, 25, count), rng.integers(1, 90, count)
    rows = zip(starts.tolist(), lengths.tolist(), sizes.tolist(), strict=True)
    return [Item(start, start + length, size) for start, length, size in rows]


def test_better_orders_are_right_the_same_each_time_and_better() -> None:
    """Orders that place earlier what ended too high find lower peaks, and never a wrong placement."""
    items = [*_items(90, 5), Item(5, 9, 20, offset=40)]
    problem = PlacementProblem.of(items)
    native = Native(problem)
    progress = Progress(None, 1 << 60, problem.lower_bound_bytes)
    starts = greedy(problem, native, progress, None)
    assert [start.peak_bytes for start in starts] == sorted(start.peak_bytes for start in starts)
    found = list(islice(better_orders(problem, native.first_fit, starts), 60))
    again = list(islice(better_orders(problem, native.first_fit, starts), 60))
    assert all(np.array_equal(one, other) for one, other in zip(found, again, strict=True))
    assert all(is_right(items, offsets.tolist()) for offsets in found)
    assert min(problem.peak_bytes(offsets) for offsets in found) < starts[2].peak_bytes


def test_huge_problems_get_one_greedy_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first is always tried; after much work, no further one is."""
    problem = PlacementProblem.of(_items(90, 5))
    native = Native(problem)

    def tried() -> int:
        return len(greedy(problem, native, Progress(None, 1 << 60, 0), None))

    assert tried() == 8
    monkeypatch.setattr(search, "_MUCH_FOR_AN_ORDER", 1)
    assert tried() == 4
    monkeypatch.setattr(search, "_MOST_GREEDY", search.order_work(problem) - 1)
    assert tried() == 1


@pytest.mark.slow
def test_chain_of_a_million_items_is_placed() -> None:
    """With the lower bound that says how far it is from the optimum."""
    rng = np.random.default_rng(1)
    sizes = (rng.integers(1, 4096, 1_000_000) * 4).tolist()
    found = place_items([Item(start, start + 3, size) for start, size in enumerate(sizes)])
    assert found.offsets is not None
    assert found.lower_bound_bytes <= found.peak_bytes <= 1.5 * found.lower_bound_bytes


def test_target_goes_from_the_bound_half_way_up_until_nothing_is_between() -> None:
    """First the lower bound, then half way between what failed and what is known, in steps that peaks can have."""
    problem = PlacementProblem.of([Item(0, 1, 100), Item(0, 1, 300)])
    progress = Progress(None, 1200, 400)
    target, seen = Capacity(problem, progress, None), []
    while (at := target.bytes) is not None:
        seen.append(at)
        target.give_up(at)
    assert seen == [400, 800, 1000, 1100]
    assert Capacity(problem, progress, None, is_above=True).bytes == 800
    assert Capacity(problem, progress, 777).bytes == 700
    coarse = Capacity(problem, Progress(None, 600, 400), None, coarse=1.0)
    assert coarse.bytes == 400
    coarse.give_up(400)
    assert coarse.bytes is None


@settings(max_examples=60)
@given(st.integers(1, 9), st.integers(1, 5), st.integers(0, 40), st.booleans())
def test_place_items_always_ends(count: int, unit: int, capacity: int, has_hole: bool) -> None:
    """Whatever the granularity, and where windows leave holes that no proof may use, the search ends."""
    gaps = (Gap(2, 4, (0, unit)), Gap(4, 6, (2 * unit, 3 * unit))) if has_hole else ()
    items = [
        Item(0, 8, 3 * unit, gaps=gaps),
        *(Item(k % 5, k % 5 + 1 + k % 3, unit * (1 + k % 4)) for k in range(count)),
    ]
    for limit in (capacity, None):
        found = place_items(items, capacity=limit, time_limit_seconds=0.02)
        assert found.offsets is not None
        assert is_right(items, found.offsets)


@pytest.mark.parametrize("count", [70, 1100, 6100])
def test_place_items_of_every_size_class_is_right_and_the_same_each_time(count: int) -> None:
    """Few items, many, and too many for search: each gets a placement near its bound, twice the same."""
    items = [Item(k, k + 2 + k * 7 % 11, 16 + 8 * (k * 5 % 13)) for k in range(count)]
    found = place_items(items, time_limit_seconds=0.3)
    assert found == place_items(items, time_limit_seconds=0.3)
    assert found.offsets is not None
    assert found.status in (Status.OPTIMAL, Status.FEASIBLE)
    assert found.peak_bytes <= 1.5 * found.lower_bound_bytes


@pytest.mark.parametrize("seed", sample(((seed,) for seed in range(12)), [(seed,) for seed in range(4)]))
def test_place_items_of_huge_sizes_gives_the_optimum_and_no_false_proof(seed: int) -> None:
    """Sizes around 2**53 and up to 2**60 in all are placed as their small likenesses are, whose optimum is known."""
    rng = np.random.default_rng(seed)
    small = [
        Item(start, start + int(rng.integers(1, 4)), int(rng.integers(1, 7)), gaps=())
        for start in rng.integers(0, 5, 6).tolist()
    ]
    least = optimum(small)
    assert least is not None
    total = sum(item.size_bytes for item in small)
    for factor in ((1 << 53) // total - 1, (1 << 53) // least + 1, (1 << 54) + 1, MOST_BYTES // total):
        large = [Item(item.start, item.end, item.size_bytes * factor) for item in small]
        found = place_items(large)
        assert (found.peak_bytes, found.status) == (least * factor, Status.OPTIMAL)
        assert found.offsets is not None
        assert is_right(small, [offset // factor for offset in found.offsets])
        assert place_items(large, capacity=least * factor - 1).status is Status.INFEASIBLE
        assert place_items(large, capacity=1 << 70).status is Status.OPTIMAL


@pytest.mark.parametrize("bits", [53, 59, 60, 61, 62, 63, 64, 200])
def test_place_items_beyond_what_64_bits_hold_is_refused(bits: int) -> None:
    """What may need an offset above 2**60 ends in an error, never in an answer; the rest is placed."""
    sizes = (1 << bits) // 2, (1 << bits) // 2 + 1
    for item in (
        Item(0, 1, sizes[1]),
        Item(0, 1, 1, offset=sizes[1]),
        Item(0, 1, 1, alignment=sizes[1]),
        Item(-sizes[1], 1 - sizes[1], 1),
    ):
        other = Item(item.start, item.end, sizes[0])
        if bits < 60:
            found = place_items([item, other])
            assert found.offsets is not None
            assert found.peak_bytes >= sizes[0]
            assert found.status is Status.OPTIMAL
        elif item.start == 0 or bits > 60:
            with pytest.raises(PlanError, match=r"above \d+|can be placed"):
                place_items([item, other])


def test_place_items_many_of_huge_sizes_are_searched_as_small_ones_are() -> None:
    """The native search, which more items need, gives the same placement times the factor."""
    small = _items(70, 3)
    factor = MOST_BYTES // sum(item.size_bytes for item in small)
    large = [Item(item.start, item.end, item.size_bytes * factor) for item in small]
    first, second = place_items(small), place_items(large)
    assert second.peak_bytes == first.peak_bytes * factor
    assert second.lower_bound_bytes == first.lower_bound_bytes * factor


def test_place_items_upside_down_are_found_at_a_capacity_that_is_not_aligned() -> None:
    """A window that dies from below, an alignment of 2, and the least peak of 5."""
    items = [Item(0, 2, 1), Item(1, 2, 2, alignment=2), Item(0, 2, 3, gaps=(Gap(1, 2, window=(1, 3)),))]
    found = place_items(items)
    assert found.peak_bytes == optimum(items) == 5
    assert found.status is Status.OPTIMAL
    assert is_right(items, list(found.offsets or ()))


def test_place_items_time_limit_that_is_no_number_is_refused() -> None:
    """NaN seconds are not a time; endless ones are as many as there can be."""
    with pytest.raises(PlanError, match="nan seconds"):
        place_items([Item(0, 1, 1)], time_limit_seconds=float("nan"))
    assert place_items([Item(0, 1, 1)], time_limit_seconds=float("inf")).status is Status.OPTIMAL
