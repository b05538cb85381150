"""Cuts channels out of tensors, filters, biases and scales; adds what they contributed to biases."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from kibi.dtypes import Array, DType
from kibi.ir import Graph, Node, NodeView, Quantization, Tensor, TensorType, verify
from kibi.ops.linear.fully_connected import FullyConnected
from kibi.ops.movement.reshape import Reshape
from kibi.ops.windows.conv2d import Conv2D
from kibi.ops.windows.depthwise_conv2d import DepthwiseConv2D

Kept = NDArray[np.bool_]


def remove_channels(graph: Graph, kept: Mapping[int, Kept], shares: Mapping[int, NDArray[np.int64]]) -> Graph:
    """Returns the graph without some channels.

    Args:
        graph: a verified graph.
        kept: for each tensor that loses channels, by index, which of them stay.
        shares: for each node, by its place, the numbers `[O]` to add to its bias, for all output channels before the removal.

    Raises:
        ModelError: a rule of an operator does not hold for what is left; the channels do not fit together.
    """
    cutter = _Cutter(graph, kept)
    nodes = tuple(cutter.node(view, shares.get(place)) for place, view in enumerate(graph.views))
    return verify(replace(graph, tensors=tuple(cutter.tensors), nodes=nodes))


class _Cutter:
    """The tensors of a graph as they change, node by node."""

    def __init__(self, graph: Graph, kept: Mapping[int, Kept]) -> None:
        self.kept = kept
        self.tensors = [_cut_computed(tensor, kept.get(tensor.index)) for tensor in graph.tensors]
        used = Counter(index for node in graph.nodes for index in node.inputs if index is not None)
        self.uses = used + Counter(graph.outputs)

    def node(self, view: NodeView, share: NDArray[np.int64] | None) -> Node:
        """Returns a node that reads and writes the shortened tensors."""
        touched = any(tensor is not None and tensor.index in self.kept for _, tensor in view.operands)
        added = share is not None and bool(share.any())
        if not (touched or added):
            return view.node
        if type(view.op) in (Conv2D, DepthwiseConv2D, FullyConnected):
            return self._layer(view, share if added else None)
        if type(view.op) is Reshape:
            # The operand with the new shape is optional, and its numbers no longer hold.
            return replace(view.node, inputs=view.node.inputs[:1])
        return self._constants(view)

    def _layer(self, view: NodeView, share: NDArray[np.int64] | None) -> Node:
        """Returns a layer without the removed rows and columns of its filter."""
        outputs = self._mask(view.output)
        inputs = self._mask(view["input"])
        weights, bias = view["filter"], view.find("bias")
        data = view.constant("filter")
        if type(view.op) is Conv2D:
            data, axis = data[outputs][..., inputs if data.shape[3] == len(inputs) else slice(None)], 0
        elif type(view.op) is DepthwiseConv2D:
            data, axis = data[..., outputs], 3
        else:
            data, axis = data[outputs][:, np.resize(inputs, data.shape[1])], 0
        operands: list[int | None] = [view.node.inputs[0], self._constant(view, weights, data, outputs, axis)]
        if bias is not None:
            sums = view.constant("bias").reshape(-1).astype(np.int64) + (0 if share is None else share)
            operands.append(self._constant(view, bias, sums[outputs].astype(np.int32), outputs, 0))
        elif share is not None:
            operands.append(self._new_bias(view, share[outputs].astype(np.int32)))
        return replace(view.node, inputs=tuple(operands))

    def _constants(self, view: NodeView) -> Node:
        """Returns a node whose constants by channel, if any, lose the same channels as its output."""
        kept = self._mask(view.output)
        operands: list[int | None] = []
        for index, tensor in zip(view.node.inputs, view.operands, strict=False):
            constant = tensor[1]
            by_channel = constant is not None and constant.is_constant and tensor[0] in view.op.row_inputs
            if (
                constant is not None
                and constant.data is not None
                and by_channel
                and constant.type.shape[-1:] == kept.shape
            ):
                operands.append(self._constant(view, constant, constant.data[..., kept], kept, constant.data.ndim - 1))
            else:
                operands.append(index)
        return replace(view.node, inputs=tuple(operands))

    def _mask(self, tensor: Tensor) -> Kept:
        """Which channels of a tensor stay."""
        size = tensor.type.shape[-1] if tensor.type.shape else 1
        return self.kept.get(tensor.index, np.ones(size, np.bool_))

    def _constant(self, view: NodeView, tensor: Tensor, data: Array, kept: Kept, axis: int) -> int:
        """Returns a constant with other elements: it replaces the old one if nobody else reads that, else it comes last."""
        original = tensor.data
        if original is not None and data.shape == original.shape and np.array_equal(data, original):
            return tensor.index
        kind = TensorType(data.shape, tensor.type.dtype, _cut_scales(tensor.type.quantization, kept, axis))
        if self.uses[tensor.index] == 1:
            self.tensors[tensor.index] = replace(tensor, type=kind, data=_frozen(data))
            return tensor.index
        return self._append(f"{tensor.name}/operator{view.node.source}", kind, data)

    def _new_bias(self, view: NodeView, data: Array) -> int:
        """Adds a bias to a layer without one, and returns its index."""
        scales = view["filter"].quantization.scales
        scale = view["input"].quantization.scale
        kept = self._mask(view.output)
        chosen = _cut_scales(Quantization(tuple(scale * each for each in scales), (0,) * len(scales)), kept, 0)
        name = f"{view.output.name}/bias"
        return self._append(name, TensorType(data.shape, DType.S32, chosen), data)

    def _append(self, name: str, kind: TensorType, data: Array) -> int:
        self.tensors.append(Tensor(len(self.tensors), name, kind, _frozen(data)))
        return len(self.tensors) - 1


def _cut_computed(tensor: Tensor, kept: Kept | None) -> Tensor:
    """Returns a computed tensor with a shorter last axis."""
    if kept is None:
        return tensor
    return replace(tensor, type=replace(tensor.type, shape=(*tensor.type.shape[:-1], int(kept.sum()))))


def _cut_scales(quantization: Quantization | None, kept: Kept, axis: int) -> Quantization | None:
    """Returns the scales of the channels that stay, if each channel has its own scale."""
    if quantization is None or not quantization.is_per_channel or len(quantization.scales) != len(kept):
        return quantization
    pairs = zip(quantization.scales, quantization.zero_points, kept, strict=True)
    chosen = [(scale, zero_point) for scale, zero_point, stays in pairs if stays]
    return Quantization(tuple(scale for scale, _ in chosen), tuple(zero for _, zero in chosen), axis)


def _frozen(data: Array) -> Array:
    """The elements, read-only."""
    copy = np.ascontiguousarray(data)
    copy.flags.writeable = False
    return copy
