"""Logarithm, sine, cosine, exp(x) - 1 and hyperbolic tangent of float32, as TFLM's C library computes them."""

import numpy as np
from numpy.typing import NDArray

Real = NDArray[np.float32]
Double = NDArray[np.float64]

_F = np.float32

# The logarithm: 16 parts of an octave, each with the inverse of a number in it and its logarithm.
_INVERSES: Double = np.array([float.fromhex(text) for text in (
    "0x1.661ec79f8f3bep+0", "0x1.571ed4aaf883dp+0", "0x1.49539f0f010bp+0", "0x1.3c995b0b80385p+0", "0x1.30d190c8864a5p+0",
    "0x1.25e227b0b8eap+0", "0x1.1bb4a4a1a343fp+0", "0x1.12358f08ae5bap+0", "0x1.0953f419900a7p+0", "0x1p+0",
    "0x1.e608cfd9a47acp-1", "0x1.ca4b31f026aap-1", "0x1.b2036576afce6p-1", "0x1.9c2d163a1aa2dp-1", "0x1.886e6037841edp-1",
    "0x1.767dcf5534862p-1",
)])  # fmt: skip
_LOGARITHMS: Double = np.array([float.fromhex(text) for text in (
    "-0x1.57bf7808caadep-2", "-0x1.2bef0a7c06ddbp-2", "-0x1.01eae7f513a67p-2", "-0x1.b31d8a68224e9p-3",
    "-0x1.6574f0ac07758p-3", "-0x1.1aa2bc79c81p-3", "-0x1.a4e76ce8c0e5ep-4", "-0x1.1973c5a611cccp-4",
    "-0x1.252f438e10c1ep-5", "0x0p+0", "0x1.aa5aa5df25984p-5", "0x1.c5e53aa362eb4p-4", "0x1.526e57720db08p-3",
    "0x1.bc2860d22477p-3", "0x1.1058bc8a07ee1p-2", "0x1.4043057b6ee09p-2",
)])  # fmt: skip
_LN_2 = float.fromhex("0x1.62e42fefa39efp-1")
_LOG = tuple(float.fromhex(text) for text in ("-0x1.00ea348b88334p-2", "0x1.5575b0be00b6ap-2", "-0x1.ffffef20a4123p-2"))
_LOWEST_PART = 0x3F330000

# Sine and cosine: polynomials on a quarter of a circle.
_SINE = tuple(
    float.fromhex(text) for text in ("-0x1.555545995a603p-3", "0x1.1107605230bc4p-7", "-0x1.994eb3774cf24p-13")
)
_COSINE = tuple(
    float.fromhex(text)
    for text in ("-0x1.ffffffd0c621cp-2", "0x1.55553e1068f19p-5", "-0x1.6c087e89a359dp-10", "0x1.99343027bf8c3p-16")
)
_HALF_PI = float.fromhex("0x1.921FB54442D18p0")
_QUARTERS_PER_UNIT = float.fromhex("0x1.45F306DC9C883p-1")
_PI_OVER_2_63 = float.fromhex("0x1.921FB54442D18p-62")
_FOUR_OVER_PI = 0xA2F9836E4E441529FC2757D1F534DDC0DB6295993C439041
_WORDS = np.array([_FOUR_OVER_PI >> 184 - 8 * k & 0xFFFFFFFF for k in range(24)], np.uint64)
"""The 32 bits that end at each byte of 4 / pi with 191 fraction bits."""
_TINY, _QUARTER, _FAR = _F(2.0**-12), _F(0.75), _F(120.0)
"""Lower limits for sine and cosine: of computation, of reduction, of reduction with all digits. Compared by 12 high bits."""

# exp(x) - 1.
_EXPM1 = tuple(
    _F(c) for c in (-3.3333335072e-02, 1.5873016091e-03, -7.9365076090e-05, 4.0082177293e-06, -2.0109921195e-07)
)
_LN_2_HIGH, _LN_2_LOW, _PER_LN_2 = _F(6.9313812256e-01), _F(9.0580006145e-06), _F(1.4426950216e00)


