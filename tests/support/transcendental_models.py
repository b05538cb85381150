"""Drawn models of functions that a C library computes, in float32, and of those that stand for them in s16."""

from collections.abc import Callable, Mapping

import numpy as np

from kibi.dtypes import Array, DType
from kibi.frontends.tflite.builder import ModelBuilder
from tests.support.case import Case, drawn_shape, one
from tests.support.choices import Choices, elements, flip, floats, is_float, scale, zero_point
from tests.support.drawn_values import values

_UNIT_S16 = 2.0**-15
"""The scale that LOGISTIC, TANH and SOFTMAX give in s16."""


def _real(name: str, data: Array) -> Case:
    b = ModelBuilder()
    operand, result = b.input(data.shape, DType.F32), b.tensor(data.shape, DType.F32)
    return one(name, b, [operand], result, [data])


def _arguments(c: Choices, most: float) -> Array:
    return floats(c, drawn_shape(c, c.integer(0, 4)), most)


def exp(c: Choices) -> Case:
    """EXP from where it is 0 to where it is infinite."""
    return _real("EXP", _arguments(c, c.one_of((4.0, 200.0))))


def log(c: Choices) -> Case:
    """LOG of anything, also of numbers below the normal ones; of what is negative it is no number, whose bits differ."""
    data = np.abs(values(c, drawn_shape(c, c.integer(0, 4)), DType.F32))
    return _real("LOG", (data * np.float32(2.0 ** c.one_of((0, 0, -126)))).astype(np.float32))


def circular(name: str) -> Callable[[Choices], Case]:
    """SIN or COS of small, of ordinary and of huge angles."""
    return lambda c: _real(name, _arguments(c, c.one_of((1.0, 100.0, 1e30))))


def tanh(c: Choices) -> Case:
    """TANH of floats or s16."""
    return _real("TANH", _arguments(c, 30.0)) if flip(c) else _s16(c, "TANH")


def logistic(c: Choices) -> Case:
    """LOGISTIC of floats, from where it is 0 to where it is 1, or of s16."""
    return _real("LOGISTIC", _arguments(c, c.one_of((4.0, 100.0)))) if flip(c) else _s16(c, "LOGISTIC")


def elu(c: Choices) -> Case:
    """ELU of floats."""
    return _real("ELU", _arguments(c, c.one_of((4.0, 100.0))))


def _s16(c: Choices, name: str) -> Case:
    """Input scales that are powers of two, or next to one, or any; from 5.33 on products wrap in 32 bits."""
    b = ModelBuilder()
    near = 2.0 ** c.integer(-14, -9) * c.one_of((1.0, 1.0, 1.0005, 0.9992))
    large = (1.0 + c.integer(0, 4095) / 4096) * 2.0 ** c.integer(0, 16)
    source = c.one_of((near, scale(c, -30, 0), large))
    every = c.one_of((False, False, True))
    data = (
        np.arange(-(1 << 15), 1 << 15, 7).astype(np.int16)
        if every
        else values(c, drawn_shape(c, c.integer(0, 4)), DType.S16)
    )
    operand, result = b.input(data.shape, DType.S16, source, 0), b.tensor(data.shape, DType.S16, _UNIT_S16, 0)
    return one(name, b, [operand], result, [data])


def log_softmax(c: Choices) -> Case:
    """LOG_SOFTMAX along the last axis; of s8 from scales on that TFLM's fixed point has."""
    b, is_real = ModelBuilder(), is_float(c)
    shape = (*drawn_shape(c, c.integer(0, 3), 4), c.one_of((c.integer(1, 12), c.integer(1, 300))))
    if is_real:
        return _real("LOG_SOFTMAX", floats(c, shape, c.one_of((4.0, 100.0))))
    source, output = b.input(shape, DType.S8, scale(c, -17, 2), zero_point(c)), b.tensor(shape, DType.S8, 1 / 16, 127)
    return one("LOG_SOFTMAX", b, [source], output, [elements(c, shape)])


def l2_normalization(c: Choices) -> Case:
    """L2_NORMALIZATION along the last axis, also of zeros."""
    b, shape = ModelBuilder(), (*drawn_shape(c, c.integer(0, 3), 4), c.one_of((c.integer(1, 12), c.integer(1, 300))))
    if is_float(c):
        return _real("L2_NORMALIZATION", floats(c, shape, c.one_of((4.0, 1e12, 1e-5))))
    zero = zero_point(c)
    data = np.full(shape, zero, np.int8) if c.one_of((False, False, False, True)) else elements(c, shape)
    source, output = b.input(shape, DType.S8, scale(c), zero), b.tensor(shape, DType.S8, 1 / 128, 0)
    return one("L2_NORMALIZATION", b, [source], output, [data])


TRANSCENDENTAL_MODELS: Mapping[str, Callable[[Choices], Case]] = {
    "COS": circular("COS"),
    "EXP": exp,
    "L2_NORMALIZATION": l2_normalization,
    "LOG": log,
    "LOG_SOFTMAX": log_softmax,
    "SIN": circular("SIN"),
}
"""How models of each of these operators are drawn."""
WIDE_MODELS: Mapping[str, Callable[[Choices], Case]] = {"ELU": elu, "LOGISTIC": logistic, "TANH": tanh}
"""How models of types beside s8 are drawn."""
