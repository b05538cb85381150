"""Pools by hand that no model file has: the smallest element of each window, and functions of the program's own.

After uTensor's `MinPoolOperator` and `GenericPoolOperator` (`src/uTensor/ops/Convolution.hpp`).
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from kibi.dtypes import Array, DType
from kibi.eager.notes import noted
from kibi.eager.operands import Operand
from kibi.errors import InputError
from kibi.ir import OperatorError
from kibi.ops.attributes import Activation, Padding


@noted
def generic_pool2d(
    output: Operand,
    input: Operand,  # noqa: A002 - the operator's name for it
    function: Callable[[Array], object],
    *,
    kernel: tuple[int, int],
    stride: tuple[int, int] = (1, 1),
    padding: Padding = Padding.VALID,
) -> None:
    """A function of each window: input `[N, H, W, C]`, output `[N, OH, OW, C]` of the same element type.

    Args:
        output: `[N, OH, OW, C]`, written.
        input: `[N, H, W, C]`.
        function: makes an element of those of a channel that are inside a window, `[count]`, row after row.
        kernel: rows and columns of the window.
        stride: rows and columns from window to window.
        padding: whether windows reach beyond the borders.

    Raises:
        InputError: types, shapes or the window do not fit, or what the function makes is no element.
    """
    same = input.type.dtype is output.type.dtype and input.type.shape[-1:] == output.type.shape[-1:]
    require(same, "input and output differ in type or channels")
    values, inside = windows_of(output, input, kernel, stride, (1, 1), padding)
    made = np.zeros(output.type.shape, output.type.dtype.numpy)
    for n, y, x, c in np.ndindex(*made.shape):
        try:
            made[n, y, x, c] = function(values[n, y, x, :, :, c][inside[y, x]])
        except (TypeError, ValueError, OverflowError) as error:
            raise InputError(f"the function of the pool makes no element of {output.type.dtype}: {error}.") from None
    write_rows(output, made)


@noted
def min_pool2d(
    output: Operand,
    input: Operand,  # noqa: A002 - as above
    *,
    kernel: tuple[int, int],
    stride: tuple[int, int] = (1, 1),
    padding: Padding = Padding.VALID,
    activation: Activation = Activation.NONE,
) -> None:
    """The smallest element of each window, then clamped: s8 of one scale and zero point, or f32, whose NaN are passed over.

    Raises:
        InputError: types, shapes, scales or the window do not fit.
    """
    dtype = output.type.dtype
    same = dtype is input.type.dtype and output.type.quantization == input.type.quantization
    require(same and dtype in (DType.S8, DType.F32), "input and output are not both s8 of one scale, or both f32")
    require(input.type.shape[-1:] == output.type.shape[-1:], "input and output differ in channels")
    low, high = _limits(output, activation)
    most = float(np.finfo(np.float32).max) if dtype is DType.F32 else 127
    values, inside = windows_of(output, input, kernel, stride, (1, 1), padding)
    least = np.fmin.reduce(np.where(inside[..., None], values, dtype.numpy.type(most)), axis=(-3, -2), initial=most)
    raised = np.where(least < low, low, least)
    write_rows(output, np.where(raised > high, high, raised).astype(dtype.numpy))


def _limits(output: Operand, activation: Activation) -> tuple[float, float]:
    quantization = output.type.quantization
    if output.type.dtype is DType.F32:
        return activation.plain_limits(DType.F32)
    if quantization is None or quantization.is_per_channel:
        raise InputError(f"the tensor {output.name!r} has not one scale. Quantize it per tensor.")
    try:
        return activation.limits(output.type.dtype, quantization)
    except OperatorError as error:
        raise InputError(f"{output.name}: {error}") from None


def windows_of(
    output: Operand,
    source: Operand,
    kernel: tuple[int, int],
    stride: tuple[int, int],
    dilation: tuple[int, int],
    padding: Padding,
) -> tuple[Array, NDArray[np.bool_]]:
    """The elements under each window, `[N, OH, OW, KH, KW, C]`, and which of them are inside, `[OH, OW, KH, KW]`.

    Raises:
        InputError: the output has not the shape that the window makes of the input.
    """
    shape, made = source.type.shape, output.type.shape
    require(len(shape) == 4 == len(made) and shape[0] == made[0], "input and output have not the axes [N, H, W, C]")
    places, inside = [], []
    for axis, (size, reach, step, gap) in enumerate(zip(shape[1:3], kernel, stride, dilation, strict=True)):
        require(min(reach, step, gap) >= 1, "a window, a stride or a dilation is below 1")
        count = padding.output_size(size, reach, step, gap)
        require(count == made[axis + 1] > 0, f"the window makes {count} of {size}, the output has {made[axis + 1]}")
        before = padding.before(size, reach, step, gap, count)
        at = np.arange(count)[:, None] * step - before + np.arange(reach)[None, :] * gap
        inside.append((at >= 0) & (at < size))
        places.append(np.clip(at, 0, size - 1))
    rows, columns = places
    values = source.to_array()[:, rows[:, None, :, None], columns[None, :, None, :]]
    return values, inside[0][:, None, :, None] & inside[1][None, :, None, :]


def write_rows(output: Operand, values: Array) -> None:
    """Writes all elements, row by row."""
    for y, row in enumerate(values.reshape(output.type.rows, *output.type.row_shape)):
        output.write_row(y, row)


def require(is_so: bool, what: str) -> None:
    """Refuses operands.

    Raises:
        InputError: they do not fit; the text says what.
    """
    if not is_so:
        raise InputError(f"{what}.")
