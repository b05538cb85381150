"""Drawn models of forms that TFLM refuses: what holds for all kernels is tested with them, but for what compares with TFLM."""

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np

from kibi.dtypes import DType
from tests.support.binary_models import broadcast_shapes
from tests.support.case import Case, one
from tests.support.choices import Choices
from tests.support.drawn_values import values
from tests.support.tflite_builder import ModelBuilder


def whole_division(c: Choices, name: str) -> Case:
    """FLOOR_DIV or FLOOR_MOD of s32, sometimes by 0."""
    b = ModelBuilder()
    *shapes, output_shape = broadcast_shapes(c)
    dividend, divisor = (values(c, shape, DType.S32) for shape in shapes)
    divisor = np.asarray(divisor // c.one_of((1, 1 << 20, 1 << 28)), np.int32)
    operands = [b.input(shape, DType.S32) for shape in shapes]
    return one(name, b, operands, b.tensor(output_shape, DType.S32), [dividend, divisor])


WIDER_MODELS: Mapping[str, Callable[[Choices], Case]] = {
    name: partial(whole_division, name=name) for name in ("FLOOR_DIV", "FLOOR_MOD")
}
"""How models of each of these operators are drawn."""
