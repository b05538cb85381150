"""Orders of operators: the smallest peak, against all orders of small graphs, and on real models."""

import json
from collections.abc import Sequence
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kibi.errors import PlanError
from kibi.ir import Graph
from kibi.planner import file_order, lifetimes
from kibi.planner.order import order_search
from kibi.planner.order.local_search import improve
from kibi.planner.order.min_cut_bound import least_context
from kibi.planner.order.order_search import Stretch, beam, search
from kibi.planner.order.precedence import precedence
from kibi.planner.order.topological import TopologicalOrder, smallest_peak_order
from tests.planner.networks import chain, residual
from tests.support.amount import amount, share
from tests.support.choices import Choices, Drawn, Seeded
from tests.support.loose_models import load_loosely, opaque_graph
from tests.support.zoo import requires_zoo, zoo_path

Pairs = tuple[tuple[int, int], ...]


def naive_peak(graph: Graph, order: Sequence[int], granule_bytes: int = 1) -> int:
    """The peak of an order, straight from the rule: for each tensor the places from which to which it lives."""
    place = {node: where for where, node in enumerate(order)}
    levels = [0] * len(order)
    for tensor in graph.tensors:
        if tensor.is_constant:
            continue
        makers = [place[number] for number, node in enumerate(graph.nodes) if tensor.index in node.outputs]
        readers = [place[number] for number, node in enumerate(graph.nodes) if tensor.index in node.inputs]
        if not makers and tensor.index not in graph.inputs:
            continue
        first = makers[0] if makers else 0
        last = len(order) - 1 if tensor.index in graph.outputs else max([first, *readers])
        for where in range(first, last + 1):
            levels[where] += -(-tensor.type.size_bytes // granule_bytes) * granule_bytes
    return max(levels)


def can_run(graph: Graph, order: Sequence[int], before: Pairs = ()) -> bool:
    """Whether each node is there once and reads only what is made."""
    made = {tensor.index for tensor in graph.tensors if tensor.is_constant} | set(graph.inputs)
    for node in order:
        if not {index for index in graph.nodes[node].inputs if index is not None} <= made:
            return False
        made.update(graph.nodes[node].outputs)
    return all(order.index(first) < order.index(second) for first, second in before)


def random_graph(c: Choices, nodes: int, reach: int = 1 << 30) -> Graph:
    """A graph with several inputs, outputs and readers; some tensors of no bytes, some that nobody reads."""
    sizes = [c.integer(0, 9) for _ in range(c.integer(0, 2))]
    inputs = list(range(len(sizes)))
    made: list[tuple[list[int], list[int]]] = []
    for _ in range(nodes):
        low, high = max(0, len(sizes) - reach), len(sizes) - 1
        read = [c.integer(low, high) for _ in range(c.integer(0, 3))] if sizes else []
        written = [len(sizes) + k for k in range(c.one_of((1, 1, 2)))]
        sizes += [c.integer(0, 9) for _ in written]
        made.append((read, written))
    unread = set(range(len(sizes))) - {index for read, _ in made for index in read}
    outputs = [index for index in range(len(sizes)) if c.integer(0, 9) < (7 if index in unread else 1)]
    return opaque_graph(sizes, made, inputs, outputs)


def random_pairs(c: Choices, nodes: int) -> Pairs:
    """Now and then two nodes whose order matters."""
    places = [(first, second) for second in range(nodes) for first in range(second)]
    return tuple(pair for pair in places if c.integer(0, 30) == 0)


def stretch(graph: Graph, before: Pairs = ()) -> Stretch:
    """All of a graph."""
    problem = precedence(graph, scratch=False, before=before)
    return Stretch(problem, 0, problem.everything, problem.first_bytes)


def order_of(graph: Graph, **options: Any) -> TopologicalOrder:
    """The order without scratch, its peak checked."""
    found = smallest_peak_order(graph, scratch=False, **options)
    assert can_run(graph, found.nodes, options.get("before", ()))
    assert found.peak_bytes == naive_peak(graph, found.nodes, options.get("granule_bytes", 1))
    assert found.lower_bound_bytes <= found.peak_bytes
    assert found.proven_optimal == (found.lower_bound_bytes == found.peak_bytes)
    return found


def best_peak(graph: Graph, before: Pairs) -> int:
    """The smallest peak of all orders, each tried."""
    orders = permutations(range(len(graph.nodes)))
    return min(naive_peak(graph, order) for order in orders if can_run(graph, order, before))


@pytest.mark.parametrize("seed", range(60))
def test_order_small_graph_is_the_best_of_all_orders(seed: int) -> None:
    """Search with all that it leaves out equals trying every order; so do the search alone and its bounds."""
    c = Seeded(seed)
    nodes = 1 + seed % 6
    graph = random_graph(c, nodes)
    before = random_pairs(c, nodes)
    best = best_peak(graph, before)
    found = order_of(graph, before=before)
    assert (found.peak_bytes, found.proven_optimal) == (best, True)
    whole = stretch(graph, before)
    alone = search(whole, 0, 1 << 60, 1 << 20)
    assert alone.bound_bytes == best
    assert alone.nodes is not None
    assert naive_peak(graph, alone.nodes) == best
    assert max(least_context(whole, node)[0] for node in range(nodes)) <= best


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(30))
def test_order_graph_of_eight_nodes_is_the_best_of_all_orders(seed: int) -> None:
    """The same with eight nodes, 40,320 orders each."""
    c = Seeded(1000 + seed)
    graph = random_graph(c, 8)
    assert order_of(graph).peak_bytes == best_peak(graph, ())


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    """Graphs of up to 14 nodes."""
    c = Drawn(draw)
    return random_graph(c, c.integer(1, 14))


