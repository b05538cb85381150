"""A common view of the layers that multiply by weights: windows of products, summed exactly."""

from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray

from kibi.dtypes import DType
from kibi.ir import NodeView
from kibi.ops.linear.fully_connected import FullyConnected
from kibi.ops.sums.accumulator import Requantization
from kibi.ops.windows.conv2d import Conv2D
from kibi.ops.windows.depthwise_conv2d import DepthwiseConv2D

Int64 = NDArray[np.int64]
Float64 = NDArray[np.float64]
"""Integers below 2**53 in magnitude: exact as floats, and faster to multiply than integers."""

_LARGEST_SUM = (1 << 31) - (1 << 8)
"""A scaled sum of at most that magnitude stays within 32 bits when the zero point is added."""
_MOST_WEIGHTS = 1 << 22
"""Of a filter with its zeros."""
_LARGEST_INPUT = 255
"""The magnitude of an s8 element less a zero point."""


@dataclass(frozen=True, slots=True, eq=False)
class ProductLayer:
    """A CONV_2D, DEPTHWISE_CONV_2D or FULLY_CONNECTED node.

    Attributes:
        view: the node.
        weights: `[KH, KW, F, O]`: for each place under the window and each feature of the input, the weight of each output
            channel; of a depthwise layer `[KH, KW, O]`. A grouped filter is filled up with zeros.
        features: F; the input's channels, or the elements of the vector that a fully connected layer multiplies.
        scaling: bias, multipliers, clamps.
        stride, dilation, before: of height and width; `before` is the padding above and to the left.
    """

    view: NodeView
    weights: Float64
    features: int
    scaling: Requantization
    stride: tuple[int, int] = (1, 1)
    dilation: tuple[int, int] = (1, 1)
    before: tuple[int, int] = (0, 0)

    @staticmethod
    def of(view: NodeView) -> "ProductLayer | None":
        """Returns the layer of a node; None if the node is no such layer or its type is not s8."""
        op = view.op
        if view.output.type.dtype is not DType.S8:
            return None
        if type(op) is FullyConnected:
            weights = view.constant("filter").astype(np.float64).T[None, None]
            return ProductLayer(view, weights, weights.shape[2], Requantization.of(view, op.activation))
        if type(op) is not Conv2D and type(op) is not DepthwiseConv2D:
            return None
        channels = view["input"].type.shape[3]
        if type(op) is Conv2D and prod(view["filter"].type.shape[:3]) * channels > _MOST_WEIGHTS:
            return None  # groups that are filled up with zeros may be many times what the file holds
        data = view.constant("filter").astype(np.float64)
        weights = data[0] if type(op) is DepthwiseConv2D else _dense(data, channels)
        sizes, outputs = view["input"].type.shape[1:3], view.output.type.shape[1:3]
        places = zip(sizes, weights.shape[:2], op.stride, op.dilation, outputs, strict=True)
        top, left = (op.padding.along(axis).before(*place) for axis, place in enumerate(places))
        scaling = Requantization.of(view, op.activation)
        return ProductLayer(view, weights, channels, scaling, op.stride, op.dilation, (top, left))

    @property
    def is_depthwise(self) -> bool:
        """True if each output channel reads one input channel."""
        return self.weights.ndim == 3

    @property
    def is_grouped(self) -> bool:
        """True if it is a grouped convolution: its channels cannot be removed one by one."""
        return type(self.view.op) is Conv2D and self.view["filter"].type.shape[3] < self.features

    @property
    def is_safe(self) -> NDArray[np.bool_]:
        """`[O]`: true for output channels whose sum stays within 32 bits for every input, before and after a left shift."""
        sums = np.abs(self.weights).reshape(-1, self.weights.shape[-1]).sum(axis=0)
        largest = np.abs(self.scaling.bias.astype(np.float64)) + _LARGEST_INPUT * sums
        safe: NDArray[np.bool_] = largest * 2.0 ** np.maximum(self.scaling.shift, 0) <= _LARGEST_SUM
        return safe

    def centred(self, elements: Int64) -> Float64:
        """Subtracts the input's zero point from its elements: `[N, H, W, F]`; in a depthwise layer `[N, H, W, O]`."""
        values = (elements - self.view["input"].quantization.zero_point).astype(np.float64)
        if type(self.view.op) is FullyConnected:
            return values.reshape(-1, 1, 1, self.features)
        return np.repeat(values, self.weights.shape[-1] // self.features, axis=3) if self.is_depthwise else values

    def sums(self, values: Float64, weights: Float64) -> Float64:
        """Returns the sums of products under each window; elements outside the input are 0.

        Args:
            values: `[N, H, W, C]`.
            weights: `[KH, KW, C, O]`, or, depthwise, `[KH, KW, O]` with C == O.

        Returns:
            `[N * OH * OW, O]`.
        """
        height, width = (1, 1) if type(self.view.op) is FullyConnected else self.view.output.type.shape[1:3]
        total = np.zeros((len(values), height, width, weights.shape[-1]))
        for i, j in np.ndindex(*weights.shape[:2]):
            rows, ys = self._inside(0, i, height, values.shape[1])
            columns, xs = self._inside(1, j, width, values.shape[2])
            part = values[:, ys, xs]
            total[:, rows, columns] += part * weights[i, j] if self.is_depthwise else part @ weights[i, j]
        return total.reshape(-1, weights.shape[-1])

    def _inside(self, axis: int, tap: int, outputs: int, size: int) -> tuple[slice, slice]:
        """Returns, along one axis, the outputs whose windows have this tap inside the input, and the elements that it reads.

        Nothing is padded, because dilation may be any 32-bit number.
        """
        start, stride = tap * self.dilation[axis] - self.before[axis], self.stride[axis]
        first, end = max(0, -(start // stride)), min(outputs, -((start - size) // stride))
        if end <= first:
            return slice(0), slice(0)
        low = start + first * stride
        return slice(first, end), slice(low, low + (end - first - 1) * stride + 1, stride)

    def interval(self, low: Int64, high: Int64) -> tuple[Int64, Int64]:
        """Returns the least and the largest value of each output element from those of the input; both can occur.

        For `x` between `l` and `h`, a sum of `w * x` differs from `w * (l + h) / 2` by at most `|w| * (h - l) / 2`.
        """
        first, last = self.centred(low), self.centred(high)
        middle = self.sums(first + last, self.weights)
        spread = self.sums(last - first, np.abs(self.weights))
        shape, scaling, safe = self.view.output.type.shape, self.scaling, self.is_safe
        ends = []
        for sums, end in (
            ((middle - spread) / 2, min(scaling.low, scaling.high)),
            ((middle + spread) / 2, scaling.high),
        ):
            ends.append(np.where(safe, scaling.apply(sums), end).astype(np.int64).reshape(shape))
        return ends[0], ends[1]


def _dense(data: Float64, channels: int) -> Float64:
    """Converts a filter `[O, KH, KW, C / groups]` to `[KH, KW, C, O]`."""
    outputs, rows, columns, depth = data.shape
    weights = np.zeros((rows, columns, channels, outputs))
    each = outputs // (channels // depth)
    for group in range(channels // depth):
        block = data[group * each : (group + 1) * each]
        weights[:, :, group * depth : (group + 1) * depth, group * each : (group + 1) * each] = block.transpose(
            1, 2, 3, 0
        )
    return weights
