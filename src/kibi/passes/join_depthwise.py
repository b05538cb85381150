"""The pass `join-depthwise`: depthwise convolutions of parts of one tensor, whose outputs are laid side by side, become one."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from kibi.dtypes import Array, DType
from kibi.ir import Graph, Node, NodeView, OperatorError, Quantization, Tensor, TensorType, verify
from kibi.ops import Concatenation, DepthwiseConv2D, Padding, is_custom
from kibi.ops.movement.strided_copy import StridedCopy
from kibi.passes.change import Change
from kibi.passes.rewriting import Draft, apply_to_graph, is_accepted, same_scale

NAME = "join-depthwise"
_AXES = 4
_CHANNELS = 3


@dataclass(frozen=True, slots=True)
class _Part:
    """A stretch of each axis of a tensor, read through slices.

    Attributes:
        source: the tensor.
        first: for each axis the first index.
        copied: elements that the slices copy for this reader alone.
    """

    source: Tensor
    first: tuple[int, ...]
    copied: int


@dataclass(frozen=True, slots=True)
class _Branch:
    """A depthwise convolution of some channels of a tensor.

    Attributes:
        view: the convolution.
        op: its operator.
        part: what it reads.
    """

    view: NodeView
    op: DepthwiseConv2D
    part: _Part

    @property
    def taps(self) -> Array:
        """The filter, `[KH, KW, C]`."""
        taps: Array = self.view.constant("filter")[0]
        return taps

    @property
    def reach(self) -> tuple[int, int]:
        """Taps along height and width from the first element of the tensor on, those before its own included."""
        rows, columns = (self.part.first[axis + 1] // self.op.dilation[axis] + self.taps.shape[axis] for axis in (0, 1))
        return rows, columns


def join_depthwise(graph: Graph) -> tuple[Graph, tuple[Change, ...]]:
    """Returns the graph with one depthwise convolution in place of several whose outputs are concatenated, and the changes made.

    They read parts of one tensor that have all of its channels in order. Filters of fewer taps get taps of zero, which add nothing
    to a sum of integers. That is done only where the zeros cost fewer multiplications than there are elements that nobody has to
    copy any more.
    """
    return apply_to_graph(graph, _joined)


def _joined(graph: Graph, place: int) -> tuple[Graph, Change] | None:
    """Returns the graph with one convolution in place of a concatenation; None if it has no such concatenation."""
    view = graph.views[place]
    if not isinstance(view.op, Concatenation) or is_custom(view.op) or view.op.axis % _AXES != _CHANNELS:
        return None
    if len(view.output.type.shape) != _AXES or len(view.row_tensors) == 1:
        return None
    draft = Draft(graph)
    branches = list(_branches(draft, view))
    if len(branches) != len(view.row_tensors) or not _go_together(branches):
        return None
    size = _window(branches, view.output)
    if size is None:
        return None
    branch = branches[0]
    channels = sum(each.taps.shape[2] for each in branches)
    before = sum(each.op.macs(each.view) for each in branches)
    outputs = view.output.type.elements // channels
    copied = view.output.type.elements + sum(each.part.copied for each in branches)
    added = outputs * channels * size[0] * size[1] - before
    if added > copied:
        return None
    tensors = list(graph.tensors)
    constants = _constants(branches, size, len(tensors))
    inputs = (branch.part.source.index, *(each.index for each in constants))
    op = replace(branch.op, padding=Padding.VALID)
    node = Node(op, inputs, view.node.outputs, branch.view.node.source)
    gone = {place, *(number for number, each in enumerate(graph.nodes) if each in [b.view.node for b in branches])}
    nodes = tuple(
        node if number == place else each for number, each in enumerate(graph.nodes) if number not in gone - {place}
    )
    wide = replace(graph, tensors=(*tensors, *constants), nodes=nodes)
    if not is_accepted(Draft(wide), node):
        return None
    names = ", ".join(each.view.node.label for each in branches)
    what = f"{names} and this become one: each channel is computed from the same elements as before, and from zeros."
    saved = sum(each.view[name].type.size_bytes for each in branches for name in ("filter", "bias"))
    weights_bytes = saved - sum(each.type.size_bytes for each in constants)
    return verify(wide), Change(NAME, view.node.label, what, -added, weights_bytes)


def _branches(draft: Draft, view: NodeView) -> Iterator[_Branch]:
    """Yields the convolutions that make a concatenation's inputs, each read by it alone; stops at the first input without one."""
    for tensor in view.row_tensors:
        maker = draft.maker(tensor.index)
        readers = draft.readers(tensor.index)
        if maker is None or len(readers) != 1 or view.row_tensors.count(tensor) > 1 or not draft.is_inner(tensor.index):
            return
        made = draft.view(maker)
        if not isinstance(made.op, DepthwiseConv2D) or is_custom(made.op) or not _is_plain(made):
            return
        part = _part(draft, made["input"], maker)
        if part is None:
            return
        yield _Branch(made, made.op, part)


