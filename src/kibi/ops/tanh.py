"""TANH."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from kibi.ir import Site
from kibi.ops.logistic import input_radius
from kibi.ops.lookup import ALL_S8, Lookup
from kibi.ops.registry import register
from kibi.quant import quantize_multiplier, requantize, rounding_divide_by_power_of_two, tanh

_INTEGER_BITS = 4


@dataclass(frozen=True, slots=True)
class Tanh(Lookup):
    """The hyperbolic tangent: input s8 → output s8; the output's scale is taken to be 1/128, its zero point 0.

    Source: TFLM `micro/kernels/tanh.cc` and `kernels/internal/reference/integer_ops/tanh.h`.
    """

    name: ClassVar[str] = "TANH"

    def table(self, site: Site) -> NDArray[np.int8]:
        """As LOGISTIC, rule N14: fixed point with 4 integer bits between two saturated ends."""
        source = site["input"].quantization
        factor = quantize_multiplier(source.scale * (1 << (31 - _INTEGER_BITS)))
        radius = input_radius(_INTEGER_BITS, factor.shift)
        centred = ALL_S8 - source.zero_point
        inside = np.clip(centred, -radius + 1, radius - 1) if radius > 0 else np.zeros_like(centred)
        fixed = requantize(inside, factor.value, factor.shift)
        values = np.clip(rounding_divide_by_power_of_two(tanh(fixed, _INTEGER_BITS), 31 - 7), -128, 127)
        ends = np.where(centred <= -radius, -128, np.where(centred >= radius, 127, values))
        return ends.astype(np.int8)


register(Tanh)
