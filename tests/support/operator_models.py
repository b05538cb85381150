"""Drawn models of one operator each, as real `.tflite` files, with inputs: what the operators' tests and the contract test use.

Quantization is drawn to the ends of what TFLM computes without overflow: zero points at both ends, factors far below and
above 1, elements at the extremes. Where TFLM itself relies on undefined behaviour, the draw stays out, and says so.
"""

from collections.abc import Callable, Mapping

import numpy as np
from hypothesis import strategies as st

from kibi.dtypes import DType
from tests.support.binary_models import BINARY_MODELS
from tests.support.case import Case, drawn_shape, one
from tests.support.choices import Choices, Drawn, elements, flip, is_float, scale, zero_point
from tests.support.float_models import FLOAT_MODELS
from tests.support.joining_models import JOINING_MODELS
from tests.support.moving_models import MOVING_MODELS
from tests.support.signal_models import SIGNAL_MODELS
from tests.support.tflite_builder import ModelBuilder
from tests.support.unary_models import UNARY_MODELS
from tests.support.window_models import WINDOW_MODELS

__all__ = ["OPERATOR_MODELS", "QUANTIZED_MODELS", "Case", "cases"]

_UNIT = (1 / 256, -128)
"""The scale and zero point that SOFTMAX and LOGISTIC give."""


def mean(c: Choices) -> Case:
    """MEAN over any axes."""
    b, rank = ModelBuilder(), c.integer(1, 4)
    shape, keeps = drawn_shape(c, rank, 7), flip(c)
    axes = [axis for axis in range(rank) if flip(c)] or [c.integer(0, rank - 1)]
    output_shape = [1 if axis in axes else size for axis, size in enumerate(shape) if keeps or axis not in axes]
    named = np.array([axis - rank if flip(c) else axis for axis in axes], np.int32)
    if len(axes) == 1 and flip(c):
        named = named.reshape(())
    input_scale = scale(c)
    source = b.input(shape, DType.S8, input_scale, zero_point(c))
    # The sum shifted left fits 32 bits: at most 2401 elements of 8 bits and a sign, and 11 bits of factor.
    output = b.tensor(output_shape, DType.S8, float(np.float32(input_scale * scale(c, -10, 12))), zero_point(c))
    return one("MEAN", b, [source, b.constant(named)], output, [elements(c, shape)], keep_dims=keeps)


def pad(c: Choices) -> Case:
    """PAD of any axes but the batch."""
    b, rank = ModelBuilder(), c.integer(1, 4)
    shape, quantization = drawn_shape(c, rank), (scale(c), zero_point(c))
    pads = [(c.one_of((0, 0, 1, 2, 3)), c.one_of((0, 0, 1, 2, 3))) for _ in range(rank)]
    if rank > 2:
        pads[0] = (0, 0)
    output_shape = [size + sum(pair) for size, pair in zip(shape, pads, strict=True)]
    source = b.input(shape, DType.S8, *quantization)
    output = b.tensor(output_shape, DType.S8, *quantization)
    return one("PAD", b, [source, b.constant(np.array(pads, np.int32))], output, [elements(c, shape)])


def softmax(c: Choices) -> Case:
    """SOFTMAX along the last axis, of any sharpness."""
    b, rank = ModelBuilder(), c.integer(1, 4)
    shape = (*drawn_shape(c, rank - 1, 4), c.one_of((c.integer(1, 12), c.integer(1, 300))))
    beta = c.one_of((1.0, 0.5, 2.0, 10.0, c.integer(1, 1000) / 128))
    source, output = b.input(shape, DType.S8, scale(c, -17, 5), zero_point(c)), b.tensor(shape, DType.S8, *_UNIT)
    return one("SOFTMAX", b, [source], output, [elements(c, shape)], beta=beta)


_MODELS: Mapping[str, Callable[[Choices], Case]] = {
    "MEAN": mean,
    "PAD": pad,
    "SOFTMAX": softmax,
}
"""Of operators that stand for themselves."""
QUANTIZED_MODELS: Mapping[str, Callable[[Choices], Case]] = {
    **_MODELS, **BINARY_MODELS, **JOINING_MODELS, **MOVING_MODELS, **SIGNAL_MODELS, **UNARY_MODELS, **WINDOW_MODELS,
}  # fmt: skip
"""How models of each operator are drawn, of convolutions and their like with integers alone."""


def _mixed(name: str) -> Callable[[Choices], Case]:
    """Models of integers, and, of operators that have them, some of floats."""
    quantized, of_floats = QUANTIZED_MODELS[name], FLOAT_MODELS.get(name)
    if of_floats is None:
        return quantized
    return lambda c: of_floats(c) if is_float(c) else quantized(c)


OPERATOR_MODELS: Mapping[str, Callable[[Choices], Case]] = {name: _mixed(name) for name in sorted(QUANTIZED_MODELS)}
"""How models of each operator are drawn."""


@st.composite
def cases(draw: st.DrawFn, operator: str) -> Case:
    """Models of one operator."""
    return OPERATOR_MODELS[operator](Drawn(draw))
