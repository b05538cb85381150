"""AVERAGE_POOL_2D."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kibi.dtypes import Array, DType
from kibi.ir import Rows, Site
from kibi.ops.pooling import Pool2D, windows_of_row
from kibi.ops.registry import register


@dataclass(frozen=True, slots=True)
class AveragePool2D(Pool2D):
    """The mean of each window, rounded half away from zero, then clamped.

    Source: TFLM `kernels/internal/reference/integer_ops/pooling.h`, `AveragePool`.
    """

    name: ClassVar[str] = "AVERAGE_POOL_2D"
    kernels: ClassVar[tuple[str, ...]] = ("kibi_average_pool2d_s8",)

    def reference(self, site: Site) -> Callable[[Rows], Array]:
        """Sum of the elements inside, divided by their number."""
        gather = windows_of_row(self.window(site))
        low, high = self.activation.limits(DType.S8, site.output.quantization)

        def row(rows: Rows) -> Array:
            values, mask = gather(rows)
            sums = np.where(mask[..., None], values, 0).sum(axis=1).astype(np.int64)
            counts = mask.sum(axis=1)[:, None]
            means = np.sign(sums) * ((np.abs(sums) + counts // 2) // counts)
            clamped: Array = np.minimum(np.maximum(means, low), high).astype(np.int8)
            return clamped

        return row


register(AveragePool2D)
