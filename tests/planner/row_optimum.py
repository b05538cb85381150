"""The smallest peak of all orders by rows of a small graph, straight from the rules: slow, and too simple to be wrong."""

from collections.abc import Iterator
from heapq import heappop, heappush

from kibi.ir import Graph, NodeView

Done = tuple[int, ...]
"""For each node, how many of its steps have run."""


def smallest_peak(graph: Graph) -> int:
    """The least, over all orders, of the most bytes that live at once; scratch lives in its node's own steps only.

    States are visited in the order of the smallest peak on a way to them, so that the last state's is the answer.
    """
    goal = tuple(view.steps for view in graph.views)
    first = (0,) * len(goal)
    best = {first: 0}
    waiting = [(0, first)]
    while waiting:
        peak, done = heappop(waiting)
        if done == goal:
            return peak
        if peak > best[done]:
            continue
        for node, after in _moves(graph, done, goal):
            high = max(peak, _live(graph, done, node))
            if high < best.get(after, 1 << 60):
                best[after] = high
                heappush(waiting, (high, after))
    raise AssertionError("no order reaches the end")


def _moves(graph: Graph, done: Done, goal: Done) -> Iterator[tuple[int, Done]]:
    """The nodes whose next step finds its rows, and what has run after it."""
    for node, view in enumerate(graph.views):
        if done[node] < goal[node] and all(
            row in _made(graph, tensor, done) for tensor, row in _reads(view, done[node])
        ):
            yield node, (*done[:node], done[node] + 1, *done[node + 1 :])


def _reads(view: NodeView, step: int) -> list[tuple[int, int]]:
    """The rows that a step reads, as (tensor, row)."""
    accesses = zip(view.row_tensors, view.op.accesses(view), strict=True)
    return [(tensor.index, row) for tensor, access in accesses for row in access.needs(step)]


def _made(graph: Graph, tensor: int, done: Done) -> set[int]:
    """The rows of a tensor that are there."""
    for node, view in enumerate(graph.views):
        if tensor in view.node.outputs:
            return {row for step in range(done[node]) for row in view.made_rows(step)}
    return set(range(graph.tensors[tensor].type.rows))


def _live(graph: Graph, done: Done, node: int) -> int:
    """The bytes that live while a node runs its next step."""
    after = (*done[:node], done[node] + 1, *done[node + 1 :])
    wanted = {
        key
        for number, view in enumerate(graph.views)
        for step in range(done[number], view.steps)
        for key in _reads(view, step)
    }
    total = 0
    for tensor in graph.tensors:
        there, fresh = _made(graph, tensor.index, after), _made(graph, tensor.index, after)
        fresh -= _made(graph, tensor.index, done) if any(done) or _is_made(graph, tensor.index) else set()
        if tensor.index in graph.outputs:
            total += tensor.type.size_bytes if there else 0
        else:
            total += sum(tensor.type.row_bytes for row in there if row in fresh or (tensor.index, row) in wanted)
    for number, view in enumerate(graph.views):
        is_open = view.op.accumulates(view) and 0 < done[number] < view.steps
        total += view.op.kernel_call(view).scratch_bytes if number == node or is_open else 0
    return total


def _is_made(graph: Graph, tensor: int) -> bool:
    return any(tensor in node.outputs for node in graph.nodes)
