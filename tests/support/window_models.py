"""Drawn models of operators that multiply by filters or slide windows."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from kibi.dtypes import DType
from tests.support.case import Case, drawn_shape, factors, one
from tests.support.choices import Choices, elements, flip, scale, zero_point
from tests.support.compressed_models import looked_up
from tests.support.drawn_geometry import Axis, window
from tests.support.drawn_values import ACTIVATIONS, SMALLEST_OUTPUT_SCALE
from tests.support.tflite_builder import Attribute, ModelBuilder

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
    output_scale = max(SMALLEST_OUTPUT_SCALE, float(np.float32(output_scale)))
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


_Writer = Callable[[Choices, ModelBuilder, Sequence[int], Sequence[float], int], int]
"""Adds a filter: shape, scales and their axis → the tensor's index."""


def _plain(c: Choices, b: ModelBuilder, shape: Sequence[int], scales: Sequence[float], axis: int) -> int:
    return b.constant(elements(c, shape), scales, [0] * len(scales), axis=axis)


def _compressed(c: Choices, b: ModelBuilder, shape: Sequence[int], scales: Sequence[float], axis: int) -> int:
    """A filter of few values, behind look-up tables."""
    few = elements(c, [c.one_of((1, 2, 3, 5, 16, 40, 128))])
    rng = np.random.default_rng(c.integer(0, (1 << 32) - 1))
    return looked_up(b, rng.choice(few, tuple(shape)), scales, axis=axis, names_axis=flip(c))


def _convolution(c: Choices, name: str, write: _Writer = _plain, most: int = 9) -> Case:
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
    input_scale = scale(c, -12, 2)
    weights = _weights_scales(c, outputs, input_scale)
    source = b.input([batches, y.size, x.size, channels], DType.S8, input_scale, zero_point(c))
    kernel = write(c, b, filter_shape, weights.filter_scales, axis)
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
        fused_activation_function=c.one_of(ACTIVATIONS),
        **attributes,
    )


def conv_2d(c: Choices) -> Case:
    """CONV_2D of any geometry, grouped or not."""
    return _convolution(c, "CONV_2D")


def depthwise_conv_2d(c: Choices) -> Case:
    """DEPTHWISE_CONV_2D of any geometry and depth multiplier."""
    return _convolution(c, "DEPTHWISE_CONV_2D")


def fully_connected(c: Choices, write: _Writer = _plain) -> Case:
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
    input_scale = scale(c, -12, 2)
    weights = _weights_scales(c, outputs, input_scale)
    source = b.input(shape, DType.S8, input_scale, zero_point(c))
    kernel = write(c, b, (outputs, depth), weights.filter_scales, 0)
    bias = _bias(c, b, outputs, input_scale, weights)
    output = b.tensor(output_shape, DType.S8, weights.output_scale, zero_point(c))
    activation = c.one_of(ACTIVATIONS)
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
        fused_activation_function=c.one_of(ACTIVATIONS),
    )


def average_pool_2d(c: Choices) -> Case:
    """AVERAGE_POOL_2D of any geometry."""
    return _pool(c, "AVERAGE_POOL_2D")


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
COMPRESSED_MODELS: Mapping[str, Callable[[Choices], Case]] = {
    "CONV_2D": lambda c: _convolution(c, "CONV_2D", _compressed, c.one_of((9, 40))),
    "DEPTHWISE_CONV_2D": lambda c: _convolution(c, "DEPTHWISE_CONV_2D", _compressed),
    "FULLY_CONNECTED": lambda c: fully_connected(c, _compressed),
}
"""The same with filters behind look-up tables."""
