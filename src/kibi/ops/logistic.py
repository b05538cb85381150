"""LOGISTIC."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from kibi.dtypes import DType
from kibi.ir import OperatorError, Site
from kibi.ops.lookup import ALL_S8, Lookup
from kibi.ops.registry import register
from kibi.quant import logistic, quantize_multiplier, requantize, rounding_divide_by_power_of_two

_INTEGER_BITS = 4


@dataclass(frozen=True, slots=True)
class Logistic(Lookup):
    """1 / (1 + exp(-x)): input s8 → output s8 of zero point -128; the output's scale is taken to be 1/256.

    Source: TFLM `micro/kernels/logistic_common.cc` and `kernels/internal/reference/integer_ops/logistic.h`.
    """

    name: ClassVar[str] = "LOGISTIC"

    def infer(self, site: Site) -> tuple[tuple[int, ...], DType]:
        """The input's shape, type s8."""
        shape, dtype = Lookup.infer(self, site)
        if site.output.quantization.zero_point != -128:
            what = f"output has zero point {site.output.quantization.zero_point}, but -128 is required"
            raise OperatorError(what, operand="output")
        return shape, dtype

    def table(self, site: Site) -> NDArray[np.int8]:
        """Rule N14: fixed point with 4 integer bits between two saturated ends."""
        source = site["input"].quantization
        factor = quantize_multiplier(source.scale * (1 << (31 - _INTEGER_BITS)))
        radius = input_radius(_INTEGER_BITS, factor.shift)
        centred = ALL_S8 - source.zero_point
        inside = np.clip(centred, -radius + 1, radius - 1) if radius > 0 else np.zeros_like(centred)
        fixed = requantize(inside, factor.value, factor.shift)
        values = rounding_divide_by_power_of_two(logistic(fixed, _INTEGER_BITS), 31 - 8) - 128
        values = np.clip(values, -128, 127)
        ends = np.where(centred <= -radius, -128, np.where(centred >= radius, 127, values))
        return ends.astype(np.int8)


def input_radius(integer_bits: int, left_shift: int) -> int:
    """The largest centred input that does not overflow: `(2**bits - 1) * 2**(31 - bits) / 2**left_shift`, rounded down.

    Source: TFLM `kernels/internal/quantization_util.cc`, `CalculateInputRadius`.
    """
    return math.floor(math.ldexp(float(((1 << integer_bits) - 1) << (31 - integer_bits)), -left_shift))


register(Logistic)
