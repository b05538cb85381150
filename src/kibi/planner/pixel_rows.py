"""Rows of one pixel that pointwise convolutions compute several at a time, as one row: weights are read once for all of them.

A network along time has such rows: `[1, T, 1, C]`. Seen as `[1, T / k, k, C]` they have the same elements in the same order, and
those operators that read windows along time see them as they were. Wider rows take scratch, so a plan has them where its arena
stays within the price of speed.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from kibi.errors import PlanError
from kibi.ir import Graph, Node, NodeView, Tensor, verify
from kibi.ops import Conv2D, Reshape, is_custom
from kibi.planner.plan import PixelRows, Plan
from kibi.planner.roomy_scratch import constants_read_bytes
from kibi.selection import PARTS, LoweredGraph

_PIXELS = (4, 3, 2)
"""Pixels of a block, the fastest first."""
_MOST_PLANS = 12
"""Plans that are made for a model at most."""
_LEAST_BYTES = 512
"""Fewer weights are read quickly enough."""


def with_pixel_rows(graph: Graph, rows: Sequence[PixelRows]) -> Graph:
    """Returns the graph whose pointwise convolutions compute rows of several pixels; the same one without any.

    Args:
        graph: a verified graph, with its inputs and outputs handed over.
        rows: ascending; their nodes are those of this graph.

    Returns:
        The new graph, verified. Before and after each of these nodes is a RESHAPE. New tensors come after the others.

    Raises:
        PlanError: a node is no such convolution, or does not have so many pixels.
    """
    if not rows:
        return graph
    pixels = {each.node: each.pixels for each in rows}
    if [each.node for each in rows] != sorted(pixels):
        raise PlanError("rows of several pixels are not named once each, in the order of nodes. Make the plan again.")
    for node in (rows[0].node, rows[-1].node):
        if not 0 <= node < len(graph.nodes):
            what = f"node {node} has rows of several pixels, but there are {len(graph.nodes)}"
            raise PlanError(f"{what}. Make the plan again.")
    tensors, nodes = list(graph.tensors), list[Node]()
    for number, view in enumerate(graph.views):
        count = pixels.get(number)
        if count is None:
            nodes.append(view.node)
            continue
        if count < 2 or not _is_pointwise(view) or view["input"].type.shape[1] % count:
            raise PlanError(f"{view.node.label} does not compute rows of {count} pixels. Make the plan again.")
        nodes += _widened(view, count, tensors)
    return verify(replace(graph, tensors=tuple(tensors), nodes=tuple(nodes)))


def with_wider_rows(
    handed: Graph,
    plain: Plan,
    most_bytes: int,
    made: Callable[[tuple[PixelRows, ...]], Plan],
    lowered: Callable[[Graph], LoweredGraph],
) -> Plan:
    """Returns a plan with rows of several pixels that reads fewer constants; or the one that is given.

    Args:
        handed: the model with its inputs and outputs handed over.
        plain: its plan with rows as they are.
        most_bytes: of the arena.
        made: makes the plan with some rows.
        lowered: chooses the kernels of a graph.
    """
    best, left = plain, _MOST_PLANS
    read = first = constants_read_bytes(lowered(handed), plain)
    for node in _candidates(handed, lowered(handed)):
        for count in _PIXELS:
            if handed.views[node].steps % count or not left:
                continue
            rows = tuple(sorted((*best.pixel_rows, PixelRows(node, count)), key=lambda each: each.node))
            left -= 1
            plan = _fitting(made, rows)
            if plan is None:
                continue
            now = constants_read_bytes(lowered(with_pixel_rows(handed, rows)), plan)
            if plan.arena_bytes <= most_bytes and now < read:
                best, read = plan, now
                break
    return best if first - read > first // PARTS else plain


def _fitting(made: Callable[[tuple[PixelRows, ...]], Plan], rows: tuple[PixelRows, ...]) -> Plan | None:
    """The plan with some rows; None if it does not fit the RAM that there is."""
    try:
        return made(rows)
    except PlanError:
        return None


def _candidates(graph: Graph, lowered: LoweredGraph) -> list[int]:
    """The nodes that may compute rows of several pixels, those with the most weights read first."""
    weights = {
        node: call.constant_bytes
        for node, (view, call) in enumerate(zip(graph.views, lowered.calls, strict=True))
        if _is_pointwise(view)
    }
    found = [node for node, size in weights.items() if size >= _LEAST_BYTES]
    return sorted(found, key=lambda node: -weights[node] * graph.views[node].steps)


def _is_pointwise(view: NodeView) -> bool:
    """True for a convolution of single pixels, each of which is a row; not of variables."""
    op = view.op
    if not isinstance(op, Conv2D) or is_custom(op) or op.stride != (1, 1):
        return False
    source, output = view["input"], view.output
    shape = source.type.shape
    if view["filter"].type.shape[1:3] != (1, 1) or view["filter"].type.shape[3] != shape[3] or shape[0] != 1:
        return False
    window = op.window(view)
    is_column = shape[2] == output.type.shape[2] == 1 and shape[1] == output.type.shape[1] == view.steps > 1
    ends = (source, output)
    return is_column and window.pad_rows == window.pad_width == 0 and not any(each.is_state for each in ends)


def _widened(view: NodeView, count: int, tensors: list[Tensor]) -> Iterator[Node]:
    """Yields the nodes in place of one, and adds their tensors."""
    source, output, old = view["input"], view.output, view.node
    wide = [_seen(source, count, tensors), _seen(output, count, tensors)]
    yield Node(Reshape(), (source.index,), (wide[0],), old.source)
    inputs = tuple(wide[0] if index == source.index else index for index in old.inputs)
    yield replace(old, inputs=inputs, outputs=(wide[1],))
    yield Node(Reshape(), (wide[1],), (output.index,), old.source)


def _seen(tensor: Tensor, count: int, tensors: list[Tensor]) -> int:
    """Adds a tensor with the elements of another in rows of so many pixels; returns its index."""
    _, rows, _, channels = tensor.type.shape
    kind = replace(tensor.type, shape=(1, rows // count, count, channels))
    tensors.append(Tensor(len(tensors), f"{tensor.name}, {count} pixels a row", kind))
    return len(tensors) - 1
