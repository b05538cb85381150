"""HARD_SWISH."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from kibi.dtypes import DType
from kibi.ir import NodeView, OperatorError
from kibi.kernels.params.unary import ElementsParams
from kibi.ops import checks
from kibi.ops.elementwise.table import ALL_S8
from kibi.ops.elementwise.unary import Numbers, Unary, elements_params
from kibi.ops.registry import register
from kibi.quant import Multiplier, rounding_divide_by_power_of_two

_LOW, _HIGH = -(1 << 15), (1 << 15) - 1
_HIGH_RESOLUTION_BITS = 7
_RELUISH_SCALE = 3.0 / (1 << 15)


@dataclass(frozen=True, slots=True)
class HardSwish(Unary):
    """x * min(max(x + 3, 0), 6) / 6: input s8 or f32 → output of that type.

    Source: TFLM `micro/kernels/hard_swish_common.cc` and `kernels/internal/reference/hard_swish.h`.
    """

    name: ClassVar[str] = "HARD_SWISH"
    kernels: ClassVar[tuple[str, ...]] = ("kibi_table_s8", "kibi_hard_swish_f32")
    types: ClassVar[tuple[DType, ...]] = (DType.S8, DType.F32)

    def table(self, view: NodeView) -> NDArray[np.int8]:
        """In 16 bits: the input seven bits finer, times the input plus 3 and clamped, in units of 3 / 2**15."""
        output, reluish = _factors(view)
        fine = (ALL_S8 - view["input"].quantization.zero_point) << _HIGH_RESOLUTION_BITS
        scaled = _multiply_rounding(fine, _sixteen_bits(output))
        gate = fine
        if reluish.shift > 0:
            gate = np.clip(gate << (reluish.shift - 1), _LOW, _HIGH)
        gate = _multiply_rounding(gate, _sixteen_bits(reluish))
        if reluish.shift > 0:
            gate = np.clip(gate << 1, _LOW, _HIGH)
        elif reluish.shift < 0:
            gate = rounding_divide_by_power_of_two(gate, -reluish.shift)
        gate = (gate + (1 << 15)) >> 1
        product = np.trunc(gate * scaled / (1 << 15)).astype(np.int64)
        result = rounding_divide_by_power_of_two(product, -output.shift) + view.output.quantization.zero_point
        return np.clip(result, -128, 127).astype(np.int8)

    def params(self, view: NodeView) -> ElementsParams:
        """The size of a row."""
        return elements_params(view)

    def wide(self, view: NodeView) -> Callable[[Numbers], Numbers]:
        """Computes f32: multiplies before it divides."""
        del view

        def function(values: Numbers) -> Numbers:
            gate = np.minimum(np.float32(6), np.maximum(np.float32(0), values + np.float32(3)))
            product: Numbers = values * gate
            return product / np.float32(6)

        return function


def _factors(view: NodeView) -> tuple[Multiplier, Multiplier]:
    """From the finer input to the output, below 1, and to units of 3 / 2**15; in double precision, as TFLM's Python build shows."""
    fine = view["input"].quantization.scale / (1 << _HIGH_RESOLUTION_BITS)
    output = checks.factor(fine / view.output.quantization.scale)
    reluish = checks.factor(fine / _RELUISH_SCALE)
    if output.shift > 0:
        what = f"the input's scale is more than {1 << _HIGH_RESOLUTION_BITS} times the output's"
        raise OperatorError(what, "Quantize the model again with representative data", "output")
    return output, reluish


def _sixteen_bits(factor: Multiplier) -> int:
    """The multiplier in 16 bits, halves up. Source: TFLM `kernels/internal/common.h`, `DownScaleInt32ToInt16Multiplier`."""
    return _HIGH if factor.value >= 0x7FFF8000 else (factor.value + (1 << 15)) >> 16


def _multiply_rounding(a: NDArray[np.int64], b: int) -> NDArray[np.int64]:
    """The high 16 bits of `2 * a * b`, rounded: half away from zero but for what is cut, as rule N2 in 16 bits."""
    return (a * b + (1 << 14)) >> 15


register(HardSwish)
