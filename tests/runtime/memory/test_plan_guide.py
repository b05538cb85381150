"""A plan as a soft bound: allocation by hand follows it, moves what is in the way, and reports what departs."""

from itertools import pairwise

import numpy as np
import pytest

from kibi.eager.handlers import ErrorHandler
from kibi.eager.memory import ByteRange, Handle, HandleArena, PlannedBlock
from kibi.eager.memory.allocator import OutOfMemory, PlanDeparture
from kibi.planner.plan import Buffer, Plan, Run

PLAN = (
    PlannedBlock(0, 64, 0, 2),
    PlannedBlock(64, 32, 1, 3),
    PlannedBlock(0, 48, 2, 4),
    PlannedBlock(128, 16, 3, 5),
)
"""The third comes where the first was."""


class Hand:
    """A program that allocates by hand, in an arena with a plan."""

    def __init__(self, plan: object = PLAN, size_bytes: int = 256) -> None:
        self.history = ErrorHandler(500, on_error=lambda _: None)
        self.arena = HandleArena(size_bytes, plan=plan, handler=self.history)  # type: ignore[arg-type]  # any form
        self.fill = 0

    def take(self, size_bytes: int) -> Handle:
        """A bound block with bytes of its own."""
        handle = self.arena.allocate_handle(size_bytes)
        assert handle is not None
        self.fill += 1
        with handle.pin() as view:
            view[:] = bytes([self.fill]) * size_bytes
        return handle

    def departures(self) -> list[str]:
        """How it departed from the plan so far."""
        return [event.facts["how"] for event in self.history if event.type == PlanDeparture]


def test_program_that_follows_its_plan_gets_the_planned_places() -> None:
    """Sizes, order and lifetimes as planned: every offset as planned, nothing to report."""
    hand = Hand()
    first, second = hand.take(64), hand.take(32)
    first.free()
    third = hand.take(48)
    second.free()
    fourth = hand.take(16)
    assert [second.address, third.address, fourth.address] == [None, 0, 128]
    assert not hand.departures()


def test_block_in_the_way_moves_for_the_planned_one() -> None:
    """The first block lives longer than planned: it moves, with its bytes, and both facts are reported."""
    hand = Hand()
    first, _second = hand.take(64), hand.take(32)  # the second is late, too, when the fourth comes
    third = hand.take(48)
    assert third.address == 0
    assert hand.departures() == ["late", "displaced"]
    assert first.address == 144
    hand.take(16)
    assert hand.departures() == ["late", "displaced", "late"]
    with first.pin() as view:
        assert bytes(view) == b"\x01" * 64
    with third.pin() as view:
        assert bytes(view) == b"\x03" * 48


def test_block_moves_over_its_own_bytes_where_no_other_room_is() -> None:
    """A displaced block may slide."""
    hand = Hand([(0, 8), (0, 8)], 24)
    hand.arena.allocate_spare(8)
    first = hand.take(8)
    assert first.address == 0
    second = hand.take(8)
    assert (first.address, second.address) == (16, 0)
    hand = Hand([(8, 16), (0, 16)], 32)
    first, second = hand.take(16), hand.take(16)
    assert (first.address, second.address) == (16, 0)
    with first.pin() as view:
        assert bytes(view) == b"\x01" * 16


def test_pinned_block_in_the_way_is_reported_and_stays() -> None:
    """A planned place that cannot be cleared is given up: the block comes elsewhere."""
    hand = Hand()
    first, _second = hand.take(64), hand.take(32)
    with first.pin():
        third = hand.take(48)
        assert first.address == 0
    assert third.address == 96
    assert hand.departures() == ["late", "occupied"]


def test_unbound_block_in_the_way_stays() -> None:
    """A block that nobody bound is not lost for a plan."""
    hand = Hand([(0, 64), (0, 48)])
    address = hand.arena.allocate(64)
    assert hand.take(48).address == 64
    assert hand.arena.contains(address)
    assert hand.departures() == ["occupied"]


def test_other_order_is_served_and_reported() -> None:
    """A block that the plan has later gets its place early; those that start at one step may come in any order."""
    hand = Hand()
    assert hand.take(32).address == 64
    assert hand.departures() == ["order"]
    hand = Hand([PlannedBlock(0, 8, 0), PlannedBlock(8, 16, 0)])
    second, first = hand.take(16), hand.take(8)
    assert (second.address, first.address) == (8, 0)
    assert not hand.departures()


def test_block_that_never_comes_is_reported_once() -> None:
    """A program that leaves one out follows the rest; it may still come."""
    hand = Hand([(0, 8), (8, 16), (24, 32), (56, 40)])
    handles = [hand.take(size_bytes) for size_bytes in (8, 32, 40)]
    assert [handle.address for handle in handles] == [0, 24, 56]
    assert hand.departures() == ["order"]
    assert hand.take(16).address == 8
    assert hand.departures() == ["order", "order"]


def test_refused_block_may_be_asked_for_again() -> None:
    """A request that was out of memory is still expected."""
    hand = Hand([(0, 100)], 128)
    stranger = hand.take(64)
    with stranger.pin():
        assert hand.arena.allocate(100) is None
    assert hand.departures() == ["unplanned"]
    stranger.free()
    assert hand.take(100).address == 0
    assert hand.departures() == ["unplanned"]


