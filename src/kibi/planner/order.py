"""Orders of row steps."""

from kibi.ir import Graph
from kibi.planner.plan import Run
from kibi.planner.topological import smallest_peak_order


def file_order(graph: Graph) -> tuple[Run, ...]:
    """The nodes in the model file's order, each computing all its row steps before the next one starts."""
    return tuple(Run(index, 0, site.steps) for index, site in enumerate(graph.sites))


def completed_order(graph: Graph) -> tuple[Run, ...]:
    """The operators in the order with the smallest peak, each run to completion; the file's own where none is better."""
    return tuple(Run(node, 0, graph.sites[node].steps) for node in smallest_peak_order(graph).nodes)
