"""What planning and validating cost: buffers, runs and greedy orders are gone through a fixed number of times."""

import random
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

import kibi
from kibi.dtypes import DType
from kibi.frontends.tflite import parse_tflite
from kibi.frontends.tflite.builder import ModelBuilder
from kibi.ir import Graph
from kibi.planner import Plan, Run, validate
from kibi.planner.placement import placing as placement
from kibi.planner.placement import search as placement_search
from kibi.planner.placement.first_fit import first_fit, orders
from kibi.planner.placement.items import Gap, Item, PairRule
from kibi.planner.placement.native import Native
from kibi.planner.placement.placing import Task, place
from kibi.planner.placement.problem import PlacementProblem
from kibi.planner.plan import Buffer
from kibi.runtime.arena import Arena

_QUANTIZATION = (0.05, 3)


class _Counted(tuple[object, ...]):
    """A tuple that counts how often it is gone through."""

    __slots__ = ()
    times = 0

    def __iter__(self) -> Iterator[object]:
        _Counted.times += 1
        return super().__iter__()


def _taking_turns(rows: int) -> tuple[Graph, Plan]:
    """Two poolings whose rows take turns, so that each row has a buffer and a run of its own."""
    b = ModelBuilder()
    x = b.input([1, rows, 2, 1], DType.S8, *_QUANTIZATION)
    for _ in range(3):
        y = b.tensor([1, rows, 2, 1], DType.S8, *_QUANTIZATION)
        sizes = {"filter_width": 1, "filter_height": 1, "stride_w": 1, "stride_h": 1}
        b.operator("MAX_POOL_2D", [x], [y], sizes, padding="VALID")
        x = y
    graph = parse_tflite(b.finish([x]), "turns.tflite")
    return graph, kibi.plan(graph, runs=[Run(node, row, 1) for row in range(rows) for node in range(3)])


def _times(rows: int, name: str) -> int:
    """How often validating, and a run under guard, go through a plan's buffers or runs."""
    graph, plan = _taking_turns(rows)
    _Counted.times = 0
    counted = replace(plan, **{name: _Counted(getattr(plan, name))})  # type: ignore[arg-type]  # one of its tuples
    validate(graph, counted)
    arena = Arena(graph, counted)
    arena.start()
    for step in range(len(plan.steps)):
        arena.check(step)
    return _Counted.times


@pytest.mark.parametrize("name", ["buffers", "runs"])
def test_validating_and_guarding_go_through_a_plan_as_often_for_many_rows_as_for_few(name: str) -> None:
    """Not once for each buffer, nor for each run: 40 rows and 10 rows cost as many passes."""
    assert _times(40, name) == _times(10, name) < 30


def test_search_goes_on_from_greedy_orders_that_were_tried_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """A task tries them once, and finds what a placement from the beginning finds."""
    rng = random.Random(5)
    buffers = [
        Buffer(None, node, 0, 0, 0, rng.randrange(1, 60), 1, start, start + rng.randrange(1, 9))
        for node, start in enumerate(rng.choices(range(30), k=90))
    ]
    expected = place(buffers, time_limit_seconds=0.02)
    tried: list[int] = []

    def counting(*arguments: object) -> object:
        tried.append(1)
        return placement_search.greedy(*arguments)  # type: ignore[arg-type]  # what it is given

    monkeypatch.setattr(placement, "greedy", counting)
    task = Task.of(buffers, ())
    first = task.place(None, 0.0)
    assert first.peak_bytes >= expected.peak_bytes
    assert task.place(None, 0.02) == expected
    assert task.place(None, 0.0) == first
    assert len(tried) == 1


def _drawn(rng: random.Random) -> tuple[list[Item], list[PairRule]]:
    items = []
    for _ in range(rng.randrange(2, 40)):
        start, size, alignment = rng.randrange(30), rng.randrange(1, 40), rng.choice((1, 1, 2, 4))
        end = start + rng.randrange(1, 12)
        gaps: tuple[Gap, ...] = ()
        if rng.random() < 0.3 and end - start > 2:
            low = rng.randrange(size)
            gaps = (Gap(start + 1, end - 1, rng.choice([None, (low, rng.randrange(low, size) + 1)])),)
        items.append(Item(start, end, size, alignment, gaps=gaps))
    pairs = {tuple(rng.sample(range(len(items)), 2)) for _ in range(rng.randrange(12))}
    kept = [pair for pair in sorted(pairs) if pair[::-1] not in pairs]
    rules = [
        PairRule(pair[0], pair[1], rng.randrange(-items[pair[0]].size_bytes, items[pair[1]].size_bytes))
        for pair in kept
    ]
    return items, [each for each in rules if not (items[each.first].gaps or items[each.second].gaps)]


@pytest.mark.parametrize("seed", range(60))
def test_native_first_fit_of_random_items_with_gaps_and_rules_is_that_of_python(seed: int) -> None:
    """The native code looks at few of the items that were placed, and finds the same offsets."""
    problem = PlacementProblem.of(*_drawn(random.Random(seed)))
    native = Native(problem)
    for order in orders(problem):
        expected, found = first_fit(problem, order), native.first_fit(order)
        assert expected is not None
        assert found is not None
        assert np.array_equal(expected, found)


def test_native_first_fit_of_many_that_live_together_is_that_of_python() -> None:
    """More than a thousand, on average: then the native code goes through levels of equal offsets."""
    rng = random.Random(1)
    items = [Item(0, rng.randrange(200, 400), 8 * rng.randrange(1, 9), rng.choice((1, 16))) for _ in range(1100)]
    problem = PlacementProblem.of(items)
    assert 1000 < problem.neighbours == len(items) - 1
    order = next(iter(orders(problem)))
    expected, found = first_fit(problem, order), Native(problem).first_fit(order)
    assert expected is not None
    assert found is not None
    assert np.array_equal(expected, found)


@pytest.mark.parametrize("seed", range(8))
def test_neighbours_are_those_whose_lives_meet(seed: int) -> None:
    """Counted one by one."""
    items = _drawn(random.Random(seed))[0]
    meet = sum(one is not other and one.start < other.end and other.start < one.end for one in items for other in items)
    assert PlacementProblem.of(items).neighbours == pytest.approx(meet / len(items))


@pytest.mark.parametrize("seed", range(20))
def test_window_of_buffers_that_die_one_by_one_is_what_is_left_of_them(seed: int) -> None:
    """At each moment, the least window that holds those that still live: a count of all of them says the same."""
    rng = random.Random(seed)
    ends, offset, group = rng.choices(range(5, 12), k=8), 16, []
    for row, end in enumerate(ends):
        group.append(Buffer(0, None, row, 1, offset, 4, 4, 0, end, is_pinned=True))
        offset += 4
    item = placement.item_of(rng.sample(group, 8))
    assert (item.start, item.end, item.size_bytes) == (0, max(ends), 32)
    for moment in range(max(ends)):
        left = [each for each in group if each.end > moment]
        window = min(each.offset for each in left) - 16, max(each.offset + 4 for each in left) - 16
        found = [each.window for each in item.gaps if each.start <= moment < each.end] or [(0, 32)]
        assert found == [window]
