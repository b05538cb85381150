"""The pass `pad-into-window`: PAD as the border of the windows behind it."""

from dataclasses import replace

from kibi.dtypes import DType
from kibi.ir import Graph, Node, NodeView
from kibi.ops import Conv2D, DepthwiseConv2D, ExplicitPadding, MaxPool2D, Pad, Reshape, is_custom
from kibi.ops.windows.pooling import Pool2D
from kibi.passes.activation_into_producer import limits_of
from kibi.passes.change import Change
from kibi.passes.rewriting import Draft, Edit, apply, is_accepted, reading, row_input, same_scale
from kibi.passes.tables import tables_of

NAME = "pad-into-window"

Windowed = Conv2D | DepthwiseConv2D | MaxPool2D
"""Operators whose windows may reach beyond the input at no cost."""


def fold_pads(graph: Graph) -> tuple[Graph, tuple[Change, ...]]:
    """The graph without PADs of height and width that only windows read; and what was done.

    What a PAD adds is the zero point. A convolution takes that for what lies outside its input, too. A maximum pooling leaves
    out what lies outside, which is the same where the zero point is never larger than what is inside or what the pooling
    clamps to. An average pooling counts only what is inside, and keeps its PAD.
    """
    return apply(graph, NAME, _rule)


def _rule(graph: Draft, place: int) -> tuple[Edit, str] | None:
    view = graph.view(place)
    if not isinstance(view.op, Pad) or is_custom(view.op):
        return None
    source, result = view["input"], view.output
    pads = view.constant("paddings").tolist()
    places = graph.readers(result.index)
    if len(pads) != 4 or any(pads[0]) or any(pads[3]) or not same_scale(source, result) or source.is_state:
        return None
    if not places or not graph.is_inner(result.index):
        return None
    changed: dict[int, Node | None] = {place: None}
    for reader in places:
        node = _widened(graph, reader, result.index, source.index, pads)
        if node is None:
            return None
        changed[reader] = node
    names = ", ".join(graph.node(reader).label for reader in places)
    return changed, f"The windows of {names} reach over the border, where they find the same zero point."


def _widened(graph: Draft, place: int, padded: int, source: int, pads: list[list[int]]) -> Node | None:
    """A node that reads what is not padded, in windows that reach as far; None where it would not give the same."""
    node, view = graph.node(place), graph.view(place)
    if is_custom(node.op) or not isinstance(node.op, Windowed) or view.output.type.dtype is not DType.S8:
        return None
    if row_input(node) != padded or node.inputs.count(padded) > 1:
        return None
    sides = [_sides(view, node.op, axis, pads[axis + 1]) for axis in (0, 1)]
    wide = replace(reading(node, padded, source), op=replace(node.op, padding=ExplicitPadding(*sides)))
    if not is_accepted(graph, wide):
        return None
    if isinstance(node.op, MaxPool2D) and not _never_wins(graph, graph.view_of(wide)):
        return None
    return wide


def _sides(view: NodeView, op: Windowed, axis: int, pads: list[int]) -> tuple[int, int]:
    """How far windows reach beyond what is not padded, along the height or the width."""
    sizes, outputs = view["input"].type.shape[1:3], view.output.type.shape[1:3]
    kernel = op.kernel if isinstance(op, MaxPool2D) else view["filter"].type.shape[1:3]
    dilation = 1 if isinstance(op, MaxPool2D) else op.dilation[axis]
    stride, size, output = op.stride[axis], sizes[axis], outputs[axis]
    front = op.padding.along(axis).before(size, kernel[axis], stride, dilation, output)
    reach = (output - 1) * stride + (kernel[axis] - 1) * dilation + 1
    return pads[0] + front, max(0, reach - size - front + pads[1])


def _never_wins(graph: Draft, view: NodeView) -> bool:
    """Whether the zero point around the input of a maximum pooling is never larger than what the pooling gives without it."""
    op, zero_point = view.op, view.output.quantization.zero_point
    if not isinstance(op, MaxPool2D):
        return False
    low, _ = op.activation.limits(DType.S8, view.output.quantization)
    return max(low, _least(graph, view["input"].index)) >= zero_point


def _least(graph: Draft, tensor: int) -> int:
    """A number that no element of a tensor is below, by the operators that make it."""
    least, made = -128, graph.maker(tensor)
    while made is not None:
        view = graph.view(made)
        limits, tables = limits_of(view), tables_of(view)
        least = least if limits is None else max(least, min(limits))
        if tables:
            least = max(least, min(int(table.min()) for table in tables))
        is_passing = isinstance(view.op, Pool2D | Reshape) and not is_custom(view.op)
        made = graph.maker(view["input"].index) if is_passing else None
    return least
