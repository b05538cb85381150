"""Computes the bounds of all tensors a second time, for the checker of certificates.

It runs the operators' own definitions on the least and the largest values; `intervals` finds its bounds in another way. A layer
that multiplies runs with each channel doubled: the least value meets the positive part of the filter, the largest value the
negative part. The result is the least output. With the two swapped, it is the largest output.
"""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from kibi.dtypes import Array, DType
from kibi.ir import Graph, NodeView, Quantization, Tensor, TensorType
from kibi.ops.linear.fully_connected import FullyConnected
from kibi.ops.sums.accumulator import Requantization
from kibi.ops.windows.conv2d import Conv2D
from kibi.ops.windows.depthwise_conv2d import DepthwiseConv2D
from kibi.passes.whole_tensors import evaluate

Ends = tuple[Array, Array]
"""The least and the largest value of each element of a tensor."""

_RISING = frozenset({"ADD", "MAX_POOL_2D", "AVERAGE_POOL_2D", "PAD", "RESHAPE"})
_OF_ONE_ELEMENT = frozenset({"RELU", "RELU6", "LOGISTIC", "QUANTIZE"})


def checked_ends(graph: Graph) -> Mapping[int, Ends]:
    """Returns the bounds of the elements of each s8 tensor, by tensor index; the s8 range where nothing is known."""
    low, high = DType.S8.limits
    found: dict[int, Ends] = {}
    for tensor in graph.tensors:
        if tensor.type.dtype is DType.S8:
            shape = tensor.type.shape
            known = tensor.data
            found[tensor.index] = (
                (np.full(shape, low, np.int8), np.full(shape, high, np.int8)) if known is None else (known, known)
            )
    for view in graph.views:
        if view.output.index not in found or view.output.is_state:
            continue
        sources = [found.get(tensor.index) for tensor in view.row_tensors]
        known_sources = [ends for ends in sources if ends is not None]
        ends = _made(view, known_sources) if len(known_sources) == len(sources) else None
        if ends is not None:
            found[view.output.index] = ends
    return found


def _made(view: NodeView, sources: list[Ends]) -> Ends | None:
    """Returns the bounds of a node's output; None if nothing is known of it."""
    if type(view.op) in (Conv2D, DepthwiseConv2D, FullyConnected):
        return _multiplied(view, *sources[0])
    if view.op.name in _OF_ONE_ELEMENT:
        return _every_element(view, *sources[0])
    if view.op.name in _RISING or (view.op.name == "MEAN" and _mean_fits(view)):
        least, largest = ([ends[side] for ends in sources] for side in (0, 1))
        return evaluate(view, least), evaluate(view, largest)
    return None


def _mean_fits(view: NodeView) -> bool:
    """True if the sum of a mean, scaled up, stays within 32 bits."""
    ratio = view["input"].quantization.scale / view.output.quantization.scale
    count = view["input"].type.elements // max(1, view.output.type.elements)
    # The multiplier's fraction is at least a half, so a shift left is less than twice the ratio.
    return 2 * max(1.0, 2 * ratio) * count * 255 < 1 << 31


def _every_element(view: NodeView, low: Array, high: Array) -> Ends:
    """Evaluates a function of one element at all 256 values, and returns its extremes between the bounds."""
    shape = (256,)
    whole = (replace(view["input"], type=replace(view["input"].type, shape=shape)), _shaped(view.output, shape))
    every = evaluate(
        NodeView(view.node, (("input", whole[0]), ("output", whole[1]))), [np.arange(-128, 128, dtype=np.int8)]
    )
    pairs, places = np.unique(np.stack([low.reshape(-1), high.reshape(-1)]), axis=1, return_inverse=True)
    slices = [every[first + 128 : last + 129] for first, last in pairs.T.astype(np.int64).tolist()]
    where = places.reshape(-1)
    least, largest = (np.array([end(part) for part in slices], np.int8) for end in (np.min, np.max))
    return least[where].reshape(view.output.type.shape), largest[where].reshape(view.output.type.shape)


def _multiplied(view: NodeView, low: Array, high: Array) -> Ends:
    """Returns the output bounds of a layer that multiplies."""
    doubled, safe = _doubled(view), _fits(view)
    limits = Requantization.of(view, view.op.activation)  # type: ignore[attr-defined] # all three have one
    least, largest = (evaluate(doubled, [_beside(first, second)]) for first, second in ((low, high), (high, low)))
    return (
        np.where(safe, least, min(limits.low, limits.high)).astype(np.int8),
        np.where(safe, largest, limits.high).astype(np.int8),
    )


def _fits(view: NodeView) -> NDArray[np.bool_]:
    """`[O]`: true for channels whose bias and products stay within 32 bits for any input, before and after scaling."""
    layer = Requantization.of(view, view.op.activation)  # type: ignore[attr-defined] # all three have one
    weights = np.abs(view.constant("filter").astype(np.int64))
    axis = 3 if type(view.op) is DepthwiseConv2D else 0
    sums = np.moveaxis(weights, axis, 0).reshape(weights.shape[axis], -1).sum(axis=1)
    room = ((1 << 31) - (1 << 8)) >> np.maximum(layer.shift, 0).astype(np.int64)
    fits: NDArray[np.bool_] = np.abs(layer.bias.astype(np.int64)) + 255 * sums <= room
    return fits


def _beside(first: Array, second: Array) -> Array:
    """Interleaves the channels of two arrays: each channel of the first, then the same channel of the second."""
    return np.stack([first, second], axis=-1).reshape(*first.shape[:-1], -1)


def _doubled(view: NodeView) -> NodeView:
    """Returns the node with each input channel doubled and its filter split by sign; a depthwise one has groups of two."""
    op, weights = view.op, view["filter"]
    data = view.constant("filter").astype(np.int8)
    if isinstance(op, DepthwiseConv2D):
        op = Conv2D(op.stride, op.padding, op.dilation, op.activation)
        data = data[0].transpose(2, 0, 1)[..., None]
    split = _beside(np.maximum(data, 0), np.minimum(data, 0))
    quantization = weights.quantization
    scales = Quantization(quantization.scales, quantization.zero_points, 0)
    source = view["input"]
    tensors = {
        **dict(view.operands),
        "filter": replace(weights, type=TensorType(split.shape, DType.S8, scales), data=split),
        "input": _shaped(source, (*source.type.shape[:-1], 2 * source.type.shape[-1])),
    }
    return NodeView(replace(view.node, op=op), tuple(tensors.items()))


def _shaped(tensor: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Returns the tensor with another shape and without elements."""
    return replace(tensor, type=replace(tensor.type, shape=shape), data=None)
