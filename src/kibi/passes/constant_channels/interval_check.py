"""Bounds of all tensors once more, for the checker of certificates: the operators' own definitions, run on both ends.

This is not how the analysis finds its intervals. A layer that multiplies runs with each channel doubled, the least value beside
the largest, under the positive part and the negative part of its filter: what it gives is the least output; with the two
swapped, the largest.
"""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from kibi.dtypes import Array, DType
from kibi.ir import Graph, Quantization, Site, Tensor, TensorType
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
    """For each s8 tensor, by index, the bounds of its elements; all of s8 where nothing is known."""
    low, high = DType.S8.limits
    found: dict[int, Ends] = {}
    for tensor in graph.tensors:
        if tensor.type.dtype is DType.S8:
            shape = tensor.type.shape
            known = tensor.data
            found[tensor.index] = (
                (np.full(shape, low, np.int8), np.full(shape, high, np.int8)) if known is None else (known, known)
            )
    for site in graph.sites:
        if site.output.index not in found or site.output.is_state:
            continue
        sources = [found.get(tensor.index) for tensor in site.row_tensors]
        known_sources = [ends for ends in sources if ends is not None]
        ends = _made(site, known_sources) if len(known_sources) == len(sources) else None
        if ends is not None:
            found[site.output.index] = ends
    return found


def _made(site: Site, sources: list[Ends]) -> Ends | None:
    """The bounds of a node's output, or None where nothing is known of it."""
    if type(site.op) in (Conv2D, DepthwiseConv2D, FullyConnected):
        return _multiplied(site, *sources[0])
    if site.op.name in _OF_ONE_ELEMENT:
        return _every_element(site, *sources[0])
    if site.op.name in _RISING or (site.op.name == "MEAN" and _mean_fits(site)):
        least, largest = ([ends[side] for ends in sources] for side in (0, 1))
        return evaluate(site, least), evaluate(site, largest)
    return None


def _mean_fits(site: Site) -> bool:
    """Whether the sum behind a mean, scaled up, stays within 32 bits."""
    ratio = site["input"].quantization.scale / site.output.quantization.scale
    count = site["input"].type.elements // max(1, site.output.type.elements)
    # The multiplier's fraction is at least a half, so a shift left is less than twice the ratio.
    return 2 * max(1.0, 2 * ratio) * count * 255 < 1 << 31


def _every_element(site: Site, low: Array, high: Array) -> Ends:
    """The function of one element at all 256, and its extremes from each bound to the other."""
    shape = (256,)
    whole = (replace(site["input"], type=replace(site["input"].type, shape=shape)), _shaped(site.output, shape))
    every = evaluate(
        Site(site.node, (("input", whole[0]), ("output", whole[1]))), [np.arange(-128, 128, dtype=np.int8)]
    )
    pairs, places = np.unique(np.stack([low.reshape(-1), high.reshape(-1)]), axis=1, return_inverse=True)
    slices = [every[first + 128 : last + 129] for first, last in pairs.T.astype(np.int64).tolist()]
    where = places.reshape(-1)
    least, largest = (np.array([end(part) for part in slices], np.int8) for end in (np.min, np.max))
    return least[where].reshape(site.output.type.shape), largest[where].reshape(site.output.type.shape)


def _multiplied(site: Site, low: Array, high: Array) -> Ends:
    """The bounds of what a layer that multiplies makes."""
    doubled, safe = _doubled(site), _fits(site)
    limits = Requantization.of(site, site.op.activation)  # type: ignore[attr-defined] # all three have one
    least, largest = (evaluate(doubled, [_beside(first, second)]) for first, second in ((low, high), (high, low)))
    return (
        np.where(safe, least, min(limits.low, limits.high)).astype(np.int8),
        np.where(safe, largest, limits.high).astype(np.int8),
    )


def _fits(site: Site) -> NDArray[np.bool_]:
    """`[O]`: whether bias and products stay within 32 bits, scaled up or not, for any input."""
    layer = Requantization.of(site, site.op.activation)  # type: ignore[attr-defined] # all three have one
    weights = np.abs(site.constant("filter").astype(np.int64))
    axis = 3 if type(site.op) is DepthwiseConv2D else 0
    sums = np.moveaxis(weights, axis, 0).reshape(weights.shape[axis], -1).sum(axis=1)
    room = ((1 << 31) - (1 << 8)) >> np.maximum(layer.shift, 0).astype(np.int64)
    fits: NDArray[np.bool_] = np.abs(layer.bias.astype(np.int64)) + 255 * sums <= room
    return fits


def _beside(first: Array, second: Array) -> Array:
    """Each channel of one array followed by that channel of the other."""
    return np.stack([first, second], axis=-1).reshape(*first.shape[:-1], -1)


def _doubled(site: Site) -> Site:
    """The node with each channel of its input doubled, and its filter split by sign; a depthwise one as groups of two."""
    op, weights = site.op, site["filter"]
    data = site.constant("filter").astype(np.int8)
    if isinstance(op, DepthwiseConv2D):
        op = Conv2D(op.stride, op.padding, op.dilation, op.activation)
        data = data[0].transpose(2, 0, 1)[..., None]
    split = _beside(np.maximum(data, 0), np.minimum(data, 0))
    quantization = weights.quantization
    scales = Quantization(quantization.scales, quantization.zero_points, 0)
    source = site["input"]
    tensors = {
        **dict(site.operands),
        "filter": replace(weights, type=TensorType(split.shape, DType.S8, scales), data=split),
        "input": _shaped(source, (*source.type.shape[:-1], 2 * source.type.shape[-1])),
    }
    return Site(replace(site.node, op=op), tuple(tensors.items()))


def _shaped(tensor: Tensor, shape: tuple[int, ...]) -> Tensor:
    """A tensor of another shape, without elements."""
    return replace(tensor, type=replace(tensor.type, shape=shape), data=None)