def test_random_plans_that_are_followed_are_met_exactly() -> None:
    """Sizes, order and lifetimes of a sound plan: every block at its offset, no departure, nothing moves."""
    random = np.random.default_rng(11)
    for _ in range(40):
        blocks: list[PlannedBlock] = []
        for start in range(30):
            size_bytes, end = int(random.integers(1, 50)), start + int(random.integers(1, 8))
            offset = 0
            for other in sorted(blocks, key=lambda block: block.offset):
                if other.end is not None and other.end > start and other.offset < offset + size_bytes:
                    offset = max(offset, other.span[1])
            blocks.append(PlannedBlock(offset, size_bytes, start, end))
        hand = Hand(blocks, max(block.span[1] for block in blocks))
        live: list[tuple[PlannedBlock, Handle]] = []
        for block in blocks:
            for ended in [pair for pair in live if pair[0].end == block.start]:
                live.remove(ended)
                ended[1].free()
            live.append((block, hand.take(block.size_bytes)))
            assert [handle.address for _, handle in live] == [planned.offset for planned, _ in live]
        assert len(hand.history) == 1


def test_unplanned_size_comes_where_the_plan_does_not_go() -> None:
    """What the plan does not know lies beside it, and is reported."""
    hand = Hand()
    stranger = hand.take(24)
    assert stranger.address == 96
    assert hand.departures() == ["unplanned"]
    first, second = hand.take(64), hand.take(32)
    assert (first.address, second.address) == (0, 64)
    assert hand.departures() == ["unplanned"]


def test_unplanned_size_that_fits_nowhere_else_lies_in_the_plan_and_gives_way() -> None:
    """A large stranger takes planned bytes, and moves when they are wanted."""
    hand = Hand()
    stranger = hand.take(120)
    assert stranger.address == 0
    first = hand.take(64)
    assert first.address == 0
    assert stranger.address is not None
    assert stranger.address >= 64
    assert hand.departures() == ["unplanned", "displaced"]


def test_block_that_is_freed_early_is_reported() -> None:
    """The first block should live while the second is made."""
    hand = Hand()
    hand.take(64).free()
    assert hand.departures() == ["early"]


def test_spare_bytes_are_what_no_planned_block_uses() -> None:
    """The application gets them without a departure, and they shrink as it takes them."""
    hand = Hand()
    assert hand.arena.spare() == (ByteRange(96, 32), ByteRange(144, 112))
    assert hand.arena.allocate_spare(100) == 144
    assert hand.arena.spare() == (ByteRange(96, 32), ByteRange(244, 12))
    assert hand.arena.allocate_spare(100) is None
    assert [event.type for event in hand.history][-1] == OutOfMemory
    handles = [hand.take(block.size_bytes) for block in PLAN[:2]]
    assert [handle.address for handle in handles] == [0, 64]
    assert not hand.departures()


def test_second_round_follows_the_plan_again() -> None:
    """A plan is followed as often as the program starts it."""
    hand = Hand()
    for _ in range(3):
        hand.arena.restart_plan()
        first, second = hand.take(64), hand.take(32)
        assert (first.address, second.address) == (0, 64)
        first.free()
        third = hand.take(48)
        second.free()
        fourth = hand.take(16)
        assert (third.address, fourth.address) == (0, 128)
        for handle in (third, fourth):
            handle.free()
    assert hand.departures() == []


def test_rebalance_of_planned_blocks_is_a_departure() -> None:
    """A block that moves to make room does not lie where the plan says."""
    hand = Hand([(100, 50)])
    planned = hand.take(50)
    assert hand.take(180).address is not None
    assert planned.address == 0
    assert hand.departures() == ["displaced", "unplanned"]


def test_kibi_plan_is_followed_in_the_order_of_its_steps() -> None:
    """Kibi's own plans serve as they are."""
    buffers = (
        Buffer(1, None, 0, 1, 64, 32, 1, 1, 2),
        Buffer(0, None, 0, 1, 0, 64, 1, 0, 2),
        Buffer(2, None, 0, 1, 32, 30, 1, 2, 3),
    )
    plan = Plan("model", "host", (Run(0, 0, 3),), buffers, 96, 96, proven_optimal=True)
    hand = Hand(plan)
    first, second = hand.take(64), hand.take(32)
    assert (first.address, second.address) == (0, 64)
    first.free()
    second.free()
    assert hand.take(30).address == 32
    assert not hand.departures()
    assert hand.arena.spare() == (ByteRange(96, 160),)


def test_random_programs_keep_their_bytes() -> None:
    """Whatever departs from a random plan, live blocks keep their contents and never overlap."""
    random = np.random.default_rng(7)
    for _ in range(60):
        blocks = [PlannedBlock(int(random.integers(0, 180)), int(random.integers(1, 60)), step) for step in range(12)]
        hand = Hand(blocks, 512)
        live: list[tuple[Handle, int]] = []
        sizes = [block.size_bytes for block in blocks] + [int(size) for size in random.integers(1, 80, 6)]
        for size_bytes in random.permutation(sizes) if random.random() < 0.5 else sizes:
            while live and random.random() < 0.4:
                live.pop(int(random.integers(len(live))))[0].free()
            if hand.arena.available() > 200 + size_bytes:
                live.append((hand.take(int(size_bytes)), hand.fill))
            for handle, fill in live:
                with handle.pin() as view:
                    assert bytes(view) == bytes([fill]) * len(view)
            spans = [(each.address, each.address + each.size_bytes) for each in hand.arena.blocks()]
            assert all(one[1] <= other[0] for one, other in pairwise(spans))


def test_departure_says_what_where_and_why() -> None:
    """People can read it."""
    hand = Hand()
    hand.take(24)
    text = str(next(event for event in hand.history if event.type == PlanDeparture))
    assert text == "PlanDeparture (arena HandleArena, how unplanned, address 96, size_bytes 24)"
    with pytest.raises(StopIteration):
        next(event for event in Hand().history if event.type == PlanDeparture)
