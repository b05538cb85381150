"""TANH."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from kibi.dtypes import DType
from kibi.ir import NodeView
from kibi.kernels.params import Params
from kibi.ops.elementwise.logistic import input_radius
from kibi.ops.elementwise.sigmoid_s16 import scaling, sigmoid_params
from kibi.ops.elementwise.table import ALL_S8
from kibi.ops.elementwise.unary import Numbers, Unary, elements_params
from kibi.ops.registry import register
from kibi.quant import (
    quantize_multiplier,
    requantize,
    rounding_divide_by_power_of_two,
    tanh,
    tanh_f32,
    tanh_s16,
)

_INTEGER_BITS = 4
_EXACT_SHIFTS = (0, 1)


@dataclass(frozen=True, slots=True)
class Tanh(Unary):
    """The hyperbolic tangent: input s8 → output s8; the output's scale is taken to be 1/128, its zero point 0.

    Or input s16 → output s16 of scale 1/32768, both symmetric; or both are f32. Source: TFLM `micro/kernels/tanh.cc`,
    `kernels/internal/reference/integer_ops/tanh.h` and `kernels/internal/reference/tanh.h`.
    """

    name: ClassVar[str] = "TANH"
    kernels: ClassVar[tuple[str, ...]] = ("kibi_table_s8", "kibi_tanh_s16", "kibi_tanh_f32")
    types: ClassVar[tuple[DType, ...]] = (DType.S8, DType.S16, DType.F32)
    ulps: ClassVar[int] = 2

    def table(self, view: NodeView) -> NDArray[np.int8]:
        """Makes the table as LOGISTIC does, by rule N14: fixed point with 4 integer bits between two saturated ends."""
        source = view["input"].quantization
        factor = quantize_multiplier(source.scale * (1 << (31 - _INTEGER_BITS)))
        radius = input_radius(_INTEGER_BITS, factor.shift)
        centred = ALL_S8 - source.zero_point
        inside = np.clip(centred, -radius + 1, radius - 1) if radius > 0 else np.zeros_like(centred)
        fixed = requantize(inside, factor.value, factor.shift)
        values = np.clip(rounding_divide_by_power_of_two(tanh(fixed, _INTEGER_BITS), 31 - 7), -128, 127)
        ends = np.where(centred <= -radius, -128, np.where(centred >= radius, 127, values))
        return ends.astype(np.int8)

    def params(self, view: NodeView) -> Params:
        """The size of a row, and the scaling of s16."""
        return elements_params(view) if view.output.type.dtype is DType.F32 else sigmoid_params(view, _EXACT_SHIFTS)

    def wide(self, view: NodeView) -> Callable[[Numbers], Numbers]:
        """Computes s16 by rule N29, floats by rule N32."""
        if view.output.type.dtype is DType.F32:
            return tanh_f32
        factors = scaling(view, _EXACT_SHIFTS)
        return lambda values: tanh_s16(values, *factors)


register(Tanh)
