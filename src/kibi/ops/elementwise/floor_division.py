"""FLOOR_DIV and FLOOR_MOD."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kibi.dtypes import Array, DType
from kibi.ir import NodeView, Rows
from kibi.ops.elementwise.broadcast import Broadcast2
from kibi.ops.registry import register
from kibi.quant import wrap_s32


@dataclass(frozen=True, slots=True)
class FloorDiv(Broadcast2):
    """The quotient, rounded down: two inputs f32 or s32 that broadcast → output of that type.

    A float divided by 0 is infinite, or no number; TFLM stops the inference there. TFLM refuses s32, which is here what
    TensorFlow Lite makes of it; divided by 0, it is the dividend. Source: TFLM `kernels/internal/reference/floor_div.h`.
    """

    name: ClassVar[str] = "FLOOR_DIV"
    kernels: ClassVar[tuple[str, ...]] = ("kibi_floor_div_f32", "kibi_floor_div_s32")
    types: ClassVar[tuple[DType, ...]] = (DType.F32, DType.S32)

    def reference(self, view: NodeView) -> Callable[[Rows], Array]:
        """The quotient in double precision, rounded down, rounded to f32; of s32 the exact one."""
        planes = self.planes(view)

        def row(rows: Rows) -> Array:
            a, b = planes(rows)
            if view.output.type.dtype is DType.S32:
                return wrap_s32(np.where(b == 0, a, a // np.where(b == 0, 1, b))).astype(np.int32)
            with np.errstate(all="ignore"):
                return np.floor(a.astype(np.float64) / b.astype(np.float64)).astype(np.float32)

        return row


register(FloorDiv)


@dataclass(frozen=True, slots=True)
class FloorMod(Broadcast2):
    """The rest of a division that is rounded down: two inputs f32 or s32 that broadcast → output of that type.

    By 0 it is no number, or 0 of s32. TFLM refuses s32, which is here what TensorFlow Lite makes of it. Source: TFLM
    `kernels/internal/reference/floor_mod.h`.
    """

    name: ClassVar[str] = "FLOOR_MOD"
    kernels: ClassVar[tuple[str, ...]] = ("kibi_floor_mod_f32", "kibi_floor_mod_s32")
    types: ClassVar[tuple[DType, ...]] = (DType.F32, DType.S32)

    def reference(self, view: NodeView) -> Callable[[Rows], Array]:
        """The exact rest of a division that is cut, and the divisor added where signs differ."""
        planes = self.planes(view)

        def row(rows: Rows) -> Array:
            a, b = planes(rows)
            if view.output.type.dtype is DType.S32:
                return np.where(b == 0, 0, a % np.where(b == 0, 1, b)).astype(np.int32)
            with np.errstate(all="ignore"):
                rest = np.fmod(a, b, dtype=np.float32)
                return np.where((rest != 0) & ((b < 0) != (rest < 0)), rest + b, rest).astype(np.float32)

        return row


register(FloorMod)