@given(graphs())
def test_order_drawn_graph_can_run_and_is_proven(graph: Graph) -> None:
    """Orders of drawn graphs can run, are no worse than the graph's own, and equal a plain search without bounds."""
    found = order_of(graph)
    assert found.proven_optimal
    assert found.peak_bytes <= naive_peak(graph, range(len(graph.nodes)))
    assert found.peak_bytes == search(stretch(graph), 0, 1 << 60, 1 << 20).bound_bytes


@pytest.mark.parametrize("seed", range(8))
def test_order_without_search_has_a_true_bound(seed: int) -> None:
    """Where the search gives up at once the order can run and the bound is below the best peak."""
    graph = random_graph(Seeded(seed), 24, 12)
    quick, exact = order_of(graph, state_limit=0), order_of(graph)
    assert exact.proven_optimal
    assert quick.lower_bound_bytes <= exact.peak_bytes <= quick.peak_bytes


@pytest.mark.parametrize("seed", share(range(4), 1, 2))
def test_beam_and_local_search_give_orders_that_can_run(seed: int) -> None:
    """What is found without proof can run, and improving makes nothing worse."""
    graph = random_graph(Seeded(seed), 60, 30)
    whole = stretch(graph)
    start = beam(whole, 0, 2)
    assert start is not None
    better = improve(whole, start, 0)
    assert can_run(graph, start)
    assert can_run(graph, better)
    assert naive_peak(graph, better) <= naive_peak(graph, start)


def test_beam_over_its_budget_gives_up_and_local_search_goes_on_without_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """A thousand nodes side by side: a count of moves ends the search, and the order that there was is improved."""
    graph = random_graph(Seeded(1), 60, 30)
    whole = stretch(graph)
    order = beam(whole, 0, 2)
    assert order is not None
    monkeypatch.setattr(order_search, "_MOST_MOVES", 50)
    assert beam(whole, 0, 2) is None
    better = improve(whole, order, 0)
    assert can_run(graph, better)
    assert naive_peak(graph, better) <= naive_peak(graph, order)


@pytest.mark.parametrize("seed", range(4))
def test_least_context_is_met_by_its_set(seed: int) -> None:
    """The set that a minimum cut names can run before the node, and leaves as many bytes as it says."""
    graph = random_graph(Seeded(seed), 30, 10)
    whole = stretch(graph)
    problem = whole.problem
    for node in range(problem.count):
        need, context, _ = least_context(whole, node)
        assert not context & (problem.descendants[node] | 1 << node)
        assert not problem.ancestors[node] & ~context
        assert need == problem.live_after(0, context, problem.first_bytes) + problem.need_bytes[node]


