"""FLOOR_DIV."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kibi.dtypes import Array, DType
from kibi.ir import KernelCall, Rows, Site
from kibi.ops.broadcast import Broadcast2
from kibi.ops.registry import register


@dataclass(frozen=True, slots=True)
class FloorDiv(Broadcast2):
    """The quotient, rounded down: two inputs f32 that broadcast → output f32.

    By 0 it is infinite, or no number; TFLM stops the inference there. TFLM has no other type. Source: TFLM
    `kernels/internal/reference/floor_div.h`.
    """

    name: ClassVar[str] = "FLOOR_DIV"
    kernels: ClassVar[tuple[str, ...]] = ("kibi_floor_div_f32",)
    types: ClassVar[tuple[DType, ...]] = (DType.F32,)

    def reference(self, site: Site) -> Callable[[Rows], Array]:
        """The quotient in double precision, rounded down, rounded to f32."""

        def row(rows: Rows) -> Array:
            a, b = self.planes(site, rows)
            with np.errstate(all="ignore"):
                return np.floor(a.astype(np.float64) / b.astype(np.float64)).astype(np.float32)

        return row

    def kernel_call(self, site: Site) -> KernelCall:
        """The one kernel, without scratch."""
        return self.call(site)


register(FloorDiv)
