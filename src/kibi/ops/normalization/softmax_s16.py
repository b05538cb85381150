"""SOFTMAX of s16: two tables with lines between their entries, made as TFLM makes them."""

from collections.abc import Callable
from functools import cache

import numpy as np
from numpy.typing import NDArray

from kibi.dtypes import Array
from kibi.ir import KernelCall, NodeView, OperatorError, Rows
from kibi.kernels.params.normalization import SoftmaxS16Params
from kibi.ops import checks
from kibi.quant import Multiplier, exp_f32, requantize, round_half_away, wrap_s32

_F = np.float32
_LOW, _HIGH = -(1 << 15), (1 << 15) - 1
_STEPS = 512
_MOST_ELEMENTS = 1 << 16
_RANGE = _F(_HIGH - _LOW)
_OVERFLOWS = 2.0**15
"""From which negative factor on the product with a difference may leave 32 bits, which TFLM leaves undefined."""
Real = NDArray[np.float32]
Table = NDArray[np.int16]


def check(view: NodeView, beta: float) -> None:
    """Check the scales of s16.

    Raises:
        OperatorError: one is not as it must be.
    """
    checks.symmetric(view, "input")
    output = checks.symmetric(view, "output")
    if abs(output.scale - 2.0**-15) > 0.001 * 2.0**-15:
        raise OperatorError(f"output has scale {output.scale}, but 1/32768 is required", operand="output")
    depth = view["input"].type.shape[-1]
    if depth > _MOST_ELEMENTS:
        what = f"the last axis has {depth} elements, more than {_MOST_ELEMENTS}: the sum may overflow"
        raise OperatorError(what, operand="input")
    _factor(view, beta)


def _factor(view: NodeView, beta: float) -> Multiplier:
    """Rule N29: from differences of elements to units in which 65535 is 10.

    Differences to the largest element are at most 0. With a negative factor they are at least 0 and end at the table's upper end,
    where a factor of 0 leaves them, too.
    """
    real = view["input"].quantization.scale * float(_F(beta)) / (10.0 / 65535.0)
    return checks.factor(0.0 if -_OVERFLOWS < real < 0 else real)


@cache
def exponentials() -> Table:
    """Rule N29: exp of -10 … 0, `[513]`."""
    return _table(_F(10) / _RANGE, _HIGH, exp_f32)


@cache
def reciprocals() -> Table:
    """Rule N29: 1 / (1 + x) for x of 0 … 1, `[513]`."""
    return _table(_F(1) / _RANGE, _LOW, lambda x: _F(1) / (_F(1) + x))


def _table(scale: np.float32, zero_point: int, function: Callable[[Real], Real]) -> Table:
    """A function at 513 places, each moved by half of the error that the line to the next has in its middle.

    Source: TFLM `kernels/internal/common.h`, `LUTPopulateInt16`.
    """
    output_scale = _F(2) / _RANGE
    first, last = scale * _F(_LOW - zero_point), scale * _F(_HIGH - zero_point)
    step = (last - first) / _F(_STEPS)
    inverse = _F(1 << 16) / (output_scale * _F(_HIGH) - output_scale * _F(_LOW))
    places = np.arange(_STEPS + 1).astype(_F) * step
    values = function(first + places)
    samples = round_half_away(values[:-1] * inverse)
    lines = round_half_away((values[1:] * inverse + samples) / _F(2))
    middles = round_half_away(function(first + places[:-1] + step / _F(2)) * inverse)
    moved = samples - round_half_away((lines - middles) / _F(2))
    end = round_half_away(function(np.array([last])) * inverse)
    made: Table = np.clip(np.concatenate([moved, end]), _LOW, _HIGH).astype(np.int16)
    made.flags.writeable = False
    return made


def _between(table: Table, values: NDArray[np.int64]) -> NDArray[np.int64]:
    """A table at s16 values, on the line between two entries."""
    places = 256 + (values >> 7)
    first, second = table[places].astype(np.int64), table[places + 1].astype(np.int64)
    found: NDArray[np.int64] = first + (((second - first) * (values & 127) + 64) >> 7)
    return found


def rows_of(view: NodeView, beta: float) -> Callable[[Rows], Array]:
    """Rule N29: exponentials of the differences to the largest, times the reciprocal of their sum."""
    factor, depth = _factor(view, beta), view["input"].type.shape[-1]

    def row(rows: Rows) -> Array:
        vectors = np.asarray(rows[0][0]).astype(np.int64).reshape(-1, depth)
        return np.stack([softmax_of_s16(values, factor, exponentials(), reciprocals()) for values in vectors])

    return row


def softmax_of_s16(values: NDArray[np.int64], factor: Multiplier, powers: Table, inverses: Table) -> Table:
    """Rule N29, of a vector.

    Args:
        values: the vector.
        factor: brings differences to units in which 65535 is 10.
        powers: `exponentials`.
        inverses: `reciprocals`.
    """
    scaled = wrap_s32(requantize(values - values.max(), factor.value, factor.shift) + _HIGH)
    terms = _between(powers, np.clip(scaled, _LOW, _HIGH))
    total = int(terms.sum())
    shifted = ((total << 31 - total.bit_length()) + (1 << 13) >> 14) - (1 << 16) - (1 << 15)
    scale = _between(inverses, np.clip(np.array([shifted]), _LOW, _HIGH))
    shift = total.bit_length() - 1
    found: Table = np.clip((terms * scale + (1 << shift - 1)) >> shift, 0, _HIGH).astype(np.int16)
    return found


def call_of(view: NodeView, beta: float) -> KernelCall:
    """The call of `kibi_softmax_s16`."""
    factor, depth = _factor(view, beta), view["input"].type.shape[-1]
    params = SoftmaxS16Params(
        exponentials=exponentials(),
        reciprocals=reciprocals(),
        multiplier=factor.value,
        shift=factor.shift,
        vectors=view.output.type.row_elements // depth,
        depth=depth,
    )
    return KernelCall("kibi_softmax_s16", params, inplace_distance_bytes=(0,))
