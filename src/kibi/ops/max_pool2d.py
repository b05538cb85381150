"""MAX_POOL_2D."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kibi.dtypes import Array, DType
from kibi.ir import Accumulation, Rows, Site
from kibi.ops.pooling import Pool2D, windows_of_row
from kibi.ops.registry import register


@dataclass(frozen=True, slots=True)
class MaxPool2D(Pool2D):
    """The largest element of each window, then clamped.

    Source: TFLM `kernels/internal/reference/integer_ops/pooling.h`, `MaxPool`.
    """

    name: ClassVar[str] = "MAX_POOL_2D"
    kernels: ClassVar[tuple[str, ...]] = ("kibi_max_pool2d_s8", "kibi_max_pool2d_s8_accumulate")
    accumulator: ClassVar[DType] = DType.S8

    def reference(self, site: Site) -> Callable[[Rows], Array]:
        """The maximum over the elements inside."""
        gather = windows_of_row(self.window(site))

        def row(rows: Rows) -> Array:
            return self._clamped(site, _largest(*gather(rows)))

        return row

    def accumulation(self, site: Site) -> Accumulation:
        """The same, row after row."""
        gather = windows_of_row(self.window(site))

        def add(maxima: Array, rows: Rows, step: int) -> None:
            del step
            np.maximum(maxima, _largest(*gather(rows)).reshape(-1), out=maxima)

        start = np.full(site.output.type.elements, -128, np.int8)
        return Accumulation(start, add, lambda maxima: self._clamped(site, maxima))

    def _clamped(self, site: Site, maxima: Array) -> Array:
        low, high = self.activation.limits(DType.S8, site.output.quantization)
        clamped: Array = np.minimum(np.maximum(maxima, low), high).astype(np.int8)
        return clamped


def _largest(values: Array, mask: Array) -> Array:
    largest: Array = np.where(mask[..., None], values, -128).max(axis=1).astype(np.int8)
    return largest


register(MaxPool2D)
