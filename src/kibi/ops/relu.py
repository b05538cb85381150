"""RELU."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from kibi.ir import Site
from kibi.ops import checks
from kibi.ops.lookup import ALL_S8, Lookup
from kibi.ops.registry import register
from kibi.quant import requantize, wrap_s32


@dataclass(frozen=True, slots=True)
class Relu(Lookup):
    """max(x, 0), requantized: input s8 → output s8.

    The quotient of the scales is in double precision, as TFLM's build has it. Source: TFLM `micro/kernels/activations.h`,
    `ReluQuantized`.
    """

    name: ClassVar[str] = "RELU"

    def table(self, site: Site) -> NDArray[np.int8]:
        """Rule N12."""
        source, output = site["input"].quantization, site.output.quantization
        factor = checks.factor(source.scale / output.scale)
        scaled = wrap_s32(requantize(ALL_S8 - source.zero_point, factor.value, factor.shift) + output.zero_point)
        return np.minimum(np.maximum(scaled, output.zero_point), 127).astype(np.int8)


register(Relu)
