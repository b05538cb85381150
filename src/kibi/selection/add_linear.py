"""Additions of rows of the same shape as one linear function, rounded once: rule N22."""

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from kibi.ir import KernelCall, Param
from kibi.quant import requantize
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
    sizes = {param.name: param.value for param in call.params if isinstance(param.value, int)}
    is_plain = sizes["pieces"] == sizes["step1"] == sizes["step2"] == 1
    if not is_plain or (sizes["activation_min"], sizes["activation_max"]) != (-128, 127):
        return None
    factors = [_factor(sizes, number) for number in (1, 2)]
    if max(factors) >= _LIMIT:
        return None
    terms = [_BYTES * factor >> _FACTOR_BITS for factor in factors]
    sums = terms[0][:, None] + terms[1]
    start = _start(sums, _outputs(sizes))
    if start is None or not -_LIMIT <= start + sums.min() <= start + sums.max() < _LIMIT:
        return None
    values = {"factor1": factors[0], "factor2": factors[1], "start": start, "elements": sizes["elements"]}
    params = tuple(Param(name, value) for name, value in values.items())
    return KernelCall(_KERNEL, params, overlap_bytes=call.overlap_bytes)


def _factor(sizes: dict[str, int], number: int) -> int:
    """What an input is multiplied by on its way to the output, in units of the last bit, rounded."""
    own = Fraction(sizes[f"multiplier{number}"], 1 << (31 - sizes[f"shift{number}"]))
    output = Fraction(sizes["output_multiplier"], 1 << (31 - sizes["output_shift"]))
    return round(own * output * (1 << (_LEFT_SHIFT + _FRACTION_BITS + _FACTOR_BITS)))


def _outputs(sizes: dict[str, int]) -> NDArray[np.int64]:
    """The outputs `[256, 256]` by the rule, for each byte of the first input and each of the second."""
    scaled = [
        requantize((_BYTES - sizes[f"zero_point{n}"]) << _LEFT_SHIFT, sizes[f"multiplier{n}"], sizes[f"shift{n}"])
        for n in (1, 2)
    ]
    total = requantize(scaled[0][:, None] + scaled[1], sizes["output_multiplier"], sizes["output_shift"])
    return np.clip(total + sizes["output_zero_point"], -128, 127)


def _start(sums: NDArray[np.int64], outputs: NDArray[np.int64]) -> int | None:
    """What added to each sum leaves its output after the shift and the cut: the middle of all that does; None: nothing."""
    unit = 1 << _FRACTION_BITS
    least = (outputs * unit - sums)[outputs > -128].max(initial=-_LIMIT)
    most = ((outputs + 1) * unit - 1 - sums)[outputs < 127].min(initial=_LIMIT - 1)
    return None if least > most else int((least + most) // 2)


ADD_LINEAR = Variant(_KERNEL, "kibi_add_s8", "armv7em", frozenset(Goal), pack_add)
