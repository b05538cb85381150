"""Orders of row steps."""

from collections.abc import Sequence

from kibi.ir import Graph
from kibi.planner.plan import Run


def file_order(graph: Graph) -> tuple[Run, ...]:
    """The nodes in the model file's order, each computing all its row steps before the next one starts."""
    return tuple(Run(index, 0, view.steps) for index, view in enumerate(graph.views))


def completed(graph: Graph, nodes: Sequence[int]) -> tuple[Run, ...]:
    """The nodes in an order, each run to completion."""
    return tuple(Run(node, 0, graph.views[node].steps) for node in nodes)
