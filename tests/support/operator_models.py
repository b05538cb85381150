"""Drawn models of one operator each, as real `.tflite` files, with inputs: what the operators' tests and the contract test use.

Quantization is drawn to the ends of what TFLM computes without overflow: zero points at both ends, factors far below and
above 1, elements at the extremes. Where TFLM itself relies on undefined behaviour, the draw stays out, and says so.
"""

from collections.abc import Callable, Mapping

from hypothesis import strategies as st

from kibi.dtypes import DType
from tests.support.binary_models import BINARY_MODELS
from tests.support.case import Case, drawn_shape, one
from tests.support.choices import Choices, Drawn, is_float, scale, zero_point
from tests.support.drawn_values import values
from tests.support.float_models import FLOAT_MODELS, l2_pool_2d
from tests.support.joining_models import JOINING_MODELS
from tests.support.moving_models import MOVING_MODELS
from tests.support.reducing_models import REDUCING_MODELS
from tests.support.remembering_models import REMEMBERING_MODELS
from tests.support.scale_models import SCALE_MODELS
from tests.support.tflite_builder import ModelBuilder
from tests.support.transcendental_models import TRANSCENDENTAL_MODELS, WIDE_MODELS
from tests.support.unary_models import UNARY_MODELS
from tests.support.variable_models import VARIABLE_MODELS
from tests.support.window_models import WINDOW_MODELS

__all__ = ["OPERATOR_MODELS", "QUANTIZED_MODELS", "Case", "cases"]

_UNIT = (1 / 256, -128)
"""The scale and zero point that SOFTMAX and LOGISTIC give."""


def softmax(c: Choices) -> Case:
    """SOFTMAX along the last axis, of any sharpness."""
    b, rank = ModelBuilder(), c.integer(1, 4)
    shape = (*drawn_shape(c, rank - 1, 4), c.one_of((c.integer(1, 12), c.integer(1, 300))))
    beta = c.one_of((1.0, 0.5, 2.0, 10.0, c.integer(1, 1000) / 128))
    types = c.one_of(((DType.S8, DType.S8),) * 2 + ((DType.S8, DType.S16), (DType.S16, DType.S16)))
    if types[0] is DType.S8:
        quantization, unit = (
            (scale(c, -17, 5), zero_point(c)),
            _UNIT if types[1] is DType.S8 else (2.0**-16, -(1 << 15)),
        )
    else:  # differences shifted left fit 32 bits
        quantization, unit = (scale(c, -24, -8), 0), (2.0**-15, 0)
    source, output = b.input(shape, types[0], *quantization), b.tensor(shape, types[1], *unit)
    return one("SOFTMAX", b, [source], output, [values(c, shape, types[0])], beta=beta)


_MODELS: Mapping[str, Callable[[Choices], Case]] = {
    "L2_POOL_2D": l2_pool_2d,
    "SOFTMAX": softmax,
}
"""Of operators that stand for themselves."""
QUANTIZED_MODELS: Mapping[str, Callable[[Choices], Case]] = {
    **_MODELS, **BINARY_MODELS, **JOINING_MODELS, **MOVING_MODELS, **REDUCING_MODELS, **REMEMBERING_MODELS,
    **SCALE_MODELS, **TRANSCENDENTAL_MODELS, **UNARY_MODELS, **VARIABLE_MODELS, **WINDOW_MODELS,
}  # fmt: skip
"""How models of each operator are drawn, of convolutions and their like with integers alone."""


def _mixed(name: str) -> Callable[[Choices], Case]:
    """Models of integers, and, of operators that have them, some of floats and wider types."""
    quantized, others = QUANTIZED_MODELS[name], {**FLOAT_MODELS, **WIDE_MODELS}.get(name)
    if others is None:
        return quantized
    return lambda c: others(c) if is_float(c) else quantized(c)


OPERATOR_MODELS: Mapping[str, Callable[[Choices], Case]] = {name: _mixed(name) for name in sorted(QUANTIZED_MODELS)}
"""How models of each operator are drawn."""


@st.composite
def cases(draw: st.DrawFn, operator: str) -> Case:
    """Models of one operator."""
    return OPERATOR_MODELS[operator](Drawn(draw))
