"""Convolutions of chosen geometry: those that drawn models, which are small, do not reach."""

from dataclasses import dataclass

import numpy as np

from kibi.dtypes import Array, DType
from kibi.frontends.tflite.builder import Attribute, ModelBuilder
from tests.support.operator_models import Case


@dataclass(frozen=True, slots=True)
class Geometry:
    """A CONV_2D on an input of `[1, height, width, channels]` with padding SAME or VALID; with no groups, depthwise."""

    channels: int
    outputs: int
    kernel: tuple[int, int] = (3, 3)
    stride: int = 1
    dilation: int = 1
    groups: int = 1
    padding: str = "SAME"
    size: tuple[int, int] = (4, 9)


GEOMETRIES = (
    Geometry(1, 20),  # gathered: short runs, many channels
    Geometry(2, 17, kernel=(2, 4), stride=2),
    Geometry(1, 18, padding="VALID", size=(3, 3)),  # one pixel alone
    Geometry(8, 4),  # read where it lies
    Geometry(4, 20, kernel=(3, 4), stride=2),
    Geometry(4, 5, kernel=(2, 5), size=(4, 3)),  # columns outside on both sides of a window
    Geometry(16, 3, padding="VALID"),
    Geometry(5, 6, kernel=(1, 1), stride=2),
    Geometry(3, 2, kernel=(3, 5), stride=3, size=(5, 10)),
    Geometry(32, 6, dilation=2),  # column by column
    Geometry(32, 3, kernel=(1, 3), dilation=3, stride=2, padding="VALID"),
    Geometry(8, 12, kernel=(5, 5), size=(5, 9)),  # more columns than fast kernels list, outside on both sides of a row
    Geometry(32, 7, kernel=(4, 5), dilation=2, size=(5, 9)),
    Geometry(64, 6, groups=2, size=(3, 4)),
    Geometry(6, 9, groups=3),  # gathered, a group after the other
    Geometry(6, 6, groups=0),
    Geometry(5, 5, kernel=(2, 4), dilation=2, groups=0),
    Geometry(9, 9, stride=2, groups=0, padding="VALID"),
    Geometry(3, 6, groups=0),
)


