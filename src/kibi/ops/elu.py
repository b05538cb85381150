"""ELU."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from kibi.ir import OperatorError, Site
from kibi.ops.lookup import ALL_S8, Lookup
from kibi.ops.registry import register
from kibi.quant import round_half_away

_MOST = float((1 << 31) - (1 << 8))


@dataclass(frozen=True, slots=True)
class Elu(Lookup):
    """x where it is not negative, else exp(x) - 1: input s8 → output s8.

    Source: TFLM `micro/kernels/elu.cc`, `PopulateLookupTable`: float32 throughout.
    """

    name: ClassVar[str] = "ELU"

    def table(self, site: Site) -> NDArray[np.int8]:
        """Each real number in float32, divided by multiplying with the scale's inverse, by rule N5 rounded."""
        source, output = site["input"].quantization, site.output.quantization
        with np.errstate(all="ignore"):
            real = np.float32(source.scale) * (ALL_S8 - source.zero_point).astype(np.float32)
            below = np.array([math.exp(min(float(x), 0.0)) for x in real]).astype(np.float32) - np.float32(1)
            scaled = np.where(real < 0, below, real) * (np.float32(1) / np.float32(output.scale))
        if not (np.abs(scaled) < _MOST).all():
            what = f"values up to {float(real.max()):g} at a scale of {output.scale:g} do not fit 32 bits"
            raise OperatorError(what, "Quantize the model again with representative data", "output")
        whole = (round_half_away(scaled) + np.float32(output.zero_point)).astype(np.int64)
        return np.clip(whole, -128, 127).astype(np.int8)


register(Elu)
