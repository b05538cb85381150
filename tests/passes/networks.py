"""Drawn models that have much to leave out: what converters write, and what nobody would."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np
from hypothesis import strategies as st

from kibi.dtypes import DType
from kibi.frontends.tflite.builder import Attribute, ModelBuilder
from tests.support.choices import Choices, Drawn, elements, flip
from tests.support.operator_models import Case

Scale = tuple[float, int]
"""A scale and a zero point."""


@dataclass(frozen=True, slots=True)
class Value:
    """A tensor of the model that is made."""

    index: int
    shape: tuple[int, ...]
    scale: Scale


class Chain:
    """A model that grows operator by operator, each on the last one's output.

    Attributes:
        builder: what writes the file.
        made: the tensors in order; the first is the model's input.
    """

    def __init__(self, shape: Sequence[int], scale: Scale = (0.05, 3), seed: int = 0) -> None:
        self.builder = ModelBuilder()
        self.random = np.random.default_rng(seed)
        self.input_shape = tuple(shape)
        self.made = [Value(self.builder.input(shape, DType.S8, *scale), self.input_shape, scale)]

    @property
    def last(self) -> Value:
        """The tensor that was made last."""
        return self.made[-1]

    def then(
        self,
        name: str,
        shape: Sequence[int],
        scale: Scale | None = None,
        *others: int,
        **attributes: Attribute,
    ) -> "Chain":
        """Apply an operator to the last tensor and others; without a scale its output has the last tensor's."""
        kept = scale or self.last.scale
        output = self.builder.tensor(shape, DType.S8, *kept)
        self.builder.operator(name, [self.last.index, *others], [output], attributes)
        self.made.append(Value(output, tuple(shape), kept))
        return self

    def weights(self, *shape: int) -> int:
        """A filter."""
        return self.builder.constant(self.random.integers(-127, 128, shape).astype(np.int8), 0.01, 0)

    def conv(
        self, channels: int, kernel: tuple[int, int], padding: str = "VALID", stride: int = 1, dilation: int = 1,
        activation: str = "NONE", scale: Scale = (0.4, -7),
    ) -> "Chain":  # fmt: skip
        """CONV_2D."""
        batch, *sizes, depth = self.last.shape
        outputs = [_windows(size, k, padding, stride, dilation) for size, k in zip(sizes, kernel, strict=True)]
        return self.then(
            "CONV_2D", (batch, *outputs, channels), scale, self.weights(channels, *kernel, depth), padding=padding,
            stride_h=stride, stride_w=stride, dilation_h_factor=dilation, dilation_w_factor=dilation,
            fused_activation_function=activation,
        )  # fmt: skip

    def depthwise(self, kernel: tuple[int, int], padding: str = "VALID", stride: int = 1) -> "Chain":
        """DEPTHWISE_CONV_2D."""
        batch, *sizes, depth = self.last.shape
        outputs = [_windows(size, k, padding, stride, 1) for size, k in zip(sizes, kernel, strict=True)]
        return self.then(
            "DEPTHWISE_CONV_2D", (batch, *outputs, depth), (0.3, 11), self.weights(1, *kernel, depth), padding=padding,
            stride_h=stride, stride_w=stride, depth_multiplier=1,
        )  # fmt: skip

    def pool(
        self, name: str, kernel: tuple[int, int], padding: str = "VALID", stride: int = 1, activation: str = "NONE"
    ) -> "Chain":
        """MAX_POOL_2D or AVERAGE_POOL_2D."""
        batch, *sizes, depth = self.last.shape
        outputs = [_windows(size, k, padding, stride, 1) for size, k in zip(sizes, kernel, strict=True)]
        return self.then(
            name, (batch, *outputs, depth), padding=padding, stride_h=stride, stride_w=stride, filter_height=kernel[0],
            filter_width=kernel[1], fused_activation_function=activation,
        )  # fmt: skip

    def pad(self, *pads: tuple[int, int]) -> "Chain":
        """PAD."""
        shape = [size + sum(pair) for size, pair in zip(self.last.shape, pads, strict=True)]
        return self.then("PAD", shape, None, self.builder.constant(np.array(pads, np.int32)))

    def same(self, name: str, scale: Scale | None = None) -> "Chain":
        """An operator on single elements."""
        return self.then(name, self.last.shape, scale)

    def by_floats(self, scale: Scale) -> "Chain":
        """DEQUANTIZE and QUANTIZE into a scale."""
        real = self.builder.tensor(self.last.shape, DType.F32)
        self.builder.operator("DEQUANTIZE", [self.last.index], [real])
        output = self.builder.tensor(self.last.shape, DType.S8, *scale)
        self.builder.operator("QUANTIZE", [real], [output])
        self.made.append(Value(output, self.last.shape, scale))
        return self

    def connected(
        self, channels: int, depth: int, shape: Sequence[int] | None = None, *, keep: bool = False
    ) -> "Chain":
        """FULLY_CONNECTED on vectors of `depth`."""
        leading = self.last.shape[:-1] if keep else (prod(self.last.shape) // depth,)
        return self.then(
            "FULLY_CONNECTED",
            shape or (*leading, channels),
            (0.5, 2),
            self.weights(channels, depth),
            keep_num_dims=keep,
        )

    def softmax(self) -> "Chain":
        """SOFTMAX."""
        return self.then("SOFTMAX", self.last.shape, (1 / 256, -128), beta=1.0)

    def reshape(self, *shape: int) -> "Chain":
        """RESHAPE."""
        return self.then("RESHAPE", shape, None, self.builder.constant(np.array(shape, np.int32)))

    def case(self, *outputs: int, style: Choices | None = None) -> Case:
        """The model, with the last tensor as its output, or others, and an input for it."""
        numbers = self.random.integers(-128, 128, self.input_shape).astype(np.int8)
        data = numbers if style is None else elements(style, self.input_shape)
        return Case("NETWORK", self.builder.finish(outputs=outputs or [self.last.index]), (data,))


def _windows(size: int, kernel: int, padding: str, stride: int, dilation: int) -> int:
    effective = (kernel - 1) * dilation + 1
    return -(-size // stride) if padding == "SAME" else (size - effective) // stride + 1


def _padded_window(net: Chain, c: Choices) -> None:
    """PAD in front of one or two windows, of which not all take it over."""
    sizes = c.integer(2, 3), c.integer(2, 3)
    net.pad(
        (0, 0), *((c.integer(0, size - 1), c.integer(0, size - 1)) for size in sizes), (0, int(not c.integer(0, 5)))
    )
    height, width = net.last.shape[1:3]
    kernel = min(height, sizes[0]), min(width, sizes[1])
    padding, stride = c.one_of(("VALID", "VALID", "SAME")), c.one_of((1, 1, 2))
    padded = net.last
    name = c.one_of(("CONV_2D", "DEPTHWISE_CONV_2D", "MAX_POOL_2D", "AVERAGE_POOL_2D"))
    if name == "CONV_2D":
        dilation = 2 if flip(c) and max(kernel) * 2 - 1 <= min(height, width) else 1
        net.conv(c.integer(1, 5), kernel, padding, stride, dilation)
        if flip(c):
            other = net.last
            net.made.append(padded)
            net.conv(other.shape[3], kernel, padding, stride, dilation, scale=other.scale)
            net.then("ADD", other.shape, (0.7, 1), other.index)
    elif name == "DEPTHWISE_CONV_2D":
        net.depthwise(kernel, padding, stride)
    else:
        net.pool(name, kernel, padding, stride, c.one_of(("NONE", "RELU")))


def _clamped(net: Chain, c: Choices) -> None:
    """A producer with or without an activation, then activations, in the same scale or another."""
    scale = c.one_of(((0.05, -128), (0.05, 0), (0.01, 4)))
    net.conv(c.integer(1, 4), (1, 1), activation=c.one_of(("NONE", "RELU", "RELU_N1_TO_1")), scale=scale)
    for _ in range(c.integer(1, 2)):
        name = c.one_of(("RELU", "RELU6", "QUANTIZE", "ADD"))
        if name == "ADD":
            ones = net.builder.constant(np.full(net.last.shape[-1:], c.one_of((0, 0, 3)), np.int8), 0.05, 0)
            net.then("ADD", net.last.shape, None, ones)
        else:
            net.same(name, c.one_of((None, None, (0.02, 5))))


def _scales(net: Chain, c: Choices) -> None:
    """Changes of scale one behind another."""
    for _ in range(c.integer(1, 3)):
        scale, zero_point = net.last.scale
        to = c.one_of((net.last.scale, (scale * 2, zero_point), (scale, zero_point // 2), (0.11, -3)))
        if flip(c):
            net.same("QUANTIZE", to)
        else:
            net.by_floats(to)


def _shapes(net: Chain, c: Choices) -> None:
    """RESHAPEs around operators on single elements, back to an image in the end."""
    batch, height, width, depth = net.last.shape
    for _ in range(c.integer(1, 2)):
        net.reshape(*c.one_of(((batch, height * width * depth), (batch, 1, height, width * depth), net.last.shape)))
        if flip(c):
            net.same(c.one_of(("RELU", "RELU6")))
    net.reshape(batch, *c.one_of(((width, height), (height, width))), depth)


def _moves(net: Chain, c: Choices) -> None:
    """A slice that is mostly of everything, then a concatenation of one, or two."""
    shape = list(net.last.shape)
    part = [*shape[:3], c.integer(1, shape[3])] if not c.integer(0, 3) else shape
    begins, sizes = (net.builder.constant(np.array(each, np.int32)) for each in ([0] * 4, part))
    net.then("SLICE", part, None, begins, sizes)
    if not c.integer(0, 3):
        net.then("CONCATENATION", [*part[:3], 2 * part[3]], None, net.last.index, axis=3)
    else:
        net.then("CONCATENATION", part, None, axis=3)


def _unread(net: Chain, c: Choices) -> None:
    """An operator that nobody reads, and a second one behind it."""
    before = net.last
    net.conv(c.integer(1, 3), (1, 1))
    if flip(c):
        net.same("RELU")
    net.made.append(before)


def _shortcut(net: Chain, c: Choices) -> None:
    """A window with a stride, and a pointwise convolution with the same stride beside it, added up."""
    before, channels = net.last, net.last.shape[3] * c.integer(1, 3)
    size, stride = c.one_of((1, 3, 3)), c.one_of((1, 2, 2, 3))
    net.conv(channels, (size, size), "SAME", stride)
    long = net.last
    net.made.append(before)
    net.conv(channels, (1, 1), c.one_of(("SAME", "VALID")), stride)
    net.then("ADD", long.shape, (0.7, 1), long.index)


_PARTS: tuple[Callable[[Chain, Choices], None], ...] = (
    _padded_window,
    _clamped,
    _scales,
    _shapes,
    _moves,
    _unread,
    _shortcut,
)


def foldable(c: Choices) -> Case:
    """One to three parts that passes look for; then, now and then, a classifier."""
    shape = (c.one_of((1, 1, 2)), c.integer(1, 5), c.integer(1, 5), c.integer(1, 3))
    scale = c.one_of(((0.05, 3), (0.05, -128)))
    net = Chain(shape, scale, c.integer(0, 1 << 20))
    for _ in range(c.integer(1, 3)):
        c.one_of(_PARTS)(net, c)
    if flip(c):
        batch, depth = net.last.shape[0], prod(net.last.shape[1:])
        if flip(c):
            net.reshape(batch, depth)
        net.connected(4, depth).reshape(batch, 1, 1, 4).softmax()
        if flip(c):
            net.reshape(batch, 4)
    if net.last.index == net.made[0].index:
        net.same("RELU")
    return net.case(style=c)


@st.composite
def foldables(draw: st.DrawFn) -> Case:
    """Models that passes find something in."""
    return foldable(Drawn(draw))
