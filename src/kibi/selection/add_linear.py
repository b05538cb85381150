"""Additions of rows of the same shape as one linear function, rounded once: rule N22."""

from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from kibi.ir import KernelCall
from kibi.kernels.params.binary import AddLinearParams, ScaledSumParams
from kibi.quant import Multiplier, requantize
from kibi.selection.variant import Goal, Variant

_KERNEL = "kibi_add_s8_linear"
_BYTES = np.arange(-128, 128)
_LEFT_SHIFT = 20
"""Bits by which the general kernel shifts its inputs."""
_FRACTION_BITS = 20
"""Bits of a sum behind the point."""
_FACTOR_BITS = 8
"""More bits of a factor: they are shifted out of the products."""
_LIMIT = 1 << 31


def pack_add(call: KernelCall) -> KernelCall | None:
    """From a call of `kibi_add_s8`; None for inputs that broadcast, for clamps, or where some sum would be another.

    TFLM rounds each input, the sum and the output. One rounding gives the same outputs for all 256 * 256 pairs of inputs or it
    does not: that is tried.
    """
    layer = call.params_as(ScaledSumParams)
    is_plain = layer.pieces == layer.step1 == layer.step2 == 1
    if not is_plain or (layer.activation_min, layer.activation_max) != (-128, 127):
        return None
    output = Multiplier(layer.output_multiplier, layer.output_shift)
    inputs = (Multiplier(layer.multiplier1, layer.shift1), Multiplier(layer.multiplier2, layer.shift2))
    zero_points = (layer.zero_point1, layer.zero_point2, layer.output_zero_point)
    factors = tuple(_factor(each, output) for each in inputs)
    start = _start(inputs, output, zero_points, factors)
    if start is None:
        return None
    params = AddLinearParams(factor1=factors[0], factor2=factors[1], start=start, elements=layer.elements)
    return KernelCall(_KERNEL, params, inplace_distance_bytes=call.inplace_distance_bytes)


def _factor(own: Multiplier, output: Multiplier) -> int:
    """Returns what an input is multiplied by on its way to the output, in units of the last bit, rounded."""
    product = Fraction(own.value, 1 << (31 - own.shift)) * Fraction(output.value, 1 << (31 - output.shift))
    return round(product * (1 << (_LEFT_SHIFT + _FRACTION_BITS + _FACTOR_BITS)))


@lru_cache(maxsize=1024)
def _start(
    inputs: tuple[Multiplier, Multiplier],
    output: Multiplier,
    zero_points: tuple[int, int, int],
    factors: tuple[int, ...],
) -> int | None:
    """What added to each sum leaves its output after the shift and the cut: the middle of all that does; None: nothing.

    It depends on the scales and zero points alone: layers that have the same are tried once.
    """
    if max(factors) >= _LIMIT:
        return None
    terms = [_BYTES * factor >> _FACTOR_BITS for factor in factors]
    sums = terms[0][:, None] + terms[1]
    outputs = _outputs(inputs, output, zero_points)
    # What a sum lacks of its output, in units of the last bit, and what it lacks of the next one less one bit.
    missing = (outputs << _FRACTION_BITS) - sums
    least = int(np.where(outputs > -128, missing, -_LIMIT).max())
    most = min(_LIMIT, int(np.where(outputs < 127, missing, _LIMIT).min()) + (1 << _FRACTION_BITS)) - 1
    start = (least + most) // 2
    if least > most or not -_LIMIT <= start + sums[0, 0] <= start + sums[-1, -1] < _LIMIT:
        return None
    return start


def _outputs(
    inputs: tuple[Multiplier, Multiplier], output: Multiplier, zero_points: tuple[int, int, int]
) -> NDArray[np.int64]:
    """Returns the outputs `[256, 256]` by the rule, for each byte of the first input and each of the second."""
    first, second = (
        requantize((_BYTES - zero_point) << _LEFT_SHIFT, each.value, each.shift)
        for each, zero_point in zip(inputs, zero_points, strict=False)
    )
    total = requantize(first[:, None] + second, output.value, output.shift)
    total += zero_points[2]
    return np.clip(total, -128, 127, out=total)


ADD_LINEAR = Variant(_KERNEL, "kibi_add_s8", "armv7em", frozenset(Goal), pack_add)
