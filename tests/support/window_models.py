"""Drawn models of operators that multiply by filters or slide windows."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from kibi.dtypes import DType
from kibi.frontends.tflite.builder import Attribute, ModelBuilder
from tests.support.case import Case, drawn_shape, factors, one
from tests.support.choices import Choices, elements, flip, scale, zero_point
from tests.support.compressed_models import codebook_in_use
from tests.support.drawn_geometry import Axis, window
from tests.support.drawn_values import ACTIVATIONS, SMALLEST_OUTPUT_SCALE, drawn_zero_point, values

_LARGEST_BIAS = (1 << 31) - (1 << 25)
"""The sums of products of s8 drawn here stay below 2**25, so that bias and sum fit 32 bits, as TFLM needs."""
_LARGE = 17
"""Elements along both axes of a window of bytes whose sums need more than 16 bits."""
_LARGEST_BIAS_OF_S16 = {DType.S32: 1 << 28, DType.S64: (1 << 46) - 1}
"""Those of s16 stay below 2**31 - 2**28."""


@dataclass(frozen=True, slots=True)
class _Weights:
    """Scales that belong together: those of the filter, and the output's."""

    filter_scales: tuple[float, ...]
    output_scale: float
    is_above_one: bool


def _weights_scales(c: Choices, channels: int, input_scale: float, highest_power: int = 5) -> _Weights:
    """Filter scales of one channel or each, and an output scale that makes the factor 2**-20 to 2**highest_power."""
    base = scale(c, -12, 2)
    is_per_channel = flip(c)
    scales = [base * 2.0 ** c.integer(-4, 0) for _ in range(channels)] if is_per_channel else [base]
    power = c.one_of((c.integer(-9, -6), c.integer(-12, -5), c.integer(-20, highest_power)))
    output_scale = input_scale * base * (1.0 + c.integer(0, 255) / 256) * 2.0**-power
    output_scale = max(SMALLEST_OUTPUT_SCALE, float(np.float32(output_scale)))
    return _Weights(tuple(float(np.float32(entry)) for entry in scales), output_scale, power >= 0)


@dataclass(frozen=True, slots=True)
class _Sums:
    """How an operator of s16 adds up: TFLM goes by the type of the bias, or, where there is none, by an attribute.

    Attributes:
        bias: the type of the bias; s32 where the operator is one of s8.
        highest_power: of factors; a factor of 1 or more would shift 32-bit sums of s16 out.
        attributes: of the operator.
    """

    bias: DType
    highest_power: int
    attributes: Mapping[str, Attribute]


def _sums(c: Choices, name: str, dtype: DType) -> _Sums:
    if dtype is DType.S8:
        return _Sums(DType.S32, 5, {})
    if name == "DEPTHWISE_CONV_2D":
        return _Sums(DType.S64, 5, {})
    bias = c.one_of((DType.S64, DType.S32))
    # Where there is a bias, TFLM does not look at the attribute.
    return _Sums(bias, 5 if bias is DType.S64 else -1, {"quantized_bias_type": f"INT{8 * bias.size_bytes}"})


def _bias(
    c: Choices,
    b: ModelBuilder,
    channels: int,
    input_scale: float,
    weights: _Weights,
    *,
    may_skip: bool = True,
    largest: int = _LARGEST_BIAS,
    dtype: DType = DType.S32,
) -> tuple[int, ...]:
    """The bias as an operand; none, or, where `may_skip`, a -1 for one that is left out."""
    kind = c.one_of(("ordinary", "large", "none", "left out") if may_skip else ("ordinary", "large", "none"))
    if kind in ("none", "left out"):
        return () if kind == "none" else (-1,)
    # A factor above 1 shifts the sum left before it multiplies: undefined in TFLM where that overflows 32 bits.
    shifts_out = weights.is_above_one and dtype is DType.S32
    most = 1000 if kind == "ordinary" else (1 << 20) if shifts_out else largest
    rng = np.random.default_rng(c.integer(0, (1 << 32) - 1))
    drawn = rng.integers(-most, most, channels, endpoint=True).astype(dtype.numpy)
    scales = [float(np.float32(input_scale) * np.float32(entry)) for entry in weights.filter_scales]
    return (b.constant(drawn, scales, [0] * len(scales)),)


_Writer = Callable[[Choices, ModelBuilder, Sequence[int], Sequence[float], int], int]
"""Adds a filter: shape, scales and their axis → the tensor's index."""


def _plain(c: Choices, b: ModelBuilder, shape: Sequence[int], scales: Sequence[float], axis: int) -> int:
    """A filter of int8."""
    return b.constant(elements(c, shape), scales, [0] * len(scales), axis=axis)


