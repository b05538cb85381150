"""RSQRT."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from kibi.dtypes import DType
from kibi.ir import Param, Site
from kibi.ops import checks
from kibi.ops.lookup import ALL_S8
from kibi.ops.registry import register
from kibi.ops.unary import Numbers, Unary
from kibi.quant import inverse_square_root, requantize, wrap_s32

_FRACTION_BITS = 20


@dataclass(frozen=True, slots=True)
class Rsqrt(Unary):
    """1 / sqrt(x): input s8 or f32 → output of that type.

    An s8 of 0 gives 127, and so does what is negative, at which TFLM stops the inference. Source: TFLM
    `micro/kernels/elementwise.cc`, `RsqrtEvalQuantized`, and `kernels/internal/common.h`, `GetInvSqrtQuantizedMultiplierExp`.
    """

    name: ClassVar[str] = "RSQRT"
    kernels: ClassVar[tuple[str, ...]] = ("kibi_lookup_s8", "kibi_rsqrt_f32")
    types: ClassVar[tuple[DType, ...]] = (DType.S8, DType.F32)

    def table(self, site: Site) -> NDArray[np.int8]:
        """By rule N4, the inverse root of the centred input to 20 bits, then in the output's scale."""
        source, output = site["input"].quantization, site.output.quantization
        with np.errstate(over="ignore", under="ignore", divide="ignore"):
            scale = np.sqrt(np.float32(source.scale)) * np.float32(output.scale)
        factor = checks.factor(1.0 / float(scale) if scale > 0 else math.inf)
        outputs = [127] * 256
        for place, centred in enumerate((ALL_S8 - source.zero_point).tolist()):
            if centred > 0:
                inverse = inverse_square_root(centred)
                fixed = requantize(1, inverse.value, inverse.shift + _FRACTION_BITS)
                scaled = requantize(fixed, factor.value, factor.shift - _FRACTION_BITS)
                outputs[place] = int(np.clip(wrap_s32(scaled + output.zero_point), -128, 127))
        return np.array(outputs, np.int8)

    def params(self, site: Site) -> tuple[Param, ...]:
        """None: floats need no more than their number."""
        del site
        return ()

    def wide(self, site: Site) -> Callable[[Numbers], Numbers]:
        """Of f32: the root, rounded, and its inverse, rounded again."""
        del site
        return lambda values: np.float32(1) / np.sqrt(np.asarray(values, np.float32))


register(Rsqrt)
