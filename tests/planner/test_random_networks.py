"""Plans of random networks: by the row never larger than by the tensor, right, the same every time; wrong ones are caught.

Networks have branches, strides, dilations, additions, accumulators, and several inputs, outputs and readers.
"""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kibi.errors import PlanError
from kibi.ir import Graph
from kibi.planner import Buffer, Granularity, Plan, Run, lifetimes, plan, validate
from kibi.planner.plan import Handover
from kibi.targets import target
from tests.planner.networks import by_row, joined, random_network
from tests.support.amount import amount
from tests.support.choices import Drawn, Seeded

M4 = target("cortex-m4")


@st.composite
def _networks(draw: st.DrawFn) -> Graph:
    c = Drawn(draw)
    return random_network(c, c.integer(1, 7), 9, scratch=(0, 0, 8, 20))


@cache
def _planned(seed: int) -> tuple[Graph, Plan]:
    """A network of which some tensors are held row by row, and its plan."""
    for number in range(100 * seed, 100 * seed + 100):
        net = random_network(Seeded(number), 5, 8, scratch=(0, 8))
        made = plan(net, M4, runs=by_row(net), granularity=Granularity.ROW)
        if len(made.buffers) > 2 * len(net.tensors):
            return net, made
    raise AssertionError("no network needs rows")


def _refused(net: Graph, wrong: Plan) -> bool:
    """Whether the validator finds fault with a plan."""
    try:
        validate(net, wrong)
    except PlanError:
        return True
    return False


def _with(made: Plan, index: int, **changes: int | str) -> Plan:
    """The plan with one buffer changed."""
    buffers = list(made.buffers)
    buffers[index] = replace(buffers[index], **changes)  # type: ignore[arg-type]  # each test names its own field
    return replace(made, buffers=tuple(buffers))


@settings(max_examples=amount(15, 40))
@given(_networks())
def test_plan_by_row_is_right_deterministic_and_no_larger_than_by_tensor(net: Graph) -> None:
    """Whatever the network: the naive validator passes it, it comes out the same again, and rows never cost memory."""
    whole, rows = plan(net, M4), plan(net, M4, granularity=Granularity.ROW)
    validate(net, rows)
    assert rows.arena_bytes <= whole.arena_bytes
    assert rows == plan(net, M4, granularity=Granularity.ROW)


@pytest.mark.parametrize(("seed", "layers"), [(139, 7), (223, 7), (260, 2)])
def test_whole_tensors_that_fit_as_well_are_placed_as_small_as_they_can_be(seed: int, layers: int) -> None:
    """A search that ends where the plan by the tensor is no larger than the one by the row is not the end."""
    net = random_network(Seeded(seed), layers, 9, scratch=(0, 0, 8, 20))
    assert plan(net, M4, granularity=Granularity.ROW).arena_bytes == plan(net, M4).arena_bytes


@settings(max_examples=15)
@given(_networks())
def test_plan_by_row_of_streamed_inputs_is_right(net: Graph) -> None:
    """Rows that arrive while the model runs are planned like any others."""
    streamed = plan(net, M4, granularity=Granularity.ROW, inputs=Handover.STREAMED)
    validate(net, streamed)
    assert streamed.arena_bytes <= plan(net, M4, inputs=Handover.STREAMED).arena_bytes


@settings(max_examples=amount(20, 60))
@given(_networks())
def test_plan_by_row_of_any_order_is_right(net: Graph) -> None:
    """An order from elsewhere, with rows of every tensor where they help, passes the validator too."""
    validate(net, plan(net, M4, runs=by_row(net), granularity=Granularity.ROW))


@settings(max_examples=100)
@given(st.integers(0, 4), st.data())
def test_moved_offset_is_caught(seed: int, data: st.DataObject) -> None:
    """A buffer that is moved onto another one that lives at the same time is caught."""
    net, made = _planned(seed)
    turned = {(t.index, out) for view in net.views for t in view.row_tensors for out in view.node.outputs}
    pairs = [
        (one, other)
        for one, moved in enumerate(made.buffers)
        for other, kept in enumerate(made.buffers)
        if one != other and moved.start < kept.end and kept.start < moved.end and moved.size_bytes and kept.size_bytes
        # A node may make its output in the place of its input: what of that is right is not for this test.
        if not {(moved.tensor, kept.tensor), (kept.tensor, moved.tensor)} & turned
    ]
    one, other = data.draw(st.sampled_from(pairs))
    moved, kept = made.buffers[one], made.buffers[other]
    offset = data.draw(st.integers(kept.offset - moved.size_bytes + 1, kept.offset + kept.size_bytes - 1))
    assert _refused(net, _with(made, one, offset=offset))


