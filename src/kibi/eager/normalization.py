"""Batch normalization by hand, of floats. No model file has it: converters fold it into the layer before it."""

import numpy as np
from numpy.typing import NDArray

from kibi.dtypes import DType
from kibi.eager.notes import noted
from kibi.eager.operands import Operand
from kibi.eager.pools import require


@noted
def batch_norm(
    output: Operand,
    input: Operand,  # noqa: A002 - the operator's name for it
    mean: Operand,
    variance: Operand,
    gamma: Operand | None = None,
    beta: Operand | None = None,
    *,
    epsilon: float = 1e-3,
) -> None:
    """`(input - mean) * (gamma / sqrt(variance + epsilon)) + beta`, each step rounded to float32 in this order.

    There is no such operator of integers: neither TensorFlow Lite nor its specification of 8 bits has a rule for one.

    Args:
        output: `[…, C]` f32, written; may be the input.
        input: `[…, C]` f32.
        mean: `[C]` f32.
        variance: `[C]` f32.
        gamma: `[C]` f32; None: ones.
        beta: `[C]` f32; None: zeros.
        epsilon: what is added to the variance.

    Raises:
        InputError: types or shapes do not fit.
        EventError: a tensor cannot be read or written.
    """
    shape = input.type.shape
    fits = input.type.dtype is DType.F32 is output.type.dtype and output.type.shape == shape and len(shape) > 0
    require(fits, f"BATCH_NORM: {input.type} makes no {output.type}. Give two tensors of floats of one shape")
    depth = shape[-1]
    for name, each in (("mean", mean), ("variance", variance), ("gamma", gamma), ("beta", beta)):
        fits = each is None or (each.type.dtype is DType.F32 and each.type.elements == depth)
        require(fits, f"BATCH_NORM: {name} has not one float for each of {depth} channels")
    with np.errstate(all="ignore"):  # as in C
        deviation = np.sqrt(_numbers(variance, 0, depth) + np.float32(epsilon))
        factor = _numbers(gamma, 1, depth) / deviation
        centre, offset = _numbers(mean, 0, depth), _numbers(beta, 0, depth)
        for y in range(input.type.rows):
            row = np.asarray(input.row(y), np.float32)
            made = (row.reshape(-1, depth) - centre) * factor + offset
            output.write_row(y, made.reshape(row.shape))


def _numbers(tensor: Operand | None, plain: float, depth: int) -> NDArray[np.float32]:
    """One float for each channel."""
    if tensor is None:
        return np.full(depth, plain, np.float32)
    return np.asarray(tensor.to_array(), np.float32).reshape(depth)