def _is_plain(view: NodeView) -> bool:
    """True for s8, one output channel for each input channel, a bias, filters as numbers, and windows inside of the input."""
    source, taps = view["input"], view["filter"]
    if source.type.dtype is not DType.S8 or source.type.quantization is None or view.find("bias") is None:
        return False
    if any(
        each.data is None or each.codebook is not None or each.type.quantization is None
        for each in (taps, view["bias"])
    ):
        return False
    op = view.op
    if not isinstance(op, DepthwiseConv2D) or taps.type.shape[_CHANNELS] != source.type.shape[_CHANNELS]:
        return False
    window = op.window(view)
    reach = (window.output_rows - 1) * window.stride_rows + (window.kernel_rows - 1) * window.dilation_rows
    across = (window.output_width - 1) * window.stride_width + (window.kernel_width - 1) * window.dilation_width
    is_inside = reach < window.input_rows and across < window.input_width
    return is_inside and window.pad_rows == window.pad_width == 0


def _part(draft: Draft, tensor: Tensor, reader: int) -> _Part | None:
    """Returns the tensor of which another one is a part, through slices one after another; None if there are no slices."""
    first, copied, is_alone = (0,) * _AXES, 0, True
    while (maker := draft.maker(tensor.index)) is not None:
        view = draft.view(maker)
        if not isinstance(view.op, StridedCopy) or is_custom(view.op) or tensor.is_state:
            break
        found = view.op.selection(view)
        steps = [(axis.source, axis.step) for axis in found.axes]
        if steps != [(axis, 1) for axis in range(_AXES)] or not same_scale(view["input"], tensor):
            break
        is_alone = is_alone and draft.is_inner(tensor.index) and draft.readers(tensor.index) == (reader,)
        copied += tensor.type.elements if is_alone else 0
        first = tuple(a + b for a, b in zip(first, found.first, strict=True))
        tensor, reader = view["input"], maker
    return None if tensor.is_state or not copied else _Part(tensor, first, copied)


def _go_together(branches: Sequence[_Branch]) -> bool:
    """True if convolutions read all channels of one tensor in order, and differ in nothing but their taps."""
    one, next_channel = branches[0], 0
    for each in branches:
        is_alike = replace(each.op, padding=one.op.padding) == one.op and same_scale(each.view.output, one.view.output)
        is_even = all(each.part.first[axis + 1] % each.op.dilation[axis] == 0 for axis in (0, 1))
        if each.part.source.index != one.part.source.index or not is_alike or not is_even or each.part.first[0]:
            return False
        if (
            each.part.first[_CHANNELS] != next_channel
            or each.view["input"].type.shape[0] != one.part.source.type.shape[0]
        ):
            return False
        next_channel += each.taps.shape[2]
    return next_channel == one.part.source.type.shape[_CHANNELS]


def _window(branches: Sequence[_Branch], output: Tensor) -> tuple[int, int] | None:
    """Returns the taps along height and width of the one convolution; None where it would make more than the output."""
    op, source = branches[0].op, branches[0].part.source.type.shape
    sizes = list[int]()
    for axis in (0, 1):
        least = max(each.reach[axis] for each in branches)
        made = output.type.shape[axis + 1]
        # Further taps of zero keep the window from reaching further positions.
        spare = source[axis + 1] - (made - 1) * op.stride[axis] - 1
        size = max(least, (spare - op.stride[axis]) // op.dilation[axis] + 2)
        if (size - 1) * op.dilation[axis] > spare:
            return None
        sizes.append(size)
    return sizes[0], sizes[1]


def _constants(branches: Sequence[_Branch], size: tuple[int, int], index: int) -> tuple[Tensor, Tensor]:
    """Returns the filter and the bias of the one convolution, whose indices begin at `index`."""
    filters = []
    for each in branches:
        taps = np.zeros((*size, each.taps.shape[2]), np.int8)
        top, left = (each.part.first[axis + 1] // each.op.dilation[axis] for axis in (0, 1))
        taps[top : top + each.taps.shape[0], left : left + each.taps.shape[1]] = each.taps
        filters.append(taps)
    data = np.concatenate(filters, axis=2)[None]
    bias = np.concatenate([each.view.constant("bias") for each in branches])
    tensors = list[Tensor]()
    for name, array, axis in (("filter", data, _CHANNELS), ("bias", bias, 0)):
        array.setflags(write=False)
        quantization = _together([each.view[name] for each in branches], axis)
        kind = TensorType(array.shape, branches[0].view[name].type.dtype, quantization)
        tensors.append(Tensor(index + len(tensors), f"{branches[0].view[name].name} and others", kind, array))
    return tensors[0], tensors[1]


def _together(tensors: Sequence[Tensor], axis: int) -> Quantization:
    """Returns the quantization of channels side by side."""
    scales, zero_points = list[float](), list[int]()
    for tensor in tensors:
        own = tensor.type.quantization
        if own is None:
            raise OperatorError("a filter has no scale")
        count = tensor.type.shape[axis]
        scales += own.scales if own.is_per_channel else own.scales * count
        zero_points += own.zero_points if own.is_per_channel else own.zero_points * count
    return Quantization(tuple(scales), tuple(zero_points), axis)
