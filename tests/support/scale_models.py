"""Drawn models of QUANTIZE and DEQUANTIZE, between all types that they have."""

from collections.abc import Callable, Mapping

import numpy as np

from kibi.dtypes import DType
from kibi.frontends.tflite.builder import ModelBuilder
from tests.support.case import Case, drawn_shape, one
from tests.support.choices import Choices, flip, scale
from tests.support.drawn_values import any_zero_point, values

_PAIRS = (
    *((DType.S8, DType.S8),) * 4,
    *((DType.S8, target) for target in (DType.U8, DType.S16, DType.S32)),
    (DType.U8, DType.S8),
    *((DType.S16, target) for target in (DType.S8, DType.S16, DType.S32)),
    *((DType.S32, target) for target in (DType.S8, DType.S16)),
)


def quantize(c: Choices) -> Case:
    """QUANTIZE from floats, or from one scale to another."""
    if c.one_of((False, False, True)):
        return _from_floats(c)
    b, shape = ModelBuilder(), drawn_shape(c, c.integer(0, 4), 6)
    source, target = c.one_of(_PAIRS)
    first = scale(c)
    # TFLM shifts 32-bit numbers to the left in 32 bits, and the zero point comes on top: for s32, the factor stays below 1.
    spread = (
        (-16, 16) if source.size_bytes == target.size_bytes == 1 else (-16, 8) if source is not DType.S32 else (-24, -1)
    )
    second = c.one_of((first, float(np.float32(first / scale(c, *spread)))))
    is_same = second == first and source is DType.S32
    operand = b.input(shape, source, first, 0 if source is DType.S32 else any_zero_point(c, source))
    result = b.tensor(shape, target, second, any_zero_point(c, target if target is not DType.S32 else DType.S16))
    data = values(c, shape, source)
    if is_same:  # the output's zero point must not lead beyond 32 bits
        data = np.clip(data, -(1 << 30), 1 << 30)
    return one("QUANTIZE", b, [operand], result, [data])


def _from_floats(c: Choices) -> Case:
    """Beyond 32 bits TFLM converts floats that no integer holds, which is undefined; NaN and infinities are, too."""
    b, shape, output_scale = ModelBuilder(), drawn_shape(c, c.integer(0, 4)), scale(c, -90, 60)
    target = c.one_of((DType.S8, DType.S16))
    rng = np.random.default_rng(c.integer(0, (1 << 32) - 1))
    spread = c.one_of((100.0, 300.0, 70000.0, 2.0**30))
    real = rng.uniform(-spread, spread, shape)
    steps = np.round(real * 2) / 2 if flip(c) else real  # halves show how ties are rounded
    data = (np.float32(output_scale) * steps.astype(np.float32)).astype(np.float32).reshape(shape)
    operand = b.input(shape, DType.F32)
    return one("QUANTIZE", b, [operand], b.tensor(shape, target, output_scale, any_zero_point(c, target)), [data])


def dequantize(c: Choices) -> Case:
    """DEQUANTIZE of any scale; of scales per channel TFLM takes the first."""
    b, shape, source = ModelBuilder(), drawn_shape(c, c.integer(0, 4), 6), c.one_of((DType.S8, DType.U8, DType.S16))
    operand = b.input(shape, source, scale(c, -100, 90), any_zero_point(c, source))
    return one("DEQUANTIZE", b, [operand], b.tensor(shape, DType.F32), [values(c, shape, source)])


SCALE_MODELS: Mapping[str, Callable[[Choices], Case]] = {"DEQUANTIZE": dequantize, "QUANTIZE": quantize}
"""How models of each of these operators are drawn."""
