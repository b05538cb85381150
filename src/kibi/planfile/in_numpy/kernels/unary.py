"""Functions of one element: each output element from the input element at its place."""

from collections.abc import Callable, Mapping
from types import SimpleNamespace

import numpy as np

from kibi.dtypes import DType
from kibi.ops.elementwise.logistic import logistic_of_floats
from kibi.ops.elementwise.unary import Ceil, Cos, Exp, Floor, Log, Neg, Round, Sin, Sqrt, Square
from kibi.planfile.in_numpy.call import Call, Numbers, types_of
from kibi.planfile.in_numpy.registry import kernel
from kibi.quant import (
    expm1_f32,
    inverse_square_root,
    logistic_s16,
    requantize,
    round_half_away,
    tanh_f32,
    tanh_s16,
    wrap_s32,
)

_ONE, _ZERO = np.float32(1), np.float32(0)
_ROOT_BITS = 20
"""Fraction bits of an inverse root before it is scaled."""


def _elu(values: Numbers) -> Numbers:
    return np.where(values < 0, expm1_f32(np.minimum(values, _ZERO)), values)


def _hard_swish(values: Numbers) -> Numbers:
    gate = np.minimum(np.float32(6), np.maximum(_ZERO, values + np.float32(3)))
    product: Numbers = values * gate
    return product / np.float32(6)


def _relu(values: Numbers) -> Numbers:
    return np.where(values < 0, _ZERO, values)


_PLAIN: Mapping[str, Callable[[Numbers], Numbers]] = {
    "kibi_abs_f32": np.abs,
    "kibi_elu_f32": _elu,
    "kibi_hard_swish_f32": _hard_swish,
    "kibi_logical_not_bool": lambda values: values == 0,
    "kibi_logistic_f32": logistic_of_floats,
    "kibi_relu_f32": _relu,
    "kibi_relu6_f32": lambda values: np.where(values > 6, np.float32(6), _relu(values)),
    "kibi_rsqrt_f32": lambda values: _ONE / np.sqrt(values),
    "kibi_tanh_f32": tanh_f32,
    **{kind.kernels[0]: kind().real for kind in (Ceil, Cos, Exp, Floor, Log, Neg, Round, Sin, Sqrt, Square)},
}
"""Functions without parameters."""


@kernel(*_PLAIN)
def plain(call: Call) -> None:
    """A function without parameters."""
    source, made = types_of(call.kernel)
    values = call.row(0, call.numbers.elements, "u1" if source is DType.BOOL else source.numpy.str)
    call.write(_PLAIN[call.kernel](np.array(values)).astype(made.numpy))


def _abs(values: Numbers, p: SimpleNamespace) -> Numbers:
    magnitudes = np.abs(values)
    return requantize(magnitudes, p.multiplier, p.shift) if p.is_scaled else magnitudes


def _leaky_relu(values: Numbers, p: SimpleNamespace) -> Numbers:
    centred = values - p.zero_point
    below = p.alpha_sign * requantize(centred, p.alpha_multiplier, p.alpha_shift)
    scaled = np.where(centred >= 0, requantize(centred, p.multiplier, p.shift), below)
    return wrap_s32(scaled + p.output_zero_point)


def _rsqrt(values: Numbers, p: SimpleNamespace) -> Numbers:
    """Rule N48."""
    multipliers, shifts = inverse_square_root(np.maximum(values, 1))
    fixed = requantize(1, multipliers, shifts + _ROOT_BITS)
    return np.where(values > 0, requantize(fixed, p.multiplier, p.shift), DType.S16.limits[1])


