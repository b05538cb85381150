"""SQUARED_DIFFERENCE."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kibi.dtypes import Array, DType
from kibi.ir import KernelCall, NodeView, Rows
from kibi.kernels.params.binary import PairParams, ScaledDifferenceParams
from kibi.ops import checks
from kibi.ops.elementwise.broadcast import Broadcast2, is_quantized
from kibi.ops.elementwise.scaled_pair import ScaledPair
from kibi.ops.registry import register
from kibi.quant import wrap_s32


@dataclass(frozen=True, slots=True)
class SquaredDifference(Broadcast2):
    """Square of the difference of two inputs s8, s16, s32 or f32 that broadcast → output of that type.

    Quantized inputs are shifted left by 7 bits (s16: not at all) and brought to twice the larger of their scales. Zero points
    of s16 are 0; squares of s32 wrap. Source: TFLM `micro/kernels/squared_difference.cc`.
    """

    name: ClassVar[str] = "SQUARED_DIFFERENCE"
    kernels: ClassVar[tuple[str, ...]] = (
        "kibi_squared_difference_s8",
        "kibi_squared_difference_s16",
        "kibi_squared_difference_s32",
        "kibi_squared_difference_f32",
    )
    types: ClassVar[tuple[DType, ...]] = (DType.S8, DType.S16, DType.S32, DType.F32)

    def infer(self, view: NodeView) -> tuple[tuple[int, ...], DType]:
        """The broadcast shape, the inputs' type."""
        shape, dtype = Broadcast2.infer(self, view)
        checks.dtype(view, "output", dtype)
        if is_quantized(dtype):
            check = checks.per_tensor if dtype is DType.S8 else checks.symmetric
            for operand in (*self.inputs, "output"):
                check(view, operand)
            _pair(view)
        return shape, dtype

    def reference(self, view: NodeView) -> Callable[[Rows], Array]:
        """The square of the scaled difference, requantized and cut to the type, or the plain one, which wraps in s32."""
        dtype = view.output.type.dtype
        pair = _pair(view) if is_quantized(dtype) else None
        planes = self.planes(view)

        def row(rows: Rows) -> Array:
            a, b = planes(rows)
            if pair is not None:
                first, second = pair.scaled(a, b)
                scaled = pair.result(wrap_s32((first - second) ** 2))
                return np.clip(scaled, *dtype.limits).astype(dtype.numpy)
            with np.errstate(over="ignore", under="ignore"):
                square = (a - b) ** 2
            return (square if dtype is DType.F32 else wrap_s32(square)).astype(dtype.numpy)

        return row

    def kernel_call(self, view: NodeView) -> KernelCall:
        """The type's kernel, without scratch."""
        if not is_quantized(view.output.type.dtype):
            return self.call(view, PairParams)
        return self.call(view, ScaledDifferenceParams, **_pair(view).params())


def _pair(view: NodeView) -> ScaledPair:
    """Factors of the two inputs and of the square, in double precision."""
    left_shift = 7 if view.output.type.dtype is DType.S8 else 0
    scale1, scale2, scale = (view[name].quantization.scale for name in ("input1", "input2", "output"))
    twice = 2.0 * max(scale1, scale2)
    # TFLM multiplies the power of two by the scale in float32, which is exact.
    result = twice * twice / float(np.float32(1 << 2 * left_shift) * np.float32(scale))
    return ScaledPair.of(view, left_shift, (scale1 / twice, scale2 / twice, result), most_shift=30)


register(SquaredDifference)
