"""Drawn models of one operator each, as real `.tflite` files, with inputs: what the operators' tests and the contract test use.

Quantization is drawn to the ends of what TFLM computes without overflow: zero points at both ends, factors far below and
above 1, elements at the extremes. Where TFLM itself relies on undefined behaviour, the draw stays out, and says so.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import prod

import numpy as np
from hypothesis import strategies as st

from kibi.dtypes import Array, DType
from tests.support import float_models
from tests.support.choices import Choices, Drawn, elements, flip, is_float, scale, zero_point
from tests.support.drawn_geometry import Axis, Case, factors, one, shape_of_rank, window
from tests.support.tflite_builder import Attribute, ModelBuilder

__all__ = ["OPERATOR_MODELS", "QUANTIZED_MODELS", "Case", "cases"]

_ACTIVATIONS = ("NONE", "RELU", "RELU6", "RELU_N1_TO_1")
_UNIT = (1 / 256, -128)
"""The scale and zero point that SOFTMAX and LOGISTIC give."""
_SMALLEST_OUTPUT_SCALE = 2.0**-28
"""TFLM and Kibi refuse a fused activation whose 6 does not fit 32 bits in the output's scale."""
_LARGEST_BIAS = (1 << 31) - (1 << 25)
"""The sums of products drawn here stay below 2**25, so that bias and sum fit 32 bits, as TFLM needs."""


@dataclass(frozen=True, slots=True)
class _Weights:
    """Scales that belong together: those of the filter, and the output's."""

    filter_scales: tuple[float, ...]
    output_scale: float
    is_above_one: bool


def _weights_scales(c: Choices, channels: int, input_scale: float) -> _Weights:
    """Filter scales of one channel or each, and an output scale that makes the factor 2**-20 to 2**5."""
    base = scale(c, -12, 2)
    is_per_channel = flip(c)
    scales = [base * 2.0 ** c.integer(-4, 0) for _ in range(channels)] if is_per_channel else [base]
    power = c.one_of((c.integer(-9, -6), c.integer(-12, -5), c.integer(-20, 5)))
    output_scale = input_scale * base * (1.0 + c.integer(0, 255) / 256) * 2.0**-power
    output_scale = max(_SMALLEST_OUTPUT_SCALE, float(np.float32(output_scale)))
    return _Weights(tuple(float(np.float32(entry)) for entry in scales), output_scale, power >= 0)


def _bias(
    c: Choices, b: ModelBuilder, channels: int, input_scale: float, weights: _Weights, *, may_skip: bool = True
) -> tuple[int, ...]:
    """The bias as an operand; none, or, where `may_skip`, a -1 for one that is left out."""
    kind = c.one_of(("ordinary", "large", "none", "left out") if may_skip else ("ordinary", "large", "none"))
    if kind in ("none", "left out"):
        return () if kind == "none" else (-1,)
    # A factor above 1 shifts the sum left before it multiplies: undefined in TFLM where that overflows.
    most = 1000 if kind == "ordinary" else (1 << 20) if weights.is_above_one else _LARGEST_BIAS
    rng = np.random.default_rng(c.integer(0, (1 << 32) - 1))
    values = rng.integers(-most, most, channels, endpoint=True).astype(np.int32)
    scales = [float(np.float32(input_scale) * np.float32(entry)) for entry in weights.filter_scales]
    return (b.constant(values, scales, [0] * len(scales)),)


