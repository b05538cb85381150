"""LOGISTIC."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from kibi.dtypes import DType
from kibi.ir import NodeView, OperatorError
from kibi.kernels.params import Params
from kibi.ops.elementwise.sigmoid_s16 import scaling, sigmoid_params
from kibi.ops.elementwise.table import ALL_S8
from kibi.ops.elementwise.unary import Numbers, Unary, elements_params
from kibi.ops.registry import register
from kibi.quant import exp_f32, logistic, logistic_s16, quantize_multiplier, requantize, rounding_divide_by_power_of_two

_INTEGER_BITS = 4
_ONE_FROM, _POWER_UNTIL = np.float32(16.619047164916992), np.float32(-9)
"""Of floats: arguments above give 1, arguments below their exponential."""


@dataclass(frozen=True, slots=True)
class Logistic(Unary):
    """1 / (1 + exp(-x)): input s8 → output s8 of zero point -128; the output's scale is taken to be 1/256. Or both are f32.

    Or input s16 → output s16 of scale 1/32768, both symmetric. Source: TFLM `micro/kernels/logistic_common.cc` and
    `kernels/internal/reference/integer_ops/logistic.h`; of floats `kernels/internal/reference/logistic.h`.
    """

    name: ClassVar[str] = "LOGISTIC"
    kernels: ClassVar[tuple[str, ...]] = ("kibi_table_s8", "kibi_logistic_s16", "kibi_logistic_f32")
    types: ClassVar[tuple[DType, ...]] = (DType.S8, DType.S16, DType.F32)
    ulps: ClassVar[int] = 1

    def infer(self, view: NodeView) -> tuple[tuple[int, ...], DType]:
        """The input's shape and type."""
        shape, dtype = Unary.infer(self, view)
        if dtype is DType.S8 and view.output.quantization.zero_point != -128:
            what = f"output has zero point {view.output.quantization.zero_point}, but -128 is required"
            raise OperatorError(what, operand="output")
        return shape, dtype

    def params(self, view: NodeView) -> Params:
        """The size of a row, and the scaling of s16."""
        return elements_params(view) if view.output.type.dtype is DType.F32 else sigmoid_params(view, (0,))

    def wide(self, view: NodeView) -> Callable[[Numbers], Numbers]:
        """Computes s16 by rule N29, floats by rule N25."""
        if view.output.type.dtype is DType.F32:
            return logistic_of_floats
        factors = scaling(view, (0,))
        return lambda values: logistic_s16(values, *factors)

    def table(self, view: NodeView) -> NDArray[np.int8]:
        """Rule N14: fixed point with 4 integer bits between two saturated ends."""
        source = view["input"].quantization
        factor = quantize_multiplier(source.scale * (1 << (31 - _INTEGER_BITS)))
        radius = input_radius(_INTEGER_BITS, factor.shift)
        centred = ALL_S8 - source.zero_point
        inside = np.clip(centred, -radius + 1, radius - 1) if radius > 0 else np.zeros_like(centred)
        fixed = requantize(inside, factor.value, factor.shift)
        values = rounding_divide_by_power_of_two(logistic(fixed, _INTEGER_BITS), 31 - 8) - 128
        values = np.clip(values, -128, 127)
        ends = np.where(centred <= -radius, -128, np.where(centred >= radius, 127, values))
        return ends.astype(np.int8)


def logistic_of_floats(values: Numbers) -> Numbers:
    """Rule N25: 1 above 16.6, exp(x) below -9, else the function itself, rounded to float32 three times."""
    one = np.float32(1)
    inside = one / (one + exp_f32(-values))
    return np.where(values > _ONE_FROM, one, np.where(values < _POWER_UNTIL, exp_f32(values), inside))


def input_radius(integer_bits: int, left_shift: int) -> int:
    """The largest centred input that does not overflow: `(2**bits - 1) * 2**(31 - bits) / 2**left_shift`, rounded down.

    Source: TFLM `kernels/internal/quantization_util.cc`, `CalculateInputRadius`.
    """
    return math.floor(math.ldexp(float(((1 << integer_bits) - 1) << (31 - integer_bits)), -left_shift))


register(Logistic)
