"""Functions of two elements, of inputs that broadcast; SELECT_V2, which has three; and ADD_N."""

from collections.abc import Callable, Mapping
from types import SimpleNamespace

import numpy as np

from kibi.dtypes import DType
from kibi.ops.elementwise.comparison import EQUAL, GREATER, LESS, UNORDERED
from kibi.ops.elementwise.scaled_pair import ScaledPair
from kibi.ops.reductions.running_sum import RunningSum
from kibi.ops.sums.float_sums import add_in_order
from kibi.planfile.in_numpy.call import Call, Numbers, types_of
from kibi.planfile.in_numpy.products import cut
from kibi.planfile.in_numpy.registry import kernel
from kibi.quant import (
    Multiplier,
    requantize,
    rounding_divide_by_power_of_two,
    saturating_rounding_doubling_high_multiply,
    wrap_s32,
)

_LEFT_SHIFTS = {DType.S8: 20, DType.S16: 15}
"""Of elements that are added up, by their type."""
_BEYOND = 1 << 16
"""A quotient that is always cut."""
_COMPARED_SHIFT = 8


def plane(call: Call, first: int, number: int, kind: str, size: int = 1) -> Numbers:
    """Returns the elements of input `number` that meet those of the output: [pieces, elements, size].

    Args:
        call: of a kernel whose parameters begin with those of a broadcast.
        first: the first pointer of the input.
        number: 1, 2 or 3.
        kind: of what is stored, NumPy's name.
        size: how many of it make an element.
    """
    p = call.numbers
    row_step, piece_step, step = (getattr(p, f"{name}{number}") for name in ("row_step", "piece_step", "step"))
    places = np.arange(p.elements) * step
    planes = []
    for piece in range(p.pieces):
        start = piece * piece_step
        row = call.row(first + piece * row_step, (start + (p.elements - 1) * step + 1) * size, kind)
        planes.append(row[start * size :].reshape(-1, size)[places])
    return np.stack(planes)


def _pair(call: Call, first: DType, second: DType) -> tuple[Numbers, Numbers]:
    """Both inputs: integers as s64."""
    planes = [
        plane(call, start, number, "u1" if kind is DType.BOOL else kind.numpy.str)
        for start, number, kind in ((0, 1, first), (call.numbers.rows1, 2, second))
    ]
    a, b = (each if each.dtype.kind == "f" else each.astype(np.int64) for each in planes)
    return a, b


def _floor_mod(a: Numbers, b: Numbers) -> Numbers:
    rest = np.fmod(a, b, dtype=np.float32)
    return np.where((rest != 0) & ((b < 0) != (rest < 0)), rest + b, rest)


