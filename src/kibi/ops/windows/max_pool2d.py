"""MAX_POOL_2D."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from kibi.dtypes import Array
from kibi.ir import Accumulation, NodeView, Rows
from kibi.ops.registry import register
from kibi.ops.sums.float_sums import clamp
from kibi.ops.windows.pooling import Pool2D, Spans, is_float

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

    def reference(self, view: NodeView) -> Callable[[Rows], Array]:
        """The maximum over the elements inside."""
        if is_float(view):
            return self._float_rows(view)
        spans, lowest, clamped = Spans.of(self.window(view)), view.output.type.dtype.limits[0], self.clamped(view)

        def row(rows: Rows) -> Array:
            return clamped(spans.extremes(np.maximum, spans.rows(rows).max(axis=0), lowest))

        return row

    def accumulation(self, view: NodeView) -> Accumulation:
        """The same, row after row."""
        if is_float(view):
            return self._float_accumulation(view)
        spans, dtype = Spans.of(self.window(view)), view.output.type.dtype
        lowest = dtype.limits[0]

        def add(maxima: Array, rows: Rows, step: int) -> None:
            del step
            found = spans.extremes(np.maximum, spans.rows(rows)[0], lowest)
            np.maximum(maxima, found.reshape(-1), out=maxima)

        return Accumulation(np.full(view.output.type.elements, lowest, dtype.numpy), add, self.clamped(view))

    def _float_rows(self, view: NodeView) -> Callable[[Rows], Array]:
        spans = Spans.of(self.window(view))

        def row(rows: Rows) -> Array:
            return clamp(largest(spans, spans.rows(rows)), self.activation)

        return row

    def _float_accumulation(self, view: NodeView) -> Accumulation:
        spans = Spans.of(self.window(view))

        def add(maxima: Array, rows: Rows, step: int) -> None:
            del step
            found = largest(spans, spans.rows(rows)).reshape(-1)
            so_far = maxima.astype(np.float32)
            maxima[:] = np.where(so_far < found, found, so_far)

        start = np.full(view.output.type.elements, _LOWEST)
        return Accumulation(start, add, lambda maxima: clamp(maxima, self.activation))


def largest(spans: Spans, values: Array) -> NDArray[np.float32]:
    """Returns what `std::max(maximum, value)` gives, from the lowest number on, for `[rows, columns, C]` in order: `[x, C]`.

    Numbers that are none are passed over. Of zeros with different signs the first one stays.
    """
    rows, width, channels = values.shape
    lines = np.fmax.reduce(values, axis=0, initial=_LOWEST)
    found = spans.extremes(np.maximum, lines, float(_LOWEST)).astype(np.float32)
    if not (found == 0).any() or not np.signbit(values[values == 0]).any():
        return found
    places = np.where(values == 0, np.arange(rows * width).reshape(rows, width, 1), rows * width).min(axis=0)
    first = spans.extremes(np.minimum, places, rows * width)
    picked = values.reshape(-1, channels)[np.minimum(first, rows * width - 1), np.arange(channels)]
    return np.where(found == 0, picked.astype(np.float32), found)


register(MaxPool2D)
