"""ABS."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from kibi.dtypes import DType
from kibi.ir import NodeView, OperatorError
from kibi.kernels.params import Params
from kibi.kernels.params.unary import AbsS16Params
from kibi.ops import checks
from kibi.ops.elementwise.table import ALL_S8
from kibi.ops.elementwise.unary import Numbers, Unary, elements_params
from kibi.ops.registry import register
from kibi.quant import Multiplier, requantize, wrap_s32


@dataclass(frozen=True, slots=True)
class Abs(Unary):
    """The magnitude: input s8, s16 or f32 → output of that type; s16 may have no scale.

    Nothing is rescaled where scales are equal; else by their quotient. Zero points of s16 are 0.
    Source: TFLM `micro/kernels/elementwise.cc`, `PrepareAbsRsqrt` and `AbsEvalQuantized`.
    """

    name: ClassVar[str] = "ABS"
    kernels: ClassVar[tuple[str, ...]] = ("kibi_table_s8", "kibi_abs_s16", "kibi_abs_f32")
    types: ClassVar[tuple[DType, ...]] = (DType.S8, DType.S16, DType.F32)

    def table(self, view: NodeView) -> NDArray[np.int8]:
        """The magnitude of the centred input, by rule N4 in the output's scale, cut to s8."""
        magnitude = np.abs(ALL_S8 - view["input"].quantization.zero_point)
        factor = _factor(view)
        scaled = magnitude if factor is None else requantize(magnitude, factor.value, factor.shift)
        return np.clip(wrap_s32(scaled + view.output.quantization.zero_point), -128, 127).astype(np.int8)

    def params(self, view: NodeView) -> Params:
        """The size of a row, and the factor of s16."""
        if view.output.type.dtype is DType.F32:
            return elements_params(view)
        if view["input"].type.quantization is None:
            if view.output.type.quantization is not None:
                raise OperatorError("output has a scale, but input has none", operand="output")
            factor = None
        else:
            for operand in ("input", "output"):
                checks.symmetric(view, operand)
            factor = _factor(view)
        value, shift = (0, 0) if factor is None else (factor.value, factor.shift)
        return AbsS16Params(
            elements=view.output.type.row_elements, is_scaled=int(factor is not None), multiplier=value, shift=shift
        )

    def wide(self, view: NodeView) -> Callable[[Numbers], Numbers]:
        """Removes the sign of f32; of integers as the table."""
        if view.output.type.dtype is DType.F32:
            return np.abs
        factor = None if view["input"].type.quantization is None else _factor(view)

        def function(values: Numbers) -> Numbers:
            magnitude = np.abs(values)
            scaled = magnitude if factor is None else requantize(magnitude, factor.value, factor.shift)
            return np.clip(scaled, *DType.S16.limits)

        return function


def _factor(view: NodeView) -> Multiplier | None:
    """Returns a quotient in double precision, as TFLM's Python build shows for s16; None where scales are equal."""
    source, output = (view[name].quantization.scale for name in ("input", "output"))
    return None if source == output else checks.factor(source / output)


register(Abs)