@settings(max_examples=100)
@given(st.integers(0, 4), st.data())
def test_shortened_lifetime_is_caught(seed: int, data: st.DataObject) -> None:
    """A lifetime that starts a step late or ends a step early is caught, even where nothing overlaps."""
    net, made = _planned(seed)
    index = data.draw(st.integers(0, len(made.buffers) - 1))
    buffer = made.buffers[index]
    change = data.draw(st.sampled_from([{"start": buffer.start + 1}, {"end": buffer.end - 1}]))
    assert _refused(net, _with(made, index, **change))


@settings(max_examples=200)
@given(st.integers(0, 4), st.data())
def test_swapped_runs_are_caught_unless_no_row_misses_them(seed: int, data: st.DataObject) -> None:
    """Two runs in each other's place are caught where the order is impossible, or rows live otherwise than declared."""
    net, made = _planned(seed)
    places = st.lists(st.integers(0, len(made.runs) - 1), min_size=2, max_size=2, unique=True)
    one, other = data.draw(places)
    runs = list(made.runs)
    runs[one], runs[other] = runs[other], runs[one]
    swapped = replace(made, runs=tuple(runs))
    assert _refused(net, swapped) == (not _fits(net, swapped))


def _fits(net: Graph, wrong: Plan) -> bool:
    """Whether the plan's buffers live at least as long as its order needs them."""
    try:
        buffers = lifetimes(net, wrong.runs, split=range(len(net.tensors)))
    except PlanError:
        return False
    return all(any(_covers(given, needed) for given in wrong.buffers) for needed in buffers)


def _covers(given: Buffer, needed: Buffer) -> bool:
    """Whether a buffer holds what another one must hold, when it must."""
    same = given.tensor == needed.tensor if needed.tensor is not None else set(needed.nodes) <= set(given.nodes)
    rows = given.first_row <= needed.first_row and needed.first_row + needed.rows <= given.first_row + given.rows
    return same and rows and given.start <= needed.start and needed.end <= given.end


@settings(max_examples=amount(20, 60))
@given(st.integers(0, 4), st.data())
def test_dropped_or_doubled_run_is_caught(seed: int, data: st.DataObject) -> None:
    """A run that is missing or there twice is caught."""
    net, made = _planned(seed)
    place = data.draw(st.integers(0, len(made.runs) - 1))
    assert _refused(net, replace(made, runs=made.runs[:place] + made.runs[place + 1 :]))
    assert _refused(net, replace(made, runs=(*made.runs[: place + 1], *made.runs[place:])))


@settings(max_examples=amount(20, 60))
@given(st.integers(0, 4), st.data())
def test_dropped_doubled_or_foreign_buffer_is_caught(seed: int, data: st.DataObject) -> None:
    """A buffer that is missing, there twice, of another size or in a region that does not exist is caught."""
    net, made = _planned(seed)
    index = data.draw(st.integers(0, len(made.buffers) - 1))
    buffers = made.buffers
    assert _refused(net, replace(made, buffers=buffers[:index] + buffers[index + 1 :]))
    assert _refused(net, replace(made, buffers=(*buffers, buffers[index])))
    assert _refused(net, _with(made, index, region="elsewhere"))
    assert _refused(net, _with(made, index, size_bytes=buffers[index].size_bytes - 1))


@pytest.mark.parametrize("seed", range(5))
def test_run_cut_in_two_changes_nothing(seed: int) -> None:
    """The validator judges steps, not runs: the same order in shorter runs is right."""
    net, made = _planned(seed)
    single = tuple(Run(run.node, run.first_step + k, 1) for run in made.runs for k in range(run.steps))
    validate(net, replace(made, runs=single))
    assert _short(joined(list(single))) == _short(made.runs)


def _short(runs: Sequence[Run]) -> list[tuple[int, int, int]]:
    return [(run.node, run.first_step, run.steps) for run in runs]
