"""Networks of fully connected layers with weights of chosen widths, after an optional convolution."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from kibi.dtypes import DType
from kibi.frontends.tflite.builder import ModelBuilder

SIZES = (64, 96, 8, 96, 64)
"""Elements of the vectors of a small autoencoder."""


def dense_network(
    sizes: Sequence[int] = SIZES,
    *,
    width: float = 5,
    batch: int = 1,
    per_channel: bool = False,
    has_convolution: bool = False,
    rows: int = 0,
) -> bytes:
    """A `.tflite` model of layers one after another.

    Args:
        sizes: elements of the input and of each layer's output.
        width: standard deviation of the weights; of every second layer twice that.
        batch: input vectors.
        per_channel: whether each channel of a filter has its scale.
        rows: of the input, where it is a picture whose rows the first layer adds up; 0: it is vectors.
        has_convolution: whether a convolution of 1 x 3 comes first, over rows of four pixels.
    """
    b, rng = ModelBuilder(), np.random.default_rng(len(sizes))
    if has_convolution:
        x = b.input([batch, 4, 4, sizes[0] // 16], DType.S8, 0.5, 3)
        shape = (sizes[0] // 16, 1, 3, sizes[0] // 16)
        filters = b.constant(rng.integers(-127, 128, shape).astype(np.int8), 0.01, 0)
        y = b.tensor([batch, 4, 4, sizes[0] // 16], DType.S8, 1.0, -3)
        b.operator("CONV_2D", [x, filters], [y], padding="SAME", stride_h=1, stride_w=1)
        x = b.tensor([batch, sizes[0]], DType.S8, 1.0, -3)
        b.operator("RESHAPE", [y, b.constant(np.array([batch, sizes[0]], np.int32))], [x])
    else:
        x = b.input([batch, rows, 1, sizes[0] // rows] if rows else [batch, sizes[0]], DType.S8, 0.5, 3)
    for number, (depth, channels) in enumerate(pairwise(sizes)):
        drawn = np.round(rng.normal(0, width * (1 + number % 2), (channels, depth)))
        scales = [0.001 * (1 + k % 3) for k in range(channels)] if per_channel else [0.002]
        weights = b.constant(np.clip(drawn, -127, 127).astype(np.int8), scales, [0] * len(scales))
        biases = b.constant(
            rng.integers(-500, 500, channels).astype(np.int32), [0.001] * len(scales), [0] * len(scales)
        )
        y = b.tensor([batch, channels], DType.S8, 0.5, number % 5 - 2)
        b.operator(
            "FULLY_CONNECTED", [x, weights, biases], [y], fused_activation_function="RELU" if number % 2 else "NONE"
        )
        x = y
    return b.finish([x])
