"""ADD."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kibi.dtypes import Array, DType
from kibi.ir import KernelCall, NodeView, Rows
from kibi.kernels.params.binary import ScaledSumParams
from kibi.ops.attributes import Activation
from kibi.ops.elementwise.broadcast import Elementwise2, is_quantized
from kibi.ops.elementwise.scaled_pair import ScaledPair
from kibi.ops.registry import register
from kibi.quant import wrap_s32


@dataclass(frozen=True, slots=True)
class Add(Elementwise2):
    """Sum of two inputs s8, s16, s32 or f32 that broadcast → output of that type.

    Quantized inputs are shifted left by 20 bits (s16: 15) and brought to twice the larger of their scales before they are
    added. Sums of s32 wrap, and ignore the activation. Source: TFLM `micro/kernels/add_common.cc`, `micro/kernels/add.cc` and
    `kernels/internal/reference/integer_ops/add.h`.
    """

    name: ClassVar[str] = "ADD"
    kernels: ClassVar[tuple[str, ...]] = ("kibi_add_s8", "kibi_add_s16", "kibi_add_s32", "kibi_add_f32")
    types: ClassVar[tuple[DType, ...]] = (DType.S8, DType.S16, DType.S32, DType.F32)

    def infer(self, view: NodeView) -> tuple[tuple[int, ...], DType]:
        """The broadcast shape, the inputs' type."""
        shape, dtype = Elementwise2.infer(self, view)
        if is_quantized(dtype):
            _pair(view)
        return shape, dtype

    def limits(self, view: NodeView) -> tuple[float, float]:
        """The closed range that outputs are clamped to; all of s32."""
        if view.output.type.dtype is DType.S32:
            return Activation.NONE.plain_limits(DType.S32)
        return Elementwise2.limits(self, view)

    def reference(self, view: NodeView) -> Callable[[Rows], Array]:
        """Scaled sum, requantized, or the plain one, which wraps in s32; clamped."""
        dtype = view.output.type.dtype
        pair = _pair(view) if is_quantized(dtype) else None
        clamped = self.clamped(view)
        planes = self.planes(view)

        def row(rows: Rows) -> Array:
            a, b = planes(rows)
            if pair is not None:
                first, second = pair.scaled(a, b)
                return clamped(pair.result(first + second))
            with np.errstate(over="ignore"):
                return clamped(a + b if dtype is DType.F32 else wrap_s32(a + b))

        return row

    def kernel_call(self, view: NodeView) -> KernelCall:
        """The type's kernel, without scratch."""
        if not is_quantized(view.output.type.dtype):
            return self.plain_call(view)
        return self.call(view, ScaledSumParams, **self.clamp_params(view), **_pair(view).params())


def _pair(view: NodeView) -> ScaledPair:
    """Rule N9: factors of the two inputs and of the sum."""
    left_shift = 20 if view.output.type.dtype is DType.S8 else 15
    scale1, scale2, scale = (view[name].quantization.scale for name in ("input1", "input2", "output"))
    twice = 2 * max(scale1, scale2)
    return ScaledPair.of(view, left_shift, (scale1 / twice, scale2 / twice, twice / ((1 << left_shift) * scale)))


register(Add)
