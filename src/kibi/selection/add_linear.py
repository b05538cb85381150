"""Additions of rows of the same shape as one linear function, rounded once: rule N22."""

from fractions import Fraction

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
"""Fraction bits of a sum."""
_FACTOR_BITS = 8
"""More bits of a factor: they are shifted out of the products."""
_LIMIT = 1 << 31


def pack_add(call: KernelCall) -> KernelCall | None:
    """Packs a call of `kibi_add_s8`; returns None for inputs that broadcast, for clamps, or if some sum would differ.

    TFLM rounds each input, the sum and the output. This kernel rounds once; the function tries all 256 * 256 pairs of inputs to
    find out whether the outputs are equal.
    """
    layer = call.params_as(ScaledSumParams)
    is_plain = layer.pieces == layer.step1 == layer.step2 == 1
    if not is_plain or (layer.activation_min, layer.activation_max) != (-128, 127):
        return None
    output = Multiplier(layer.output_multiplier, layer.output_shift)
    inputs = (Multiplier(layer.multiplier1, layer.shift1), Multiplier(layer.multiplier2, layer.shift2))
    factors = [_factor(each, output) for each in inputs]
    if max(factors) >= _LIMIT:
        return None
    terms = [_BYTES * factor >> _FACTOR_BITS for factor in factors]
    sums = terms[0][:, None] + terms[1]
    start = _start(sums, _outputs(layer))
    if start is None or not -_LIMIT <= start + sums.min() <= start + sums.max() < _LIMIT:
        return None
    params = AddLinearParams(factor1=factors[0], factor2=factors[1], start=start, elements=layer.elements)
    return KernelCall(_KERNEL, params, inplace_distance_bytes=call.inplace_distance_bytes)


def _factor(own: Multiplier, output: Multiplier) -> int:
    """Returns the factor from an input to the output, in units of the last bit, rounded."""
    product = Fraction(own.value, 1 << (31 - own.shift)) * Fraction(output.value, 1 << (31 - output.shift))
    return round(product * (1 << (_LEFT_SHIFT + _FRACTION_BITS + _FACTOR_BITS)))


def _outputs(layer: ScaledSumParams) -> NDArray[np.int64]:
    """Returns the outputs `[256, 256]` by the rule, for each byte of the first input and each of the second."""
    first = requantize((_BYTES - layer.zero_point1) << _LEFT_SHIFT, layer.multiplier1, layer.shift1)
    second = requantize((_BYTES - layer.zero_point2) << _LEFT_SHIFT, layer.multiplier2, layer.shift2)
    total = requantize(first[:, None] + second, layer.output_multiplier, layer.output_shift)
    return np.clip(total + layer.output_zero_point, -128, 127)


def _start(sums: NDArray[np.int64], outputs: NDArray[np.int64]) -> int | None:
    """Returns the middle of the constants that, added to each sum before shift and clamp, give its output; None if none does."""
    unit = 1 << _FRACTION_BITS
    least = (outputs * unit - sums)[outputs > -128].max(initial=-_LIMIT)
    most = ((outputs + 1) * unit - 1 - sums)[outputs < 127].min(initial=_LIMIT - 1)
    return None if least > most else int((least + most) // 2)


ADD_LINEAR = Variant(_KERNEL, "kibi_add_s8", "armv7em", frozenset(Goal), pack_add)
