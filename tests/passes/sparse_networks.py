"""Drawn networks with what makes channels constant or unused: zero filters, zero columns, biases at the extremes, borders."""

from math import prod

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from kibi.dtypes import DType
from kibi.frontends.tflite import parse_tflite
from kibi.frontends.tflite.builder import Attribute, ModelBuilder
from kibi.ir import Graph
from kibi.passes.whole_tensors import evaluate
from tests.support.choices import Choices, Drawn, flip

_BIASES = (0, 0, 300, -300, 60_000, -60_000, 1 << 24, -(1 << 24), (1 << 31) - 1, -(1 << 31))


class SparseNetwork:
    """A model that grows by one operator at a time; `made` has (tensor, shape, scale, zero point) of each output."""

    def __init__(self, c: Choices, channels: int = 3) -> None:
        self.c = c
        self.builder = ModelBuilder()
        shape = (c.one_of((1, 1, 2)), c.integer(2, 5), c.integer(1, 5), channels)
        self.made: list[tuple[int, tuple[int, ...], float, int]] = []
        self._add(self.builder.input(shape, DType.S8, 0.05, 3, name="image"), shape, 0.05, 3)

    def _add(self, tensor: int, shape: tuple[int, ...], scale: float, zero_point: int) -> None:
        self.made.append((tensor, shape, scale, zero_point))

    def then(self, name: str, shape: tuple[int, ...], *more: int, **attributes: Attribute) -> None:
        """An operator on the last tensor and further operands; `fresh`: with a scale of its own."""
        source, _, scale, zero_point = self.made[-1]
        if attributes.pop("fresh", False):
            scale = float(np.float32(scale * self.c.integer(1, 30) / 10))
            zero_point = self.c.one_of((-128, 0, 127, self.c.integer(-128, 127)))
        output = self.builder.tensor(shape, DType.S8, scale, zero_point)
        self.builder.operator(name, [source, *more], [output], attributes)
        self._add(output, shape, scale, zero_point)

    def _weights(self, shape: tuple[int, ...], outputs: int, inputs: int | None) -> NDArray[np.int8]:
        """Weights of which whole output and input channels are zero."""
        rng = np.random.default_rng(self.c.integer(0, 1 << 16))
        weights = rng.integers(-127, 128, shape) // self.c.one_of((1, 1, 40))
        output_mask = rng.random(shape[outputs]) < 0.6
        weights *= output_mask.reshape([-1 if axis == outputs else 1 for axis in range(len(shape))])
        if inputs is not None:
            input_mask = rng.random(shape[inputs]) < 0.7
            weights *= input_mask.reshape([-1 if axis == inputs else 1 for axis in range(len(shape))])
        return weights.astype(np.int8)

    def layer(self, name: str, kernel: tuple[int, ...], shape: tuple[int, ...], **attributes: Attribute) -> None:
        """A layer with a sparse filter of that shape, with or without bias, scaled per channel or not."""
        axis = 3 if name == "DEPTHWISE_CONV_2D" else 0
        inputs = None if name == "DEPTHWISE_CONV_2D" else len(kernel) - 1
        weights = self._weights(kernel, axis, inputs)
        count = shape[-1]
        scales = [0.01 + 0.002 * k for k in range(count)] if flip(self.c) and name != "FULLY_CONNECTED" else [0.01]
        operands = [self.builder.constant(weights, scales, [0] * len(scales), axis=axis)]
        if name == "DEPTHWISE_CONV_2D" or flip(self.c):
            rng = np.random.default_rng(self.c.integer(0, 1 << 16))
            bias = rng.choice(np.array(_BIASES[: self.c.one_of((3, 8, 8, 10))]), count).astype(np.int32)
            operands.append(self.builder.constant(bias))
        activation = self.c.one_of(("NONE", "RELU", "RELU6"))
        self.then(name, shape, *operands, fresh=True, fused_activation_function=activation, **attributes)

    def convolution(self) -> None:
        """1 x 1 or larger, padded or not, dilated or not, in groups now and then."""
        batch, height, width, channels = self.made[-1][1]
        size, dilation = self.c.one_of((1, 1, 2, 3)), self.c.one_of((1, 1, 1, 2))
        outputs, stride = self.c.one_of((channels, self.c.integer(1, 7))), self.c.one_of((1, 1, 2))
        groups = self.c.one_of((1, 1, 1, 1, 2)) if channels % 2 == outputs % 2 == 0 else 1
        reach = (size - 1) * dilation
        padding = "SAME" if flip(self.c) or reach >= min(height, width) else "VALID"
        reach = 0 if padding == "SAME" else reach
        shape = (batch, (height - reach - 1) // stride + 1, (width - reach - 1) // stride + 1, outputs)
        attributes: dict[str, Attribute] = {"padding": padding, "stride_h": stride, "stride_w": stride}
        attributes |= {"dilation_h_factor": dilation, "dilation_w_factor": dilation}
        self.layer("CONV_2D", (outputs, size, size, channels // groups), shape, **attributes)

    def depthwise(self) -> None:
        """3 x 3, padded, with a depth multiplier."""
        batch, height, width, channels = self.made[-1][1]
        multiplier = self.c.one_of((1, 1, 2)) if channels < 8 else 1
        kernel, shape = (1, 3, 3, channels * multiplier), (batch, height, width, channels * multiplier)
        attributes: dict[str, Attribute] = {"padding": "SAME", "stride_h": 1, "stride_w": 1}
        self.layer("DEPTHWISE_CONV_2D", kernel, shape, depth_multiplier=multiplier, **attributes)

    def residual(self) -> None:
        """ADD of an earlier tensor of the same shape, or of a constant for each channel."""
        shape = self.made[-1][1]
        earlier = [tensor for tensor, other, _, _ in self.made if other == shape]
        rng = np.random.default_rng(self.c.integer(0, 1 << 16))
        constant = self.builder.constant(rng.integers(-128, 128, shape[-1:]).astype(np.int8), 0.02, 5)
        other = self.c.one_of(earlier) if flip(self.c) else constant
        self.then(self.c.one_of(("ADD", "ADD", "MUL")), shape, other, fresh=True, fused_activation_function="NONE")

    def pooling(self) -> None:
        """2 x 2, padded."""
        batch, height, width, channels = self.made[-1][1]
        window: dict[str, Attribute] = {"filter_height": 2, "filter_width": 2, "stride_h": 1, "stride_w": 1}
        name = self.c.one_of(("MAX_POOL_2D", "AVERAGE_POOL_2D"))
        self.then(name, (batch, height, width, channels), padding="SAME", **window)

    def other(self) -> None:
        """What carries channels along: a border, tables."""
        batch, height, width, channels = self.made[-1][1]
        name = self.c.one_of(("PAD", "RELU", "RELU6", "QUANTIZE"))
        if name == "PAD":
            pads = self.builder.constant(np.array([(0, 0), (1, 0), (0, 1), (0, 0)], np.int32))
            self.then(name, (batch, height + 1, width + 1, channels), pads)
        else:
            self.then(name, self.made[-1][1], fresh=name == "QUANTIZE")

    def head(self) -> None:
        """A classifier on a mean, on a reshaped image, or on the image as it is."""
        batch, *_, channels = self.made[-1][1]
        how = self.c.one_of(("MEAN", "RESHAPE", "at once"))
        if how == "MEAN":
            axes = self.builder.constant(np.array([1, 2], np.int32))
            self.then(how, (batch, channels), axes, keep_dims=False)
        elif how == "RESHAPE":
            size = prod(self.made[-1][1][1:])
            self.then(how, (batch, size), self.builder.constant(np.array([batch, size], np.int32)))
        self.layer("FULLY_CONNECTED", (4, prod(self.made[-1][1][1:])), (batch, 4))


def sparse_graph(c: Choices) -> Graph:
    """Three to eight operators, the last of which gives the output; now and then the one before it is an output, too."""
    net = SparseNetwork(c, c.integer(1, 4))
    steps = (net.convolution, net.convolution, net.depthwise, net.depthwise, net.residual, net.pooling, net.other)
    for _ in range(c.integer(2, 7)):
        c.one_of(steps)()
    if flip(c):
        net.head()
    else:
        net.convolution()
    outputs = [net.made[-1][0], *([net.made[-2][0]] if c.integer(0, 9) == 9 else [])]
    return parse_tflite(net.builder.finish(outputs=outputs), "sparse.tflite")


@st.composite
def sparse_graphs(draw: st.DrawFn) -> Graph:
    """Networks with constant and unused channels."""
    return sparse_graph(Drawn(draw))


def inputs_of(graph: Graph, seed: int) -> list[list[NDArray[np.int8]]]:
    """Noise, both ends of the range, and a mixture of them, for each input."""
    rng = np.random.default_rng(seed)
    kinds = [graph.tensors[index].type for index in graph.inputs]
    ranges = ((-128, 128), (-128, -127), (127, 128), (0, 6))
    drawn = [[rng.integers(low, high, kind.shape).astype(np.int8) for kind in kinds] for low, high in ranges]
    return [*drawn, [rng.choice(np.array([-128, 127], np.int8), kind.shape) for kind in kinds]]


def answers(graph: Graph, inputs: list[NDArray[np.int8]]) -> dict[int, NDArray[np.int8]]:
    """Every s8 tensor of a graph, by index, on whole tensors."""
    constants = [tensor for tensor in graph.tensors if tensor.type.dtype is DType.S8]
    found = {tensor.index: tensor.data.astype(np.int8) for tensor in constants if tensor.data is not None}
    found |= dict(zip(graph.inputs, inputs, strict=True))
    for view in graph.views:
        made = evaluate(view, [found[tensor.index] for tensor in view.row_tensors])
        found[view.output.index] = made.astype(np.int8)
    return found
