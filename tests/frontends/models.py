"""Small sound `.tflite` files that together hold every supported operator."""

from collections.abc import Callable, Mapping

import numpy as np
import pytest
from numpy.typing import NDArray

from kibi.dtypes import DType
from kibi.errors import ModelError, Problem
from kibi.frontends.tflite import parse_tflite
from kibi.frontends.tflite.builder import Attribute, ModelBuilder
from tests.support import compressed_models

_SCALE, _ZERO_POINT = 0.05, 3
# What SOFTMAX and LOGISTIC give.
_UNIT_SCALE, _UNIT_ZERO_POINT = 1 / 256, -128


def problems_of(data: bytes) -> tuple[Problem, ...]:
    """What is wrong with a model that must not load."""
    with pytest.raises(ModelError) as refusal:
        parse_tflite(data, "broken.tflite")
    assert refusal.value.source == "broken.tflite"
    return refusal.value.problems


def relu() -> bytes:
    """One operator without options: the smallest model."""
    builder = ModelBuilder()
    x = builder.input([1, 4], DType.S8, _SCALE, _ZERO_POINT)
    y = builder.tensor([1, 4], DType.S8, _SCALE, _ZERO_POINT)
    builder.operator("RELU", [x], [y])
    return builder.finish(outputs=[y])


def relu_on(add_input: Callable[[ModelBuilder], int]) -> bytes:
    """`relu`, sound or not, on an input tensor of one's own; the function adds it and returns its index."""
    builder = ModelBuilder()
    x = add_input(builder)
    y = builder.tensor([1, 4], DType.S8, _SCALE, _ZERO_POINT, name="y")
    builder.operator("RELU", [x], [y])
    return builder.finish(outputs=[y], inputs=[x])


def fully_connected(*, bias: bool = True) -> bytes:
    """One FULLY_CONNECTED from 6 to 3 channels."""
    builder = ModelBuilder()
    x = builder.input([1, 6], DType.S8, _SCALE, _ZERO_POINT, name="x")
    weights = builder.constant(_weights(3, 6), 0.01, 0, name="weights")
    offsets = builder.constant(np.array([1, -2, 3], np.int32), 0.01 * _SCALE, 0, name="bias") if bias else -1
    y = builder.tensor([1, 3], DType.S8, _SCALE, _ZERO_POINT, name="y")
    builder.operator("FULLY_CONNECTED", [x, weights, offsets], [y], fused_activation_function="RELU6")
    return builder.finish(outputs=[y])


def classifier() -> bytes:
    """Floats in and out, and between them a convolution, a depthwise one, pooling, and a classifier."""
    builder = ModelBuilder()
    image = builder.input([1, 8, 8, 1], DType.F32, name="image")
    x = builder.tensor([1, 8, 8, 1], DType.S8, _SCALE, _ZERO_POINT)
    builder.operator("QUANTIZE", [image], [x])
    x = _convolution(builder, x)
    x = _depthwise_convolution(builder, x)
    pooled = builder.tensor([1, 2, 2, 4], DType.S8, _SCALE, _ZERO_POINT)
    builder.operator("AVERAGE_POOL_2D", [x], [pooled], filter_height=2, filter_width=2, stride_h=2, stride_w=2)
    flat = builder.tensor([1, 16], DType.S8, _SCALE, _ZERO_POINT)
    shape = builder.constant(np.array([1, 16], np.int32))
    builder.operator("RESHAPE", [pooled, shape], [flat])
    weights = builder.constant(_weights(3, 16), 0.01, 0)
    logits = builder.tensor([1, 3], DType.S8, _SCALE, _ZERO_POINT)
    builder.operator("FULLY_CONNECTED", [flat, weights, -1], [logits])
    probabilities = builder.tensor([1, 3], DType.S8, _UNIT_SCALE, _UNIT_ZERO_POINT)
    builder.operator("SOFTMAX", [logits], [probabilities], beta=1.0)
    y = builder.tensor([1, 3], DType.F32, name="probabilities")
    builder.operator("DEQUANTIZE", [probabilities], [y])
    return builder.finish(outputs=[y])


def _convolution(builder: ModelBuilder, x: int) -> int:
    """3 by 3, stride 2, from [1, 8, 8, 1] to [1, 4, 4, 4]; one scale for each output channel."""
    scales = [0.01, 0.02, 0.03, 0.04]
    weights = builder.constant(_weights(4, 3, 3, 1), scales, [0] * 4)
    bias = builder.constant(np.arange(4, dtype=np.int32), [scale * _SCALE for scale in scales], [0] * 4)
    y = builder.tensor([1, 4, 4, 4], DType.S8, _SCALE, _ZERO_POINT)
    builder.operator("CONV_2D", [x, weights, bias], [y], padding="SAME", stride_h=2, stride_w=2)
    return y


