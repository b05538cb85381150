"""Buffers that are placed part by part: the same plan in fewer bytes, each of which has one owner at a time."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

import kibi
from kibi.planner import Plan, placing_by_parts, validate
from kibi.planner.placement.items import Item, PairRule
from kibi.planner.placement.placing import groups_of
from tests.engines.networks import residual_network


def _random_items(seed: int, count: int) -> list[Item]:
    """Short lives, most of them, with a long one now and then."""
    random = np.random.default_rng(seed)
    starts = np.sort(random.integers(0, 4 * count, count))
    lengths = np.where(random.random(count) < 0.05, random.integers(40, 200, count), random.integers(1, 12, count))
    sizes = random.integers(1, 40, count) * 4
    return [Item(int(s), int(s + n), int(b), 4) for s, n, b in zip(starts, lengths, sizes, strict=True)]


def _placed(items: list[Item], rules: list[PairRule], monkeypatch: pytest.MonkeyPatch) -> dict[int, int]:
    """Offsets from parts of few items each."""
    monkeypatch.setattr(placing_by_parts, "_MOST_ITEMS", 30)
    parts = placing_by_parts._Parts.of(items, rules, 0.002, 0)
    assert len(parts.times) > 4
    assert parts.long
    found = parts.placed(1 << 20)
    assert found is not None
    assert found.keys() == set(range(len(items)))
    return found


@pytest.mark.parametrize("seed", range(4))
def test_items_that_live_together_share_no_byte(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """In one part, or in several of them; offsets are aligned."""
    items = _random_items(seed, 150)
    found = _placed(items, [], monkeypatch)
    for (one, first), (other, second) in combinations(enumerate(items), 2):
        if first.start < second.end and second.start < first.end:
            is_apart = found[one] + first.size_bytes <= found[other] or found[other] + second.size_bytes <= found[one]
            assert is_apart, (one, other)
    assert all(offset % 4 == 0 for offset in found.values())


def test_pairs_that_may_share_bytes_keep_their_distance(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each item may be made in the place of the one before it, at no higher offset."""
    items = [Item(2 * place, 2 * place + 3, 64, 4) for place in range(150)] + [Item(0, 301, 8, 4)]
    rules = [PairRule(place, place + 1, 0) for place in range(149)]
    found = _placed(items, rules, monkeypatch)
    assert max(found[index] + item.size_bytes for index, item in enumerate(items)) < 8 + 2 * 64
    for place in range(149):
        distance = found[place] - found[place + 1]
        assert distance >= 0 or distance <= -64


def _spread(plan: Plan) -> Plan:
    """The plan with each buffer above all others; rows that are in order stay so."""
    buffers, top = list(plan.buffers), 0
    for group in groups_of(plan.buffers):
        lowest = min(plan.buffers[index].offset for index in group)
        shift = -(-top // 16) * 16 - lowest // 16 * 16
        for index in group:
            buffers[index] = replace(buffers[index], offset=buffers[index].offset + shift)
            top = max(top, buffers[index].offset + buffers[index].size_bytes)
    return replace(plan, buffers=tuple(buffers), arena_bytes=top, proven_optimal=False)


def test_plan_placed_by_parts_is_valid_and_smaller(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same steps and buffers in fewer bytes; a plan that meets its bound, or has few buffers, stays as it is."""
    model = residual_network()
    made = kibi.plan(model)
    graph = validate(model, made).graph
    assert placing_by_parts.placed_by_parts(graph, made) is made
    wide = _spread(made)
    validate(model, wide)
    assert placing_by_parts.placed_by_parts(graph, wide) is wide
    monkeypatch.setattr(placing_by_parts, "_FEW_ITEMS", 1)
    monkeypatch.setattr(placing_by_parts, "_MOST_ITEMS", 8)
    monkeypatch.setattr(placing_by_parts, "_SEARCH_SECONDS", 0.01)
    found = placing_by_parts.placed_by_parts(graph, wide)
    assert found.arena_bytes < wide.arena_bytes
    assert [replace(each, offset=0) for each in found.buffers] == [replace(each, offset=0) for each in made.buffers]
    assert found.runs == made.runs
    validate(model, found)
