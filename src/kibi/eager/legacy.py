"""The earlier operators of asymmetric uint8, by hand: filters, too, have a zero point.

After uTensor's legacy operators. Operators of graphs have no such types; of uint8 they quantize and dequantize alone. Rules:
TensorFlow Lite, `kernels/internal/reference` (`depthwiseconv_uint8.h`, `fully_connected.h`, `add.h`, `pooling.h`, `quantize.h`); a
layer's factor is the double-precision quotient of its scales, as of int8 (rule N7).
"""

import numpy as np

from kibi.dtypes import Array, DType
from kibi.eager.notes import noted
from kibi.eager.operands import Operand
from kibi.eager.pools import require, windows_of, write_rows
from kibi.errors import InputError
from kibi.ir import OperatorError, Quantization
from kibi.ops.attributes import Activation, Padding
from kibi.quant import Multiplier, quantize_multiplier, requantize, round_half_away, wrap_s32

_LARGEST_SHIFT = 30
_MOST_TAPS = 1 << 15
"""Products whose sum fits 32 bits in any case."""


@noted
def add_u8(output: Operand, input1: Operand, input2: Operand, activation: Activation = Activation.NONE) -> None:
    """The sum of two tensors of one shape, brought to twice the larger scale (rule N9).

    Raises:
        InputError: types, shapes or scales do not fit.
    """
    tensors = (input1, input2, output)
    first, second, result = (_scale(tensor) for tensor in tensors)
    require(len({tensor.type.shape for tensor in tensors}) == 1, "ADD: the shapes differ. Give tensors of one shape")
    twice = 2 * max(first.scale, second.scale)
    factors = (first.scale / twice, second.scale / twice, twice / ((1 << 20) * result.scale))
    a, b, c = (_factor(each, most_shift=0) for each in factors)
    x, y = (tensor.to_array().astype(np.int64) for tensor in (input1, input2))
    total = requantize(x - first.zero_point << 20, a.value, a.shift) + requantize(
        y - second.zero_point << 20, b.value, b.shift
    )
    _put(output, requantize(total, c.value, c.shift), activation)