_S16: Mapping[str, Callable[[Numbers, SimpleNamespace], Numbers]] = {
    "kibi_abs_s16": _abs,
    "kibi_leaky_relu_s16": _leaky_relu,
    "kibi_logistic_s16": lambda values, p: logistic_s16(values, p.factor, p.right_shift),
    "kibi_relu_s16": lambda values, p: np.maximum(requantize(values, p.multiplier, p.shift), 0),
    "kibi_relu6_s16": lambda values, p: np.clip(values, p.zero_point, p.six),
    "kibi_rsqrt_s16": _rsqrt,
    "kibi_tanh_s16": lambda values, p: tanh_s16(values, p.factor, p.right_shift),
}
"""Functions of s16, whose results are cut to the type."""


@kernel(*_S16)
def of_s16(call: Call) -> None:
    """A function of s16."""
    values = call.row(0, call.numbers.elements, "<i2").astype(np.int64)
    call.write(np.clip(_S16[call.kernel](values, call.numbers), *DType.S16.limits).astype(np.int16))


@kernel("kibi_leaky_relu_f32")
def leaky_relu(call: Call) -> None:
    """LEAKY_RELU of f32."""
    values = call.row(0, call.numbers.elements, "<f4")
    call.write(np.where(values > 0, values, values * np.float32(call.numbers.alpha)))


_CASTS = tuple(
    f"kibi_cast_{source}_{made}"
    for source in ("s8", "u8", "s16", "s32", "u32", "f32")
    for made in ("s8", "s16", "s32", "u32", "f32")
    if source != made
)


@kernel(*_CASTS)
def cast(call: Call) -> None:
    """CAST between numbers: integers wrap; floats are cut, and saturate."""
    source, made = types_of(call.kernel)
    values = call.row(0, call.numbers.elements, source.numpy.str)
    if source is DType.F32:
        low, high = made.limits
        values = np.clip(np.nan_to_num(values.astype(np.float64), posinf=high, neginf=low), low, high)
    call.write(values.astype(made.numpy))


@kernel("kibi_cast_any_bool")
def cast_to_bool(call: Call) -> None:
    """CAST to bool: whether a number is not 0."""
    p = call.numbers
    stored = call.row(0, p.elements * p.bytes, "u1")
    is_float = p.is_float and p.bytes == 4
    elements: Numbers = stored.view("<f4") if is_float else stored.reshape(-1, p.bytes).max(axis=1)
    call.write((elements != 0).astype(np.uint8))


_REQUANTIZED = tuple(
    f"kibi_quantize_{types}"
    for types in ("s16_s16", "s16_s32", "s16_s8", "s32_s16", "s32_s8", "s8_s16", "s8_s32", "s8_u8", "u8_s8")
)


@kernel(*_REQUANTIZED)
def requantized(call: Call) -> None:
    """QUANTIZE between integers: rule N17."""
    p, (source, made) = call.numbers, types_of(call.kernel)
    values = call.row(0, p.elements, source.numpy.str).astype(np.int64)
    scaled = requantize(wrap_s32(values - p.zero_point), p.multiplier, p.shift)
    call.write(np.clip(wrap_s32(scaled + p.output_zero_point), *made.limits).astype(made.numpy))


@kernel("kibi_quantize_f32_s8", "kibi_quantize_f32_s16")
def quantize(call: Call) -> None:
    """QUANTIZE from f32: rule N16."""
    p, (_, made) = call.numbers, types_of(call.kernel)
    # Beyond the bound every value is cut.
    bound = 4 * (made.limits[1] + 1)
    quotients = call.row(0, p.elements, "<f4") / np.float32(p.scale)
    whole = round_half_away(np.clip(np.nan_to_num(quotients, nan=0.0), -bound, bound)).astype(np.int64)
    call.write(np.clip(whole + p.zero_point, *made.limits).astype(made.numpy))


@kernel("kibi_dequantize_s8_f32", "kibi_dequantize_u8_f32", "kibi_dequantize_s16_f32")
def dequantize(call: Call) -> None:
    """DEQUANTIZE: rule N18."""
    p, (source, _) = call.numbers, types_of(call.kernel)
    centred = call.row(0, p.elements, source.numpy.str).astype(np.int64) - p.zero_point
    call.write((np.float64(p.scale) * centred).astype(np.float32))
