"""SOFTMAX, LOG_SOFTMAX and L2_NORMALIZATION: each vector of a row by itself."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibi.ops.normalization.l2_normalization import divided, scaled
from kibi.ops.normalization.log_softmax import log_softmax_of_floats, log_softmax_of_s8
from kibi.ops.normalization.softmax import softmax_of_floats
from kibi.ops.normalization.softmax_s16 import softmax_of_s16
from kibi.planfile.in_numpy.call import Call
from kibi.planfile.in_numpy.registry import kernel
from kibi.quant import Multiplier
from kibi.quant.fixed_point import one_over_one_plus
from kibi.quant.rounding import rounding_divide_by_power_of_two, saturating_rounding_doubling_high_multiply

_SUM_BITS = 12
"""Integer bits of the sums of exponentials."""


def _vectors(call: Call, kind: str) -> NDArray[Any]:
    """The vectors of a row, [vectors, depth]."""
    p = call.numbers
    return np.array(call.row(0, p.vectors * p.depth, kind)).reshape(p.vectors, p.depth)


@kernel("kibi_softmax_s8", "kibi_softmax_s8_s16")
def softmax(call: Call) -> None:
    """Exponentials of the differences to the largest element, from a table, times the reciprocal of their sum."""
    p = call.numbers
    is_wide = call.kernel.endswith("s16")
    bits, low, high = (16, -32768, 32767) if is_wide else (8, -128, 127)
    exponentials = call.array("exponentials", p.differences).astype(np.int64)
    values = _vectors(call, "i1").astype(np.int64)
    made = np.full(values.shape, low, np.int64)
    for vector, found in zip(values, made, strict=True):
        differences = vector.max() - vector
        counts = differences < p.differences
        terms = exponentials[differences[counts]]
        total = int(rounding_divide_by_power_of_two(terms, _SUM_BITS).sum())
        headroom = 32 - total.bit_length()
        scale = one_over_one_plus((total << headroom) - (1 << 31))
        exponent = _SUM_BITS - headroom + 31 - bits
        found[counts] += rounding_divide_by_power_of_two(
            saturating_rounding_doubling_high_multiply(scale, terms), exponent
        )
    call.write(np.clip(made, low, high).astype(np.int16 if is_wide else np.int8))


@kernel("kibi_softmax_s16")
def softmax_of_halves(call: Call) -> None:
    """SOFTMAX of s16: rule N29."""
    p = call.numbers
    factor = Multiplier(p.multiplier, p.shift)
    powers, inverses = call.array("exponentials", 513), call.array("reciprocals", 513)
    made = [softmax_of_s16(each, factor, powers, inverses) for each in _vectors(call, "<i2").astype(np.int64)]
    call.write(np.stack(made))


@kernel("kibi_softmax_f32")
def softmax_floats(call: Call) -> None:
    """SOFTMAX of f32."""
    call.write(softmax_of_floats(_vectors(call, "<f4"), call.numbers.beta))


@kernel("kibi_log_softmax_s8")
def log_softmax(call: Call) -> None:
    """LOG_SOFTMAX of s8: rule N28."""
    p = call.numbers
    exponentials = call.array("exponentials", p.differences).astype(np.int64)
    factor, inverse = Multiplier(p.multiplier, p.shift), Multiplier(p.inverse_multiplier, p.inverse_shift)
    made = [log_softmax_of_s8(each, exponentials, factor, inverse, p.least_difference) for each in _vectors(call, "i1")]
    call.write(np.stack(made))


@kernel("kibi_log_softmax_f32")
def log_softmax_floats(call: Call) -> None:
    """LOG_SOFTMAX of f32."""
    call.write(log_softmax_of_floats(_vectors(call, "<f4")))


@kernel("kibi_l2_normalization_s8")
def l2_normalization(call: Call) -> None:
    """L2_NORMALIZATION of s8: rule N28."""
    call.write(np.stack([scaled(each, call.numbers.zero_point) for each in _vectors(call, "i1")]))


@kernel("kibi_l2_normalization_f32")
def l2_normalization_floats(call: Call) -> None:
    """L2_NORMALIZATION of f32."""
    call.write(divided(_vectors(call, "<f4")))
