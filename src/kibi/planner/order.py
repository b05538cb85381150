"""Orders of row steps."""

from kibi.ir import Graph
from kibi.planner.plan import Run


def file_order(graph: Graph) -> tuple[Run, ...]:
    """The nodes in the model file's order, each computing all its row steps before the next one starts."""
    return tuple(Run(index, 0, site.steps) for index, site in enumerate(graph.sites))
