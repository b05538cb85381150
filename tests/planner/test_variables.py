"""Next versions of variables in plans: whoever overwrites rows waits for those that still use them."""

import random
from dataclasses import replace

import pytest

from kibi.errors import ModelError, PlanError
from kibi.frontends.tflite import parse_tflite
from kibi.ir import Graph, in_order, overwrites, verify
from kibi.passes import simplify
from kibi.planner import plan
from kibi.planner.lifetimes import lifetimes
from kibi.planner.order.precedence import precedence
from kibi.planner.order.row_order import row_orders
from kibi.planner.order.topological import smallest_peak_order
from kibi.planner.plan import Run
from kibi.planner.simulation import simulate
from kibi.targets import target
from tests.ops.orders import spread
from tests.support.choices import Seeded
from tests.support.variable_models import stream

HOST = target("host")


def _graph(seed: int) -> Graph:
    graph = parse_tflite(stream(Seeded(seed))[0], "stream.tflite")
    return simplify(graph).graph if seed % 2 else graph


def _any_order(graph: Graph, rng: random.Random) -> tuple[Run, ...]:
    """Row steps in an order that data allow; nobody asks what they overwrite."""
    made = [tensor.type.rows if tensor.is_constant or tensor.is_variable else 0 for tensor in graph.tensors]
    for index in graph.inputs:
        made[index] = graph.tensors[index].type.rows
    done = [0] * len(graph.nodes)
    runs = []

    def is_ready(node: int) -> bool:
        view = graph.views[node]
        reads = zip(view.row_tensors, view.op.accesses(view), strict=True)
        return done[node] < view.steps and all(
            max(access.needs(done[node]), default=-1) < made[tensor.index] for tensor, access in reads
        )

    while ready := [node for node in range(len(graph.nodes)) if is_ready(node)]:
        node = rng.choice(ready)
        runs.append(Run(node, done[node], 1))
        made[graph.views[node].output.index] += len(graph.views[node].made_rows(done[node]))
        done[node] += 1
    return tuple(runs)


def test_orders_are_refused_where_the_simulation_misses_a_row() -> None:
    """What the map of bytes finds by what is there, lifetimes refuse by what is declared.

    They refuse a little more: a version that nobody reads may not be overwritten before it is made, either.
    """
    refused = accepted = unread = 0
    for seed in range(40):
        graph, rng = _graph(seed), random.Random(seed)
        own = plan(graph, HOST)
        steps = len(own.steps)
        wide = spread(replace(own, buffers=tuple(replace(each, start=0, end=steps) for each in own.buffers)))
        for _ in range(4):
            runs = _any_order(graph, rng)
            wrong = list(simulate(graph, replace(wide, runs=runs)))
            if wrong:
                refused += 1
                with pytest.raises(PlanError, match=r"overwrites a variable that .* still uses"):
                    lifetimes(graph, runs)
            else:
                try:
                    lifetimes(graph, runs)
                    accepted += 1
                except PlanError:
                    unread += 1
    assert min(refused, accepted) > 20
    assert unread < refused / 10


def test_orders_that_are_searched_keep_versions_apart() -> None:
    """Orders of operators and of rows, and what a node waits for, agree with what is overwritten."""
    for seed in range(12):
        graph = _graph(seed)
        waits = overwrites(graph)
        before = precedence(graph).before
        for node, others in enumerate(waits):
            assert all(before[node] >> other & 1 for other, _ in others)
        place = {node: k for k, node in enumerate(smallest_peak_order(graph).nodes)}
        assert all(place[other] < place[node] for node, others in enumerate(waits) for other, _ in others)
        for order in row_orders(graph):
            lifetimes(graph, order.runs)


def test_state_takes_no_arena() -> None:
    """No buffer of a plan holds a variable, or a version of one."""
    for seed in range(12):
        graph = _graph(seed)
        assert not any(
            each.tensor is not None and graph.tensors[each.tensor].is_state for each in plan(graph, HOST).buffers
        )


def test_graph_whose_nodes_overwrite_too_early_is_refused() -> None:
    """Nodes stand in an order that is possible; `in_order` gives it back."""
    seeds = [seed for seed in range(40) if any(overwrites(_graph(seed)))]
    assert seeds
    wrong = 0
    for seed in seeds:
        graph = _graph(seed)
        assert in_order(graph.tensors, graph.nodes) == graph.nodes
        for node, others in enumerate(overwrites(graph)):
            for other, wanted in others:
                nodes = list(graph.nodes)
                nodes.insert(other, nodes.pop(node))
                if any(wanted):
                    wrong += 1
                    with pytest.raises(ModelError, match=r"it overwrites what|read before any operator makes it"):
                        verify(replace(graph, nodes=tuple(nodes)))
    assert wrong


def test_versions_that_lead_nowhere_are_refused() -> None:
    """A next version of no variable, of itself, of another size, or made by nobody."""
    graph = next(each for each in map(_graph, range(40)) if any(overwrites(each)))
    index = next(tensor.index for tensor in graph.tensors if tensor.updates is not None)
    for before in (index, len(graph.tensors), graph.inputs[0]):
        tensors = list(graph.tensors)
        tensors[index] = replace(tensors[index], updates=before)
        with pytest.raises(ModelError, match="leads to no variable"):
            verify(replace(graph, tensors=tuple(tensors)))
    tensors = list(graph.tensors)
    tensors[index] = replace(tensors[index], is_variable=True)
    with pytest.raises(ModelError, match="must be made by an operator"):
        verify(replace(graph, tensors=tuple(tensors)))
