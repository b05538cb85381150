"""Drawn models of one operator each, as real `.tflite` files, with inputs: what the operators' tests and the contract test use.

Quantization is drawn to the ends of what TFLM computes without overflow: zero points at both ends, factors far below and
above 1, elements at the extremes. Where TFLM itself relies on undefined behaviour, the draw stays out, and says so.
"""

from collections.abc import Callable, Mapping
from itertools import count

import numpy as np
from hypothesis import strategies as st

from kibi.dtypes import DType
from kibi.frontends.tflite.builder import ModelBuilder
from tests.support.arithmetic_models import ARITHMETIC_MODELS
from tests.support.binary_models import BINARY_MODELS
from tests.support.case import Case, drawn_shape, one
from tests.support.choices import Choices, Drawn, Seeded, scale, zero_point
from tests.support.control_models import CONTROL_MODELS
from tests.support.detection_models import DETECTION_MODELS
from tests.support.drawn_values import values
from tests.support.float_models import FLOAT_MODELS, l2_pool_2d
from tests.support.joining_models import JOINING_MODELS
from tests.support.logic_models import LOGIC_MODELS
from tests.support.moving_models import MOVING_MODELS
from tests.support.picking_models import PICKING_MODELS
from tests.support.reducing_models import REDUCING_MODELS
from tests.support.remembering_models import REMEMBERING_MODELS
from tests.support.scale_models import SCALE_MODELS
from tests.support.signal_models import SIGNAL_MODELS
from tests.support.transcendental_models import TRANSCENDENTAL_MODELS, WIDE_MODELS
from tests.support.transpose_models import TRANSPOSE_MODELS
from tests.support.unary_models import UNARY_MODELS
from tests.support.variable_models import VARIABLE_MODELS
from tests.support.window_models import COMPRESSED_MODELS, INT4_MODELS, S16_WINDOW_MODELS, WINDOW_MODELS

__all__ = ["OPERATOR_MODELS", "Case", "cases", "f32_case", "s8_case"]

_FAR = 1_000_003
"""Between seeds for one model."""
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
_TABLES = (
    *(
        _MODELS,
        SIGNAL_MODELS,
        CONTROL_MODELS,
        DETECTION_MODELS,
        ARITHMETIC_MODELS,
        BINARY_MODELS,
        COMPRESSED_MODELS,
        FLOAT_MODELS,
    ),
    *(INT4_MODELS, JOINING_MODELS, LOGIC_MODELS, MOVING_MODELS, PICKING_MODELS),
    *(REDUCING_MODELS, REMEMBERING_MODELS, S16_WINDOW_MODELS, SCALE_MODELS, TRANSCENDENTAL_MODELS),
    *(TRANSPOSE_MODELS, UNARY_MODELS, VARIABLE_MODELS, WIDE_MODELS, WINDOW_MODELS),
)
"""How models of each operator are drawn; one that stands in several tables is drawn from each, of several types."""


def _drawn(name: str) -> Callable[[Choices], Case]:
    """Models from all tables that have an operator."""
    kinds = [table[name] for table in _TABLES if name in table]
    return kinds[0] if len(kinds) == 1 else lambda c: c.one_of(kinds)(c)


OPERATOR_MODELS: Mapping[str, Callable[[Choices], Case]] = {
    name: _drawn(name) for name in sorted({name for table in _TABLES for name in table})
}
"""How models of each operator are drawn."""


@st.composite
def cases(draw: st.DrawFn, operator: str) -> Case:
    """Models of one operator."""
    return OPERATOR_MODELS[operator](Drawn(draw))


def s8_case(operator: str, seed: int) -> Case:
    """A model of one operator whose inputs are all s8 and whose weights are not compressed, always the same for a seed."""
    return _case_of(operator, seed, np.int8)


def f32_case(operator: str, seed: int) -> Case:
    """The same whose inputs are all f32."""
    return _case_of(operator, seed, np.float32)


def _case_of(operator: str, seed: int, kind: type[np.generic]) -> Case:
    drawn = (OPERATOR_MODELS[operator](Seeded(seed + attempt * _FAR)) for attempt in count())
    plain = (
        case for case in drawn if not any(mark in case.model for mark in (b"TFLM_DECODE", b"COMPRESSION_METADATA"))
    )
    return next(case for case in plain if all(data.dtype == kind for data in case.inputs))
