"""Placement of buffers."""

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kibi.errors import PlanError
from kibi.planner import Buffer, Placement, place
from kibi.planner.placement.placing import Status, groups_of


def _buffer(size_bytes: int, start: int, end: int, alignment: int = 1) -> Buffer:
    return Buffer(0, None, 0, 1, 0, size_bytes, alignment, start, end)


def _buffers(max_count: int, alignments: tuple[int, ...] = (1, 1, 4, 8)) -> st.SearchStrategy[list[Buffer]]:
    one = st.builds(
        lambda size, start, length, alignment: _buffer(size, start, start + length, alignment),
        st.integers(0, 60),
        st.integers(0, 12),
        st.integers(1, 9),
        st.sampled_from(alignments),
    )
    return st.lists(one, max_size=max_count)


def _share(one: Buffer, other: Buffer) -> bool:
    in_time = one.start < other.end and other.start < one.end
    return in_time and one.offset < other.offset + other.size_bytes and other.offset < one.offset + one.size_bytes


def _check(given_buffers: list[Buffer], placement: Placement) -> None:
    placed = placement.buffers
    for before, after in zip(given_buffers, placed, strict=True):
        assert (before.size_bytes, before.start, before.end) == (after.size_bytes, after.start, after.end)
        assert after.offset >= 0
        assert after.offset % after.alignment == 0
    for index, one in enumerate(placed):
        assert not any(_share(one, other) for other in placed[:index])
    assert placement.peak_bytes == max((each.offset + each.size_bytes for each in placed if each.size_bytes), default=0)
    steps = range(max((each.end for each in placed), default=0))
    live = max((sum(each.size_bytes for each in placed if each.start <= step < each.end) for step in steps), default=0)
    assert live <= placement.lower_bound_bytes <= placement.peak_bytes
    assert placement.proven_optimal == (placement.lower_bound_bytes == placement.peak_bytes)


def _optimum(buffers: list[Buffer]) -> int:
    """The lowest peak of all: buffers in every order, each directly above those before it that live with it."""
    best = sum(each.size_bytes + each.alignment for each in buffers)
    for order in permutations([each for each in buffers if each.size_bytes]):
        tops: list[tuple[Buffer, int]] = []
        for each in order:
            floor = max((top for other, top in tops if other.start < each.end and each.start < other.end), default=0)
            tops.append((each, floor + -floor % each.alignment + each.size_bytes))
        best = min(best, max((top for _, top in tops), default=0))
    return best


@settings(max_examples=150)
@given(_buffers(40))
def test_place_random_buffers_valid_and_bounded(buffers: list[Buffer]) -> None:
    """Buffers that live together share no byte, offsets are aligned, and the bound lies between live bytes and peak."""
    _check(buffers, place(buffers, time_limit_seconds=0.02))


@settings(max_examples=150)
@given(_buffers(6))
def test_place_tiny_instance_equals_brute_force(buffers: list[Buffer]) -> None:
    """On instances small enough to try everything, the peak is the optimum, and proven to be."""
    placement = place(buffers)
    assert placement.proven_optimal
    assert placement.peak_bytes == _optimum(buffers)


@settings(max_examples=30)
@given(_buffers(15))
def test_place_same_buffers_same_offsets(buffers: list[Buffer]) -> None:
    """Placement is deterministic."""
    assert place(buffers) == place(buffers)


def test_place_where_every_greedy_order_fails_search_finds_the_optimum() -> None:
    """Where no greedy order meets the lower bound, the search does."""
    buffers = [_buffer(*each) for each in ((53, 9, 12), (17, 4, 11), (60, 6, 8), (22, 1, 5), (30, 2, 9), (35, 8, 10))]
    greedy, exact = place(buffers, time_limit_seconds=0), place(buffers)
    assert greedy.peak_bytes > exact.peak_bytes
    assert exact.proven_optimal
    assert exact.peak_bytes == _optimum(buffers)


def test_place_bound_that_cannot_be_met_is_raised_by_proof() -> None:
    """Where the live bytes cannot be met, the search proves it, and the lower bound is the peak."""
    lives = ((3, 1, 3), (3, 6, 8), (2, 2, 6), (2, 5, 8), (2, 4, 6), (3, 1, 2), (1, 2, 5))
    buffers = [_buffer(*each) for each in lives]
    assert place(buffers, time_limit_seconds=0).lower_bound_bytes == 6
    placement = place(buffers)
    assert placement.proven_optimal
    assert placement.peak_bytes == placement.lower_bound_bytes == _optimum(buffers) == 7


def test_place_aligned_neighbours_raise_the_bound() -> None:
    """Two aligned buffers of 3 bytes need 7 bytes, and the bound knows without search."""
    placement = place([_buffer(3, 0, 1, 4), _buffer(3, 0, 1, 4)], time_limit_seconds=0)
    assert placement.lower_bound_bytes == placement.peak_bytes == 7


def test_place_nothing_takes_nothing() -> None:
    """No buffers, or empty ones, need no byte."""
    assert place([]) == Placement((), 0, 0, Status.OPTIMAL)
    assert place([_buffer(0, 0, 3), _buffer(0, 1, 2)]).peak_bytes == 0


def test_place_many_rows_is_near_the_bound() -> None:
    """Rows by the hundreds, as interleaved orders have them, are placed within a few percent of the bound."""
    rng = np.random.default_rng(1)
    starts, lengths = rng.integers(0, 1500, 1000), rng.integers(1, 60, 1000)
    sizes = rng.choice([64, 96, 128, 320, 640], 1000)
    rows = zip(sizes.tolist(), starts.tolist(), (starts + lengths).tolist(), strict=True)
    buffers = [_buffer(*each) for each in rows]
    placement = place(buffers, time_limit_seconds=0)
    _check(buffers, placement)
    assert placement.peak_bytes <= 1.05 * placement.lower_bound_bytes


@pytest.mark.parametrize("wrong", [_buffer(-1, 0, 1), _buffer(1, 1, 1), _buffer(1, 0, 1, 0)])
def test_place_impossible_buffer_is_an_error(wrong: Buffer) -> None:
    """A negative size, an empty lifetime and an alignment below 1 are refused with the buffer's number."""
    with pytest.raises(PlanError, match="buffer 1 has"):
        place([_buffer(1, 0, 1), wrong])


def test_place_scratch_of_one_node_is_at_one_offset_and_free_between_its_runs() -> None:
    """Rows take the bytes of the scratch while other nodes run, and never while it lives."""
    scratch = [Buffer(None, 0, 0, 0, 0, 50, 4, start, start + 1) for start in (0, 2, 4)]
    rows = [_buffer(50, 1, 2), _buffer(50, 3, 4), _buffer(30, 2, 4), _buffer(20, 0, 5)]
    placement = place([*scratch, *rows])
    assert groups_of([*scratch, *rows])[0] == [0, 1, 2]
    assert len({each.offset for each in placement.buffers[:3]}) == 1
    _check([*scratch, *rows], placement)
    assert placement.proven_optimal
    assert placement.peak_bytes == 100
