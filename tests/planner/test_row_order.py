"""Orders by rows: valid, complete, and with the peak that they state."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

import kibi
from kibi.engines import DeviceEngine, HostEngine
from kibi.errors import PlanError
from kibi.ir import Graph, Operator
from kibi.passes import stream_inputs
from kibi.planner import Granularity, Run, lifetimes, plan, validate
from kibi.planner.order.by_row import worth_splitting
from kibi.planner.order.row_bound import row_bound
from kibi.planner.order.row_cuts import best_cuts
from kibi.planner.order.row_levels import live_levels
from kibi.planner.order.row_order import row_order, row_orders, whole_order
from kibi.planner.order.row_search import best_order, better_order
from kibi.planner.order.row_steps import row_steps
from kibi.runtime import seeded_inputs
from tests.engines.networks import residual_network
from tests.planner.networks import Sum, Total, Window, chain, graph, random_network, residual, tallied
from tests.planner.row_optimum import smallest_peak
from tests.support import zoo
from tests.support.amount import share
from tests.support.choices import Seeded

M4 = kibi.target("cortex-m4")


def _peak(graph: Graph, runs: Sequence[Run]) -> int:
    """The peak of an order's buffers, each row with a lifetime of its own, worked out from the buffers alone."""
    everything = {tensor.index for tensor in graph.tensors}
    buffers = lifetimes(graph, runs, split=everything)
    steps = sum(run.steps for run in runs)
    return max(sum(b.size_bytes for b in buffers if b.start <= step < b.end) for step in range(steps))


def _with_scratch(seed: int) -> Graph:
    return random_network(Seeded(seed), 3 + seed % 8, 9, scratch=(0, 0, 12, 20))


@pytest.mark.parametrize(
    "graph", [chain(3, 3, rows=8), residual(), residual_network()], ids=["chain", "residual", "real"]
)
def test_row_order_states_the_peak_of_its_buffers(graph: Graph) -> None:
    """The search and the buffers agree on what lives when, and the order is no worse than operators run to completion."""
    order = row_order(graph)
    assert order.lower_bound_bytes <= order.peak_bytes == _peak(graph, order.runs)
    assert order.peak_bytes <= whole_order(graph).peak_bytes == _peak(graph, whole_order(graph).runs)


@pytest.mark.parametrize("seed", share(range(30), 0, 2))
def test_row_orders_of_random_networks_state_the_peaks_of_their_buffers(seed: int) -> None:
    """Accumulators, shared scratch, several inputs, outputs and readers: all orders are possible, with the peaks they state."""
    graph = _with_scratch(seed)
    orders = row_orders(graph)
    assert orders == row_orders(graph)
    for order in orders:
        assert orders[0].peak_bytes <= order.peak_bytes == _peak(graph, order.runs)
        assert orders[0].lower_bound_bytes == order.lower_bound_bytes <= order.peak_bytes


@pytest.mark.parametrize("seed", share(range(60), 0, 2))
def test_row_order_of_a_small_network_is_the_best_of_all_and_the_bound_says_so(seed: int) -> None:
    """Of all orders of row steps, each tried, none has a smaller peak; with scratch the bound is never above the best."""
    graph = random_network(Seeded(seed), 2 + seed % 4, 4)
    order = row_order(graph)
    assert order.lower_bound_bytes == smallest_peak(graph) == order.peak_bytes
    graph = random_network(Seeded(seed), 2 + seed % 3, 4, scratch=(0, 7, 15))
    order = row_order(graph)
    assert order.lower_bound_bytes <= smallest_peak(graph) <= order.peak_bytes


@pytest.mark.parametrize("seed", share(range(30), 1, 2))
def test_bounds_and_cuts_without_search_are_right(seed: int) -> None:
    """What cuts say of their peak holds, up to scratch that is not held as long; minimum cuts exceed no order found."""
    steps = row_steps(_with_scratch(seed))
    for is_eager in (True, False):
        found = best_cuts(steps, 0, eager=is_eager)
        held = int(live_levels(steps, found.order).max())
        assert held <= found.peak_bytes <= held + max(steps.scratch)
        bound = row_bound(steps, found.order)
        exact, better_bound = best_order(steps, found.order, bound)
        assert bound <= better_bound <= int(live_levels(steps, exact, is_scratch_held=False).max())
        better = better_order(steps, found.order, bound)
        assert sorted(better) == sorted(found.order)
        assert int(live_levels(steps, better).max()) <= held


