"""Drawn models of operators that divide, add up and multiply matrices."""

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np

from kibi.dtypes import DType
from tests.support.binary_models import broadcast_shapes
from tests.support.case import Case, one
from tests.support.choices import Choices, flip, floats
from tests.support.drawn_values import values
from tests.support.tflite_builder import ModelBuilder


def floor_division(c: Choices, name: str) -> Case:
    """FLOOR_DIV or FLOOR_MOD by what is not 0."""
    b, is_plain = ModelBuilder(), flip(c)
    *shapes, output_shape = broadcast_shapes(c)
    dividend, divisor = (floats(c, shape) if is_plain else values(c, shape, DType.F32) for shape in shapes)
    divisor = np.where(divisor == 0, np.float32(c.one_of((0.5, -3, 1e-40))), divisor).astype(np.float32)
    operands = [b.input(shape, DType.F32) for shape in shapes]
    return one(name, b, operands, b.tensor(output_shape, DType.F32), [dividend, divisor])


ARITHMETIC_MODELS: Mapping[str, Callable[[Choices], Case]] = {
    **{name: partial(floor_division, name=name) for name in ("FLOOR_DIV", "FLOOR_MOD")},
}
"""How models of each of these operators are drawn."""
