"""Small networks as real `.tflite` files, for tests of plans and engines."""

import numpy as np

from kibi.dtypes import DType
from kibi.frontends.tflite import parse_tflite
from kibi.frontends.tflite.builder import Attribute, ModelBuilder
from kibi.ir import Graph


def residual_network(height: int = 12, width: int = 6, channels: int = 4, seed: int = 0) -> Graph:
    """Three 3 x 3 convolutions, the first one's output added to the third's: image → c1 → c2 → c3, c1 + c3 → sum."""
    return parse_tflite(residual_bytes(height, width, channels, seed), "residual.tflite")


def pooled_network(head: str, height: int = 9, width: int = 7, channels: int = 4) -> Graph:
    """Two 3 x 3 convolutions and what reads all rows of the second: `MEAN`, a pooling, or `FULLY_CONNECTED`."""
    random = np.random.default_rng(7)
    builder = ModelBuilder()
    tensor = builder.input([1, height, width, 2], DType.S8, 0.05, -3)
    for number, depth in enumerate((2, channels)):
        weights = random.integers(-127, 128, (channels, 3, 3, depth)).astype(np.int8)
        filters = builder.constant(weights, 0.004, 0)
        output = builder.tensor([1, height, width, channels], DType.S8, (0.07, 0.3)[number], 0, name=f"conv{number}")
        builder.operator("CONV_2D", [tensor, filters], [output], {"padding": "SAME", "stride_h": 1, "stride_w": 1})
        tensor = output
    if head == "MEAN":
        output = builder.tensor([1, channels], DType.S8, 0.03, 4, name="head")
        builder.operator(head, [tensor, builder.constant(np.array([1, 2], np.int32))], [output], {"keep_dims": False})
    elif head == "FULLY_CONNECTED":
        weights = random.integers(-127, 128, (5, height * width * channels)).astype(np.int8)
        output = builder.tensor([1, 5], DType.S8, 1.0, 4, name="head")
        builder.operator(head, [tensor, builder.constant(weights, 0.004, 0)], [output], {})
    else:
        output = builder.tensor([1, 1, 1, channels], DType.S8, 0.3, 0, name="head")
        window: dict[str, Attribute] = {"filter_height": height, "filter_width": width, "stride_h": 1, "stride_w": 1}
        builder.operator(head, [tensor], [output], {"padding": "VALID", **window})
    return parse_tflite(builder.finish([output]), "pooled.tflite")


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


def two_input_network(height: int = 8, width: int = 5, channels: int = 3) -> Graph:
    """Two images of different depth, each through a convolution with a stride of its own, added: a, b → sum."""
    random = np.random.default_rng(5)
    builder = ModelBuilder()
    made = []
    for number, (rows, depth, stride) in enumerate(((height, 2, 1), (2 * height, 1, 2))):
        image = builder.input([1, rows, stride * width, depth], DType.S8, 0.05, number, name=f"image{number}")
        weights = random.integers(-127, 128, (channels, 3, 3, depth)).astype(np.int8)
        filters = builder.constant(weights, 0.004, 0)
        output = builder.tensor([1, height, width, channels], DType.S8, 0.06, 0, name=f"conv{number}")
        options: dict[str, Attribute] = {"padding": "SAME", "stride_h": stride, "stride_w": stride}
        builder.operator("CONV_2D", [image, filters], [output], options)
        made.append(output)
    total = builder.tensor([1, height, width, channels], DType.S8, 0.1, 0, name="sum")
    builder.operator("ADD", made, [total], {"fused_activation_function": "NONE"})
    return parse_tflite(builder.finish([total]), "two_inputs.tflite")
