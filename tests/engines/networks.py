"""Small networks as real `.tflite` files, for tests of plans and engines."""

import numpy as np

from kibi.dtypes import DType
from kibi.frontends.tflite import parse_tflite
from kibi.ir import Graph
from tests.support.tflite_builder import ModelBuilder


def residual_network(height: int = 12, width: int = 6, channels: int = 4, seed: int = 0) -> Graph:
    """Three 3 x 3 convolutions, the first one's output added to the third's: image → c1 → c2 → c3, c1 + c3 → sum."""
    return parse_tflite(residual_bytes(height, width, channels, seed), "residual.tflite")


def residual_bytes(height: int = 12, width: int = 6, channels: int = 4, seed: int = 0) -> bytes:
    """The file of `residual_network`."""
    random = np.random.default_rng(seed)
    builder = ModelBuilder()
    shape = [1, height, width, channels]
    tensor = builder.input([1, height, width, 1], DType.S8, 0.05, -3)
    made: list[int] = []
    for number in range(3):
        depth = channels if made else 1
        weights = random.integers(-127, 128, (channels, 3, 3, depth)).astype(np.int8)
        scales = [0.004 + 0.001 * channel for channel in range(channels)]
        filters = builder.constant(weights, scales, [0] * channels, axis=0, name=f"filter{number}")
        bias = random.integers(-500, 500, channels).astype(np.int32)
        biases = builder.constant(bias, [0.05 * scale for scale in scales], [0] * channels, name=f"bias{number}")
        output = builder.tensor(shape, DType.S8, 0.07, number - 1, name=f"conv{number}")
        builder.operator(
            "CONV_2D",
            [tensor, filters, biases],
            [output],
            {"padding": "SAME", "stride_h": 1, "stride_w": 1, "fused_activation_function": "RELU"},
        )
        made.append(output)
        tensor = output
    total = builder.tensor(shape, DType.S8, 0.1, 5, name="sum")
    builder.operator("ADD", [made[0], made[2]], [total], {"fused_activation_function": "NONE"})
    return builder.finish([total])