def _output_size(g: Geometry) -> tuple[int, int]:
    """Height and width of the output."""
    sizes = zip(g.size, g.kernel, strict=True)
    reach = ((size, 0 if g.padding == "SAME" else g.dilation * (kernel - 1)) for size, kernel in sizes)
    height, width = (-(-(size - less) // g.stride) for size, less in reach)
    return height, width


def _filter_shape(g: Geometry) -> tuple[tuple[int, int, int, int], int]:
    """The filter's shape, and its axis of output channels."""
    return ((g.outputs, *g.kernel, g.channels // g.groups), 0) if g.groups else ((1, *g.kernel, g.outputs), 3)


def _case(
    b: ModelBuilder, g: Geometry, operands: list[int], output: int, data: Array, activation: str = "NONE"
) -> Case:
    """The model with its operator."""
    name = "CONV_2D" if g.groups else "DEPTHWISE_CONV_2D"
    multiplier: dict[str, Attribute] = {} if g.groups else {"depth_multiplier": g.outputs // g.channels}
    attributes: dict[str, Attribute] = {
        "padding": g.padding, "stride_h": g.stride, "stride_w": g.stride, "dilation_h_factor": g.dilation,
        "dilation_w_factor": g.dilation, "fused_activation_function": activation,
    }  # fmt: skip
    b.operator(name, operands, [output], attributes | multiplier)
    return Case(name, b.finish([output]), (data,))


def convolution(
    geometry: Geometry, seed: int = 0, *, is_int4: bool = False, odd: tuple[int, ...] = (), is_cut: bool = False
) -> Case:
    """A model with random weights, of int8 or int4, and inputs whose outputs spread over their range.

    Args:
        geometry: of the layer.
        seed: of weights and inputs.
        is_int4: true for weights of int4.
        odd: channels whose sums are shifted to the left.
        is_cut: true for a RELU whose outputs have the zero point -128, with a scale of its own for each channel.
    """
    rng, b, g = np.random.default_rng(seed), ModelBuilder(), geometry
    filter_shape, axis = _filter_shape(g)
    weights = rng.integers(-127, 128, filter_shape).astype(np.int8)
    shape = (1, *g.size, g.channels)
    data = rng.integers(-128, 128, shape).astype(np.int8)
    source = b.input(shape, DType.S8, 1 / 64, -5)
    scales = [1 / 64] * g.outputs
    if is_int4:
        weights, scales = weights >> 4, [1 / 4] * g.outputs
    for channel in odd:
        scales[channel] *= 4096
    if is_cut:
        scales = [float(np.float32(each)) for each in rng.uniform(0.5, 1.0, g.outputs) / 64]
    kernel = b.constant(weights, scales, [0] * g.outputs, axis=axis, is_int4=is_int4)
    spread = float(np.sqrt(weights.size / g.outputs)) * 5500 / 4096 / 60
    output = b.tensor([1, *_output_size(g), g.outputs], DType.S8, spread, -128 if is_cut else 3)
    biases = rng.integers(-5000, 5000, g.outputs).astype(np.int32)
    bias = b.constant(biases, [each / 64 for each in scales], [0] * g.outputs, axis=0)
    return _case(b, g, [source, kernel, bias], output, data, "RELU" if is_cut else "NONE")


def convolution_s16(geometry: Geometry, seed: int = 0, activation: str = "NONE") -> Case:
    """The same with inputs and outputs of int16, weights of int8, and biases of 64 bits."""
    rng, b, g = np.random.default_rng(seed), ModelBuilder(), geometry
    filter_shape, axis = _filter_shape(g)
    weights = rng.integers(-127, 128, filter_shape).astype(np.int8)
    shape = (1, *g.size, g.channels)
    ends = rng.choice(np.array([-32768, 32767, 5, -900, 20000, -12345], np.int16), shape)
    data = np.where(rng.random(shape) < 0.5, ends, rng.integers(-32768, 32768, shape)).astype(np.int16)
    scales = [float(np.float32(each)) for each in rng.uniform(0.5, 1.0, g.outputs) / 64]
    source = b.input(shape, DType.S16, 1 / 4096, 0)
    kernel = b.constant(weights, scales, [0] * g.outputs, axis=axis)
    spread = float(np.sqrt(weights.size / g.outputs)) * 73 * 2 / 64 / 4096
    biases = rng.integers(-500000, 500000, g.outputs).astype(np.int64)
    bias = b.constant(biases, [each / 4096 for each in scales], [0] * g.outputs, axis=0)
    output = b.tensor([1, *_output_size(g), g.outputs], DType.S16, spread, 0)
    return _case(b, g, [source, kernel, bias], output, data, activation)


def convolution_f32(geometry: Geometry, seed: int = 0, activation: str = "NONE", quiet: float = 1) -> Case:
    """The same of floats: of very different magnitudes, so that the order of sums tells; some infinite, some no number.

    With `quiet` four of five output channels have weights that are so many times as large.
    """
    rng, b, g = np.random.default_rng(seed), ModelBuilder(), geometry
    weights = rng.standard_normal(_filter_shape(g)[0]).astype(np.float32)
    if quiet < 1:
        weights[np.random.default_rng(seed).random(len(weights)) < 0.8] *= np.float32(quiet)
    shape = (1, *g.size, g.channels)
    data = (rng.standard_normal(shape) * 10.0 ** rng.integers(-6, 7, shape)).astype(np.float32)
    if seed % 2:
        data[rng.random(shape) < 0.02] = rng.choice([np.inf, -np.inf, np.nan, 0.0, -0.0])
    source, kernel = b.input(shape, DType.F32), b.constant(weights)
    bias = b.constant(rng.standard_normal(g.outputs).astype(np.float32))
    output = b.tensor([1, *_output_size(g), g.outputs], DType.F32)
    return _case(b, g, [source, kernel, bias], output, data, activation)
