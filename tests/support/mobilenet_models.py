"""MobileNetV2 as published networks for microcontrollers use it, with drawn weights: memory depends on shapes alone."""

import numpy as np

from kibi.dtypes import DType
from kibi.frontends.tflite.builder import Attribute, ModelBuilder

_BLOCKS = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1))
"""Expansion, output channels, blocks, stride of the first: the table of the paper."""
_LAST_CHANNELS = 1280
_SCALE, _ZERO_POINT = 0.05, -1
Shape = tuple[int, int, int, int]


def mobilenet_v2(width: float, size: int) -> bytes:
    """The file of a network without its classifier.

    Args:
        width: what channels are multiplied by, of the last layer, too; they are rounded to eights as the paper's authors do it.
        size: rows and columns of its image.
    """
    net = _Layers(np.random.default_rng(0), size)
    net.window("CONV_2D", _eights(32 * width), 3, 2, "RELU6")
    for expansion, channels, count, stride in _BLOCKS:
        for number in range(count):
            net.block(expansion, _eights(channels * width), stride if number == 0 else 1)
    net.window("CONV_2D", _eights(_LAST_CHANNELS * width), 1, 1, "RELU6")
    return net.pooled()


def _eights(channels: float) -> int:
    """Channels as a multiple of eight, not more than a tenth below."""
    rounded = max(8, int(channels + 4) // 8 * 8)
    return rounded + 8 if rounded < 0.9 * channels else rounded


class _Layers:
    """A network that grows by one layer at a time."""

    def __init__(self, random: np.random.Generator, size: int) -> None:
        self._random = random
        self._builder = ModelBuilder()
        self.shape: Shape = (1, size, size, 3)
        self._last = self._builder.input(self.shape, DType.S8, _SCALE, _ZERO_POINT)

    def window(self, name: str, channels: int, kernel: int, stride: int, activation: str) -> None:
        """A convolution with SAME padding."""
        is_depthwise = name == "DEPTHWISE_CONV_2D"
        shape = (1, kernel, kernel, channels) if is_depthwise else (channels, kernel, kernel, self.shape[3])
        filters = self._builder.constant(self._random.integers(-127, 128, shape).astype(np.int8), 0.01, 0)
        bias = self._builder.constant(self._random.integers(-500, 500, channels).astype(np.int32), _SCALE * 0.01, 0)
        attributes: dict[str, Attribute] = {
            "padding": "SAME", "stride_h": stride, "stride_w": stride, "fused_activation_function": activation,
            **({"depth_multiplier": 1} if is_depthwise else {}),
        }  # fmt: skip
        made = (1, -(-self.shape[1] // stride), -(-self.shape[2] // stride), channels)
        self._add(name, [self._last, filters, bias], made, attributes)

    def block(self, expansion: int, channels: int, stride: int) -> None:
        """An inverted residual block."""
        before, shape = self._last, self.shape
        if expansion > 1:
            self.window("CONV_2D", shape[3] * expansion, 1, 1, "RELU6")
        self.window("DEPTHWISE_CONV_2D", self.shape[3], 3, stride, "RELU6")
        self.window("CONV_2D", channels, 1, 1, "NONE")
        if shape == self.shape:
            self._add("ADD", [before, self._last], shape, {})

    def pooled(self) -> bytes:
        """The file, with the mean of each channel as its output."""
        attributes: dict[str, Attribute] = {
            "padding": "VALID", "stride_h": 1, "stride_w": 1, "filter_height": self.shape[1], "filter_width": self.shape[2],
        }  # fmt: skip
        self._add("AVERAGE_POOL_2D", [self._last], (1, 1, 1, self.shape[3]), attributes)
        return self._builder.finish([self._last])

    def _add(self, name: str, operands: list[int], shape: Shape, attributes: dict[str, Attribute]) -> None:
        output = self._builder.tensor(shape, DType.S8, _SCALE, _ZERO_POINT)
        self._builder.operator(name, operands, [output], attributes)
        self._last, self.shape = output, shape
