"""MAX_POOL_2D."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from kibi.dtypes import Array, DType
from kibi.ir import Accumulation, Rows, Site
from kibi.ops.float_sums import clamp
from kibi.ops.pooling import Pool2D, float_windows_of_row, is_float, windows_of_row
from kibi.ops.registry import register

_LOWEST = np.finfo(np.float32).min


@dataclass(frozen=True, slots=True)
class MaxPool2D(Pool2D):
    """The largest element of each window, then clamped.

    Of floats, those that are no number are passed over. Source: TFLM `kernels/internal/reference/integer_ops/pooling.h`,
    `MaxPool`; of floats `kernels/internal/reference/pooling.h`.
    """

    name: ClassVar[str] = "MAX_POOL_2D"
    kernels: ClassVar[tuple[str, ...]] = (
        "kibi_max_pool2d_s8", "kibi_max_pool2d_s8_accumulate", "kibi_max_pool2d_s16", "kibi_max_pool2d_s16_accumulate",
        "kibi_max_pool2d_f32", "kibi_max_pool2d_f32_accumulate",
    )  # fmt: skip

    def reference(self, site: Site) -> Callable[[Rows], Array]:
        """The maximum over the elements inside."""
        if is_float(site):
            return self._float_rows(site)
        gather = windows_of_row(self.window(site))

        def row(rows: Rows) -> Array:
            return self._clamped(site, _largest(*gather(rows), site.output.type.dtype))

        return row

    def accumulation(self, site: Site) -> Accumulation:
        """The same, row after row."""
        if is_float(site):
            return self._float_accumulation(site)
        gather = windows_of_row(self.window(site))
        dtype = site.output.type.dtype

        def add(maxima: Array, rows: Rows, step: int) -> None:
            del step
            np.maximum(maxima, _largest(*gather(rows), dtype).reshape(-1), out=maxima)

        start = np.full(site.output.type.elements, dtype.limits[0], dtype.numpy)
        return Accumulation(start, add, lambda maxima: self._clamped(site, maxima))

    def _float_rows(self, site: Site) -> Callable[[Rows], Array]:
        gather = float_windows_of_row(self.window(site))

        def row(rows: Rows) -> Array:
            values, mask = gather(rows)
            return clamp(_raised(np.full(values.shape[1:], _LOWEST), values, mask), self.activation)

        return row

    def _float_accumulation(self, site: Site) -> Accumulation:
        window = self.window(site)
        gather = float_windows_of_row(window)

        def add(maxima: Array, rows: Rows, step: int) -> None:
            del step
            so_far = maxima.astype(np.float32).reshape(window.output_width, -1)
            maxima[:] = _raised(so_far, *gather(rows)).reshape(-1)

        start = np.full(site.output.type.elements, _LOWEST)
        return Accumulation(start, add, lambda maxima: clamp(maxima, self.activation))

    def _clamped(self, site: Site, maxima: Array) -> Array:
        dtype = site.output.type.dtype
        low, high = self.activation.limits(dtype, site.output.quantization)
        clamped: Array = np.minimum(np.maximum(maxima, low), high).astype(dtype.numpy)
        return clamped


def _largest(values: Array, mask: Array, dtype: DType) -> Array:
    largest: Array = np.where(mask[..., None], values, dtype.limits[0]).max(axis=1).astype(dtype.numpy)
    return largest


def _raised(maxima: NDArray[np.float32], values: NDArray[np.float32], mask: Array) -> NDArray[np.float32]:
    """Maxima `[x, C]` after one value `[x, C]` after another, where its mask says so: as `std::max(maximum, value)`."""
    for value, counts in zip(values, mask, strict=True):
        maxima = np.where(counts & (maxima < value), value, maxima)
    return maxima


register(MaxPool2D)
