"""Orders by rows: valid, complete, and with the peak that they state."""

from pathlib import Path

import numpy as np
import pytest

import kibi
from kibi.engines import DeviceEngine, HostEngine
from kibi.ir import Graph
from kibi.planner import Granularity, lifetimes, plan, validate
from kibi.planner.by_row import worth_splitting
from kibi.planner.row_order import row_order, whole_order
from kibi.runtime import seeded_inputs
from tests.engines.networks import residual_network
from tests.planner.networks import chain, residual
from tests.support import zoo

M4 = kibi.target("cortex-m4")


def _peak(graph: Graph) -> int:
    """The peak of an order's buffers, each row with a lifetime of its own, worked out from the buffers alone."""
    runs = row_order(graph).runs
    everything = {tensor.index for tensor in graph.tensors}
    buffers = lifetimes(graph, M4, runs, split=everything)
    steps = sum(run.rows for run in runs)
    return max(sum(b.size_bytes for b in buffers if b.start <= step < b.end) for step in range(steps))


@pytest.mark.parametrize(
    "graph", [chain(3, 3, rows=8), residual(), residual_network()], ids=["chain", "residual", "real"]
)
def test_row_order_states_the_peak_of_its_buffers(graph: Graph) -> None:
    """The search and the buffers agree on what lives when; a scratch of its own for each stretch is the only slack."""
    order = row_order(graph)
    scratch = max(site.op.bind(site).scratch_bytes for site in graph.sites)
    assert _peak(graph) <= order.peak_bytes <= _peak(graph) + scratch


@pytest.mark.parametrize(
    "graph", [chain(3, 3, 3, rows=8), residual(), residual_network()], ids=["chain", "residual", "real"]
)
def test_row_order_is_never_worse_than_running_operators_to_completion(graph: Graph) -> None:
    """Cuts everywhere are one of the choices."""
    assert row_order(graph).peak_bytes <= whole_order(graph).peak_bytes


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
    split = worth_splitting(model, M4, runs)
    assert split < {tensor.index for tensor in model.tensors}


@zoo.requires_zoo
@pytest.mark.parametrize("name", [name for name in zoo.BENCHMARKS if name != "tflm_hello_int8"])
def test_plan_by_row_of_a_benchmark_model_is_valid_and_no_larger(name: str) -> None:
    """On every benchmark model the row plan passes the validator and needs no more than whole tensors."""
    model = kibi.load(zoo.model_path(name))
    by_row = plan(model, M4, granularity=Granularity.ROW)
    validate(model, by_row)
    assert by_row.arena_bytes <= plan(model, M4).arena_bytes
    assert by_row.arena_bytes >= by_row.lower_bound_bytes
