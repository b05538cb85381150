"""Pools: what becomes of the elements under each window."""

from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibi.dtypes import Array, DType
from kibi.ops.windows.average_pool2d import means
from kibi.ops.windows.max_pool2d import largest
from kibi.ops.windows.pooling import Spans
from kibi.ops.windows.window import Window
from kibi.planfile.in_numpy.call import Call, types_of
from kibi.planfile.in_numpy.products import cut
from kibi.planfile.in_numpy.registry import kernel

_KINDS = ("s8", "s16", "f32")
_LOWEST = np.finfo(np.float32).min


def _spans_of(p: SimpleNamespace) -> Spans:
    """What each window covers of a row."""
    rows = getattr(p, "kernel_rows", 1)
    sizes = (1, rows, p.input_width, p.channels, 1, p.output_width, rows, p.kernel_width)
    return Spans.of(Window(*sizes, 1, p.stride, 1, 1, 0, p.pad, is_swapped=False))


def _rows(call: Call, spans: Spans, count: int) -> NDArray[Any]:
    """The rows that are inside, [rows, columns, channels]."""
    p, (kind, _) = call.numbers, types_of(call.kernel)
    found = [call.optional(number, p.input_width * p.channels, kind.numpy.str) for number in range(count)]
    return np.array(spans.rows([found]))


def _write(call: Call, values: Array) -> None:
    p, (kind, _) = call.numbers, types_of(call.kernel)
    if kind is DType.F32:
        call.write(cut(values, p.activation_min, p.activation_max))
    else:
        call.write(np.clip(values, p.activation_min, p.activation_max).astype(kind.numpy))


@kernel(*(f"kibi_average_pool2d_{kind}" for kind in _KINDS), "kibi_l2_pool2d_f32")
def average(call: Call) -> None:
    """AVERAGE_POOL_2D, and L2_POOL_2D, which is the root of the mean of squares."""
    p = call.numbers
    spans = call.once(lambda: _spans_of(p))
    rows = _rows(call, spans, p.kernel_rows)
    if rows.dtype.kind != "f":
        sums = spans.sums(rows.sum(axis=0, dtype=np.int32))
        _write(call, means(sums, len(rows) * spans.counts))
        return
    is_square = "_l2_" in call.kernel
    totals = np.zeros((p.output_width, p.channels), np.float32)
    for line in rows * rows if is_square else rows:
        spans.add(totals, line)
    found = totals / (len(rows) * spans.counts[:, None]).astype(np.float32)
    _write(call, np.sqrt(found) if is_square else found)


@kernel(*(f"kibi_average_pool2d_{kind}_accumulate" for kind in _KINDS), "kibi_average_pool2d_s8_accumulate_small")
def average_by_rows(call: Call) -> None:
    """AVERAGE_POOL_2D to one output row: an input row at each step."""
    p, (kind, _) = call.numbers, types_of(call.kernel)
    spans = call.once(lambda: _spans_of(p))
    sums = "<f4" if kind is DType.F32 else "<i2" if call.kernel.endswith("_small") else "<i4"
    kept = call.work(p.output_width * p.channels, sums).reshape(-1, p.channels)
    if call.step == 0:
        kept[:] = 0
    row = _rows(call, spans, 1)[0]
    if kind is DType.F32:
        totals = kept.astype(np.float32)
        spans.add(totals, row)
        kept[:] = totals
    else:
        kept[:] = kept + spans.sums(row.astype(np.int32))
    if call.step == p.steps - 1:
        counts = p.steps * spans.counts
        _write(
            call,
            kept / counts[:, None].astype(np.float32) if kind is DType.F32 else means(kept.astype(np.int32), counts),
        )


@kernel(*(f"kibi_max_pool2d_{kind}" for kind in _KINDS))
def maximum(call: Call) -> None:
    """MAX_POOL_2D."""
    spans = call.once(lambda: _spans_of(call.numbers))
    _write(call, _largest(spans, _rows(call, spans, call.numbers.kernel_rows)))


@kernel(*(f"kibi_max_pool2d_{kind}_accumulate" for kind in _KINDS))
def maximum_by_rows(call: Call) -> None:
    """MAX_POOL_2D to one output row: an input row at each step."""
    p, (kind, _) = call.numbers, types_of(call.kernel)
    spans = call.once(lambda: _spans_of(p))
    kept = call.work(p.output_width * p.channels, kind.numpy.str).reshape(-1, p.channels)
    if call.step == 0:
        kept[:] = _LOWEST if kind is DType.F32 else kind.limits[0]
    found = _largest(spans, _rows(call, spans, 1))
    kept[:] = np.where(kept < found, found, kept)
    if call.step == p.steps - 1:
        _write(call, kept)


def _largest(spans: Spans, rows: NDArray[Any]) -> NDArray[Any]:
    """The largest element under each window, [x, channels]."""
    if rows.dtype.kind == "f":
        return largest(spans, rows)
    return spans.extremes(np.maximum, rows.max(axis=0), np.iinfo(rows.dtype).min)
