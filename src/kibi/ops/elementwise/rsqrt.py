"""RSQRT."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from kibi.dtypes import DType
from kibi.ir import NodeView, OperatorError
from kibi.kernels.params import Params
from kibi.kernels.params.unary import ScaleParams
from kibi.ops import checks
from kibi.ops.elementwise.table import ALL_S8
from kibi.ops.elementwise.unary import Numbers, Unary, elements_params
from kibi.ops.registry import register
from kibi.quant import Multiplier, inverse_square_root, requantize, wrap_s32

_FRACTION_BITS = 20
_LEAST_SHIFT, _MOST_SHIFT = _FRACTION_BITS - 31, _FRACTION_BITS + 30
"""Of the factor: 32 bits can be shifted by 31 to the right, and by 30 to the left."""


@dataclass(frozen=True, slots=True)
class Rsqrt(Unary):
    """1 / sqrt(x): input s8, s16 or f32 → output of that type; zero points of s16 are 0.

    An s8 of 0 gives 127, an s16 of 0 gives 32767, and so does what is negative, at which TFLM stops the inference. Source: TFLM
    `micro/kernels/elementwise.cc`, `PrepareAbsRsqrt` and `RsqrtEvalQuantized`, and `kernels/internal/common.h`,
    `GetInvSqrtQuantizedMultiplierExp`.
    """

    name: ClassVar[str] = "RSQRT"
    kernels: ClassVar[tuple[str, ...]] = ("kibi_table_s8", "kibi_rsqrt_s16", "kibi_rsqrt_f32")
    types: ClassVar[tuple[DType, ...]] = (DType.S8, DType.S16, DType.F32)

    def table(self, view: NodeView) -> NDArray[np.int8]:
        """The root of the centred input in the output's scale, around its zero point."""
        centred = ALL_S8 - view["input"].quantization.zero_point
        return _roots(centred, _factor(view), view.output.quantization.zero_point, DType.S8).astype(np.int8)

    def params(self, view: NodeView) -> Params:
        """The size of a row, and the factor of s16."""
        if view.output.type.dtype is DType.F32:
            return elements_params(view)
        if view["input"].type.quantization is None:
            what = "input has no scale: TFLM then multiplies by a factor that it never sets, which is undefined"
            raise OperatorError(what, "Quantize the model again, with a scale for each tensor", "input")
        for operand in ("input", "output"):
            checks.symmetric(view, operand)
        factor = _factor(view)
        return ScaleParams(
            elements=view.output.type.row_elements, multiplier=factor.value, shift=factor.shift - _FRACTION_BITS
        )

    def wide(self, view: NodeView) -> Callable[[Numbers], Numbers]:
        """Computes f32 as the root, rounded, and its inverse, rounded again; integers as the table."""
        if view.output.type.dtype is DType.F32:
            return lambda values: np.float32(1) / np.sqrt(np.asarray(values, np.float32))
        factor = _factor(view)
        return lambda values: _roots(values, factor, 0, DType.S16)


def _factor(view: NodeView) -> Multiplier:
    """From the root of an element to the output's scale, in double precision, as TFLM's Python build shows for s16.

    Raises:
        OperatorError: TFLM would shift by more bits than C++ defines.
    """
    scale = math.sqrt(view["input"].quantization.scale) * view.output.quantization.scale
    real = 1.0 / scale if scale > 0 else math.inf
    factor = checks.factor(real, _MOST_SHIFT)
    if factor.shift < _LEAST_SHIFT:
        cause = "TFLM shifts it by more than 31 bits, which C++ leaves undefined"
        what = f"the scales give a factor of {real:.4g}, but 2**{_LEAST_SHIFT - 1} or more is required: {cause}"
        raise OperatorError(what, "Quantize the model again with representative data", "output")
    return factor


def _roots(centred: Numbers, factor: Multiplier, zero_point: int, dtype: DType) -> Numbers:
    """Rule N48: inverse roots to 20 bits, then in the output's scale; the most for what is not positive."""
    low, high = dtype.limits
    multipliers, shifts = inverse_square_root(np.maximum(centred, 1))
    fixed = requantize(1, multipliers, shifts + _FRACTION_BITS)
    scaled = requantize(fixed, factor.value, factor.shift - _FRACTION_BITS)
    return np.where(centred > 0, np.clip(wrap_s32(scaled + zero_point), low, high), high)


register(Rsqrt)
