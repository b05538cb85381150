"""MAX_POOL_2D."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kibi.dtypes import Array, DType
from kibi.ir import Rows, Site
from kibi.ops.pooling import Pool2D, windows_of_row
from kibi.ops.registry import register


@dataclass(frozen=True, slots=True)
class MaxPool2D(Pool2D):
    """The largest element of each window, then clamped.

    Source: TFLM `kernels/internal/reference/integer_ops/pooling.h`, `MaxPool`.
    """

    name: ClassVar[str] = "MAX_POOL_2D"
    kernels: ClassVar[tuple[str, ...]] = ("kibi_max_pool2d_s8",)

    def reference(self, site: Site) -> Callable[[Rows], Array]:
        """The maximum over the elements inside."""
        gather = windows_of_row(self.window(site))
        low, high = self.activation.limits(DType.S8, site.output.quantization)

        def row(rows: Rows) -> Array:
            values, mask = gather(rows)
            largest = np.where(mask[..., None], values, -128).max(axis=1)
            clamped: Array = np.minimum(np.maximum(largest, low), high).astype(np.int8)
            return clamped

        return row


register(MaxPool2D)
