"""Sums and differences of rows of one shape, or of a row and a single element, as one linear function, rounded once: rule N22."""

from fractions import Fraction
from functools import lru_cache

import numpy as np

from kibi.ir import KernelCall
from kibi.kernels.params.binary import AddLinearParams, AddLinearScalarParams, ScaledSumParams
from kibi.quant import Multiplier, requantize
from kibi.selection.variant import Goal, Variant

_KERNEL = "kibi_add_s8_linear"
_OF_SCALARS = "kibi_add_s8_linear_scalar"
_BYTES = np.arange(-128, 128)
_LEFT_SHIFT = 20
"""Bits by which the general kernel shifts its inputs."""
_FRACTION_BITS = 20
"""Fraction bits of a sum."""
_FACTOR_BITS = 8
"""More bits of a factor: they are shifted out of the products."""
_LIMIT = 1 << 31
_ROWS = 32
"""Bytes of the first input that are tried at once: what is computed of them fits the fastest cache."""


def pack_add(call: KernelCall) -> KernelCall | None:
    """Packs a call of `kibi_add_s8`; returns None for inputs that broadcast, for clamps, or if some sum would differ.

    TFLM rounds each input, the sum and the output. This kernel rounds once; the function tries all 256 * 256 pairs of inputs to
    find out whether the outputs are equal.
    """
    return _packed(call, 1)


def pack_sub(call: KernelCall) -> KernelCall | None:
    """Packs a call of `kibi_sub_s8`: the sum of the first input and of the second one times a factor below 0; None as for sums."""
    return _packed(call, -1)


def pack_add_scalar(call: KernelCall) -> KernelCall | None:
    """The same of a row and a single element."""
    return _packed_scalar(call, 1)


def pack_sub_scalar(call: KernelCall) -> KernelCall | None:
    """The same of a row and a single element, whichever is subtracted."""
    return _packed_scalar(call, -1)


def _packed(call: KernelCall, sign: int) -> KernelCall | None:
    """Returns the call that adds the inputs, the second one times the sign, or None."""
    layer = call.params_as(ScaledSumParams)
    fields = _fields(layer, sign) if layer.step1 == layer.step2 == 1 else None
    if fields is None:
        return None
    return KernelCall(_KERNEL, AddLinearParams(**fields), inplace_distance_bytes=call.inplace_distance_bytes)


def _packed_scalar(call: KernelCall, sign: int) -> KernelCall | None:
    """The same where one of the inputs is a single element."""
    layer = call.params_as(ScaledSumParams)
    fields = _fields(layer, sign) if layer.step1 + layer.step2 == 1 else None
    if fields is None:
        return None
    params = AddLinearScalarParams(**fields, is_first=layer.step2)
    return KernelCall(_OF_SCALARS, params, inplace_distance_bytes=call.inplace_distance_bytes)


def _fields(layer: ScaledSumParams, sign: int) -> dict[str, int] | None:
    """Returns the fields that both kernels share, or None."""
    if layer.pieces != 1 or (layer.activation_min, layer.activation_max) != (-128, 127):
        return None
    output = Multiplier(layer.output_multiplier, layer.output_shift)
    inputs = (Multiplier(layer.multiplier1, layer.shift1), Multiplier(layer.multiplier2, layer.shift2))
    zero_points = (layer.zero_point1, layer.zero_point2, layer.output_zero_point)
    factors = _factor(inputs[0], output), sign * _factor(inputs[1], output)
    start = _start(inputs, output, zero_points, factors, sign)
    if start is None:
        return None
    return {"factor1": factors[0], "factor2": factors[1], "start": start, "elements": layer.elements}


def _factor(own: Multiplier, output: Multiplier) -> int:
    """Returns the factor from an input to the output, in units of the last bit, rounded."""
    product = Fraction(own.value, 1 << (31 - own.shift)) * Fraction(output.value, 1 << (31 - output.shift))
    return round(product * (1 << (_LEFT_SHIFT + _FRACTION_BITS + _FACTOR_BITS)))


@lru_cache(maxsize=1024)
def _start(
    inputs: tuple[Multiplier, Multiplier],
    output: Multiplier,
    zero_points: tuple[int, int, int],
    factors: tuple[int, int],
    sign: int,
) -> int | None:
    """Returns the middle of the constants that, added to each sum before shift and clamp, give its output; None if none does.

    The second input is subtracted where the sign is -1; its factor has that sign, too. It depends on the scales and
    zero points alone: layers that have the same are tried once.
    """
    if max(map(abs, factors)) >= _LIMIT:
        return None
    first, second = (_BYTES * factor >> _FACTOR_BITS for factor in factors)
    rows, columns = (
        requantize((_BYTES - zero_point) << _LEFT_SHIFT, each.value, each.shift)
        for each, zero_point in zip(inputs, zero_points, strict=False)
    )
    least, most = list[int](), list[int]()
    for part in (slice(begin, begin + _ROWS) for begin in range(0, len(_BYTES), _ROWS)):
        outputs = requantize(rows[part, None] + sign * columns, output.value, output.shift) + zero_points[2]
        outputs = np.clip(outputs, -128, 127, out=outputs)
        # What a sum lacks of its output, in units of the last bit, and what it lacks of the next one less one bit.
        missing = (outputs << _FRACTION_BITS) - (first[part, None] + second)
        least.append(int(np.where(outputs > -128, missing, -_LIMIT).max()))
        most.append(int(np.where(outputs < 127, missing, _LIMIT).min()) + (1 << _FRACTION_BITS))
    lowest, highest = max(least), min(_LIMIT, *most) - 1
    start = (lowest + highest) // 2
    reach = factors[0] // 2 + abs(factors[1]) // 2 + 2
    return start if lowest <= highest and -_LIMIT <= start - reach <= start + reach < _LIMIT else None


_SETS = ("armv7em", "riscv")
ADD_LINEAR = (
    *(Variant(_KERNEL, "kibi_add_s8", each, frozenset(Goal), pack_add) for each in _SETS),
    *(Variant(_KERNEL, "kibi_sub_s8", each, frozenset(Goal), pack_sub) for each in _SETS),
    *(Variant(_OF_SCALARS, "kibi_add_s8", each, frozenset(Goal), pack_add_scalar) for each in _SETS),
    *(Variant(_OF_SCALARS, "kibi_sub_s8", each, frozenset(Goal), pack_sub_scalar) for each in _SETS),
    Variant(_KERNEL, "kibi_add_s8", "host", frozenset({Goal.SPEED, Goal.BALANCED}), pack_add),
    Variant(_KERNEL, "kibi_sub_s8", "host", frozenset({Goal.SPEED, Goal.BALANCED}), pack_sub),
)
