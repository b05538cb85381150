"""Divides layers by output channels, so that the weights of each part fit a smaller window."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np

from kibi.dtypes import DType
from kibi.ir import Graph, Node, NodeView, Quantization, Tensor, verify
from kibi.ops import Concatenation

MOST_PARTS = 64
"""The inputs that CONCATENATION takes."""
_MOST_AXES = 6
"""The axes that it takes."""


def most_parts(view: NodeView) -> int:
    """Returns into how many parts a node can be divided; 1: it cannot be."""
    can = bool(view.op.channel_axes(view)) and len(view.outputs) == 1 and not view.output.is_state
    return min(MOST_PARTS, view.output.type.shape[-1]) if can and is_joined_exactly(view.output) else 1


def divided(graph: Graph, parts: Sequence[int]) -> Graph:
    """Returns the graph with nodes divided by their output channels, each followed by a node that joins its parts' outputs.

    Args:
        graph: a verified graph.
        parts: for each node the number of its parts, at most `most_parts`; 1 leaves it as it is.

    Returns:
        The new graph, verified, or the same one where nothing is divided. New tensors come after the others.
    """
    if all(count == 1 for count in parts):
        return graph
    tensors, nodes = list(graph.tensors), list[Node]()
    for view, count in zip(graph.views, parts, strict=True):
        nodes += _parts(view, count, tensors) if count > 1 else [view.node]
    return verify(replace(graph, tensors=tuple(tensors), nodes=tuple(nodes)))


def _parts(view: NodeView, count: int, tensors: list[Tensor]) -> list[Node]:
    """The nodes of the parts, and the one that joins them; their tensors are added to those of the graph."""
    axes, output = view.op.channel_axes(view), view.output
    channels = output.type.shape[-1]
    # Kernels compute four channels at once, so all parts but the last have whole fours where there are enough channels.
    unit = 4 if channels >= 4 * count else 1
    bounds = [min(channels, -(-channels // unit) * part // count * unit) for part in range(count)] + [channels]
    nodes, joined = [], []
    for part, (first, end) in enumerate(pairwise(bounds)):
        shape = (*output.type.shape[:-1], end - first)
        kind = replace(output.type, shape=shape)
        made = Tensor(len(tensors), f"{output.name}_part{part}", kind)
        tensors.append(made)
        inputs = _inputs(view, axes, slice(first, end), tensors)
        nodes.append(replace(view.node, inputs=inputs, outputs=(made.index,)))
        joined.append(made.index)
    return [*nodes, Node(Concatenation(axis=-1), tuple(joined), (output.index,), view.node.source)]


def _inputs(view: NodeView, axes: Mapping[str, int], channels: slice, tensors: list[Tensor]) -> tuple[int | None, ...]:
    """The inputs of a part: those of the node, but its channels of the constants."""
    found: list[int | None] = []
    for name, index in zip((name.rstrip("?") for name in view.op.inputs), view.node.inputs, strict=False):
        if index is None or name not in axes:
            found.append(index)
        else:
            tensors.append(_cut(tensors[index], axes[name], channels, len(tensors)))
            found.append(len(tensors) - 1)
    return tuple(found)


def _cut(tensor: Tensor, axis: int, channels: slice, index: int) -> Tensor:
    """Returns some channels of a constant, with their scales."""
    if tensor.data is None:
        raise ValueError(tensor.name)
    place = (slice(None),) * axis + (channels,)
    data = np.ascontiguousarray(tensor.data[place])
    data.setflags(write=False)
    scales = tensor.type.quantization
    if scales is not None and scales.is_per_channel:
        cut = Quantization(scales.scales[channels], scales.zero_points[channels], scales.axis)
        scales = replace(cut, axis=scales.axis if cut.is_per_channel else 0)
    kind = replace(tensor.type, shape=data.shape, quantization=scales)
    return Tensor(index, f"{tensor.name}_{channels.start}", kind, data, is_int4=tensor.is_int4)


def is_joined_exactly(output: Tensor) -> bool:
    """True if CONCATENATION takes tensors of this kind, and changes no bit of them."""
    shape, quantization = output.type.shape, output.type.quantization
    is_plain = quantization is None or not quantization.is_per_channel
    is_centred = output.type.dtype is not DType.S16 or quantization is None or quantization.zero_point == 0
    return 1 < len(shape) <= _MOST_AXES and is_plain and is_centred and output.type.dtype in Concatenation.types
