"""Drawn models of forms that TFLM refuses: what holds for all kernels is tested with them, but for what compares with TFLM."""

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np

from kibi.dtypes import DType
from kibi.frontends.tflite.builder import ModelBuilder
from tests.support.binary_models import broadcast_shapes
from tests.support.case import Case, drawn_shape, one, permutation
from tests.support.choices import Choices
from tests.support.drawn_values import values
from tests.support.logic_models import truths

_FROM_U8 = (DType.S8, DType.S16, DType.S32, DType.U32, DType.F32, DType.BOOL)


def whole_division(c: Choices, name: str) -> Case:
    """FLOOR_DIV or FLOOR_MOD of s32, sometimes by 0."""
    b = ModelBuilder()
    *shapes, output_shape = broadcast_shapes(c)
    dividend, divisor = (values(c, shape, DType.S32) for shape in shapes)
    divisor = np.asarray(divisor // c.one_of((1, 1 << 20, 1 << 28)), np.int32)
    operands = [b.input(shape, DType.S32) for shape in shapes]
    return one(name, b, operands, b.tensor(output_shape, DType.S32), [dividend, divisor])


def cast_from_u8(c: Choices) -> Case:
    """CAST of u8 to any type, as files have it before quantized networks for images."""
    b, shape = ModelBuilder(), drawn_shape(c, c.integer(0, 4))
    x, y = b.input(shape, DType.U8), b.tensor(shape, c.one_of(_FROM_U8))
    return one("CAST", b, [x], y, [values(c, shape, DType.U8)])


def transpose_of_bool(c: Choices) -> Case:
    """TRANSPOSE of bool by any permutation, as reductions of truths need it."""
    b, shape = ModelBuilder(), drawn_shape(c, c.integer(1, 5), 4)
    order = permutation(c, len(shape))
    x, y = b.input(shape, DType.BOOL), b.tensor([shape[axis] for axis in order], DType.BOOL)
    return one("TRANSPOSE", b, [x, b.constant(np.array(order, np.int32))], y, [truths(c, shape)])


WIDER_MODELS: Mapping[str, Callable[[Choices], Case]] = {
    **{name: partial(whole_division, name=name) for name in ("FLOOR_DIV", "FLOOR_MOD")},
    "CAST": cast_from_u8,
    "TRANSPOSE": transpose_of_bool,
}
"""How models of each of these operators are drawn."""