def test_row_bound_of_a_part_is_a_bound_of_the_whole() -> None:
    """Leaving nodes out, as is done around a step of a large graph, never raises the bound."""
    for seed in range(20):
        steps = row_steps(_with_scratch(seed))
        whole = best_cuts(steps, 0)
        for begin in range(len(steps.steps) - 1):
            part = steps.only(range(begin, begin + 2))
            order = best_cuts(part, 0).order
            bound = row_bound(part, order)
            assert bound <= int(live_levels(steps, whole.order, is_scratch_held=False).max())


def test_row_order_in_another_order_of_nodes_names_the_graphs_own_nodes() -> None:
    """Two long branches that the file runs side by side: the best order of operators is better, and runs fit the graph."""
    wide, thin, window = (1, 8, 1, 20), (1, 8, 1, 1), Window(3, 1, 1)
    nodes: list[tuple[Operator, tuple[int, ...], int]] = [
        (window, (0,), 1),
        (window, (0,), 2),
        (Total(), (1,), 3),
        (Total(), (2,), 4),
        (Sum(), (3, 4), 5),
    ]
    net = graph([thin, wide, wide, (1, 4), (1, 4), (1, 4)], nodes)
    for order in row_orders(net):
        assert order.peak_bytes == _peak(net, order.runs)
    assert row_order(net).peak_bytes == smallest_peak(net)
    assert row_order(net).peak_bytes < whole_order(net).peak_bytes


def test_row_order_of_a_streamed_input_receives_rows_as_late_as_possible() -> None:
    """A row that arrives while the model runs is asked for like any other: no more than a window of rows is ever there."""
    net = stream_inputs(tallied(3, 3, rows=16, width=8))
    order = row_order(net)
    assert order.peak_bytes == _peak(net, order.runs) == order.lower_bound_bytes
    assert order.peak_bytes <= 2 * 4 * 8 + 4 * 8 + 8
    assert max(run.steps for run in order.runs if run.node == 0) <= 3


def test_row_order_of_a_deep_network_ends_soon() -> None:
    """Hundreds of operators, one pulling at the other: no recursion, and a bound that is met."""
    order = row_order(chain(*[3] * 250, rows=5))
    assert order.peak_bytes == order.lower_bound_bytes


def test_plan_by_row_of_a_graph_without_operators_is_refused() -> None:
    """There is nothing to plan, and the text says so."""
    net = graph([(1, 4)], [], outputs=(0,))
    with pytest.raises(PlanError, match="has no operator"):
        plan(net, M4, granularity=Granularity.ROW)


def test_plan_by_row_of_a_real_network_gives_the_same_bits_in_less(tmp_path: Path) -> None:
    """Three convolutions and an addition: smaller than any plan of whole tensors, equal in all engines."""
    model = residual_network()
    by_row = plan(model, M4, granularity=Granularity.ROW)
    validate(model, by_row)
    whole = plan(model, M4)
    assert by_row.arena_bytes < whole.lower_bound_bytes
    library = kibi.compile(model, by_row, tmp_path)
    inputs = seeded_inputs(model, 5)
    expected = kibi.run(model, whole, inputs)[0]
    for engine in (kibi.Interpreter(model, by_row), HostEngine(library), DeviceEngine(library)):
        np.testing.assert_array_equal(engine.run(inputs)[0], expected)


def test_tensors_are_joined_where_the_peak_allows() -> None:
    """A tensor whose rows need not die apart is one buffer."""
    model = residual_network()
    runs = row_order(model).runs
    split = worth_splitting(model, runs)
    assert split < {tensor.index for tensor in model.tensors}


@zoo.requires_zoo
@pytest.mark.parametrize("name", share((name for name in zoo.BENCHMARKS if name != "tflm_hello_int8"), 1, 2))
def test_plan_by_row_of_a_benchmark_model_is_valid_and_no_larger(name: str) -> None:
    """On every benchmark model the row plan passes the validator and needs no more than whole tensors."""
    model = kibi.load(zoo.model_path(name))
    by_row = plan(model, M4, granularity=Granularity.ROW)
    validate(model, by_row)
    assert by_row.arena_bytes <= plan(model, M4).arena_bytes
    assert by_row.arena_bytes >= by_row.lower_bound_bytes
