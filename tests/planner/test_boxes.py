"""Items that fit one another exactly are joined to boxes."""

import random

import numpy as np
import pytest

from kibi.planner.placement.boxes import Boxes, can_be_boxed
from kibi.planner.placement.items import Gap, Item, PairRule
from kibi.planner.placement.placing import place_items
from kibi.planner.placement.problem import PlacementProblem

_MOMENTS, _BYTES = 10_000, 1 << 20


def perfect(count: int, seed: int) -> list[Item]:
    """So many items that fill a memory of `_BYTES` in all of `_MOMENTS` moments: a rectangle, cut again and again."""
    drawn, rectangles = random.Random(seed), [(0, _MOMENTS, _BYTES)]
    while len(rectangles) < count:
        largest = max(rectangles, key=lambda each: (each[1] - each[0]) * each[2])
        rectangles.remove(largest)
        start, end, size = largest
        if end - start > 1 and (drawn.random() < 0.5 or size < 32):
            middle = drawn.randrange(start + 1, end)
            rectangles += [(start, middle, size), (middle, end, size)]
        else:
            part = 16 * drawn.randrange(1, size // 16)
            rectangles += [(start, end, part), (start, end, size - part)]
    drawn.shuffle(rectangles)
    return [Item(start, end, size, 16) for start, end, size in rectangles]


def assert_apart(items: list[Item], offsets: list[int]) -> None:
    """No two items share a byte while both live."""
    start, end, size = np.array([(each.start, each.end, each.size_bytes) for each in items]).T
    low = np.array(offsets)
    for place in range(len(items)):
        together = (
            (start < end[place]) & (end > start[place]) & (low < low[place] + size[place]) & (low + size > low[place])
        )
        assert np.flatnonzero(together).tolist() == [place]


@pytest.mark.parametrize("seed", [1, 2])
def test_a_packing_without_a_free_byte_is_found_again_almost(seed: int) -> None:
    """A thousand items that fill a memory are placed with at most 5 % more than that."""
    items = perfect(1000, seed)
    found = place_items(items)
    assert found.offsets is not None
    assert found.peak_bytes <= 1.05 * _BYTES
    assert_apart(items, list(found.offsets))


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_large_packing_without_a_free_byte_is_found_again_almost(seed: int) -> None:
    """The same for ten thousand items."""
    found = place_items(perfect(10_000, seed))
    assert found.peak_bytes <= 1.05 * _BYTES


@pytest.mark.parametrize("seed", range(20))
def test_items_in_boxes_are_apart_where_the_boxes_are(seed: int) -> None:
    """Drawn items, many of one lifetime or size: stacks that are placed one above the other leave all items apart."""
    drawn = random.Random(seed)
    lives = [(start, start + drawn.randrange(1, 5)) for start in range(6) for _ in range(8)]
    items = [Item(*life, 16 * drawn.randrange(1, 4)) for life in lives]
    problem = PlacementProblem.of(items)
    boxes = Boxes.of(problem)
    stacked = boxes.items(1)
    tops = np.cumsum([0, *(each.size_bytes for each in stacked)]).tolist()
    assert len(stacked) < len(items)
    assert_apart(items, boxes.expanded(tops[:-1], problem.items).tolist())


def test_a_part_of_a_stack_is_joined_where_the_whole_does_not_fit() -> None:
    """Of two items of one lifetime, one is followed by an item of its size: a box for all the time and an item are left."""
    boxes = Boxes.of(PlacementProblem.of([Item(0, 2, 32), Item(0, 2, 48), Item(2, 5, 48)]))
    assert sorted(boxes.items(1), key=lambda each: each.size_bytes) == [Item(0, 1, 32), Item(0, 2, 48)]


@pytest.mark.parametrize(
    ("items", "rules"),
    [
        ([Item(0, 2, 16, offset=32), Item(0, 2, 16)], ()),
        ([Item(0, 4, 16, gaps=(Gap(1, 2),)), Item(0, 2, 16)], ()),
        ([Item(0, 2, 16), Item(1, 3, 16)], (PairRule(0, 1, 8),)),
        ([Item(0, 2, 16, 16), Item(0, 2, 24, 8)], ()),
    ],
    ids=["fixed", "gaps", "rules", "alignments"],
)
def test_items_with_conditions_are_not_boxed(items: list[Item], rules: tuple[PairRule, ...]) -> None:
    """Fixed offsets, gaps, rules and sizes that would leave what is above misaligned are left to search."""
    assert not can_be_boxed(PlacementProblem.of(items, rules))
