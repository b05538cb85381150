"""FLOOR_MOD."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kibi.dtypes import Array, DType
from kibi.ir import KernelCall, NodeView, Rows
from kibi.kernels.params.binary import PairParams
from kibi.ops.elementwise.broadcast import Broadcast2
from kibi.ops.registry import register


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

    def kernel_call(self, view: NodeView) -> KernelCall:
        """The type's kernel, without scratch."""
        return self.call(view, PairParams)


register(FloorMod)
