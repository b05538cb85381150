"""Layers of usual shapes, as graphs of one operator: pointwise, depthwise, 3 x 3 and fully connected."""

from dataclasses import replace

import numpy as np

from kibi.dtypes import Array, DType
from kibi.ir import Graph, Node, Quantization, Tensor, TensorType, verify
from kibi.ops.attributes import Padding
from kibi.ops.linear.fully_connected import FullyConnected
from kibi.ops.windows.conv2d import Conv2D
from kibi.ops.windows.depthwise_conv2d import DepthwiseConv2D

_Shapes = dict[str, tuple[Conv2D | DepthwiseConv2D | FullyConnected, tuple[int, ...], tuple[int, ...], int]]
_SHAPES: _Shapes = {
    "pw": (Conv2D(), (1, 25, 5, 64), (64, 1, 1, 64), 0),
    "dw": (DepthwiseConv2D(padding=Padding.SAME), (1, 25, 5, 64), (1, 3, 3, 64), 3),
    "c3": (Conv2D(padding=Padding.SAME), (1, 32, 32, 16), (16, 3, 3, 16), 0),
    "fc": (FullyConnected(), (1, 640), (128, 640), 0),
}
"""For each layer the operator, the shapes of input and filter, and the filter's axis of output channels."""
_INT4_SHAPES: _Shapes = {
    "pw": (Conv2D(), (1, 8, 8, 64), (64, 1, 1, 64), 0),
    "c3": (Conv2D(padding=Padding.SAME), (1, 16, 16, 16), (32, 3, 3, 16), 0),
    "fc": (FullyConnected(), (1, 640), (128, 640), 0),
}
"""The same for weights of int4."""


def layers() -> dict[str, Graph]:
    """The layers by name, with seeded weights and a scale for each output channel."""
    return {name: _layer(name, _SHAPES) for name in _SHAPES}


def int4_layers() -> dict[str, Graph]:
    """The layers with weights of int4: those of the others by sixteen, with scales that are sixteen times as large."""
    return {name: _layer(name, _INT4_SHAPES, is_int4=True) for name in _INT4_SHAPES}


def _layer(name: str, shapes: _Shapes, *, is_int4: bool = False) -> Graph:
    op, shape, filter_shape, axis = shapes[name]
    rng = np.random.default_rng(0)
    channels = filter_shape[axis]
    weights = rng.integers(-127, 128, filter_shape).astype(np.int8)
    bias = rng.integers(-1000, 1000, channels).astype(np.int32)
    scales = tuple(float(np.float32(each)) for each in rng.uniform(0.002, 0.004, channels))
    depth = weights.size // channels
    if is_int4:
        weights, scales = weights >> 4, tuple(16 * scale for scale in scales)
    output_scale = 0.1 * 0.003 * 73 * float(np.sqrt(depth))
    output_shape = (1, channels) if len(shape) == 2 else (*shape[:3], channels)
    tensors = (
        _tensor(0, "input", shape, DType.S8, (0.1,), 5),
        replace(_tensor(1, "filter", filter_shape, DType.S8, scales, 0, axis, weights), is_int4=is_int4),
        _tensor(2, "bias", (channels,), DType.S32, tuple(0.1 * each for each in scales), 0, 0, bias),
        _tensor(3, "output", output_shape, DType.S8, (output_scale,), -3),
    )
    return verify(Graph(f"layer_{name}", f"layer_{name}", tensors, (Node(op, (0, 1, 2), (3,), 0),), (0,), (3,)))


def _tensor(
    index: int,
    name: str,
    shape: tuple[int, ...],
    dtype: DType,
    scales: tuple[float, ...],
    zero_point: int,
    axis: int = 0,
    data: Array | None = None,
) -> Tensor:
    kind = TensorType(shape, dtype, Quantization(scales, (zero_point,) * len(scales), axis))
    return Tensor(index, name, kind, data)
