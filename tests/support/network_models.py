"""Drawn models of several operators, one behind the other, some with a second look at an earlier tensor."""

from collections.abc import Callable
from dataclasses import dataclass
from math import prod

import numpy as np
from hypothesis import strategies as st

from kibi.dtypes import DType
from kibi.frontends.tflite.builder import Attribute, ModelBuilder
from tests.support.choices import Choices, Drawn, elements, flip
from tests.support.operator_models import Case

_UNIT = (1 / 256, -128)


@dataclass(frozen=True, slots=True)
class _Value:
    """A tensor of the network that was made."""

    index: int
    shape: tuple[int, ...]
    scale: float
    zero_point: int


class _Network:
    """A model that grows by one operator at a time; of its input's channels there are at most so many, and one more of others."""

    def __init__(self, c: Choices, most_channels: int) -> None:
        self.c = c
        self.builder = ModelBuilder()
        self.most_channels = most_channels
        shape = (c.one_of((1, 1, 2)), c.integer(3, 8), c.integer(2, 8), c.integer(1, most_channels))
        self.input_shape = shape
        self.made = [_Value(self.builder.input(shape, DType.S8, 0.05, 3), shape, 0.05, 3)]

    @property
    def last(self) -> _Value:
        return self.made[-1]

    def then(
        self, name: str, operands: list[int], shape: tuple[int, ...], quantization: tuple[float, int] | None = None,
        **attributes: Attribute,
    ) -> None:  # fmt: skip
        """Apply an operator; its output has the last tensor's quantization or one of its own."""
        scale, zero_point = quantization or (self.last.scale, self.last.zero_point)
        output = self.builder.tensor(shape, DType.S8, scale, zero_point)
        self.builder.operator(name, operands, [output], attributes)
        self.made.append(_Value(output, shape, scale, zero_point))

    def fresh(self) -> tuple[float, int]:
        """An ordinary quantization for sums of products."""
        return float(np.float32(self.last.scale * self.c.integer(2, 40) / 10)), self.c.integer(-40, 40)

    def weights(self, shape: tuple[int, ...]) -> int:
        return self.builder.constant(elements(self.c, shape), 0.01, 0)


def _convolution(net: _Network) -> None:
    batch, height, width, channels = net.last.shape
    outputs, stride = net.c.one_of((channels, net.c.integer(1, net.most_channels + 1))), net.c.one_of((1, 1, 2))
    kernel = net.weights((outputs, net.c.integer(1, 3), net.c.integer(1, 3), channels))
    shape = (batch, -(-height // stride), -(-width // stride), outputs)
    net.then(
        "CONV_2D", [net.last.index, kernel], shape, net.fresh(), padding="SAME", stride_h=stride, stride_w=stride,
        fused_activation_function=net.c.one_of(("NONE", "RELU")),
    )  # fmt: skip


def _depthwise(net: _Network) -> None:
    kernel = net.weights((1, net.c.integer(1, 3), net.c.integer(1, 3), net.last.shape[3]))
    net.then(
        "DEPTHWISE_CONV_2D", [net.last.index, kernel], net.last.shape, net.fresh(), padding="SAME", stride_h=1,
        stride_w=1, depth_multiplier=1,
    )  # fmt: skip


def _pool(net: _Network) -> None:
    batch, height, width, channels = net.last.shape
    shape = (batch, -(-height // 2), -(-width // 2), channels)
    net.then(
        net.c.one_of(("MAX_POOL_2D", "AVERAGE_POOL_2D")), [net.last.index], shape, padding="SAME", stride_h=2,
        stride_w=2, filter_height=net.c.integer(1, 3), filter_width=net.c.integer(1, 3),
    )  # fmt: skip


def _pad(net: _Network) -> None:
    pads = [(0, 0), (net.c.integer(0, 1), 1), (1, net.c.integer(0, 1)), (0, 0)]
    shape = tuple(size + sum(pair) for size, pair in zip(net.last.shape, pads, strict=True))
    net.then("PAD", [net.last.index, net.builder.constant(np.array(pads, np.int32))], shape)


def _elementwise(net: _Network) -> None:
    """ADD or MUL with an earlier tensor of the same shape, or with a constant for each channel."""
    shape = net.last.shape
    earlier = [value.index for value in net.made if value.shape == shape]
    other = net.c.one_of(earlier) if flip(net.c) else net.builder.constant(elements(net.c, shape[-1:]), 0.02, 5)
    net.then(net.c.one_of(("ADD", "MUL")), [net.last.index, other], shape, net.fresh())


def _table(net: _Network) -> None:
    name = net.c.one_of(("RELU", "RELU6", "LOGISTIC", "QUANTIZE"))
    kept = (net.last.scale, net.last.zero_point)
    quantization = {"LOGISTIC": _UNIT, "QUANTIZE": net.fresh()}.get(name, kept)
    net.then(name, [net.last.index], net.last.shape, quantization)


def _swap(net: _Network) -> None:
    """RESHAPE to an image of another height."""
    batch, height, width, channels = net.last.shape
    net.then("RESHAPE", [net.last.index], (batch, width, height * channels, 1))


_ON_IMAGES: tuple[Callable[[_Network], None], ...] = (
    _convolution, _depthwise, _pool, _pad, _elementwise, _table, _swap,
)  # fmt: skip


def _head(net: _Network) -> None:
    """From an image to classes, by a mean, a global pooling, a reshaping, or at once."""
    batch, height, width, channels = net.last.shape
    how = net.c.one_of(("MEAN", "AVERAGE_POOL_2D", "MAX_POOL_2D", "RESHAPE", "at once"))
    if how == "MEAN":
        axes = net.builder.constant(np.array([1, 2], np.int32))
        net.then("MEAN", [net.last.index, axes], (batch, channels), keep_dims=False)
    elif how == "RESHAPE":
        net.then("RESHAPE", [net.last.index], (batch, prod(net.last.shape[1:])))
    elif how != "at once":
        net.then(
            how, [net.last.index], (batch, 1, 1, channels), padding="VALID", stride_h=1, stride_w=1,
            filter_height=height, filter_width=width,
        )  # fmt: skip
    classes = net.c.integer(1, net.most_channels + 1)
    kernel = net.weights((classes, prod(net.last.shape[1:])))
    net.then("FULLY_CONNECTED", [net.last.index, kernel], (batch, classes), net.fresh())
    net.then("SOFTMAX", [net.last.index], (batch, classes), _UNIT, beta=1.0)


def network(c: Choices, most_channels: int = 5) -> Case:
    """Two to six operators on an image; then, now and then, a classifier; the last image may be an output, too."""
    net = _Network(c, most_channels)
    for _ in range(c.integer(2, 6)):
        c.one_of(_ON_IMAGES)(net)
    outputs = [net.last.index]
    if flip(c):
        _head(net)
        outputs = [net.last.index] if flip(c) else [*outputs, net.last.index]
    return Case("NETWORK", net.builder.finish(outputs=outputs), (elements(c, net.input_shape),))


@st.composite
def networks(draw: st.DrawFn) -> Case:
    """Models of several operators."""
    return network(Drawn(draw))