def log_f32(values: Real) -> Real:
    """Rule N30: the natural logarithm of float32 values, in double precision, rounded to float32 once.

    Source: glibc `sysdeps/ieee754/flt-32/e_logf.c`.
    """
    with np.errstate(all="ignore"):
        is_small = (values < _F(2.0**-126)) & (values > 0)
        bits = np.where(is_small, values * _F(2.0**23), values).astype(_F).view(np.int32).astype(np.int64)
        bits -= np.where(is_small, 23 << 23, 0)
        above = bits - _LOWEST_PART
        parts, exponents = (above >> 19) & 15, above >> 23
        mantissas = (bits - (exponents << 23)).astype(np.int32).view(_F).astype(np.float64)
        r = mantissas * _INVERSES[parts] - 1.0
        start = _LOGARITHMS[parts] + exponents * _LN_2
        square = r * r
        inside = ((_LOG[0] * square + (_LOG[1] * r + _LOG[2])) * square + (start + r)).astype(_F)
        outside = np.where(values == 0, _F(-np.inf), np.where(values > 0, values, _F(np.nan)))
    is_inside = (values > 0) & (values < _F(np.inf))
    return np.where(is_inside, inside, outside).astype(_F)


def sin_f32(values: Real) -> Real:
    """Rule N31: the sine of float32 values. Source: glibc `sysdeps/ieee754/flt-32/s_sinf.c`."""
    return np.where(np.abs(values) < _TINY, values, _circular(values, is_cosine=False)).astype(_F)


def cos_f32(values: Real) -> Real:
    """Rule N31: the cosine of float32 values. Source: glibc `sysdeps/ieee754/flt-32/s_cosf.c`."""
    return np.where(np.abs(values) < _TINY, _F(1), _circular(values, is_cosine=True)).astype(_F)


def _circular(values: Real, *, is_cosine: bool) -> Real:
    """The sine or cosine in double precision, rounded to float32 once."""
    finite = np.where(np.isfinite(values), values, _F(0))
    quarters, rest = _reduced(finite)
    # What is far away was reduced without its sign.
    turns = quarters + np.where((np.abs(finite) >= _FAR) & (finite < 0) & (not is_cosine), 2, 0)
    signed = rest * np.where(((turns + 1) & 2) != 0, -1.0, 1.0)
    square = signed * signed
    cube, fourth = signed * square, square * square
    sine = (signed + cube * _SINE[0]) + (cube * square) * (_SINE[1] + square * _SINE[2])
    cosine = (1.0 + square * _COSINE[0]) + fourth * _COSINE[1]
    cosine = cosine + (fourth * square) * (_COSINE[2] + square * _COSINE[3])
    cosine = np.where((turns & 2) != 0, -cosine, cosine)
    chosen = np.where((quarters + is_cosine) & 1, cosine, sine)
    return np.where(np.isfinite(values), chosen, np.nan).astype(_F)


def _reduced(values: Real) -> tuple[NDArray[np.int64], Double]:
    """Finite arguments as whole quarters of a circle, and a rest in radians; of far ones without their sign."""
    doubles = values.astype(np.float64)
    is_far, is_near = np.abs(values) >= _FAR, np.abs(values) < _QUARTER
    inside = np.where(is_far | is_near, 0.0, doubles)
    quarters = (np.trunc(inside * (_QUARTERS_PER_UNIT * (1 << 24))).astype(np.int64) + (1 << 23)) >> 24
    far_quarters, far_rest = _far_reduced(values)
    rest = np.where(is_near, doubles, inside - quarters * _HALF_PI)
    return np.where(is_far, far_quarters, quarters), np.where(is_far, far_rest, rest)


def _far_reduced(values: Real) -> tuple[NDArray[np.int64], Double]:
    """The same with as many digits of pi as it takes, in 64 bits that wrap."""
    bits = values.view(np.uint32).astype(np.uint64)
    first = (bits >> np.uint64(26)) & np.uint64(15)
    mantissas = ((bits & np.uint64(0xFFFFFF)) | np.uint64(0x800000)) << ((bits >> np.uint64(23)) & np.uint64(7))
    low = (mantissas * _WORDS[first + np.uint64(8)]) >> np.uint64(32)
    high = (mantissas * _WORDS[first] & np.uint64(0xFFFFFFFF)) << np.uint64(32)
    product = (high | low) + mantissas * _WORDS[first + np.uint64(4)]
    quarters = (product + np.uint64(1 << 61)) >> np.uint64(62)
    rest = (product - (quarters << np.uint64(62))).view(np.int64)
    return quarters.astype(np.int64), rest.astype(np.float64) * _PI_OVER_2_63


