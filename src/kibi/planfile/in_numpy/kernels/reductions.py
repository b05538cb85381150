"""Reductions: elements along axes become one, or are added up one after another."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibi.dtypes import DType
from kibi.ops.reductions.cumsum import Cumsum
from kibi.ops.reductions.extremes import ReduceMax, ReduceMin
from kibi.ops.reductions.running_sum import RunningSum
from kibi.planfile.in_numpy.call import Call, types_of
from kibi.planfile.in_numpy.registry import kernel
from kibi.quant import Multiplier, requantize, wrap_s32


def _places(call: Call) -> NDArray[np.int64]:
    """Returns for each element of the step's row the output's element that it goes into."""
    p = call.numbers
    part, row = divmod(call.step, p.size1)
    inside = np.arange(p.size2)[:, None] * p.step2 + np.arange(p.size3) * p.step3
    found: NDArray[np.int64] = inside.reshape(-1) + (part * p.step0 + row * p.step1)
    return found


def _grown(call: Call, kind: str, start: float) -> NDArray[Any]:
    """What has grown in the scratch, from that on."""
    kept = call.work(call.numbers.output_elements, kind)
    if call.step == 0:
        kept[:] = start
    return kept


def _row(call: Call, kind: str) -> NDArray[Any]:
    return call.row(0, call.numbers.size2 * call.numbers.size3, kind)


@kernel("kibi_mean_s8", "kibi_mean_s16")
def mean(call: Call) -> None:
    """MEAN and SUM of integers: rule N11."""
    p, (kind, _) = call.numbers, types_of(call.kernel)
    kept = _grown(call, "<i4", p.start)
    np.add.at(kept, _places(call), _row(call, kind.numpy.str).astype(np.int32))
    if call.step == p.steps - 1:
        scaled = requantize(kept.astype(np.int64), p.multiplier, p.shift)
        call.write(np.clip(wrap_s32(scaled + p.output_zero_point), *kind.limits).astype(kind.numpy))


@kernel("kibi_mean_f32", "kibi_sum_f32")
def mean_of_floats(call: Call) -> None:
    """MEAN and SUM of f32: one element after another."""
    p = call.numbers
    kept = _grown(call, "<f4", 0)
    np.add.at(kept, _places(call), _row(call, "<f4"))
    if call.step == p.steps - 1:
        call.write(kept / np.float32(p.count) if "_mean_" in call.kernel else kept.copy())


@kernel("kibi_reduce_extreme_s8", "kibi_reduce_extreme_f32")
def extreme(call: Call) -> None:
    """REDUCE_MAX and REDUCE_MIN."""
    p, (kind, _) = call.numbers, types_of(call.kernel)
    ends = kind.limits if kind is DType.S8 else (float(np.finfo(np.float32).min), float(np.finfo(np.float32).max))
    kept = _grown(call, kind.numpy.str, ends[0] if p.is_max else ends[1])
    (ReduceMax() if p.is_max else ReduceMin()).combine(kept, _places(call), _row(call, kind.numpy.str))
    if call.step == p.steps - 1:
        call.write(kept.copy())


@kernel("kibi_reduce_all_bool")
def reduce_all(call: Call) -> None:
    """REDUCE_ALL."""
    kept = _grown(call, "u1", 1)
    kept[_places(call)[_row(call, "u1") == 0]] = 0
    if call.step == call.numbers.steps - 1:
        call.write(kept.copy())


def _pieces(call: Call, kind: DType) -> NDArray[Any]:
    """The elements of a step, [outer, size, inner]."""
    p = call.numbers
    count = p.outer * p.size * p.inner
    rows = [call.row(number, p.row_elements, kind.numpy.str) for number in range(-(-count // p.row_elements))]
    return np.concatenate(rows)[:count].reshape(p.outer, p.size, p.inner)


@kernel("kibi_arg_extreme_s8", "kibi_arg_extreme_f32")
def arg_extreme(call: Call) -> None:
    """ARG_MAX and ARG_MIN: the first of the best; a NaN is never better, nor is anything better than one that is first."""
    values = _pieces(call, types_of(call.kernel)[0])
    beyond = np.greater if call.numbers.is_max else np.less
    found, places = values[:, 0], np.zeros(values[:, 0].shape, np.int32)
    for k in range(1, call.numbers.size):
        is_better = beyond(values[:, k], found)
        found, places = np.where(is_better, values[:, k], found), np.where(is_better, np.int32(k), places)
    call.write(places)


@kernel("kibi_cumsum_s8", "kibi_cumsum_f32")
def cumsum(call: Call) -> None:
    """CUMSUM: rule N24 for floats, N34 for s8."""
    p, (kind, _) = call.numbers, types_of(call.kernel)
    operator = Cumsum(exclusive=bool(p.is_exclusive), reverse=bool(p.is_reversed))
    values = _pieces(call, kind)
    if kind is DType.F32:
        call.write(operator.sums(values, 0))
        return
    running = RunningSum(p.zero_point, Multiplier(p.output_multiplier, p.output_shift), p.output_zero_point)
    call.write(running.result(operator.sums(values.astype(np.int64) - p.zero_point, -p.zero_point)))
