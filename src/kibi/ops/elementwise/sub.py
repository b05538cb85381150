"""SUB."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kibi.dtypes import Array, DType
from kibi.ir import KernelCall, NodeView, Rows
from kibi.kernels.params.binary import ScaledSumParams
from kibi.ops.elementwise.broadcast import Elementwise2, is_quantized
from kibi.ops.elementwise.scaled_pair import ScaledPair
from kibi.ops.registry import register
from kibi.quant import wrap_s32


@dataclass(frozen=True, slots=True)
class Sub(Elementwise2):
    """Difference of two inputs s8, s16, s32 or f32 that broadcast → output of that type.

    Quantized inputs are brought to one scale as those of ADD. Source: TFLM `micro/kernels/sub_common.cc` and
    `kernels/internal/reference/sub.h`.
    """

    name: ClassVar[str] = "SUB"
    kernels: ClassVar[tuple[str, ...]] = ("kibi_sub_s8", "kibi_sub_s16", "kibi_sub_s32", "kibi_sub_f32")
    types: ClassVar[tuple[DType, ...]] = (DType.S8, DType.S16, DType.S32, DType.F32)

    def infer(self, view: NodeView) -> tuple[tuple[int, ...], DType]:
        """The broadcast shape, the inputs' type."""
        shape, dtype = Elementwise2.infer(self, view)
        if is_quantized(dtype):
            _pair(view)
        return shape, dtype

    def reference(self, view: NodeView) -> Callable[[Rows], Array]:
        """Scaled difference, requantized, or the plain one, which wraps in s32; clamped."""
        dtype = view.output.type.dtype
        pair = _pair(view) if is_quantized(dtype) else None
        clamped = self.clamped(view)
        planes = self.planes(view)

        def row(rows: Rows) -> Array:
            a, b = planes(rows)
            if pair is not None:
                first, second = pair.scaled(a, b)
                return clamped(pair.result(first - second))
            with np.errstate(over="ignore"):
                return clamped(a - b if dtype is DType.F32 else wrap_s32(a - b))

        return row

    def kernel_call(self, view: NodeView) -> KernelCall:
        """The type's kernel, without scratch."""
        if not is_quantized(view.output.type.dtype):
            return self.plain_call(view)
        return self.call(view, ScaledSumParams, **self.clamp_params(view), **_pair(view).params())


def _pair(view: NodeView) -> ScaledPair:
    """Rule N9, as of ADD: factors of the two inputs and of the difference, in double precision.

    TFLM's published source has float32 quotients; its Python build shows doubles, in some results of s16.
    """
    left_shift = 20 if view.output.type.dtype is DType.S8 else 15
    scale1, scale2, scale = (view[name].quantization.scale for name in ("input1", "input2", "output"))
    twice = 2 * max(scale1, scale2)
    return ScaledPair.of(view, left_shift, (scale1 / twice, scale2 / twice, twice / ((1 << left_shift) * scale)))


register(Sub)