def tanh_f32(values: Real) -> Real:
    """Rule N32: the hyperbolic tangent of float32 values, in float32. Source: glibc `sysdeps/ieee754/flt-32/s_tanhf.c`."""
    magnitudes = np.abs(values)
    two = _F(2)
    doubled = two * np.where(magnitudes < _F(22), magnitudes, _F(0))
    with np.errstate(all="ignore"):
        above, below = expm1_f32(np.stack([doubled, -doubled]))
        large = _F(1) - two / (above + two)
        small = -below / (below + two)
        tiny = magnitudes * (_F(1) + magnitudes)
        found = np.where(magnitudes >= 1, large, np.where(magnitudes < _F(2.0**-55), tiny, small))
        found = np.where(magnitudes < _F(22), found, _F(1))
    return np.where(np.isnan(values), values, np.copysign(found, values)).astype(_F)


def expm1_f32(values: Real) -> Real:
    """Rule N32: exp(x) - 1 of float32 values up to 44, in float32: ELU and the hyperbolic tangent ask for no others.

    Source: glibc `sysdeps/ieee754/flt-32/s_expm1f.c`.
    """
    is_lowest = values <= _F(-18.714973449707031)
    inside = np.where(is_lowest | np.isnan(values), _F(0), values).astype(_F)
    with np.errstate(all="ignore"):
        k, x, lost = _octaves(inside)
        half = _F(0.5) * x
        square = x * half
        r = _F(1) + square * (
            _EXPM1[0] + square * (_EXPM1[1] + square * (_EXPM1[2] + square * (_EXPM1[3] + square * _EXPM1[4])))
        )
        t = _F(3) - r * half
        e = square * ((r - t) / (_F(6) - x * t))
        result = np.where(k == 0, x - (x * e - square), _scaled(k, x, (x * (e - lost) - lost) - square))
    result = np.where(np.abs(inside) < _F(2.0**-25), inside, result)
    return np.where(np.isnan(values), values, np.where(is_lowest, _F(-1), result)).astype(_F)


def _octaves(values: Real) -> tuple[NDArray[np.int32], Real, Real]:
    """Arguments as whole multiples of ln 2, a rest, and what the rest has lost."""
    magnitudes = np.abs(values)
    sign = np.where(values < 0, _F(-1), _F(1))
    several = np.trunc(_PER_LN_2 * values + _F(0.5) * sign)
    k = np.where(magnitudes.view(np.uint32) < 0x3F851592, sign, several)
    k = np.where(magnitudes.view(np.uint32) <= 0x3EB17218, _F(0), k)
    high: Real = (values - k * _LN_2_HIGH).astype(_F)
    low: Real = (k * _LN_2_LOW).astype(_F)
    rest = high - low
    return k.astype(np.int32), rest, (high - rest) - low


def _scaled(k: NDArray[np.int32], x: Real, e: Real) -> Real:
    """`2**k * (1 + x - e) - 1`, with the error that the last bits have."""
    one = _F(1)
    least = np.maximum(k, 0)
    few = np.ldexp((one - np.ldexp(one, -np.minimum(least, 24))) - (e - x), k)
    many = np.ldexp((x - (e + np.ldexp(one, -np.minimum(least, 100)))) + one, k)
    negative = np.ldexp(one - (e - x), k) - one
    minus_one = _F(0.5) * (x - e) - _F(0.5)
    plus_one = np.where(x < _F(-0.25), _F(-2) * (e - (x + _F(0.5))), one + _F(2) * (x - e))
    positive = np.where(k == 1, plus_one, np.where(k < 23, few, np.where(k > 56, negative, many)))
    return np.where(k == -1, minus_one, np.where(k < 0, negative, positive)).astype(_F)
