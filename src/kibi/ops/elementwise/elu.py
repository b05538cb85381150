"""ELU."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from kibi.dtypes import DType
from kibi.ir import NodeView, OperatorError
from kibi.kernels.params.unary import ElementsParams
from kibi.ops.elementwise.table import ALL_S8
from kibi.ops.elementwise.unary import Numbers, Unary, elements_params
from kibi.ops.registry import register
from kibi.quant import exp_f32, expm1_f32, round_half_away

_MOST = float((1 << 31) - (1 << 8))


@dataclass(frozen=True, slots=True)
class Elu(Unary):
    """x where it is not negative, else exp(x) - 1: input s8 → output s8; or both are f32.

    Source: TFLM `micro/kernels/elu.cc`, `PopulateLookupTable`: float32 throughout; of floats
    `kernels/internal/reference/elu.h`.
    """

    name: ClassVar[str] = "ELU"
    kernels: ClassVar[tuple[str, ...]] = ("kibi_table_s8", "kibi_elu_f32")
    types: ClassVar[tuple[DType, ...]] = (DType.S8, DType.F32)
    ulps: ClassVar[int] = 1

    def table(self, view: NodeView) -> NDArray[np.int8]:
        """Each real number in float32, divided by multiplying with the scale's inverse, by rule N5 rounded."""
        source, output = view["input"].quantization, view.output.quantization
        with np.errstate(all="ignore"):
            real = np.float32(source.scale) * (ALL_S8 - source.zero_point).astype(np.float32)
            below = exp_f32(np.minimum(real, np.float32(0))) - np.float32(1)
            scaled = np.where(real < 0, below, real) * (np.float32(1) / np.float32(output.scale))
        if not (np.abs(scaled) < _MOST).all():
            what = f"values up to {float(real.max()):g} at a scale of {output.scale:g} do not fit 32 bits"
            raise OperatorError(what, "Quantize the model again with representative data", "output")
        whole = (round_half_away(scaled) + np.float32(output.zero_point)).astype(np.int64)
        return np.clip(whole, -128, 127).astype(np.int8)

    def params(self, view: NodeView) -> ElementsParams:
        """The size of a row."""
        return elements_params(view)

    def wide(self, view: NodeView) -> Callable[[Numbers], Numbers]:
        """Computes floats by rule N32."""
        del view
        return lambda values: np.where(values < 0, expm1_f32(np.minimum(values, np.float32(0))), values)


register(Elu)
