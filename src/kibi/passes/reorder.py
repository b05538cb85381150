"""Puts the nodes of a graph in another order."""

from collections.abc import Sequence
from dataclasses import replace

from kibi.errors import PlanError
from kibi.ir import Graph, verify


def reorder(graph: Graph, nodes: Sequence[int]) -> Graph:
    """Returns the graph with its nodes in another order. Each keeps its index in the model file, `Node.source`.

    Args:
        graph: a verified graph.
        nodes: for each place, the index of the node that goes there: `TopologicalOrder.nodes`.

    Raises:
        PlanError: a node is missing, there twice, or does not exist.
        ModelError: a node reads a tensor that a later node makes.
    """
    if sorted(nodes) != list(range(len(graph.nodes))):
        wrong = sorted({node for node in nodes if not 0 <= node < len(graph.nodes) or list(nodes).count(node) > 1})
        wrong = wrong or sorted(set(range(len(graph.nodes))) - set(nodes))
        what = f"an order of the {len(graph.nodes)} nodes of {graph.source} names each once; look at node {wrong[0]}"
        raise PlanError(f"{what}. Give the nodes' places in the graph in the order in which they are to run.")
    return verify(replace(graph, nodes=tuple(graph.nodes[node] for node in nodes)))