def _convolution(c: Choices, name: str) -> Case:
    """CONV_2D or DEPTHWISE_CONV_2D."""
    b, batches = ModelBuilder(), c.one_of((1, 1, 2))
    padding, y, x = window(c, dilates=True)
    attributes: dict[str, Attribute] = {}
    if name == "CONV_2D":
        depth, groups = c.one_of(((c.integer(1, 9), 1), (c.integer(1, 3), c.integer(1, 3))))
        channels, outputs = depth * groups, groups * c.integer(1, 9 // groups)
        filter_shape, axis = (outputs, y.kernel, x.kernel, depth), 0
    else:
        channels, multiplier = c.integer(1, 9), c.one_of((1, 1, 2, 3, 4))
        outputs = channels * multiplier
        filter_shape, axis = (1, y.kernel, x.kernel, outputs), 3
        attributes["depth_multiplier"] = multiplier
    input_scale = scale(c, -12, 2)
    weights = _weights_scales(c, outputs, input_scale)
    source = b.input([batches, y.size, x.size, channels], DType.S8, input_scale, zero_point(c))
    zeros = [0] * len(weights.filter_scales)
    kernel = b.constant(elements(c, filter_shape), weights.filter_scales, zeros, axis=axis)
    # TFLM crashes on a -1 for the bias of a depthwise convolution (`depthwise_conv_common.cc` frees a null tensor).
    bias = _bias(c, b, outputs, input_scale, weights, may_skip=name == "CONV_2D")
    output = b.tensor([batches, y.output, x.output, outputs], DType.S8, weights.output_scale, zero_point(c))
    return one(
        name,
        b,
        [source, kernel, *bias],
        output,
        [elements(c, (batches, y.size, x.size, channels))],
        padding=padding,
        stride_h=y.stride,
        stride_w=x.stride,
        dilation_h_factor=y.dilation,
        dilation_w_factor=x.dilation,
        fused_activation_function=c.one_of(_ACTIVATIONS),
        **attributes,
    )


def conv_2d(c: Choices) -> Case:
    """CONV_2D of any geometry, grouped or not."""
    return _convolution(c, "CONV_2D")


def depthwise_conv_2d(c: Choices) -> Case:
    """DEPTHWISE_CONV_2D of any geometry and depth multiplier."""
    return _convolution(c, "DEPTHWISE_CONV_2D")


def fully_connected(c: Choices) -> Case:
    """FULLY_CONNECTED on vectors that lie along the last axis, or anyhow in the input."""
    b, rank = ModelBuilder(), c.one_of((c.integer(1, 4), 4))
    # Long vectors that lie over several rows are added up row by row.
    depth, outputs, keeps = c.one_of((c.integer(1, 12), 24 * c.integer(1, 8))), c.integer(1, 9), flip(c)
    if keeps:
        shape = (*shape_of_rank(c, rank - 1, 3), depth)
        output_shape = (*shape[:-1], outputs)
    else:
        batches = c.integer(1, 4)
        shape, output_shape = factors(c, batches * depth, rank), (batches, outputs)
    input_scale = scale(c, -12, 2)
    weights = _weights_scales(c, outputs, input_scale)
    source = b.input(shape, DType.S8, input_scale, zero_point(c))
    kernel = b.constant(elements(c, (outputs, depth)), weights.filter_scales, [0] * len(weights.filter_scales))
    bias = _bias(c, b, outputs, input_scale, weights)
    output = b.tensor(output_shape, DType.S8, weights.output_scale, zero_point(c))
    activation = c.one_of(_ACTIVATIONS)
    return one(
        "FULLY_CONNECTED", b, [source, kernel, *bias], output, [elements(c, shape)],
        keep_num_dims=keeps, fused_activation_function=activation,
    )  # fmt: skip


def _pool(c: Choices, name: str) -> Case:
    b, batches, channels = ModelBuilder(), c.one_of((1, 1, 2)), c.integer(1, 9)
    padding, y, x = window(c, dilates=False)
    if c.one_of((False, False, True)):
        y = Axis.covered(c, padding)
    quantization = (scale(c), zero_point(c))
    source = b.input([batches, y.size, x.size, channels], DType.S8, *quantization)
    output = b.tensor([batches, y.output, x.output, channels], DType.S8, *quantization)
    return one(
        name,
        b,
        [source],
        output,
        [elements(c, (batches, y.size, x.size, channels))],
        padding=padding,
        stride_h=y.stride,
        stride_w=x.stride,
        filter_height=y.kernel,
        filter_width=x.kernel,
        fused_activation_function=c.one_of(_ACTIVATIONS),
    )


def average_pool_2d(c: Choices) -> Case:
    """AVERAGE_POOL_2D of any geometry."""
    return _pool(c, "AVERAGE_POOL_2D")


def max_pool_2d(c: Choices) -> Case:
    """MAX_POOL_2D of any geometry."""
    return _pool(c, "MAX_POOL_2D")


def _broadcast_shapes(c: Choices) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
    """Shapes of two inputs and of what they broadcast to; axes of 1 at the front may be left out."""
    output = shape_of_rank(c, c.integer(0, 4), 4)
    shapes = []
    for other in (1, 2):
        shape = list(output)
        for axis in range(len(shape)):
            if c.one_of((0, 0, 1, 2)) == other:
                shape[axis] = 1
        while shape and shape[0] == 1 and flip(c):
            shape.pop(0)
        shapes.append(tuple(shape))
    return shapes[0], shapes[1], tuple(int(size) for size in np.broadcast_shapes(*shapes))


def _elementwise(c: Choices, name: str, scales: tuple[float, float, float]) -> Case:
    """ADD or MUL of two inputs, of an input and a constant, or of an input and itself."""
    b, inputs, operands = ModelBuilder(), [], []
    *shapes, output_shape = _broadcast_shapes(c)
    constant = c.one_of((None, None, 0, 1))
    for number, shape in enumerate(shapes):
        data, quantization = elements(c, shape), (scales[number], zero_point(c))
        if number == constant:
            operands.append(b.constant(data, *quantization))
        else:
            operands.append(b.input(shape, DType.S8, *quantization))
            inputs.append(data)
    if constant is None and shapes[0] == shapes[1] == output_shape and flip(c):
        operands = [operands[0]] * 2
    output = b.tensor(output_shape, DType.S8, max(_SMALLEST_OUTPUT_SCALE, scales[2]), zero_point(c))
    return one(name, b, operands, output, inputs, fused_activation_function=c.one_of(_ACTIVATIONS))


def add(c: Choices) -> Case:
    """ADD with any broadcasting."""
    first = scale(c, -12, 2)
    second = float(np.float32(first * scale(c, -9, 9)))
    return _elementwise(c, "ADD", (first, second, float(np.float32(max(first, second) * scale(c, -17, 16)))))


def mul(c: Choices) -> Case:
    """MUL with any broadcasting, and factors from 2**-20 to 2**14."""
    first, second = scale(c, -12, 2), scale(c, -12, 2)
    return _elementwise(c, "MUL", (first, second, float(np.float32(first * second / scale(c, -20, 13)))))


def mean(c: Choices) -> Case:
    """MEAN over any axes."""
    b, rank = ModelBuilder(), c.integer(1, 4)
    shape, keeps = shape_of_rank(c, rank, 7), flip(c)
    axes = [axis for axis in range(rank) if flip(c)] or [c.integer(0, rank - 1)]
    output_shape = [1 if axis in axes else size for axis, size in enumerate(shape) if keeps or axis not in axes]
    named = np.array([axis - rank if flip(c) else axis for axis in axes], np.int32)
    if len(axes) == 1 and flip(c):
        named = named.reshape(())
    input_scale = scale(c)
    source = b.input(shape, DType.S8, input_scale, zero_point(c))
    # The sum shifted left fits 32 bits: at most 2401 elements of 8 bits and a sign, and 11 bits of factor.
    output = b.tensor(output_shape, DType.S8, float(np.float32(input_scale * scale(c, -10, 12))), zero_point(c))
    return one("MEAN", b, [source, b.constant(named)], output, [elements(c, shape)], keep_dims=keeps)


def pad(c: Choices) -> Case:
    """PAD of any axes but the batch."""
    b, rank = ModelBuilder(), c.integer(1, 4)
    shape, quantization = shape_of_rank(c, rank), (scale(c), zero_point(c))
    pads = [(c.one_of((0, 0, 1, 2, 3)), c.one_of((0, 0, 1, 2, 3))) for _ in range(rank)]
    if rank > 2:
        pads[0] = (0, 0)
    output_shape = [size + sum(pair) for size, pair in zip(shape, pads, strict=True)]
    source = b.input(shape, DType.S8, *quantization)
    output = b.tensor(output_shape, DType.S8, *quantization)
    return one("PAD", b, [source, b.constant(np.array(pads, np.int32))], output, [elements(c, shape)])


def _lookup(c: Choices, name: str, source: tuple[float, int], output: tuple[float, int]) -> Case:
    """An elementwise operator; the input holds all 256 elements where it is large enough."""
    b = ModelBuilder()
    every = flip(c)
    shape = c.one_of(((256,), (1, 4, 8, 8), (2, 128), (16, 16))) if every else shape_of_rank(c, c.integer(0, 4))
    data = np.arange(-128, 128).astype(np.int8).reshape(shape) if every else elements(c, shape)
    operand, result = b.input(shape, DType.S8, *source), b.tensor(shape, DType.S8, *output)
    return one(name, b, [operand], result, [data])


def relu(c: Choices) -> Case:
    """RELU between any two scales."""
    source = scale(c)
    output = float(np.float32(source * scale(c, -16, 16)))
    return _lookup(c, "RELU", (source, zero_point(c)), (c.one_of((source, output)), zero_point(c)))


def relu6(c: Choices) -> Case:
    """RELU6; the output's quantization is mostly the input's, as converters write it; TFLM ignores any other."""
    source = (scale(c, -24, 10), zero_point(c))
    return _lookup(c, "RELU6", source, c.one_of((source, source, (scale(c), zero_point(c)))))


def logistic(c: Choices) -> Case:
    """LOGISTIC of input scales from 2**-26 on; below 2**-27 and above 2**36 TFLM shifts by more bits than there are."""
    return _lookup(c, "LOGISTIC", (scale(c, -26, 3), zero_point(c)), _UNIT)


def softmax(c: Choices) -> Case:
    """SOFTMAX along the last axis, of any sharpness."""
    b, rank = ModelBuilder(), c.integer(1, 4)
    shape = (*shape_of_rank(c, rank - 1, 4), c.one_of((c.integer(1, 12), c.integer(1, 300))))
    beta = c.one_of((1.0, 0.5, 2.0, 10.0, c.integer(1, 1000) / 128))
    source, output = b.input(shape, DType.S8, scale(c, -17, 5), zero_point(c)), b.tensor(shape, DType.S8, *_UNIT)
    return one("SOFTMAX", b, [source], output, [elements(c, shape)], beta=beta)


def reshape(c: Choices) -> Case:
    """RESHAPE from any shape to any other; the new shape as an input, as an attribute, or nowhere."""
    b = ModelBuilder()
    shape = shape_of_rank(c, c.integer(0, 5), 6)
    total = prod(shape)
    output_shape = factors(c, total, c.integer(1, 5)) if total > 1 or flip(c) else ()
    is_float, quantization = flip(c), (scale(c), zero_point(c))
    data: Array = elements(c, shape)
    if is_float:
        source, output = b.input(shape, DType.F32), b.tensor(output_shape, DType.F32)
        data = data.astype(np.float32)
    else:
        source, output = b.input(shape, DType.S8, *quantization), b.tensor(output_shape, DType.S8, *quantization)
    how = c.one_of(("input", "attribute", "nowhere")) if output_shape else "nowhere"
    operands = [source, b.constant(np.array(output_shape, np.int32))] if how == "input" else [source]
    if how == "attribute":
        return one("RESHAPE", b, operands, output, [data], new_shape=output_shape)
    return one("RESHAPE", b, operands, output, [data])


def quantize(c: Choices) -> Case:
    """QUANTIZE from floats, or from one scale to another."""
    if flip(c):
        source = scale(c)
        return _lookup(
            c, "QUANTIZE", (source, zero_point(c)), (float(np.float32(source * scale(c, -16, 16))), zero_point(c))
        )
    b, shape, output_scale = ModelBuilder(), shape_of_rank(c, c.integer(0, 4)), scale(c, -100, 60)
    rng = np.random.default_rng(c.integer(0, (1 << 32) - 1))
    # Beyond 32 bits TFLM converts floats that no integer holds, which is undefined; NaN and infinities are, too.
    spread = c.one_of((100.0, 300.0, 2.0**30))
    real = rng.uniform(-spread, spread, shape)
    steps = np.round(real * 2) / 2 if flip(c) else real  # halves show how ties are rounded
    data = (np.float32(output_scale) * steps.astype(np.float32)).astype(np.float32).reshape(shape)
    source_index = b.input(shape, DType.F32)
    return one("QUANTIZE", b, [source_index], b.tensor(shape, DType.S8, output_scale, zero_point(c)), [data])


def dequantize(c: Choices) -> Case:
    """DEQUANTIZE of any scale."""
    b, shape = ModelBuilder(), shape_of_rank(c, c.integer(0, 4), 6)
    source = b.input(shape, DType.S8, scale(c, -100, 100), zero_point(c))
    return one("DEQUANTIZE", b, [source], b.tensor(shape, DType.F32), [elements(c, shape)])


QUANTIZED_MODELS: Mapping[str, Callable[[Choices], Case]] = {
    "ADD": add,
    "AVERAGE_POOL_2D": average_pool_2d,
    "CONV_2D": conv_2d,
    "DEPTHWISE_CONV_2D": depthwise_conv_2d,
    "DEQUANTIZE": dequantize,
    "FULLY_CONNECTED": fully_connected,
    "LOGISTIC": logistic,
    "MAX_POOL_2D": max_pool_2d,
    "MEAN": mean,
    "MUL": mul,
    "PAD": pad,
    "QUANTIZE": quantize,
    "RELU": relu,
    "RELU6": relu6,
    "RESHAPE": reshape,
    "SOFTMAX": softmax,
}
"""How models of each operator are drawn whose arithmetic, if any, is that of integers."""


def _mixed(name: str) -> Callable[[Choices], Case]:
    """Quantized models, and, of operators that have them, some of floats."""
    quantized, of_floats = QUANTIZED_MODELS[name], float_models.FLOAT_MODELS.get(name)
    if of_floats is None:
        return quantized
    return lambda c: of_floats(c) if is_float(c) else quantized(c)


OPERATOR_MODELS: Mapping[str, Callable[[Choices], Case]] = {name: _mixed(name) for name in QUANTIZED_MODELS}
"""How models of each operator are drawn."""


@st.composite
def cases(draw: st.DrawFn, operator: str) -> Case:
    """Models of one operator."""
    return OPERATOR_MODELS[operator](Drawn(draw))
