"""Drawn models of one operator each, as real `.tflite` files, with inputs: what the operators' tests and the contract test use.

Quantization is drawn to the ends of what TFLM computes without overflow: zero points at both ends, factors far below and
above 1, elements at the extremes. Where TFLM itself relies on undefined behaviour, the draw stays out, and says so.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod

import numpy as np
from hypothesis import strategies as st

from kibi.dtypes import Array, DType
from tests.support.choices import Choices, Drawn, elements, flip, scale, zero_point
from tests.support.tflite_builder import Attribute, ModelBuilder

_ACTIVATIONS = ("NONE", "RELU", "RELU6", "RELU_N1_TO_1")
_UNIT = (1 / 256, -128)
"""The scale and zero point that SOFTMAX and LOGISTIC give."""
_SMALLEST_OUTPUT_SCALE = 2.0**-28
"""TFLM and Kibi refuse a fused activation whose 6 does not fit 32 bits in the output's scale."""
_LARGEST_BIAS = (1 << 31) - (1 << 25)
"""The sums of products drawn here stay below 2**25, so that bias and sum fit 32 bits, as TFLM needs."""


@dataclass(frozen=True, slots=True)
class Case:
    """A model and inputs for it.

    Attributes:
        operator: the operator's name, or `NETWORK`.
        model: the `.tflite` file.
        inputs: one array for each of its inputs.
    """

    operator: str
    model: bytes = field(repr=False)
    inputs: tuple[Array, ...] = field(repr=False)


@dataclass(frozen=True, slots=True)
class _Weights:
    """Scales that belong together: those of the filter, and the output's."""

    filter_scales: tuple[float, ...]
    output_scale: float
    is_above_one: bool


def _one(
    name: str,
    builder: ModelBuilder,
    operands: Sequence[int],
    output: int,
    inputs: Sequence[Array],
    **attributes: Attribute,
) -> Case:
    """The model of one operator."""
    builder.operator(name, operands, [output], attributes)
    return Case(name, builder.finish(outputs=[output]), tuple(inputs))


def _shape(c: Choices, rank: int, most: int = 5) -> tuple[int, ...]:
    return tuple(c.integer(1, most) for _ in range(rank))


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