def _int4(c: Choices, b: ModelBuilder, shape: Sequence[int], scales: Sequence[float], axis: int) -> int:
    """A filter of int4."""
    return b.constant(elements(c, shape) >> 4, scales, [0] * len(scales), axis=axis, is_int4=True)


def _compressed(c: Choices, b: ModelBuilder, shape: Sequence[int], scales: Sequence[float], axis: int) -> int:
    """A filter of few values, behind look-up tables."""
    few = elements(c, [c.one_of((1, 2, 3, 5, 16, 40, 128))])
    rng = np.random.default_rng(c.integer(0, (1 << 32) - 1))
    return codebook_in_use(b, rng.choice(few, tuple(shape)), scales, axis=axis, names_axis=flip(c))


def _convolution(c: Choices, name: str, dtype: DType = DType.S8, write: _Writer = _plain, most: int = 9) -> Case:
    """CONV_2D or DEPTHWISE_CONV_2D; an ungrouped one has up to `most` channels, at most 40."""
    b, batches = ModelBuilder(), c.one_of((1, 1, 2))
    padding, y, x = window(c, dilates=True)
    attributes: dict[str, Attribute] = {}
    if name == "CONV_2D":
        depth, groups = c.one_of(((c.integer(1, most), 1), (c.integer(1, 3), c.integer(1, 3))))
        channels, outputs = depth * groups, groups * c.integer(1, most // groups)
        filter_shape, axis = (outputs, y.kernel, x.kernel, depth), 0
    else:
        channels, multiplier = c.integer(1, 9), c.one_of((1, 1, 2, 3, 4))
        outputs = channels * multiplier
        filter_shape, axis = (1, y.kernel, x.kernel, outputs), 3
        attributes["depth_multiplier"] = multiplier
    input_scale, sums = scale(c, -12, 2), _sums(c, name, dtype)
    weights = _weights_scales(c, outputs, input_scale, sums.highest_power)
    source = b.input([batches, y.size, x.size, channels], dtype, input_scale, drawn_zero_point(c, dtype))
    kernel = write(c, b, filter_shape, weights.filter_scales, axis)
    # TFLM crashes on a -1 for the bias of a depthwise convolution (`depthwise_conv_common.cc` frees a null tensor).
    largest = _LARGEST_BIAS if dtype is DType.S8 else _LARGEST_BIAS_OF_S16[sums.bias]
    may_skip = name == "CONV_2D"
    bias = _bias(c, b, outputs, input_scale, weights, may_skip=may_skip, largest=largest, dtype=sums.bias)
    shape = [batches, y.output, x.output, outputs]
    output = b.tensor(shape, dtype, weights.output_scale, drawn_zero_point(c, dtype))
    return one(
        name,
        b,
        [source, kernel, *bias],
        output,
        [values(c, (batches, y.size, x.size, channels), dtype)],
        padding=padding,
        stride_h=y.stride,
        stride_w=x.stride,
        dilation_h_factor=y.dilation,
        dilation_w_factor=x.dilation,
        fused_activation_function=c.one_of(ACTIVATIONS),
        **attributes,
        **sums.attributes,
    )


def conv_2d(c: Choices) -> Case:
    """CONV_2D of any geometry, grouped or not."""
    return _convolution(c, "CONV_2D")


def depthwise_conv_2d(c: Choices) -> Case:
    """DEPTHWISE_CONV_2D of any geometry and depth multiplier."""
    return _convolution(c, "DEPTHWISE_CONV_2D")


def fully_connected(c: Choices, dtype: DType = DType.S8, write: _Writer = _plain) -> Case:
    """FULLY_CONNECTED on vectors that lie along the last axis, or anyhow in the input."""
    b, rank = ModelBuilder(), c.one_of((c.integer(1, 4), 4))
    # Long vectors that lie over several rows are added up row by row.
    depth, outputs, keeps = c.one_of((c.integer(1, 12), 24 * c.integer(1, 8))), c.integer(1, 9), flip(c)
    if keeps:
        shape = (*drawn_shape(c, rank - 1, 3), depth)
        output_shape = (*shape[:-1], outputs)
    else:
        batches = c.integer(1, 4)
        shape, output_shape = factors(c, batches * depth, rank), (batches, outputs)
    input_scale, sums = scale(c, -12, 2), _sums(c, "FULLY_CONNECTED", dtype)
    # TFLM refuses weights of int4 with several scales.
    weights = _weights_scales(c, 1 if write is _int4 else outputs, input_scale, sums.highest_power)
    source = b.input(shape, dtype, input_scale, _any_zero_point(c, dtype))
    kernel = write(c, b, (outputs, depth), weights.filter_scales, 0)
    largest = _LARGEST_BIAS if dtype is DType.S8 else _LARGEST_BIAS_OF_S16[sums.bias]
    bias = _bias(c, b, outputs, input_scale, weights, largest=largest, dtype=sums.bias)
    output = b.tensor(output_shape, dtype, weights.output_scale, _any_zero_point(c, dtype))
    activation = c.one_of(ACTIVATIONS)
    return one(
        "FULLY_CONNECTED", b, [source, kernel, *bias], output, [values(c, shape, dtype)],
        keep_num_dims=keeps, fused_activation_function=activation, **sums.attributes,
    )  # fmt: skip


def _any_zero_point(c: Choices, dtype: DType) -> int:
    """FULLY_CONNECTED and poolings of s16 have zero points, too, whatever converters write."""
    return zero_point(c) if dtype is DType.S8 else c.one_of((0, 0, -(1 << 15), (1 << 15) - 1, c.integer(-999, 999)))


def _pool(c: Choices, name: str, dtype: DType = DType.S8, *, is_large: bool = False) -> Case:
    b, batches, channels = ModelBuilder(), c.one_of((1, 1, 2)), c.integer(1, 9)
    padding, y, x = window(c, dilates=False)
    if c.one_of((False, False, True)):
        y = Axis.covered(c, padding)
    if is_large:
        y, x = Axis.covered(c, padding, _LARGE), Axis.covered(c, padding, _LARGE)
    quantization = (scale(c), _any_zero_point(c, dtype))
    source = b.input([batches, y.size, x.size, channels], dtype, *quantization)
    output = b.tensor([batches, y.output, x.output, channels], dtype, *quantization)
    return one(
        name,
        b,
        [source],
        output,
        [values(c, (batches, y.size, x.size, channels), dtype)],
        padding=padding,
        stride_h=y.stride,
        stride_w=x.stride,
        filter_height=y.kernel,
        filter_width=x.kernel,
        fused_activation_function=c.one_of(ACTIVATIONS),
    )


def average_pool_2d(c: Choices) -> Case:
    """AVERAGE_POOL_2D of any geometry; some windows have more elements than 16 bits hold the sums of."""
    return _pool(c, "AVERAGE_POOL_2D", is_large=c.one_of((False,) * 5 + (True,)))


def max_pool_2d(c: Choices) -> Case:
    """MAX_POOL_2D of any geometry."""
    return _pool(c, "MAX_POOL_2D")


WINDOW_MODELS: Mapping[str, Callable[[Choices], Case]] = {
    "AVERAGE_POOL_2D": average_pool_2d,
    "CONV_2D": conv_2d,
    "DEPTHWISE_CONV_2D": depthwise_conv_2d,
    "FULLY_CONNECTED": fully_connected,
    "MAX_POOL_2D": max_pool_2d,
}
"""How models of each of these operators are drawn."""
S16_WINDOW_MODELS: Mapping[str, Callable[[Choices], Case]] = {
    "AVERAGE_POOL_2D": lambda c: _pool(c, "AVERAGE_POOL_2D", DType.S16),
    "CONV_2D": lambda c: _convolution(c, "CONV_2D", DType.S16),
    "DEPTHWISE_CONV_2D": lambda c: _convolution(c, "DEPTHWISE_CONV_2D", DType.S16),
    "FULLY_CONNECTED": lambda c: fully_connected(c, DType.S16),
    "MAX_POOL_2D": lambda c: _pool(c, "MAX_POOL_2D", DType.S16),
}
"""The same of s16 elements."""
INT4_MODELS: Mapping[str, Callable[[Choices], Case]] = {
    "CONV_2D": lambda c: _convolution(c, "CONV_2D", write=_int4),
    "DEPTHWISE_CONV_2D": lambda c: _convolution(c, "DEPTHWISE_CONV_2D", write=_int4),
    "FULLY_CONNECTED": lambda c: fully_connected(c, write=_int4),
}
"""The same of s8 elements, with weights of int4."""
COMPRESSED_MODELS: Mapping[str, Callable[[Choices], Case]] = {
    "CONV_2D": lambda c: _convolution(c, "CONV_2D", write=_compressed, most=c.one_of((9, 40))),
    "DEPTHWISE_CONV_2D": lambda c: _convolution(c, "DEPTHWISE_CONV_2D", write=_compressed),
    "FULLY_CONNECTED": lambda c: fully_connected(c, write=_compressed),
}
"""The same with filters behind look-up tables."""
