"""AVERAGE_POOL_2D."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from kibi.dtypes import Array, DType
from kibi.ir import Accumulation, OperatorError, Rows, Site
from kibi.ops.float_sums import add_in_order, clamp
from kibi.ops.pooling import Pool2D, float_windows_of_row, inside_columns, is_float, windows_of_row
from kibi.ops.registry import register

_MOST_OF_S16 = (1 << 16) - 1


@dataclass(frozen=True, slots=True)
class AveragePool2D(Pool2D):
    """The mean of each window, rounded half away from zero, then clamped; of floats by rule N24, then a division.

    Source: TFLM `kernels/internal/reference/integer_ops/pooling.h`, `AveragePool`; of floats
    `kernels/internal/reference/pooling.h`.
    """

    name: ClassVar[str] = "AVERAGE_POOL_2D"
    kernels: ClassVar[tuple[str, ...]] = (
        "kibi_average_pool2d_s8", "kibi_average_pool2d_s8_accumulate", "kibi_average_pool2d_s16",
        "kibi_average_pool2d_s16_accumulate", "kibi_average_pool2d_f32", "kibi_average_pool2d_f32_accumulate",
    )  # fmt: skip

    def infer(self, site: Site) -> tuple[tuple[int, ...], DType]:
        """Shape `[N, OH, OW, C]`, the input's type; sums of s16 must fit 32 bits."""
        shape, dtype = Pool2D.infer(self, site)
        _, height, width, _ = site["input"].type.shape
        elements = min(self.kernel[0], height) * min(self.kernel[1], width)
        if dtype is DType.S16 and elements > _MOST_OF_S16:
            what = f"a window over {elements} elements of s16 is too large for sums of 32 bits"
            raise OperatorError(what, f"Use windows of at most {_MOST_OF_S16} elements", "input")
        return shape, dtype

    def accumulator(self, dtype: DType) -> DType:
        """Sums: of 32 bits for integers."""
        return DType.F32 if dtype is DType.F32 else DType.S32

    def reference(self, site: Site) -> Callable[[Rows], Array]:
        """Sum of the elements inside, divided by their number."""
        if is_float(site):
            return self._float_rows(site)
        gather = windows_of_row(self.window(site))

        def row(rows: Rows) -> Array:
            values, mask = gather(rows)
            return self._means(site, _sums(values, mask), mask.sum(axis=1))

        return row

    def accumulation(self, site: Site) -> Accumulation:
        """The same, row after row."""
        if is_float(site):
            return self._float_accumulation(site)
        window = self.window(site)
        gather = windows_of_row(window)

        def add(sums: Array, rows: Rows, step: int) -> None:
            del step
            sums[:] = sums.astype(np.int32) + _sums(*gather(rows)).reshape(-1)

        def finish(sums: Array) -> Array:
            counts = site.steps * inside_columns(window).sum(axis=1)
            return self._means(site, sums.reshape(window.output_width, -1), counts)

        return Accumulation(np.zeros(site.output.type.elements, np.int32), add, finish)

    def _float_rows(self, site: Site) -> Callable[[Rows], Array]:
        window = self.window(site)
        gather = float_windows_of_row(window)

        def row(rows: Rows) -> Array:
            values, mask = gather(rows)
            totals = add_in_order(np.zeros(values.shape[1:], np.float32), values, mask)
            return self._float_means(totals, mask.sum(axis=0))

        return row

    def _float_accumulation(self, site: Site) -> Accumulation:
        window = self.window(site)
        gather = float_windows_of_row(window)

        def add(sums: Array, rows: Rows, step: int) -> None:
            del step
            totals = sums.astype(np.float32).reshape(window.output_width, -1)
            sums[:] = add_in_order(totals, *gather(rows)).reshape(-1)

        def finish(sums: Array) -> Array:
            counts = site.steps * inside_columns(window).sum(axis=1)
            return self._float_means(sums.astype(np.float32).reshape(window.output_width, -1), counts[:, None])

        return Accumulation(np.zeros(site.output.type.elements, np.float32), add, finish)

    def _float_means(self, sums: NDArray[np.float32], counts: Array) -> Array:
        """From sums `[x, C]` and counts `[x, 1]`."""
        return clamp(sums / counts.astype(np.float32), self.activation)

    def _means(self, site: Site, sums: Array, counts: Array) -> Array:
        """From sums `[x, C]` and counts `[x]`."""
        dtype = site.output.type.dtype
        low, high = self.activation.limits(dtype, site.output.quantization)
        divisors = counts[:, None]
        means = np.sign(sums) * ((np.abs(sums) + divisors // 2) // divisors)
        clamped: Array = np.minimum(np.maximum(means, low), high).astype(dtype.numpy)
        return clamped


def _sums(values: Array, mask: Array) -> NDArray[np.int32]:
    sums: NDArray[np.int32] = np.where(mask[..., None], values, 0).sum(axis=1).astype(np.int32)
    return sums


register(AveragePool2D)
