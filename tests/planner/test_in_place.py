"""Rows in place: which buffers may share bytes, checked by playing every byte."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kibi.errors import PlanError
from kibi.ir import Graph, KernelCall, NodeView, Operator
from kibi.planner import Plan, Run, plan, validate
from kibi.planner.granularity import Granularity
from kibi.planner.in_place import in_place_rules
from kibi.planner.lifetimes import lifetimes
from kibi.planner.order.orders import file_order
from kibi.targets import target
from tests.planner.networks import Sum, Window, by_row, graph

M4 = target("cortex-m4")


@dataclass(frozen=True, slots=True)
class Shifting(Window):
    """A window whose output may begin `overlap` bytes below a row that it reads for the last time."""

    name: ClassVar[str] = "SHIFTING"
    overlap: int = 0

    def kernel_call(self, view: NodeView) -> KernelCall:
        """A call that says so."""
        call = super(Shifting, self).kernel_call(view)
        return replace(call, inplace_distance_bytes=(self.overlap,))


def _chain(ops: list[Operator], rows: int = 6, row_bytes: int = 8) -> Graph:
    shape = (1, rows, row_bytes, 1)
    return graph([shape] * (len(ops) + 1), [(op, (index,), index + 1) for index, op in enumerate(ops)])


def test_elementwise_chain_needs_one_tensor() -> None:
    """Distance 0, whole tensors: each is made in the place of the one before."""
    net = _chain([Shifting(), Shifting(), Shifting()])
    made = plan(net, M4)
    validate(net, made)
    assert (made.arena_bytes, made.proven_optimal) == (48, True)
    assert plan(_chain([Window(), Window(), Window()]), M4).arena_bytes == 96


@pytest.mark.parametrize("overlap", [0, 3, 8, 20])
def test_distance_costs_as_many_bytes(overlap: int) -> None:
    """An output that must stay some bytes below its input needs that much more than the input alone, at most a row."""
    net = _chain([Shifting(overlap=overlap)])
    made = plan(net, M4)
    validate(net, made)
    assert made.arena_bytes == 48 + min(overlap, 8)


def test_window_keeps_the_rows_that_it_still_needs() -> None:
    """A window of three rows writes row y while it needs row y - 1 later: two rows below, not nearer."""
    net = _chain([Shifting(height=3, above=1)])
    assert plan(net, M4).arena_bytes == 48 + 8


def test_input_that_another_node_reads_later_stays() -> None:
    """What is still to be read elsewhere is not overwritten."""
    net = graph([(1, 6, 8, 1)] * 4, [(Shifting(), (0,), 1), (Window(), (0,), 2), (Sum(), (1, 2), 3)])
    runs = file_order(net)
    buffers = lifetimes(net, runs)
    pairs = {(buffers[rule.first].tensor, buffers[rule.second].tensor) for rule in in_place_rules(net, runs, buffers)}
    assert (0, 1) not in pairs


def test_row_that_another_node_reads_right_after_stays() -> None:
    """Two nodes take turns with the rows of a tensor: the first must leave each to the second."""
    net = graph([(1, 3, 8, 1)] * 4, [(Window(), (0,), 1), (Shifting(), (1,), 2), (Window(), (1,), 3)], outputs=(2, 3))
    runs = tuple(Run(node, row, 1) for row in range(3) for node in range(3))
    buffers = lifetimes(net, runs)
    pairs = {(buffers[rule.first].tensor, buffers[rule.second].tensor) for rule in in_place_rules(net, runs, buffers)}
    assert len([buffer for buffer in buffers if buffer.tensor == 1]) == 3
    assert (1, 2) not in pairs


def test_model_output_that_is_read_is_not_overwritten() -> None:
    """An output of the model lives on for the caller, though a node turns it into something else."""
    net = _chain([Shifting(), Shifting()])
    kept = replace(net, outputs=(1, 2))
    made = plan(kept, M4)
    validate(kept, made)
    assert made.arena_bytes == 96


@st.composite
def _networks(draw: st.DrawFn) -> Graph:
    """Chains of windows with strides, some of which may work in place."""
    rows = draw(st.integers(2, 9))
    shapes: list[tuple[int, ...]] = [(1, rows, draw(st.integers(1, 6)), 1)]
    nodes: list[tuple[Operator, tuple[int, ...], int]] = []
    for index in range(draw(st.integers(1, 4))):
        height, stride = draw(st.integers(1, 3)), draw(st.integers(1, 2))
        rows = -(-rows // stride)
        shapes.append((1, rows, draw(st.integers(1, 6)), 1))
        above, overlap = draw(st.integers(0, height - 1)), draw(st.one_of(st.none(), st.integers(0, 7)))
        window = Window(height, stride, above) if overlap is None else Shifting(height, stride, above, overlap=overlap)
        nodes.append((window, (index,), index + 1))
    return graph(shapes, nodes)


def _plans(net: Graph) -> Iterator[Plan]:
    yield plan(net, M4)
    yield plan(net, M4, granularity=Granularity.ROW)
    yield plan(net, M4, runs=by_row(net))


@settings(max_examples=80, deadline=None)
@given(_networks())
def test_plans_in_place_are_right(net: Graph) -> None:
    """The simulation, which shares no code with the rules, finds every row where it is read."""
    for made in _plans(net):
        validate(net, made)


@settings(max_examples=60, deadline=None)
@given(_networks(), st.data())
def test_one_byte_nearer_than_a_rule_allows_is_caught_or_harmless(net: Graph, data: st.DataObject) -> None:
    """An output that is moved to a byte below the least distance from its input is refused, where a rule says so."""
    runs = file_order(net)
    buffers = lifetimes(net, runs)
    rules = in_place_rules(net, runs, buffers)
    if not rules:
        return
    rule = data.draw(st.sampled_from(rules))
    room = sum(buffer.size_bytes for buffer in buffers)
    first, second = buffers[rule.first], buffers[rule.second]
    if rule.minimum_distance_bytes - 1 <= -first.size_bytes or rule.minimum_distance_bytes < 1:
        return
    # Everything else lies far above; the pair lies one byte too near.
    places = {rule.second: 0, rule.first: rule.minimum_distance_bytes - 1}
    spread = [places.get(index, room * (index + 2)) for index in range(len(buffers))]
    moved = tuple(replace(each, offset=spread[index]) for index, each in enumerate(buffers))
    arena = max(each.offset + each.size_bytes for each in moved)
    wrong = Plan("net", "cortex-m4", runs, moved, arena, 0, False)
    if second.size_bytes <= rule.minimum_distance_bytes - 1:
        return  # they lie apart
    with pytest.raises(PlanError):
        validate(net, wrong)
