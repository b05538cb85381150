"""The limits of planning, counted in tensors' bytes and in row steps: every machine draws the line at the same place.

What is beyond any device is refused before time and memory are spent on it. What is only too much for the search over orders by
rows is planned by whole tensors, and the plan says so.
"""

from kibi.errors import PlanError
from kibi.ir import Graph

_MOST_BYTES = 1 << 25
_MOST_ROWS = 1_000_000
_MOST_STEPS = 1_000_000
_MOST_USES = 1 << 26
_MOST_POINTERS = 1 << 16
"""Of a tensor; of a tensor; of a graph; of a graph; of a step. Far beyond any microcontroller: what is larger comes from a
broken file, and would only take forever."""
_ORDERED_STEPS = 1 << 15
_ORDERED_USES = 1 << 17
"""Row steps, and rows that they read, that are ordered and placed by rows: six times those of the largest models we know."""


def check_limits(graph: Graph) -> None:
    """Refuse graphs that no device could run.

    Raises:
        PlanError: a tensor is too large, there are too many row steps, or they read too many rows.
    """
    for index in dict.fromkeys((*graph.given, *(output for node in graph.nodes for output in node.outputs))):
        tensor = graph.tensors[index]
        if tensor.type.size_bytes > _MOST_BYTES or tensor.type.rows > _MOST_ROWS:
            what = f"tensor {tensor.name!r} of {graph.source} has {tensor.type.size_bytes} bytes in {tensor.type.rows} rows"
            raise PlanError(f"{what}; at most {_MOST_BYTES} bytes in {_MOST_ROWS} rows are planned. Check its shape.")
    for view in graph.views:
        pointers = sum(access.count for access in view.accesses)
        if pointers > _MOST_POINTERS:
            what = f"{view.node.label} of {graph.source} reads {pointers} rows in one step"
            raise PlanError(f"{what}; at most {_MOST_POINTERS} are planned. Check its window and its shapes.")
    steps, uses = row_work(graph)
    if steps > _MOST_STEPS or uses > _MOST_USES:
        what = f"{graph.source} takes {steps} row steps, which read {uses} rows"
        raise PlanError(f"{what}; at most {_MOST_STEPS} and {_MOST_USES} are planned. Check its shapes.")


def row_work(graph: Graph) -> tuple[int, int]:
    """The row steps of a graph, and the rows that they read, those outside of their tensors too."""
    steps = [view.steps for view in graph.views]
    counts = [sum(access.count for access in view.accesses) for view in graph.views]
    return sum(steps), sum(step * count for step, count in zip(steps, counts, strict=True))


def why_whole(graph: Graph, effort: int = 1) -> str:
    """Returns why a graph is planned by whole tensors though rows are asked for; empty if it is planned by rows.

    More effort orders more rows.
    """
    steps, uses = row_work(graph)
    most_steps, most_uses = effort * _ORDERED_STEPS, effort * _ORDERED_USES
    if steps <= most_steps and uses <= most_uses:
        return ""
    what = f"{steps:,} row steps, which read {uses:,} rows"
    return f"planned by whole tensors: it takes {what}; at most {most_steps:,} and {most_uses:,} are ordered by rows"