_PLAIN: Mapping[str, Callable[[Numbers, Numbers], Numbers]] = {
    "floor_div_f32": lambda a, b: np.floor(a.astype(np.float64) / b.astype(np.float64)),
    "floor_div_s32": lambda a, b: wrap_s32(np.where(b == 0, a, a // np.where(b == 0, 1, b))),
    "floor_mod_f32": _floor_mod,
    "floor_mod_s32": lambda a, b: np.where(b == 0, 0, a % np.where(b == 0, 1, b)),
    "logical_and_bool": np.logical_and,
    "logical_or_bool": np.logical_or,
    "prelu_f32": lambda a, b: np.where(a >= 0, a, a * b),
    "squared_difference_f32": lambda a, b: (a - b) ** 2,
    "squared_difference_s32": lambda a, b: wrap_s32(wrap_s32(a - b) ** 2),
    **{f"maximum_{kind}": lambda a, b: np.where(a > b, a, b) for kind in ("s8", "s16", "s32", "s64", "f32")},
    **{f"minimum_{kind}": lambda a, b: np.where(a < b, a, b) for kind in ("s8", "s16", "s32", "s64", "f32")},
}
"""Functions without parameters."""


@kernel(*(f"kibi_{name}" for name in _PLAIN))
def plain(call: Call) -> None:
    """A function without parameters."""
    kind, made = types_of(call.kernel)
    call.write(_PLAIN[call.kernel.removeprefix("kibi_")](*_pair(call, kind, kind)).astype(made.numpy))


def _quotient(a: Numbers, b: Numbers) -> Numbers:
    """The quotient of s32, cut; of what has none the dividend."""
    found = np.abs(a) // np.where(b == 0, 1, np.abs(b)) * np.sign(a) * np.where(b < 0, -1, 1)
    return np.where((b == 0) | (found == 1 << 31), a, found)


_CLAMPED: Mapping[str, Callable[[Numbers, Numbers], Numbers]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b if a.dtype.kind == "f" else _quotient(a, b),
}


@kernel(*(f"kibi_{name}_{kind}" for name in _CLAMPED for kind in ("s32", "f32")))
def clamped(call: Call) -> None:
    """ADD, SUB, MUL and DIV of s32 and f32."""
    p, (kind, _) = call.numbers, types_of(call.kernel)
    found = _CLAMPED[call.kernel.split("_")[1]](*_pair(call, kind, kind))
    if kind is DType.F32:
        call.write(cut(found, p.activation_min, p.activation_max))
    else:
        call.write(np.clip(wrap_s32(found), p.activation_min, p.activation_max).astype(np.int32))


def _scaled_pair(p: SimpleNamespace, left_shift: int) -> ScaledPair:
    return ScaledPair(
        left_shift,
        (p.zero_point1, p.zero_point2, p.output_zero_point),
        (
            Multiplier(p.multiplier1, p.shift1),
            Multiplier(p.multiplier2, p.shift2),
            Multiplier(p.output_multiplier, p.output_shift),
        ),
    )


@kernel("kibi_add_s8", "kibi_add_s16", "kibi_sub_s8", "kibi_sub_s16")
def scaled_sum(call: Call) -> None:
    """ADD and SUB of quantized elements: rule N9."""
    kind, _ = types_of(call.kernel)
    _write_sum(call, *_pair(call, kind, kind), kind)


@kernel("kibi_add_s8_lanes")
def scaled_sum_of_rows(call: Call) -> None:
    """The same of two rows of one shape."""
    a, b = (call.row(number, call.numbers.elements, "i1") for number in range(2))
    _write_sum(call, a, b, DType.S8)


def _write_sum(call: Call, a: Numbers, b: Numbers, kind: DType) -> None:
    p, pair = call.numbers, _scaled_pair(call.numbers, _LEFT_SHIFTS[kind])
    first, second = pair.scaled(a, b)
    found = pair.result(first - second if "_sub_" in call.kernel else first + second)
    call.write(np.clip(found, p.activation_min, p.activation_max).astype(kind.numpy))


@kernel("kibi_add_f32_lanes")
def sum_of_float_rows(call: Call) -> None:
    """ADD of two rows of f32 of one shape."""
    p = call.numbers
    a, b = (call.row(number, p.elements, "f4") for number in range(2))
    call.write(cut(a + b, p.activation_min, p.activation_max))


@kernel("kibi_add_s8_linear")
def linear_sum(call: Call) -> None:
    """ADD or SUB of two rows of one shape, rounded once."""
    p = call.numbers
    a, b = (call.row(number, p.elements, "i1").astype(np.int64) for number in range(2))
    found = ((a * p.factor1 >> 8) + (b * p.factor2 >> 8) + p.start) >> 20
    call.write(np.clip(found, *DType.S8.limits).astype(np.int8))


@kernel("kibi_add_s8_linear_scalar")
def linear_sum_of_a_single_element(call: Call) -> None:
    """The same of a row and a single element."""
    p = call.numbers
    sizes = (1, p.elements) if p.is_first else (p.elements, 1)
    a, b = (call.row(number, size, "i1").astype(np.int64) for number, size in enumerate(sizes))
    found = ((a * p.factor1 >> 8) + (b * p.factor2 >> 8) + p.start) >> 20
    call.write(np.clip(found, *DType.S8.limits).astype(np.int8))


@kernel("kibi_squared_difference_s8", "kibi_squared_difference_s16")
def squared_difference(call: Call) -> None:
    """SQUARED_DIFFERENCE of quantized elements."""
    kind, _ = types_of(call.kernel)
    pair = _scaled_pair(call.numbers, 7 if kind is DType.S8 else 0)
    first, second = pair.scaled(*_pair(call, kind, kind))
    call.write(np.clip(pair.result(wrap_s32((first - second) ** 2)), *kind.limits).astype(kind.numpy))


@kernel("kibi_mul_s8", "kibi_mul_s16")
def scaled_product(call: Call) -> None:
    """MUL of quantized elements: rule N10. Those of s16 have no zero points."""
    p, (kind, _) = call.numbers, types_of(call.kernel)
    a, b = _pair(call, kind, kind)
    zeros = (p.zero_point1, p.zero_point2, p.output_zero_point) if kind is DType.S8 else (0, 0, 0)
    scaled = requantize((a - zeros[0]) * (b - zeros[1]), p.output_multiplier, p.output_shift)
    call.write(np.clip(wrap_s32(scaled + zeros[2]), p.activation_min, p.activation_max).astype(kind.numpy))


@kernel("kibi_div_s8")
def scaled_quotient(call: Call) -> None:
    """DIV of s8: the dividend as far left as it goes, times the reciprocal, times the factor of the scales."""
    p = call.numbers
    a, b = _pair(call, DType.S8, DType.S8)
    centred, over = a - p.zero_point1, b - p.zero_point2
    dividend, divisor = np.where(over < 0, -centred, centred), np.abs(over)
    headroom = 31 - _bits(np.where(dividend < 0, ~dividend, dividend))
    reciprocals = call.array("reciprocals", 256)[divisor]
    high = saturating_rounding_doubling_high_multiply(dividend << headroom, reciprocals)
    exponent = headroom + _bits(divisor) - 1 - p.output_shift
    high = saturating_rounding_doubling_high_multiply(high, p.output_multiplier)
    scaled = np.where(exponent > 31, 0, rounding_divide_by_power_of_two(high, np.clip(exponent, 0, 31)))
    found = np.where(over == 0, np.sign(centred) * _BEYOND, scaled) + p.output_zero_point
    call.write(np.clip(found, p.activation_min, p.activation_max).astype(np.int8))


def _bits(values: Numbers) -> Numbers:
    """The number of bits of each, which is not negative."""
    return np.frexp(values.astype(np.float64))[1].astype(np.int64)


@kernel("kibi_prelu_s8", "kibi_prelu_s16")
def prelu(call: Call) -> None:
    """PRELU of quantized elements; slopes are s8."""
    p, (kind, _) = call.numbers, types_of(call.kernel)
    a, slope = _pair(call, kind, DType.S8)
    centred = a - p.zero_point1
    below = requantize(centred * (slope - p.zero_point2), p.multiplier2, p.shift2)
    scaled = np.where(centred >= 0, requantize(centred, p.multiplier1, p.shift1), below)
    call.write(np.clip(wrap_s32(scaled + p.output_zero_point), *kind.limits).astype(kind.numpy))


@kernel(*(f"kibi_compare_{kind}" for kind in ("bool", "s8", "s32", "s64", "f32")))
def compare(call: Call) -> None:
    """Comparisons: whether the order of two elements is among those asked for. Those of s8 are scaled first: rule N33."""
    p, (kind, _) = call.numbers, types_of(call.kernel)
    a, b = _pair(call, kind, kind)
    if kind is DType.S8:
        a = requantize((a - p.zero_point1) << _COMPARED_SHIFT, p.multiplier1, p.shift1)
        b = requantize((b - p.zero_point2) << _COMPARED_SHIFT, p.multiplier2, p.shift2)
    outcomes = np.select([a < b, a == b, a > b], [LESS, EQUAL, GREATER], UNORDERED)
    call.write(((outcomes & p.relation) != 0).astype(np.uint8))


@kernel("kibi_select_any")
def select(call: Call) -> None:
    """SELECT_V2: elements of one input where a condition holds, else of another."""
    p = call.numbers
    condition = plane(call, 0, 1, "u1") != 0
    a = plane(call, p.rows1, 2, "u1", p.bytes)
    b = plane(call, p.rows1 + p.rows2, 3, "u1", p.bytes)
    call.write(np.where(condition, a, b))


@kernel("kibi_add_n_s8", "kibi_add_n_f32")
def add_n(call: Call) -> None:
    """ADD_N: rule N24 for floats, N34 for s8."""
    p, (kind, _) = call.numbers, types_of(call.kernel)
    terms = np.stack([call.row(number, p.elements, kind.numpy.str) for number in range(p.inputs)])
    if kind is DType.F32:
        call.write(add_in_order(np.zeros(p.elements, np.float32), terms))
        return
    running = RunningSum(p.zero_point, Multiplier(p.output_multiplier, p.output_shift), p.output_zero_point)
    call.write(running.result(terms.astype(np.int64).sum(axis=0) - p.zero_point * (p.inputs + 1)))
