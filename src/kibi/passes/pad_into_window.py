"""The pass `pad-into-window`: turns a PAD into the border of the windows that read it."""

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

_PAD_ROW, _PAD_BYTE = 200, 1
_EDGE_WINDOW, _EDGE_COLUMN = 300, 115
"""Estimated instructions of a PAD's row and of each of its bytes; and those that a convolution takes more for a window that reaches
over the left or the right border, and for each of its columns. Fitted to 26 small networks on a Cortex-M4 and a Cortex-M0+.
Depthwise convolutions take no more."""

Windowed = Conv2D | DepthwiseConv2D | MaxPool2D
"""Operators whose windows may reach beyond the input at no cost."""


def fold_pads(graph: Graph) -> tuple[Graph, tuple[Change, ...]]:
    """Returns the graph without PADs of height and width that only windows read, and the changes made.

    A PAD adds the zero point. A convolution uses the same value outside of its input. A maximum pooling ignores what is outside;
    the result is the same if the zero point is never larger than the elements inside or the pooling's lower clamp. An average
    pooling counts only the elements inside, so its PAD stays.
    """
    return apply(graph, NAME, _rule)


def saved_instructions(graph: Graph) -> int:
    """Returns how many instructions fewer an inference takes after the pass, by estimate; below 0 it takes more."""
    draft, saved = Draft(graph), 0
    for place in range(len(graph.nodes)):
        found = _rule(draft, place)
        if found is not None:
            edit, _ = found
            padded = draft.view(place).output.type
            saved += padded.rows * (_PAD_ROW + _PAD_BYTE * padded.row_bytes)
            for reader, node in edit.items():
                if node is not None:
                    saved -= _border(draft.view_of(node)) - _border(draft.view(reader))
            draft.apply(edit)
    return saved


def _border(view: NodeView) -> int:
    """The estimated instructions that a node takes for windows that reach over the left or the right border."""
    if not isinstance(view.op, Conv2D):
        return 0
    window = view.op.window(view)
    starts = (x * window.stride_width - window.pad_width for x in range(window.output_width))
    reach = (window.kernel_width - 1) * window.dilation_width
    outside = sum(start < 0 or start + reach >= window.input_width for start in starts)
    return window.steps * outside * (_EDGE_WINDOW + _EDGE_COLUMN * window.kernel_width)


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
    """Returns the node with larger borders that reads the tensor without padding; None if its output could differ."""
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
    """Returns the padding before and after, along the height or the width, that includes the PAD's."""
    sizes, outputs = view["input"].type.shape[1:3], view.output.type.shape[1:3]
    kernel = op.kernel if isinstance(op, MaxPool2D) else view["filter"].type.shape[1:3]
    dilation = 1 if isinstance(op, MaxPool2D) else op.dilation[axis]
    stride, size, output = op.stride[axis], sizes[axis], outputs[axis]
    front = op.padding.along(axis).before(size, kernel[axis], stride, dilation, output)
    reach = (output - 1) * stride + (kernel[axis] - 1) * dilation + 1
    return pads[0] + front, max(0, reach - size - front + pads[1])


def _never_wins(graph: Draft, view: NodeView) -> bool:
    """True if the zero point around the input of a maximum pooling can never raise the pooling's result."""
    op, zero_point = view.op, view.output.quantization.zero_point
    if not isinstance(op, MaxPool2D):
        return False
    low, _ = op.activation.limits(DType.S8, view.output.quantization)
    return max(low, _least(graph, view["input"].index)) >= zero_point


def _least(graph: Draft, tensor: int) -> int:
    """Returns a lower bound of a tensor's elements, from the operators that make it."""
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
