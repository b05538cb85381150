"""The exponential functions of float32, as TFLM's C library computes it, and of float64."""

from math import factorial

import numpy as np
from numpy.typing import NDArray

_PARTS = 32
"""Parts that each power of two is divided into."""
_PARTS_PER_UNIT = float.fromhex("0x1.71547652b82fep+0") * _PARTS
_CUBIC = float.fromhex("0x1.c6af84b912394p-5") / _PARTS**3
_SQUARE = float.fromhex("0x1.ebfce50fac4f3p-3") / _PARTS**2
_LINEAR = float.fromhex("0x1.62e42ff0c52d6p-1") / _PARTS
_POWERS: NDArray[np.float64] = np.exp2(np.arange(_PARTS) / _PARTS)
_LIMITS = float.fromhex("-0x1.9fe368p6"), float.fromhex("0x1.62e42ep6")
"""Arguments below give 0, arguments above infinity."""


def exp_f32(values: NDArray[np.float32]) -> NDArray[np.float32]:
    """Rule N23: exp of float32 values, computed in double precision and rounded to float32 once.

    The argument is a whole number of 32nds of ln 2, and a rest whose exponential is a polynomial of degree 3. No result is off
    by more than 0.502 units in the last place. A NaN gives a NaN. Source: glibc `sysdeps/ieee754/flt-32/e_expf.c`, which no
    two builds round otherwise but for a product in 2**27.
    """
    low, high = _LIMITS
    is_inside = (values >= low) & (values <= high)
    scaled = np.where(is_inside, values, np.float32(0)).astype(np.float64) * _PARTS_PER_UNIT
    whole = np.rint(scaled)
    rest = scaled - whole
    exponents, parts = np.divmod(whole.astype(np.int64), _PARTS)
    power = np.ldexp(_POWERS[parts], exponents)
    inside = (((_CUBIC * rest + _SQUARE) * (rest * rest) + (_LINEAR * rest + 1.0)) * power).astype(np.float32)
    outside = np.where(values < low, np.float32(0), np.where(values > high, np.float32(np.inf), values))
    result: NDArray[np.float32] = np.where(is_inside, inside, outside)
    return result


_LN2_HIGH = float.fromhex("0x1.62e42fee00000p-1")
_LN2_LOW = float.fromhex("0x1.a39ef35793c76p-33")
_PER_LN2 = float.fromhex("0x1.71547652b82fep+0")
_LIMITS_F64 = -708.0, float.fromhex("0x1.62e42fefa39efp+9")
"""Arguments below give 0, though subnormal numbers would do; arguments above give infinity."""
_SERIES = tuple(1.0 / factorial(term) for term in range(14))


def exp_f64(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Rule N39: exp of float64 values, within 2 units in the last place of a double.

    The argument is a whole number of ln 2, whose two parts are taken away one after another, and a rest of at most half of it,
    whose exponential is its Taylor series to degree 13. A NaN gives a NaN.
    """
    low, high = _LIMITS_F64
    is_inside = (values >= low) & (values <= high)
    inside = np.where(is_inside, values, 0.0)
    whole = np.rint(inside * _PER_LN2)
    rest = (inside - whole * _LN2_HIGH) - whole * _LN2_LOW
    series = np.full_like(rest, _SERIES[-1])
    for coefficient in reversed(_SERIES[:-1]):
        series = series * rest + coefficient
    # Twice half the power: at the upper end the power itself is out of range.
    made = np.ldexp(series, whole.astype(np.int32) - 1) * 2.0
    outside = np.where(values < low, 0.0, np.where(values > high, np.inf, values))
    result: NDArray[np.float64] = np.where(is_inside, made, outside)
    return result
