"""MUL."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from kibi.dtypes import Array, DType
from kibi.ir import KernelCall, NodeView, Rows
from kibi.kernels.params.binary import MulS8Params, MulS16Params
from kibi.ops import checks
from kibi.ops.elementwise.broadcast import Elementwise2, is_quantized
from kibi.ops.registry import register
from kibi.quant import Multiplier, requantize, wrap_s32

_FOUR = 4
"""Elements that the kernel of bytes takes at once."""
_LEAST_BROADCAST = 16
"""Elements of a row for which it does so with a single element of the other input."""
_OPERANDS = ("input1", "input2", "output")


@dataclass(frozen=True, slots=True)
class Mul(Elementwise2):
    """Product of two inputs s8, s16, s32 or f32 that broadcast → output of that type.

    Zero points of s16 are 0; products of s32 wrap. Source: TFLM `micro/kernels/mul_common.cc` and
    `kernels/internal/reference/integer_ops/mul.h`.
    """

    name: ClassVar[str] = "MUL"
    kernels: ClassVar[tuple[str, ...]] = ("kibi_mul_s8", "kibi_mul_s16", "kibi_mul_s32", "kibi_mul_f32")
    types: ClassVar[tuple[DType, ...]] = (DType.S8, DType.S16, DType.S32, DType.F32)

    def infer(self, view: NodeView) -> tuple[tuple[int, ...], DType]:
        """The broadcast shape, the inputs' type."""
        shape, dtype = Elementwise2.infer(self, view)
        if dtype is DType.S16:
            for operand in _OPERANDS:
                checks.symmetric(view, operand)
        if is_quantized(dtype):
            _multiplier(view)
        return shape, dtype

    def reference(self, view: NodeView) -> Callable[[Rows], Array]:
        """Product of the centred inputs, requantized, or the plain one, which wraps in s32; clamped."""
        dtype = view.output.type.dtype
        factor = _multiplier(view) if is_quantized(dtype) else None
        clamped = self.clamped(view)
        planes = self.planes(view)

        def row(rows: Rows) -> Array:
            a, b = planes(rows)
            if factor is not None:
                zero1, zero2, zero_point = (view[name].quantization.zero_point for name in _OPERANDS)
                scaled = requantize((a - zero1) * (b - zero2), factor.value, factor.shift)
                return clamped(wrap_s32(scaled + zero_point))
            with np.errstate(over="ignore", under="ignore"):
                return clamped(a * b if dtype is DType.F32 else wrap_s32(a * b))

        return row

    def kernel_call(self, view: NodeView) -> KernelCall:
        """The type's kernel, without scratch."""
        dtype = view.output.type.dtype
        if not is_quantized(dtype):
            return self.plain_call(view)
        factor = _multiplier(view)
        scaling = {"output_multiplier": factor.value, "output_shift": factor.shift, **self.clamp_params(view)}
        if dtype is DType.S16:
            return self.call(view, MulS16Params, **scaling)
        zero1, zero2, zero_point = (view[name].quantization.zero_point for name in _OPERANDS)
        call = self.call(
            view, MulS8Params, zero_point1=zero1, zero_point2=zero2, output_zero_point=zero_point, **scaling
        )
        return _with_features(call)


def _multiplier(view: NodeView) -> Multiplier:
    """Rule N10: the product of the inputs' scales over the output's."""
    scale1, scale2, scale = (view[name].quantization.scale for name in _OPERANDS)
    return checks.factor(scale1 * scale2 / scale)


def _with_features(call: KernelCall) -> KernelCall:
    """The call of the kernel of bytes with the parts that it needs: it takes four elements at once of at least one input."""
    p = call.params_as(MulS8Params)
    least = _FOUR if p.step1 == p.step2 == 1 else _LEAST_BROADCAST
    has_fours = p.elements >= least and p.step1 + p.step2 >= 1 and p.output_shift < 0
    parts = {
        "OF_FOURS": has_fours,
        "OF_BROADCASTS": has_fours and p.step1 + p.step2 == 1,
        "OF_ACTIVATIONS": has_fours and (p.activation_min, p.activation_max) != DType.S8.limits,
        "OF_SINGLES": not has_fours or p.elements % _FOUR != 0,
    }
    needed = frozenset(f"KIBI_MUL_S8_{part}" for part, is_needed in parts.items() if is_needed)
    return replace(call, features=needed, least_features=frozenset({"KIBI_MUL_S8_OF_SINGLES"}))


register(Mul)