def _depthwise_convolution(builder: ModelBuilder, x: int) -> int:
    """3 by 3, from [1, 4, 4, 4] to the same; one scale for each channel, along the filter's last axis."""
    scales = [0.01, 0.02, 0.03, 0.04]
    weights = builder.constant(_weights(1, 3, 3, 4), scales, [0] * 4, axis=3)
    bias = builder.constant(np.arange(4, dtype=np.int32), [scale * _SCALE for scale in scales], [0] * 4)
    y = builder.tensor([1, 4, 4, 4], DType.S8, _SCALE, _ZERO_POINT)
    options: Mapping[str, Attribute] = {"padding": "SAME", "stride_h": 1, "stride_w": 1, "depth_multiplier": 1}
    builder.operator("DEPTHWISE_CONV_2D", [x, weights, bias], [y], options)
    return y


def residual() -> bytes:
    """Branches that meet in ADD and MUL, and the operators that `classifier` lacks."""
    builder = ModelBuilder()

    def step(
        operator: str, *inputs: int, shape: tuple[int, ...] = (1, 4, 4, 2), unit: bool = False, **options: int
    ) -> int:
        scale, zero_point = (_UNIT_SCALE, _UNIT_ZERO_POINT) if unit else (_SCALE, _ZERO_POINT)
        y = builder.tensor(shape, DType.S8, scale, zero_point)
        builder.operator(operator, inputs, [y], options)
        return y

    x = builder.input([1, 4, 4, 2], DType.S8, _SCALE, _ZERO_POINT, name="x")
    paddings = builder.constant(np.array([[0, 0], [1, 0], [0, 1], [0, 0]], np.int32), name="paddings")
    axes = builder.constant(np.array([1, 2], np.int32), name="axes")
    padded = step("PAD", x, paddings, shape=(1, 5, 5, 2))
    pooled = step("MAX_POOL_2D", padded, padding=1, filter_height=2, filter_width=2, stride_h=1, stride_w=1)
    total = step("ADD", step("RELU", pooled), step("RELU6", x))
    product = step("MUL", total, x, fused_activation_function=1)
    means = step("MEAN", product, axes, shape=(1, 2), keep_dims=0)
    y = step("LOGISTIC", means, shape=(1, 2), unit=True)
    return builder.finish(outputs=[y])


def codebook_in_use() -> bytes:
    """Two filters that are compressed, as the file's metadata say."""
    builder, entries = ModelBuilder(), list[tuple[int, int, int]]()
    few = np.array([-128, -3, 0, 5, 127], np.int8)
    x = builder.input([1, 6], DType.S8, _SCALE, _ZERO_POINT)
    for channels, scales in ((4, [0.01]), (3, [0.01, 0.02, 0.03])):
        weights = compressed_models.codebook_in_use(
            builder, few[_weights(channels, 6 if channels == 4 else 4) % 5], scales, legacy=entries
        )
        y = builder.tensor([1, channels], DType.S8, _SCALE, _ZERO_POINT)
        builder.operator("FULLY_CONNECTED", [x, weights], [y])
        x = y
    builder.metadata("COMPRESSION_METADATA", compressed_models.metadata(entries))
    return builder.finish([x])


def decoded() -> bytes:
    """Constants of each kind of TFLM_DECODE, added one after another."""
    builder, values = ModelBuilder(), (_weights(1, 3, 3, 4) % 4).astype(np.int8)
    x = builder.input([1, 3, 3, 4], DType.S8, _SCALE, _ZERO_POINT)
    constants = [compressed_models.codebook_in_use(builder, values, [_SCALE])]
    for data, description in (
        compressed_models.huffman(values, 2, wide=False),
        compressed_models.pruned(values, np.zeros_like(values)),
    ):
        constants.append(builder.tensor(values.shape, DType.S8, _SCALE, 0))
        compressed_models.decode(builder, data, description, constants[-1])
    for constant in constants:
        y = builder.tensor([1, 3, 3, 4], DType.S8, _SCALE, _ZERO_POINT)
        builder.operator("ADD", [x, constant], [y])
        x = y
    return builder.finish([x])


def _weights(*shape: int) -> NDArray[np.int8]:
    return np.random.default_rng(len(shape)).integers(-127, 128, shape).astype(np.int8)


MODELS: Mapping[str, Callable[[], bytes]] = {
    "relu": relu,
    "fully_connected": fully_connected,
    "classifier": classifier,
    "residual": residual,
    "codebook_in_use": codebook_in_use,
    "decoded": decoded,
}
"""Makers of the models by name."""
