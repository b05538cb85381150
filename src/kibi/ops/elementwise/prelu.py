"""PRELU."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from kibi.dtypes import Array, DType
from kibi.ir import KernelCall, NodeView, OperatorError, Rows
from kibi.kernels.params.binary import PairParams, PreluParams
from kibi.ops import checks
from kibi.ops.elementwise.broadcast import Broadcast2
from kibi.ops.registry import register
from kibi.quant import Multiplier, requantize, wrap_s32

_OPERANDS = ("input", "alpha", "output")
_MOST_AXES_F32 = 4
"""Where TFLM stops, though it takes six of integers: `BroadcastPrelu4DSlowFloat`."""


@dataclass(frozen=True, slots=True)
class Prelu(Broadcast2):
    """x where it is not negative, else x * alpha: input and slopes s8 or f32 that broadcast → output of that type.

    Or the input and the output are s16, and the slopes s8. Ranks up to 6 of integers, and up to 4 of f32. Source: TFLM
    `micro/kernels/prelu_common.cc` and `kernels/internal/reference/prelu.h`.
    """

    name: ClassVar[str] = "PRELU"
    inputs: ClassVar[tuple[str, ...]] = ("input", "alpha")
    row_inputs: ClassVar[tuple[str, ...]] = ("input", "alpha")
    kernels: ClassVar[tuple[str, ...]] = ("kibi_prelu_s8", "kibi_prelu_s16", "kibi_prelu_f32")
    types: ClassVar[tuple[DType, ...]] = (DType.S8, DType.S16, DType.F32)

    def infer(self, view: NodeView) -> tuple[tuple[int, ...], DType]:
        """The broadcast shape, the inputs' type."""
        shape, dtype = self.broadcast_shape(view), view["input"].type.dtype
        if dtype is DType.F32 and len(shape) > _MOST_AXES_F32:
            what = (
                f"inputs of f32 broadcast to {list(shape)}, but at most {_MOST_AXES_F32} axes are supported, as in TFLM"
            )
            raise OperatorError(what, "Reshape them")
        checks.dtype(view, "alpha", DType.S8 if dtype is DType.S16 else dtype)
        checks.dtype(view, "output", dtype)
        if dtype is not DType.F32:
            for operand in _OPERANDS:
                checks.per_tensor(view, operand)
            _multipliers(view)
        return shape, dtype

    def reference(self, view: NodeView) -> Callable[[Rows], Array]:
        """Centred input, or its product with the centred slope, requantized and cut to the type."""
        planes = self.planes(view)

        def real(rows: Rows) -> Array:
            x, alpha = planes(rows)
            with np.errstate(over="ignore", under="ignore", invalid="ignore"):
                return np.where(x >= 0, x, x * alpha).astype(np.float32)

        dtype = view.output.type.dtype
        if dtype is DType.F32:
            return real
        one, slope = _multipliers(view)
        zero, zero_alpha, zero_point = (view[name].quantization.zero_point for name in _OPERANDS)

        def row(rows: Rows) -> Array:
            x, alpha = planes(rows)
            centred = x - zero
            scaled = requantize(centred * (alpha - zero_alpha), slope.value, slope.shift)
            scaled = np.where(centred >= 0, requantize(centred, one.value, one.shift), scaled)
            low, high = dtype.limits
            return np.clip(wrap_s32(scaled + zero_point), low, high).astype(dtype.numpy)

        return row

    def kernel_call(self, view: NodeView) -> KernelCall:
        """The type's kernel, without scratch."""
        if view.output.type.dtype is DType.F32:
            return self.call(view, PairParams)
        one, slope = _multipliers(view)
        zero, zero_alpha, zero_point = (view[name].quantization.zero_point for name in _OPERANDS)
        call = self.call(
            view,
            PreluParams,
            zero_point1=zero,
            zero_point2=zero_alpha,
            multiplier1=one.value,
            shift1=one.shift,
            multiplier2=slope.value,
            shift2=slope.shift,
            output_zero_point=zero_point,
        )
        if view.output.type.dtype is DType.S8:
            return call
        # Slopes have fewer bytes than what is written over them.
        return replace(call, is_untyped=True, inplace_distance_bytes=(call.inplace_distance_bytes[0], None))


def _multipliers(view: NodeView) -> tuple[Multiplier, Multiplier]:
    """Factors of what is not negative, and of products with the slope, in double precision."""
    scale, scale_alpha, output_scale = (view[name].quantization.scale for name in _OPERANDS)
    return checks.factor(scale / output_scale), checks.factor(scale * scale_alpha / output_scale)


register(Prelu)
