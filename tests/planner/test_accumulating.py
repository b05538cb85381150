"""Plans of operators that take their input row by row into an accumulator."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate

import pytest

from kibi.errors import PlanError
from kibi.ir import Graph
from kibi.planner import Buffer, Plan, file_order, lifetimes, plan, validate
from kibi.targets import target
from tests.planner.networks import by_row, tallied

M4 = target("cortex-m4")


def _scratch_place(made: Plan, node: int) -> int:
    """Where in the plan's buffers a node's scratch is."""
    return next(place for place, each in enumerate(made.buffers) if each.node == node)


def _side_by_side(made: Plan, buffers: Sequence[Buffer]) -> Plan:
    """The plan with these buffers, none of which shares a byte with another."""
    ends = [0, *accumulate(each.size_bytes for each in buffers)]
    placed = tuple(replace(each, offset=end) for each, end in zip(buffers, ends, strict=False))
    return replace(made, buffers=placed, arena_bytes=ends[-1], lower_bound_bytes=0, proven_optimal=False)


def _refusal(net: Graph, wrong: Plan) -> str:
    with pytest.raises(PlanError) as caught:
        validate(net, wrong)
    return str(caught.value)


def test_made_rows_of_an_accumulating_node_come_with_its_last_step() -> None:
    """Other nodes make a row in each step; what accumulates makes all rows at the end."""
    window, tally = tallied(3, rows=4).views
    assert [list(window.made_rows(step)) for step in range(4)] == [[0], [1], [2], [3]]
    assert [list(tally.made_rows(step)) for step in range(4)] == [[], [], [], [0]]


def test_lifetimes_accumulating_input_dies_by_row_and_output_starts_late() -> None:
    """Each input row dies with the step that adds it; scratch lives through all steps, the output from the last one on."""
    net = tallied(1, rows=3)
    buffers = lifetimes(net, by_row(net))
    assert [(each.tensor, each.first_row, each.start, each.end) for each in buffers] == [
        (0, 0, 0, 5),
        (1, 0, 0, 2),
        (1, 1, 2, 4),
        (1, 2, 4, 6),
        (2, 0, 5, 6),
        (None, 0, 1, 6),
    ]


def test_lifetimes_accumulator_is_never_shared() -> None:
    """Nodes whose steps take turns share their scratch, but none shares an accumulator."""
    net = tallied(3, 3, scratch_bytes=40)
    shares = [each.nodes for each in lifetimes(net, by_row(net)) if each.tensor is None]
    assert sorted(shares) == [(0, 1), (2,)]


@pytest.mark.parametrize("scratch_bytes", [0, 24])
def test_plan_by_row_never_holds_the_whole_input_of_an_accumulator(scratch_bytes: int) -> None:
    """With two windows before it, a few rows, the accumulator and the stored input are all there is."""
    net = tallied(3, 3, rows=16, width=8, scratch_bytes=scratch_bytes)
    made = plan(net, M4, runs=by_row(net))
    validate(net, made)
    validate(net, plan(net, M4, runs=file_order(net)))
    stored, rows, accumulator = 16 * 8, 4 * 8, 4 * 8
    assert made.arena_bytes <= stored + rows + accumulator + scratch_bytes


@pytest.mark.parametrize("turn", [1, 2])
def test_validate_accumulator_overwritten_between_steps_is_caught(turn: int) -> None:
    """A row that is made in the accumulator's bytes between two of its steps is found when the steps run."""
    net = tallied(3, rows=4)
    made = plan(net, M4, runs=by_row(net))
    buffers = list(made.buffers)
    place = _scratch_place(made, 1)
    scratch = buffers[place] = replace(buffers[place], end=buffers[place].start + 1)
    intruder = next(place for place, each in enumerate(buffers) if each.tensor == 1 and each.first_row == turn)
    buffers[intruder] = replace(buffers[intruder], offset=scratch.offset)
    text = _refusal(net, replace(made, buffers=tuple(buffers)))
    what = "of operator 1 (TALLY): its accumulator has not survived since the step before: 4 of its bytes"
    assert f"row {turn - 1} {what}" not in text
    assert f"row {turn} {what}" in text
    assert f"from byte {scratch.offset}, hold row {turn} of 't1'" in text


def test_validate_accumulator_shared_with_an_interleaved_node_is_caught() -> None:
    """The other node's scratch would overwrite it; run one after the other, they may share."""
    net = tallied(3, rows=4, scratch_bytes=16)
    texts = []
    for runs in (by_row(net), file_order(net)):
        made = plan(net, M4, runs=runs)
        own = replace(made.buffers[_scratch_place(made, 0)], shared_by=(1,), start=0, end=len(made.steps))
        shared = _side_by_side(made, [own, *(each for each in made.buffers if each.tensor is not None)])
        try:
            validate(net, shared)
        except PlanError as error:
            texts.append(str(error))
    assert len(texts) == 1
    assert "16 of its bytes" in texts[0]
    assert "hold scratch of operator 0 (WINDOW)" in texts[0]