@dataclass(frozen=True, slots=True)
class _Axis:
    """One spatial axis under a window."""

    size: int
    kernel: int
    stride: int
    dilation: int
    output: int

    @staticmethod
    def of(c: Choices, padding: str, *, dilates: bool, size: int | None = None) -> "_Axis":
        kernel, stride = c.integer(1, 5), c.integer(1, 3)
        dilation = c.integer(1, 3) if dilates else 1
        window = (kernel - 1) * dilation + 1
        if size is None:
            # Often as long as the window, so that the output has one element along this axis.
            size = c.one_of((c.integer(1, 9), window))
        if padding == "VALID" and size < window:
            kernel, dilation, window = 1, 1, 1
        last = size - 1 if padding == "SAME" else size - window
        return _Axis(size, kernel, stride, dilation, last // stride + 1)

    @staticmethod
    def covered(c: Choices, padding: str) -> "_Axis":
        """All of the axis under one window, which leaves it on both sides where it is padded."""
        size = c.integer(2, 9)
        return _Axis(size, size if padding == "VALID" else size + c.integer(0, 3), size, 1, 1)


def _window(c: Choices, *, dilates: bool) -> tuple[str, _Axis, _Axis]:
    """A padding scheme and the two spatial axes; now and then an input one high or one wide."""
    padding = c.one_of(("SAME", "VALID"))
    height, width = c.one_of(((None, None), (None, None), (1, None), (None, 1)))
    return (
        padding,
        _Axis.of(c, padding, dilates=dilates, size=height),
        _Axis.of(c, padding, dilates=dilates, size=width),
    )


def _convolution(c: Choices, name: str) -> Case:
    """CONV_2D or DEPTHWISE_CONV_2D."""
    b, batches = ModelBuilder(), c.one_of((1, 1, 2))
    padding, y, x = _window(c, dilates=True)
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
    return _one(
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


def _factors(c: Choices, total: int, rank: int) -> tuple[int, ...]:
    """A shape of that rank and number of elements."""
    cuts = [1, *(c.one_of([k for k in range(1, total + 1) if total % k == 0]) for _ in range(rank - 1)), total]
    shape = [1] * rank
    rest = total
    for axis, cut in enumerate(cuts[1:rank]):
        shape[axis] = int(np.gcd(cut, rest))
        rest //= shape[axis]
    shape[-1] = rest
    return tuple(shape)


def fully_connected(c: Choices) -> Case:
    """FULLY_CONNECTED on vectors that lie along the last axis, or anyhow in the input."""
    b, rank = ModelBuilder(), c.one_of((c.integer(1, 4), 4))
    # Long vectors that lie over several rows are added up row by row.
    depth, outputs, keeps = c.one_of((c.integer(1, 12), 24 * c.integer(1, 8))), c.integer(1, 9), flip(c)
    if keeps:
        shape = (*_shape(c, rank - 1, 3), depth)
        output_shape = (*shape[:-1], outputs)
    else:
        batches = c.integer(1, 4)
        shape, output_shape = _factors(c, batches * depth, rank), (batches, outputs)
    input_scale = scale(c, -12, 2)
    weights = _weights_scales(c, outputs, input_scale)
    source = b.input(shape, DType.S8, input_scale, zero_point(c))
    kernel = b.constant(elements(c, (outputs, depth)), weights.filter_scales, [0] * len(weights.filter_scales))
    bias = _bias(c, b, outputs, input_scale, weights)
    output = b.tensor(output_shape, DType.S8, weights.output_scale, zero_point(c))
    activation = c.one_of(_ACTIVATIONS)
    return _one(
        "FULLY_CONNECTED", b, [source, kernel, *bias], output, [elements(c, shape)],
        keep_num_dims=keeps, fused_activation_function=activation,
    )  # fmt: skip


def _pool(c: Choices, name: str) -> Case:
    b, batches, channels = ModelBuilder(), c.one_of((1, 1, 2)), c.integer(1, 9)
    padding, y, x = _window(c, dilates=False)
    if c.one_of((False, False, True)):
        y = _Axis.covered(c, padding)
    quantization = (scale(c), zero_point(c))
    source = b.input([batches, y.size, x.size, channels], DType.S8, *quantization)
    output = b.tensor([batches, y.output, x.output, channels], DType.S8, *quantization)
    return _one(
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
    output = _shape(c, c.integer(0, 4), 4)
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


Scales = tuple[float, float, float] | None
"""Of both inputs and the output; None where there are none."""


def _values(c: Choices, shape: Sequence[int], dtype: DType) -> Array:
    """Elements of any type: of floats and long integers also far ones, but no infinities and no NaN, whose bits differ."""
    if dtype is DType.S8:
        return elements(c, shape)
    rng = np.random.default_rng(c.integer(0, (1 << 32) - 1))
    if dtype is not DType.F32:
        low, high = dtype.limits
        style = c.one_of(("uniform", "near", "ends"))
        if style == "ends":
            return rng.choice(np.array([low, low + 1, -1, 0, 1, high - 1, high], dtype.numpy), tuple(shape))
        near = style == "near"
        return rng.integers(-9 if near else low, 10 if near else high, tuple(shape), endpoint=True).astype(dtype.numpy)
    powers = {"ordinary": (-3, 4), "far": (-120, 120), "halves": (0, 1)}[c.one_of(("ordinary", "far", "halves"))]
    real = rng.uniform(-1.0, 1.0, tuple(shape)) * 2.0 ** rng.integers(*powers, tuple(shape))
    if powers == (0, 1):
        real = np.round(real * 20) / 2
    return np.asarray(real, np.float32)


def _zero_point(c: Choices, dtype: DType) -> int:
    """Any of s8; 0 of s16."""
    return zero_point(c) if dtype is DType.S8 else 0


def _pair(
    c: Choices,
    name: str,
    dtype: DType,
    scales: Scales,
    *,
    divisor: Callable[[Array, int], Array] | None = None,
    **attributes: Attribute,
) -> Case:
    """An operator on two inputs that broadcast: two inputs, an input and a constant, or an input and itself.

    `divisor` changes the elements of the second input, whose zero point it is given.
    """
    b, inputs, operands = ModelBuilder(), [], []
    *shapes, output_shape = _broadcast_shapes(c)
    constant = c.one_of((None, None, 0, 1))
    for number, shape in enumerate(shapes):
        zero = _zero_point(c, dtype)
        data = _values(c, shape, dtype)
        if divisor is not None and number == 1:
            data = divisor(data, zero)
        quantization = () if scales is None else (scales[number], zero)
        if number == constant:
            operands.append(b.constant(data, *quantization))
        else:
            operands.append(b.input(shape, dtype, *quantization))
            inputs.append(data)
    if constant is None and shapes[0] == shapes[1] == output_shape and divisor is None and flip(c):
        operands = [operands[0]] * 2
    quantization = () if scales is None else (max(_SMALLEST_OUTPUT_SCALE, scales[2]), _zero_point(c, dtype))
    output = b.tensor(output_shape, dtype, *quantization)
    return _one(name, b, operands, output, inputs, **attributes)


def _arithmetic(c: Choices, name: str, scales: tuple[float, float, float]) -> Case:
    """ADD, SUB or MUL of any type."""
    dtype = c.one_of((DType.S8, DType.S8, DType.S16, DType.S32, DType.F32))
    quantized = scales if dtype in (DType.S8, DType.S16) else None
    return _pair(c, name, dtype, quantized, fused_activation_function=c.one_of(_ACTIVATIONS))


def _sum_scales(c: Choices, highest_power: int = 16) -> tuple[float, float, float]:
    """Scales of which the output's is at least 2**-13 of the larger input's: below that the factor of s16 is not below 1."""
    first = scale(c, -12, 2)
    second = float(np.float32(first * scale(c, -9, 9)))
    return first, second, float(np.float32(max(first, second) * scale(c, -13, highest_power)))


def add(c: Choices) -> Case:
    """ADD of any type, with any broadcasting."""
    return _arithmetic(c, "ADD", _sum_scales(c))


def sub(c: Choices) -> Case:
    """SUB of any type, with any broadcasting; TFLM does not survive a factor that is 0."""
    return _arithmetic(c, "SUB", _sum_scales(c, 10))


def mul(c: Choices) -> Case:
    """MUL of any type, with any broadcasting, and factors from 2**-20 to 2**14."""
    first, second = scale(c, -12, 2), scale(c, -12, 2)
    return _arithmetic(c, "MUL", (first, second, float(np.float32(first * second / scale(c, -20, 13)))))


def div(c: Choices) -> Case:
    """DIV of any type by what is not 0; s8 by divisors whose quotients TFLM shifts by no more bits than there are."""
    dtype = c.one_of((DType.S8, DType.S8, DType.S32, DType.F32))
    power = c.integer(1, 20)

    def divisor(data: Array, zero: int) -> Array:
        most = min(1 << min(power, 8), 256) - 1 if dtype is DType.S8 else 1 << 30
        centred = data.astype(np.float64 if dtype is DType.F32 else np.int64) - zero
        wanted = np.where(centred == 0, 1, np.clip(centred, -most, most)) + zero
        # A divisor of -1 would overflow at the least s32.
        wanted = np.where(wanted == -1, 3, wanted) if dtype is DType.S32 else wanted
        if dtype is DType.S8:
            wanted = np.where(
                (wanted < -128) | (wanted > 127) | (wanted == zero), zero + (1 if zero < 127 else -1), wanted
            )
        return wanted.astype(dtype.numpy)

    first, second = scale(c, -12, 2), scale(c, -12, 2)
    factor = (1 + c.integer(0, 255) / 256) * 2.0 ** (power - 1)
    scales = (first, second, float(np.float32(first / second / factor))) if dtype is DType.S8 else None
    return _pair(c, "DIV", dtype, scales, divisor=divisor, fused_activation_function=c.one_of(_ACTIVATIONS))


def _extreme(c: Choices, name: str) -> Case:
    dtype = c.one_of((DType.S8, DType.S8, DType.S16, DType.S32, DType.S64, DType.F32))
    return _pair(c, name, dtype, (scale(c), scale(c), scale(c)) if dtype in (DType.S8, DType.S16) else None)


def maximum(c: Choices) -> Case:
    """MAXIMUM of any type, and of any scales, which do not count."""
    return _extreme(c, "MAXIMUM")


def minimum(c: Choices) -> Case:
    """MINIMUM of any type, and of any scales, which do not count."""
    return _extreme(c, "MINIMUM")


def squared_difference(c: Choices) -> Case:
    """SQUARED_DIFFERENCE of any type."""
    dtype = c.one_of((DType.S8, DType.S8, DType.S16, DType.S32, DType.F32))
    first = scale(c, -12, 2)
    second = float(np.float32(first * scale(c, -5, 5)))
    largest = max(first, second)
    # Squares of s8 have 14 bits more than those of the inputs.
    output = largest * largest * scale(c, -8, 12)
    scales = (first, second, float(np.float32(output)))
    return _pair(c, "SQUARED_DIFFERENCE", dtype, scales if dtype in (DType.S8, DType.S16) else None)


def prelu(c: Choices) -> Case:
    """PRELU with slopes that broadcast, or are broadcast to."""
    dtype = c.one_of((DType.S8, DType.F32))
    first, second = scale(c, -12, 2), scale(c, -12, 2)
    output = float(np.float32(first * scale(c, -10, 10)))
    return _pair(c, "PRELU", dtype, (first, second, output) if dtype is DType.S8 else None)


def mean(c: Choices) -> Case:
    """MEAN over any axes."""
    b, rank = ModelBuilder(), c.integer(1, 4)
    shape, keeps = _shape(c, rank, 7), flip(c)
    axes = [axis for axis in range(rank) if flip(c)] or [c.integer(0, rank - 1)]
    output_shape = [1 if axis in axes else size for axis, size in enumerate(shape) if keeps or axis not in axes]
    named = np.array([axis - rank if flip(c) else axis for axis in axes], np.int32)
    if len(axes) == 1 and flip(c):
        named = named.reshape(())
    input_scale = scale(c)
    source = b.input(shape, DType.S8, input_scale, zero_point(c))
    # The sum shifted left fits 32 bits: at most 2401 elements of 8 bits and a sign, and 11 bits of factor.
    output = b.tensor(output_shape, DType.S8, float(np.float32(input_scale * scale(c, -10, 12))), zero_point(c))
    return _one("MEAN", b, [source, b.constant(named)], output, [elements(c, shape)], keep_dims=keeps)


def pad(c: Choices) -> Case:
    """PAD of any axes but the batch."""
    b, rank = ModelBuilder(), c.integer(1, 4)
    shape, quantization = _shape(c, rank), (scale(c), zero_point(c))
    pads = [(c.one_of((0, 0, 1, 2, 3)), c.one_of((0, 0, 1, 2, 3))) for _ in range(rank)]
    if rank > 2:
        pads[0] = (0, 0)
    output_shape = [size + sum(pair) for size, pair in zip(shape, pads, strict=True)]
    source = b.input(shape, DType.S8, *quantization)
    output = b.tensor(output_shape, DType.S8, *quantization)
    return _one("PAD", b, [source, b.constant(np.array(pads, np.int32))], output, [elements(c, shape)])


def _lookup(
    c: Choices, name: str, source: tuple[float, int], output: tuple[float, int], **attributes: Attribute
) -> Case:
    """An elementwise operator; the input holds all 256 elements where it is large enough."""
    b = ModelBuilder()
    every = flip(c)
    shape = c.one_of(((256,), (1, 4, 8, 8), (2, 128), (16, 16))) if every else _shape(c, c.integer(0, 4))
    data = np.arange(-128, 128).astype(np.int8).reshape(shape) if every else elements(c, shape)
    operand, result = b.input(shape, DType.S8, *source), b.tensor(shape, DType.S8, *output)
    return _one(name, b, [operand], result, [data], **attributes)


def _unary(
    c: Choices, name: str, dtype: DType, *scales: float, data: Array | None = None, **attributes: Attribute
) -> Case:
    """An elementwise operator of s16 or f32 on one input; scales of input and output where there are any."""
    b, shape = ModelBuilder(), _shape(c, c.integer(0, 4))
    if data is None:
        data = _values(c, shape, dtype)
    quantizations: Sequence[tuple[float | None, int | None]] = [(each, 0) for each in scales] or [(None, None)] * 2
    operand, result = (each(data.shape, dtype, *q) for each, q in zip((b.input, b.tensor), quantizations, strict=True))
    return _one(name, b, [operand], result, [data], **attributes)


def _other_scale(c: Choices, source: float) -> float:
    """A scale at up to 2**16 from another, or the very same."""
    return c.one_of((source, float(np.float32(source * scale(c, -16, 16)))))


def relu(c: Choices) -> Case:
    """RELU between any two scales."""
    source, dtype = scale(c), c.one_of((DType.S8, DType.S8, DType.S16, DType.F32))
    output = _other_scale(c, source)
    if dtype is DType.S8:
        return _lookup(c, "RELU", (source, zero_point(c)), (output, zero_point(c)))
    return _unary(c, "RELU", dtype, *((source, output) if dtype is DType.S16 else ()))


def relu6(c: Choices) -> Case:
    """RELU6; the output's quantization is mostly the input's, as converters write it; TFLM ignores any other."""
    dtype = c.one_of((DType.S8, DType.S8, DType.S16, DType.F32))
    if dtype is DType.S8:
        source = (scale(c, -24, 10), zero_point(c))
        return _lookup(c, "RELU6", source, c.one_of((source, source, (scale(c), zero_point(c)))))
    source_scale = scale(c, -24, 10)
    return _unary(c, "RELU6", dtype, *((source_scale, source_scale) if dtype is DType.S16 else ()))


def leaky_relu(c: Choices) -> Case:
    """LEAKY_RELU of any slope, also negative, and between any two scales."""
    source, dtype = scale(c), c.one_of((DType.S8, DType.S8, DType.S16, DType.F32))
    output = _other_scale(c, source)
    alpha = c.one_of((0.0, 0.25, 1.5, -1.0, -0.3, c.integer(-400, 400) / 123))
    if dtype is DType.S8:
        return _lookup(c, "LEAKY_RELU", (source, zero_point(c)), (output, zero_point(c)), alpha=alpha)
    return _unary(c, "LEAKY_RELU", dtype, *((source, output) if dtype is DType.S16 else ()), alpha=alpha)


def hard_swish(c: Choices) -> Case:
    """HARD_SWISH; of s8 with factors that TFLM shifts by less than the 16 bits that it has."""
    if flip(c):
        return _unary(c, "HARD_SWISH", DType.F32)
    source = scale(c, -15, 6)
    output = float(np.float32(source * scale(c, -6, 6)))
    return _lookup(c, "HARD_SWISH", (source, zero_point(c)), (output, zero_point(c)))


def tanh(c: Choices) -> Case:
    """TANH of the input scales of LOGISTIC."""
    return _lookup(c, "TANH", (scale(c, -26, 3), zero_point(c)), (1 / 128, 0))


def elu(c: Choices) -> Case:
    """ELU between any two scales."""
    source = scale(c, -20, 4)
    return _lookup(c, "ELU", (source, zero_point(c)), (_other_scale(c, source), zero_point(c)))


def absolute(c: Choices) -> Case:
    """ABS between any two scales; of s16 also without."""
    source, dtype = scale(c), c.one_of((DType.S8, DType.S8, DType.S16, DType.F32))
    output = _other_scale(c, source)
    if dtype is DType.S8:
        return _lookup(c, "ABS", (source, zero_point(c)), (output, zero_point(c)))
    if dtype is DType.S16 and flip(c):
        # The magnitude of the least s16 wraps in TFLM, and in Kibi it is cut.
        data = np.maximum(_values(c, (3, 5), dtype), -(1 << 15) + 1).astype(np.int16)
        return _unary(c, "ABS", dtype, data=data)
    return _unary(c, "ABS", dtype, *((source, output) if dtype is DType.S16 else ()))


def rsqrt(c: Choices) -> Case:
    """RSQRT of what is not negative, at which TFLM stops."""
    if flip(c):
        shape = _shape(c, c.integer(0, 4))
        return _unary(c, "RSQRT", DType.F32, data=np.abs(_values(c, shape, DType.F32)) + np.float32(2.0**-100))
    source, zero = scale(c, -12, 6), zero_point(c)
    output = float(np.float32(scale(c, -10, 4) / np.sqrt(source)))
    b = ModelBuilder()
    data = np.arange(zero, 128).astype(np.int8)
    operand = b.input(data.shape, DType.S8, source, zero)
    return _one("RSQRT", b, [operand], b.tensor(data.shape, DType.S8, output, zero_point(c)), [data])


def sqrt(c: Choices) -> Case:
    """SQRT of what is not negative, also of numbers below the normal ones."""
    data = np.abs(_values(c, _shape(c, c.integer(0, 4)), DType.F32))
    return _unary(c, "SQRT", DType.F32, data=(data * np.float32(2.0 ** c.one_of((0, 0, -126)))).astype(np.float32))


def _real(name: str) -> Callable[[Choices], Case]:
    """How models of an operator that has f32 alone are drawn."""
    return lambda c: _unary(c, name, DType.F32)


def logistic(c: Choices) -> Case:
    """LOGISTIC of input scales from 2**-26 on; below 2**-27 and above 2**36 TFLM shifts by more bits than there are."""
    return _lookup(c, "LOGISTIC", (scale(c, -26, 3), zero_point(c)), _UNIT)


def softmax(c: Choices) -> Case:
    """SOFTMAX along the last axis, of any sharpness."""
    b, rank = ModelBuilder(), c.integer(1, 4)
    shape = (*_shape(c, rank - 1, 4), c.one_of((c.integer(1, 12), c.integer(1, 300))))
    beta = c.one_of((1.0, 0.5, 2.0, 10.0, c.integer(1, 1000) / 128))
    source, output = b.input(shape, DType.S8, scale(c, -17, 5), zero_point(c)), b.tensor(shape, DType.S8, *_UNIT)
    return _one("SOFTMAX", b, [source], output, [elements(c, shape)], beta=beta)


def reshape(c: Choices) -> Case:
    """RESHAPE from any shape to any other; the new shape as an input, as an attribute, or nowhere."""
    b = ModelBuilder()
    shape = _shape(c, c.integer(0, 5), 6)
    total = prod(shape)
    output_shape = _factors(c, total, c.integer(1, 5)) if total > 1 or flip(c) else ()
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
        return _one("RESHAPE", b, operands, output, [data], new_shape=output_shape)
    return _one("RESHAPE", b, operands, output, [data])


def quantize(c: Choices) -> Case:
    """QUANTIZE from floats, or from one scale to another."""
    if flip(c):
        source = scale(c)
        return _lookup(
            c, "QUANTIZE", (source, zero_point(c)), (float(np.float32(source * scale(c, -16, 16))), zero_point(c))
        )
    b, shape, output_scale = ModelBuilder(), _shape(c, c.integer(0, 4)), scale(c, -100, 60)
    rng = np.random.default_rng(c.integer(0, (1 << 32) - 1))
    # Beyond 32 bits TFLM converts floats that no integer holds, which is undefined; NaN and infinities are, too.
    spread = c.one_of((100.0, 300.0, 2.0**30))
    real = rng.uniform(-spread, spread, shape)
    steps = np.round(real * 2) / 2 if flip(c) else real  # halves show how ties are rounded
    data = (np.float32(output_scale) * steps.astype(np.float32)).astype(np.float32).reshape(shape)
    source_index = b.input(shape, DType.F32)
    return _one("QUANTIZE", b, [source_index], b.tensor(shape, DType.S8, output_scale, zero_point(c)), [data])


def dequantize(c: Choices) -> Case:
    """DEQUANTIZE of any scale."""
    b, shape = ModelBuilder(), _shape(c, c.integer(0, 4), 6)
    source = b.input(shape, DType.S8, scale(c, -100, 100), zero_point(c))
    return _one("DEQUANTIZE", b, [source], b.tensor(shape, DType.F32), [elements(c, shape)])


OPERATOR_MODELS: Mapping[str, Callable[[Choices], Case]] = {
    "ABS": absolute,
    "ADD": add,
    "AVERAGE_POOL_2D": average_pool_2d,
    "CEIL": _real("CEIL"),
    "CONV_2D": conv_2d,
    "DEPTHWISE_CONV_2D": depthwise_conv_2d,
    "DEQUANTIZE": dequantize,
    "DIV": div,
    "ELU": elu,
    "FLOOR": _real("FLOOR"),
    "FULLY_CONNECTED": fully_connected,
    "HARD_SWISH": hard_swish,
    "LEAKY_RELU": leaky_relu,
    "LOGISTIC": logistic,
    "MAXIMUM": maximum,
    "MAX_POOL_2D": max_pool_2d,
    "MEAN": mean,
    "MINIMUM": minimum,
    "MUL": mul,
    "NEG": _real("NEG"),
    "PAD": pad,
    "PRELU": prelu,
    "QUANTIZE": quantize,
    "RELU": relu,
    "RELU6": relu6,
    "RESHAPE": reshape,
    "ROUND": _real("ROUND"),
    "RSQRT": rsqrt,
    "SOFTMAX": softmax,
    "SQRT": sqrt,
    "SQUARE": _real("SQUARE"),
    "SQUARED_DIFFERENCE": squared_difference,
    "SUB": sub,
    "TANH": tanh,
}
"""How models of each operator are drawn."""


@st.composite
def cases(draw: st.DrawFn, operator: str) -> Case:
    """Models of one operator."""
    return OPERATOR_MODELS[operator](Drawn(draw))
