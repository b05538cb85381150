"""SOFTMAX of int8."""

import numpy as np

from kibi.planfile.in_numpy.call import Call
from kibi.planfile.in_numpy.registry import kernel
from kibi.quant.fixed_point import one_over_one_plus
from kibi.quant.rounding import rounding_divide_by_power_of_two, saturating_rounding_doubling_high_multiply

_SUM_BITS = 12
"""Integer bits of the sums of exponentials."""


@kernel("kibi_softmax_s8", "kibi_softmax_s8_s16")
def softmax(call: Call) -> None:
    """Exponentials of the differences to the largest element, from a table, times the reciprocal of their sum."""
    p = call.numbers
    is_wide = call.kernel.endswith("s16")
    bits, low, high = (16, -32768, 32767) if is_wide else (8, -128, 127)
    exponentials = call.array("exponentials", p.differences).astype(np.int64)
    values = call.row(0, p.vectors * p.depth, "i1").reshape(p.vectors, p.depth).astype(np.int64)
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
