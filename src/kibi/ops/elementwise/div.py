"""DIV."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from kibi.dtypes import Array, DType
from kibi.ir import KernelCall, NodeView, OperatorError, Rows
from kibi.kernels.params.binary import DivS8Params
from kibi.ops import checks
from kibi.ops.elementwise.broadcast import Elementwise2, Numbers
from kibi.ops.registry import register
from kibi.quant import (
    Multiplier,
    reciprocal,
    rounding_divide_by_power_of_two,
    saturating_rounding_doubling_high_multiply,
)

_OPERANDS = ("input1", "input2", "output")
_MOST_SHIFT = 23
_BEYOND = 1 << 16
"""A quotient that every clamp cuts."""


@dataclass(frozen=True, slots=True)
class Div(Elementwise2):
    """Quotient of two inputs s8, s32 or f32 that broadcast → output of that type.

    Of s32 it is cut towards zero. Where TFLM is undefined: s8 divided by 0 gives the end of the range on the dividend's side (0
    by 0: the zero point), and s8 quotients below half a step give 0; s32 divided by 0 gives the dividend.
    Source: TFLM `micro/kernels/div.cc` and `kernels/internal/reference/div.h`.
    """

    name: ClassVar[str] = "DIV"
    kernels: ClassVar[tuple[str, ...]] = ("kibi_div_s8", "kibi_div_s32", "kibi_div_f32")
    types: ClassVar[tuple[DType, ...]] = (DType.S8, DType.S32, DType.F32)

    def infer(self, view: NodeView) -> tuple[tuple[int, ...], DType]:
        """The broadcast shape, the inputs' type."""
        shape, dtype = Elementwise2.infer(self, view)
        if dtype is DType.S8:
            _multiplier(view)
        return shape, dtype

    def reference(self, view: NodeView) -> Callable[[Rows], Array]:
        """The dividend times the divisor's reciprocal, or the plain quotient; clamped."""
        quotient = {DType.S8: _quotient_s8, DType.S32: _quotient_s32, DType.F32: _quotient_f32}
        function = quotient[view.output.type.dtype]
        clamped = self.clamped(view)
        planes = self.planes(view)
        return lambda rows: clamped(function(view, *planes(rows)))

    def kernel_call(self, view: NodeView) -> KernelCall:
        """The type's kernel, without scratch; for s8 with the reciprocals of all divisors."""
        if view.output.type.dtype is not DType.S8:
            return self.plain_call(view)
        factor = _multiplier(view)
        zero1, zero2, zero_point = (view[name].quantization.zero_point for name in _OPERANDS)
        return self.call(
            view,
            DivS8Params,
            **self.clamp_params(view),
            zero_point1=zero1,
            zero_point2=zero2,
            output_zero_point=zero_point,
            output_multiplier=factor.value,
            output_shift=factor.shift,
            reciprocals=_reciprocals(),
        )


@cache
def _reciprocals() -> NDArray[np.int32]:
    """Returns the reciprocals of 1 … 255, without integer bits, times the power of two that makes each at least 1/2; first a 0."""
    values = np.array([0, *(reciprocal(number, 31)[0] for number in range(1, 256))], np.int32)
    values.flags.writeable = False
    return values


def _quotient_s8(view: NodeView, a: Numbers, b: Numbers) -> Numbers:
    """Rules N2 and N3: the dividend as far left as it goes, times the reciprocal, times the factor of the scales."""
    factor = _multiplier(view)
    zero1, zero2, zero_point = (view[name].quantization.zero_point for name in _OPERANDS)
    centred, over = a.astype(np.int64) - zero1, b.astype(np.int64) - zero2
    dividend, divisor = np.where(over < 0, -centred, centred), np.abs(over)
    headroom = 31 - _bits(np.where(dividend < 0, ~dividend, dividend))
    high = saturating_rounding_doubling_high_multiply(dividend << headroom, _reciprocals()[divisor])
    exponent = headroom + _bits(divisor) - 1 - factor.shift
    high = saturating_rounding_doubling_high_multiply(high, factor.value)
    scaled = rounding_divide_by_power_of_two(high, np.clip(exponent, 0, 31))
    scaled = np.where(exponent > 31, 0, scaled)
    return np.where(over == 0, np.sign(centred) * _BEYOND, scaled) + zero_point


def _bits(values: NDArray[np.int64]) -> NDArray[np.int64]:
    """The number of bits of each, which is not negative."""
    return np.frexp(values.astype(np.float64))[1].astype(np.int64)


def _quotient_s32(view: NodeView, a: Numbers, b: Numbers) -> Numbers:
    del view
    dividend, divisor = a.astype(np.int64), b.astype(np.int64)
    safe = np.where(divisor == 0, 1, np.abs(divisor))
    cut = np.abs(dividend) // safe * np.sign(dividend) * np.where(divisor < 0, -1, 1)
    return np.where((divisor == 0) | (cut == 1 << 31), dividend, cut)


def _quotient_f32(view: NodeView, a: Numbers, b: Numbers) -> Numbers:
    del view
    with np.errstate(all="ignore"):
        return np.asarray(a, np.float32) / np.asarray(b, np.float32)


def _multiplier(view: NodeView) -> Multiplier:
    """The quotient of the scales, in double precision."""
    scale1, scale2, scale = (view[name].quantization.scale for name in _OPERANDS)
    real = scale1 / (scale2 * scale)
    factor = checks.factor(real)
    if factor.shift > _MOST_SHIFT:
        what = f"the scales give a factor of {real:.4g}, but less than 2**{_MOST_SHIFT} is required"
        raise OperatorError(what, "Quantize the model again with representative data", "output")
    return factor


register(Div)
