"""AVERAGE_POOL_2D."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from kibi.dtypes import Array, DType
from kibi.ir import Accumulation, NodeView, OperatorError, Rows
from kibi.ops.registry import register
from kibi.ops.sums.float_sums import clamp
from kibi.ops.windows.pooling import Pool2D, Spans, is_float

_MOST_OF_S16 = (1 << 16) - 1
_SMALL = 256
"""Elements of s8 whose sums fit 16 bits: rule N51."""


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
        "kibi_average_pool2d_s8_accumulate_small",
    )  # fmt: skip

    def infer(self, view: NodeView) -> tuple[tuple[int, ...], DType]:
        """Shape `[N, OH, OW, C]`, the input's type; sums of s16 must fit 32 bits."""
        shape, dtype = Pool2D.infer(self, view)
        _, height, width, _ = view["input"].type.shape
        elements = min(self.kernel[0], height) * min(self.kernel[1], width)
        if dtype is DType.S16 and elements > _MOST_OF_S16:
            what = f"a window over {elements} elements of s16 is too large for sums of 32 bits"
            raise OperatorError(what, f"Use windows of at most {_MOST_OF_S16} elements", "input")
        return shape, dtype

    def accumulator(self, view: NodeView) -> DType:
        """Sums: of 16 bits for bytes in windows of few elements, of 32 bits for other integers."""
        dtype, window = view["input"].type.dtype, self.window(view)
        if dtype is DType.S8 and len(window.rows_inside) * window.kernel_width <= _SMALL:
            return DType.S16
        return DType.F32 if dtype is DType.F32 else DType.S32

    def kernels_of(self, view: NodeView) -> tuple[str, str]:
        """The kernel that is given all rows of a window, and the one that accumulates."""
        at_once, accumulating = Pool2D.kernels_of(self, view)
        return at_once, f"{accumulating}_small" if self.accumulator(view) is DType.S16 else accumulating

    def reference(self, view: NodeView) -> Callable[[Rows], Array]:
        """Sum of the elements inside, divided by their number."""
        if is_float(view):
            return self._float_rows(view)
        spans, clamped = Spans.of(self.window(view)), self.clamped(view)

        def row(rows: Rows) -> Array:
            values = spans.rows(rows)
            sums = spans.sums(values.sum(axis=0, dtype=np.int32))
            return clamped(means(sums, len(values) * spans.counts))

        return row

    def accumulation(self, view: NodeView) -> Accumulation:
        """The same, row after row."""
        if is_float(view):
            return self._float_accumulation(view)
        spans, clamped = Spans.of(self.window(view)), self.clamped(view)

        def add(sums: Array, rows: Rows, step: int) -> None:
            del step
            sums[:] = sums.astype(np.int32) + spans.sums(spans.rows(rows)[0].astype(np.int32)).reshape(-1)

        def finish(sums: Array) -> Array:
            return clamped(means(sums.astype(np.int32).reshape(len(spans.counts), -1), view.steps * spans.counts))

        return Accumulation(np.zeros(view.output.type.elements, self.accumulator(view).numpy), add, finish)

    def _float_rows(self, view: NodeView) -> Callable[[Rows], Array]:
        spans = Spans.of(self.window(view))
        shape = spans.window.output_width, spans.window.channels

        def row(rows: Rows) -> Array:
            values = spans.rows(rows)
            totals = np.zeros(shape, np.float32)
            for line in values:
                spans.add(totals, line.astype(np.float32))
            return self._float_means(totals, len(values) * spans.counts[:, None])

        return row

    def _float_accumulation(self, view: NodeView) -> Accumulation:
        spans = Spans.of(self.window(view))

        def add(sums: Array, rows: Rows, step: int) -> None:
            del step
            totals = sums.astype(np.float32).reshape(len(spans.counts), -1)
            spans.add(totals, spans.rows(rows)[0].astype(np.float32))
            sums[:] = totals.reshape(-1)

        def finish(sums: Array) -> Array:
            totals = sums.astype(np.float32).reshape(len(spans.counts), -1)
            return self._float_means(totals, view.steps * spans.counts[:, None])

        return Accumulation(np.zeros(view.output.type.elements, np.float32), add, finish)

    def _float_means(self, sums: NDArray[np.float32], counts: Array) -> Array:
        """From sums `[x, C]` and counts `[x, 1]`."""
        return clamp(sums / counts.astype(np.float32), self.activation)


def means(sums: Array, counts: Array) -> Array:
    """From sums `[x, C]` and counts `[x]`, rounded half away from zero: `[x, C]`."""
    divisors = counts[:, None]
    found: Array = np.sign(sums) * ((np.abs(sums) + divisors // 2) // divisors)
    return found


register(AveragePool2D)
