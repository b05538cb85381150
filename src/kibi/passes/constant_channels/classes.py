"""Finds the channels that must be removed together: operators carry them from tensor to tensor one by one."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import lcm

import numpy as np
from numpy.typing import NDArray

from kibi.dtypes import DType
from kibi.ir import Graph, NodeView, Tensor
from kibi.ops.elementwise.add import Add
from kibi.ops.elementwise.logistic import Logistic
from kibi.ops.elementwise.mul import Mul
from kibi.ops.elementwise.quantize import Quantize
from kibi.ops.elementwise.relu import Relu, Relu6
from kibi.ops.movement.pad import Pad
from kibi.ops.movement.reshape import Reshape
from kibi.ops.reductions.mean import Mean
from kibi.ops.windows.average_pool2d import AveragePool2D
from kibi.ops.windows.max_pool2d import MaxPool2D
from kibi.passes.constant_channels.product_layer import ProductLayer

Numbers = NDArray[np.int64]

_CARRIERS = (Relu, Relu6, Logistic, Quantize, MaxPool2D, AveragePool2D, Pad, Mean, Reshape)
_PAIRS = (Add, Mul)


_MOST_CHANNELS = 1 << 18
"""The limit of channels that are examined; all further ones stay."""


def channels_of(tensor: Tensor) -> int:
    """The length of a tensor's last axis; 1 for a scalar."""
    return tensor.type.shape[-1] if tensor.type.shape else 1


@dataclass(frozen=True, slots=True, eq=False)
class ChannelClasses:
    """Channels of computed s8 tensors, in classes that are removed or kept as one.

    Attributes:
        numbers: for each such tensor, by index, the class of each channel.
        is_pinned: true for each class that must stay: model inputs and outputs, state, the caller's buffers, and all that an
            operator without a known rule reads or makes.
    """

    numbers: dict[int, Numbers]
    is_pinned: NDArray[np.bool_]

    @staticmethod
    def of(graph: Graph, layers: tuple[ProductLayer | None, ...]) -> "ChannelClasses":
        """The classes of a graph; `layers` has an entry for each node."""
        union = _Union(graph)
        for index in (*graph.inputs, *graph.outputs):
            union.pin(index)
        for tensor in graph.tensors:
            quantization = tensor.type.quantization
            if tensor.is_state or tensor.is_external or (quantization is not None and quantization.is_per_channel):
                union.pin(tensor.index)
        for view, layer in zip(graph.views, layers, strict=True):
            if not (_join_layer(union, layer) if layer is not None else _join(union, view)):
                for operand in (*view.node.inputs, *view.node.outputs):
                    union.pin(operand)
        return union.classes()


class _Union:
    """A union-find structure over the channels of all tensors: each links towards the first channel of its class."""

    def __init__(self, graph: Graph) -> None:
        # Tensors that no node reads or makes any more stay unchanged.
        touched = {index for node in graph.nodes for index in (*node.inputs, *node.outputs)}
        flowing = [each for each in graph.tensors if each.index in touched and not each.is_constant]
        computed = [each for each in flowing if each.type.dtype is DType.S8]
        self.starts: dict[int, int] = {}
        self.sizes = {each.index: channels_of(each) for each in computed}
        count = 0
        for tensor in computed:
            if count + self.sizes[tensor.index] <= _MOST_CHANNELS:
                self.starts[tensor.index] = count
                count += self.sizes[tensor.index]
        self.links = list(range(count))
        self.pinned: set[int] = set()

    def find(self, slot: int) -> int:
        """Returns the first channel of the class that a channel is in."""
        while self.links[slot] != slot:
            self.links[slot] = self.links[self.links[slot]]
            slot = self.links[slot]
        return slot

    def join(self, first: Tensor, channel: int, second: Tensor, other: int) -> None:
        """Puts two channels into one class."""
        a, b = self.find(self.starts[first.index] + channel), self.find(self.starts[second.index] + other)
        self.links[max(a, b)] = min(a, b)

    def pin(self, index: int | None) -> None:
        """Marks all channels of a tensor as pinned: they stay."""
        if index in self.starts:
            self.pinned.update(range(self.starts[index], self.starts[index] + self.sizes[index]))

    def classes(self) -> ChannelClasses:
        """The classes, numbered in the order of their first channels."""
        roots = [self.find(slot) for slot in range(len(self.links))]
        names = {root: number for number, root in enumerate(sorted(set(roots)))}
        is_pinned = np.zeros(len(names), np.bool_)
        for slot in self.pinned:
            is_pinned[names[roots[slot]]] = True
        every = np.array([names[root] for root in roots], np.int64)
        numbers = {index: every[start : start + self.sizes[index]] for index, start in self.starts.items()}
        return ChannelClasses(numbers, is_pinned)


def _join_layer(union: _Union, layer: ProductLayer) -> bool:
    """Joins the channels of a layer that multiplies; returns false if the layer has no known rule."""
    source, output = layer.view["input"], layer.view.output
    if source.index not in union.starts or layer.is_grouped or layer.features % max(1, channels_of(source)):
        return False
    if layer.is_depthwise:
        multiplier = channels_of(output) // channels_of(source)
        for channel in range(channels_of(output)):
            union.join(source, channel // multiplier, output, channel)
    return True


def _join(union: _Union, view: NodeView) -> bool:
    """Joins the channels that an operator carries from its inputs to its output; returns false if it has no known rule."""
    sources = [tensor for tensor in view.row_tensors if not tensor.is_constant]
    if not _carries(view) or not all(tensor.index in union.starts for tensor in (*sources, view.output)):
        return False
    for source in sources:
        for channel, other in _carried(source, view.output):
            union.join(source, channel, view.output, other)
    return True


def _carries(view: NodeView) -> bool:
    """True if each output channel depends only on the input channels with the same number, so that they can go together."""
    op, output = view.op, view.output
    tensors = view.row_tensors
    if type(op) in _PAIRS:
        # A constant may be one value for all channels.
        return all(
            channels_of(each) == channels_of(output) or (each.is_constant and channels_of(each) == 1)
            for each in tensors
        )
    if type(op) not in _CARRIERS or tensors[0].is_constant:
        return False
    if lcm(channels_of(tensors[0]), channels_of(output)) > _MOST_CHANNELS:
        return False
    if type(op) is Pad:
        return not view.constant("paddings")[-1].any()
    if type(op) is Mean:
        rank = len(tensors[0].type.shape)
        return all((int(axis) + 1) % rank for axis in view.constant("axes").reshape(-1))
    return True


def _carried(source: Tensor, output: Tensor) -> Iterator[tuple[int, int]]:
    """Yields pairs of channels that hold the same element: one by one, or cyclically if the shape changes."""
    first, second = channels_of(source), channels_of(output)
    for element in range(lcm(first, second)):
        yield element % first, element % second