@noted
def depthwise_conv2d_u8(
    output: Operand,
    input: Operand,  # noqa: A002 - the operator's name for it
    filter: Operand,  # noqa: A002 - as above
    bias: Operand | None = None,
    *,
    stride: tuple[int, int] = (1, 1),
    dilation: tuple[int, int] = (1, 1),
    padding: Padding = Padding.VALID,
    activation: Activation = Activation.NONE,
) -> None:
    """A window on each channel: input `[N, H, W, C]`, filter `[1, KH, KW, C * M]`, bias `[C * M]` s32, output `[N, OH, OW, C * M]`.

    Raises:
        InputError: types, shapes or scales do not fit.
    """
    require(len(filter.type.shape) == 4, "DEPTHWISE_CONV_2D: the filter has not four axes [1, KH, KW, C * M]")
    one, height, width, outputs = filter.type.shape
    values, inside = windows_of(output, input, (height, width), stride, dilation, padding)
    channels = values.shape[-1]
    fits = one == 1 and outputs % channels == 0 and output.type.shape[3] == outputs and height * width <= _MOST_TAPS
    require(fits, f"DEPTHWISE_CONV_2D: a filter of {list(filter.type.shape)} does not fit {channels} channels")
    weights = filter.to_array().astype(np.int64)[0] - _scale(filter).zero_point
    centred = np.where(inside[..., None], values.astype(np.int64) - _scale(input).zero_point, 0)
    repeated = np.repeat(centred, outputs // channels, axis=-1)
    _finish(output, input, filter, bias, (repeated * weights).sum(axis=(-3, -2)), activation)


@noted
def fully_connected_u8(
    output: Operand,
    input: Operand,  # noqa: A002 - as above
    filter: Operand,  # noqa: A002 - as above
    bias: Operand | None = None,
    *,
    activation: Activation = Activation.NONE,
) -> None:
    """A matrix product: input of B * K elements, filter `[O, K]`, bias `[O]` s32, output of B * O elements.

    Raises:
        InputError: types, shapes or scales do not fit.
    """
    shape = filter.type.shape
    fits = len(shape) == 2 and shape[1] <= _MOST_TAPS and input.type.elements % shape[1] == 0
    require(fits, f"FULLY_CONNECTED: a filter of {list(shape)} does not fit an input of {input.type.elements} elements")
    weights = filter.to_array().astype(np.int64) - _scale(filter).zero_point
    vectors = input.to_array().astype(np.int64).reshape(-1, shape[1]) - _scale(input).zero_point
    _finish(output, input, filter, bias, vectors @ weights.T, activation)


@noted
def max_pool2d_u8(
    output: Operand,
    input: Operand,  # noqa: A002 - as above
    *,
    kernel: tuple[int, int],
    stride: tuple[int, int] = (1, 1),
    padding: Padding = Padding.VALID,
    activation: Activation = Activation.NONE,
) -> None:
    """The largest element of each window; input and output have one scale and zero point.

    Raises:
        InputError: types, shapes or scales do not fit.
    """
    same = _scale(input) == _scale(output) and output.type.shape[-1:] == input.type.shape[-1:]
    require(same, "MAX_POOL_2D: input and output differ in scale, zero point or channels")
    values, inside = windows_of(output, input, kernel, stride, (1, 1), padding)
    largest = np.where(inside[..., None], values.astype(np.int64), 0).max(axis=(-3, -2))
    _put(output, largest - _scale(output).zero_point, activation)


@noted
def quantize_u8(output: Operand, input: Operand) -> None:  # noqa: A002 - as above
    """Floats in the output's scale: rule N16 with the range of uint8; a NaN becomes the zero point.

    Raises:
        InputError: types or shapes do not fit.
    """
    fits = input.type.dtype is DType.F32 and input.type.shape == output.type.shape
    require(fits, "QUANTIZE: the input is no tensor of floats of the output's shape")
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        quotient = np.asarray(input.to_array(), np.float32) / np.float32(_scale(output).scale)
        bounded = np.clip(np.nan_to_num(quotient, nan=0.0, posinf=1024.0, neginf=-1024.0), -1024, 1024)
    _put(output, round_half_away(bounded).astype(np.int64), Activation.NONE)


@noted
def dequantize_u8(output: Operand, input: Operand) -> None:  # noqa: A002 - as above
    """Real numbers: scale * (element - zero point), in float32.

    Raises:
        InputError: types or shapes do not fit.
    """
    fits = output.type.dtype is DType.F32 and input.type.shape == output.type.shape
    require(fits, "DEQUANTIZE: the output is no tensor of floats of the input's shape")
    scale = _scale(input)
    centred = (input.to_array().astype(np.int32) - scale.zero_point).astype(np.float32)
    write_rows(output, centred * np.float32(scale.scale))


@noted
def arg_max_u8(output: Operand, input: Operand, axis: int) -> None:  # noqa: A002 - as above
    """Places of the largest elements along an axis, s32; the first of equals.

    Raises:
        InputError: types or shapes do not fit.
    """
    shape = input.type.shape
    fits = input.type.dtype is DType.U8 and output.type.dtype is DType.S32 and 0 <= axis < len(shape)
    fits = fits and output.type.elements * shape[axis] == input.type.elements
    require(fits, f"ARG_MAX: axis {axis} of {list(shape)} makes no s32 tensor of {output.type.elements} elements")
    places = np.argmax(input.to_array(), axis=axis).astype(np.int32)
    write_rows(output, places)


def _finish(
    output: Operand,
    source: Operand,
    weights: Operand,
    bias: Operand | None,
    sums: Array,
    activation: Activation,
) -> None:
    """Rule N7: sums of products as outputs."""
    factor = _factor(_scale(source).scale * _scale(weights).scale / _scale(output).scale)
    channels = sums.shape[-1]
    fits = output.type.elements == sums.size and (bias is None or bias.type.elements == channels)
    require(fits and (bias is None or bias.type.dtype is DType.S32), "the output or the bias has another size or type")
    added = sums if bias is None else wrap_s32(sums + bias.to_array().reshape(-1).astype(np.int64))
    _put(output, requantize(added, factor.value, factor.shift), activation)


def _scale(tensor: Operand) -> Quantization:
    """The one scale and zero point of a tensor of uint8."""
    found = tensor.type.quantization
    if tensor.type.dtype is not DType.U8 or found is None or found.is_per_channel:
        raise InputError(
            f"the tensor {tensor.name!r} is {tensor.type}, and not uint8 with one scale. Quantize it per tensor."
        )
    if not (found.scale > 0 and 0 <= found.zero_point <= 255):
        raise InputError(
            f"the tensor {tensor.name!r} has {found}. Give a positive scale, and a zero point of 0 to 255."
        )
    return found


def _factor(real: float, most_shift: int = _LARGEST_SHIFT) -> Multiplier:
    factor = quantize_multiplier(real)
    require(factor.shift <= most_shift, f"the scales are out of proportion: their factor is {real:.3g}")
    return factor


def _put(output: Operand, centred: Array, activation: Activation) -> None:
    """Writes values around the zero point, cut to the activation's range."""
    scale = _scale(output)
    try:
        low, high = activation.limits(DType.U8, scale)
    except OperatorError as error:
        raise InputError(f"{output.name}: {error}") from None
    values = wrap_s32(np.asarray(centred, np.int64) + scale.zero_point)
    write_rows(output, np.minimum(np.maximum(values, low), high).astype(np.uint8))