@pytest.mark.slow
def test_order_same_graph_same_order() -> None:
    """The search is deterministic, with a proof and without."""
    graph = random_graph(Seeded(5), 40, 20)
    for limit in (0, 100, 3000)[:: amount(2, 1)]:
        assert order_of(graph, state_limit=limit) == order_of(graph, state_limit=limit)


@pytest.mark.slow
def test_order_graph_of_a_thousand_nodes_ends_with_a_bound() -> None:
    """A large graph has an order that is no worse than its own, and a bound."""
    graph = random_graph(Seeded(1), 1000, 12)
    found = order_of(graph, state_limit=500)
    assert 0 < found.lower_bound_bytes <= found.peak_bytes <= naive_peak(graph, range(1000))


def test_order_of_a_chain_is_its_own() -> None:
    """A chain has one order, and its peak is proven at once."""
    graph = chain(3, 3, 3)
    found = smallest_peak_order(graph, state_limit=0)
    assert (found.nodes, found.peak_bytes, found.proven_optimal) == ((0, 1, 2), 64, True)


def test_order_where_none_is_better_is_the_graphs_own() -> None:
    """Nothing moves without a gain."""
    graph = opaque_graph([4, 4, 4, 4], [((0,), (1,)), ((0,), (2,)), ((1, 2), (3,))], [0], [3])
    assert order_of(graph).nodes == (0, 1, 2)


@pytest.mark.parametrize("scratch", [False, True])
def test_order_peak_agrees_with_lifetimes(scratch: bool) -> None:
    """Bytes are counted as the planner counts them, with scratch and without."""
    graph = residual(scratch_bytes=100)
    buffers = lifetimes(graph, file_order(graph), scratch=scratch)
    steps = range(max(buffer.end for buffer in buffers))
    live = max(sum(each.size_bytes for each in buffers if each.start <= step < each.end) for step in steps)
    assert smallest_peak_order(graph, scratch=scratch).peak_bytes == live


def test_order_pair_against_the_graph_is_refused() -> None:
    """A pair that the graph's own order breaks is named."""
    with pytest.raises(PlanError, match="node 1 is to run before node 0"):
        smallest_peak_order(chain(1, 1), before=((1, 0),))


def test_order_of_nothing_is_empty() -> None:
    """A graph without nodes has the empty order."""
    assert smallest_peak_order(opaque_graph([1], [], [0], [0])) == TopologicalOrder((), 0, 0, proven_optimal=True)


GAINS = {
    "cfu_hps_74ops": (237_552, 236_272),
    "derived_ic_lut4_decode": (53_248, 51_456),
    "mww_v1_alexa": (14_864, 14_208),
    "mww_v2_okay_nabu": (4_032, 2_944),
    "mww_v2_vad": (1_456, 1_248),
}
"""Peaks in the file's order and in the best one, sizes rounded up to 16 bytes."""


@requires_zoo
def test_order_zoo_models_meet_the_known_figures_with_proof() -> None:
    """Every model's smallest peak is the catalogue's, or below it, proven; state is read before it is written."""
    gains = {}
    for model in json.loads((zoo_path() / "catalog.json").read_text())["models"]:
        loose, known = load_loosely(zoo_path() / model["file"]), model["activation_lower_bound"]
        own = naive_peak(loose.graph, range(len(loose.graph.nodes)), 16)
        found = order_of(loose.graph, granule_bytes=16, before=loose.before)
        assert own <= known["in_file_order"], model["name"]
        assert found.peak_bytes <= known["any_order"], model["name"]
        assert found.proven_optimal, model["name"]
        if found.peak_bytes < own:
            gains[model["name"]] = (own, found.peak_bytes)
        else:
            assert found.nodes == tuple(range(len(loose.graph.nodes))), model["name"]
    assert gains == GAINS
