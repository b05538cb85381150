"""What operators with states refuse: what TFLM refuses, and what it would read wrongly."""

from collections.abc import Callable

import numpy as np
import pytest

from kibi.dtypes import DType
from kibi.errors import ModelError
from kibi.frontends.tflite import parse_tflite
from kibi.frontends.tflite.builder import Attribute, ModelBuilder
from tests.frontends.models import problems_of
from tests.support import zoo

_OPTIONS = b"cycles_max\0\1\x0c\1\1\1\2\4\2\x24\1"


def _svdf(*, state: DType = DType.S16, bias_scale: float = 0.01, filters: int = 4) -> bytes:
    b = ModelBuilder()
    x = b.input([1, 3], DType.S8, 0.1, 0)
    operands = [
        x,
        b.constant(np.ones((filters, 3), np.int8), 0.1, 0),
        b.constant(np.ones((filters, 2), np.int16), 0.1, 0),
        b.constant(np.ones(filters // 2, np.int32), bias_scale, 0),
        b.tensor([1, 2 * filters], state, 0.1, 0, variable=True),
    ]
    y = b.tensor([1, filters // 2], DType.S8, 0.1, 0)
    b.operator("SVDF", operands, [y], rank=2)
    return b.finish([y])


def _lstm(extra: dict[int, tuple[int, ...]] | None = None, output_scale: float = 0.1, **attributes: Attribute) -> bytes:
    """Two units on three elements, with an operand of ones at the places in `extra`."""
    b = ModelBuilder()
    x = b.input([1, 4, 3], DType.S8, 0.1, 0)
    sizes = [(2, 3)] * 4 + [(2, 2)] * 4
    operands = [x, *(b.constant(np.ones(size, np.int8), 0.1, 0) for size in sizes), *[-1] * 15]
    operands[12:16] = [b.constant(np.ones(2, np.int32), 0.01, 0) for _ in range(4)]
    operands[18] = b.tensor([1, 2], DType.S8, 0.1, 0, variable=True)
    operands[19] = b.tensor([1, 2], DType.S16, 2.0**-11, 0, variable=True)
    for place, shape in (extra or {}).items():
        operands[place] = b.constant(np.ones(shape, np.int8), 0.1, 0)
    y = b.tensor([1, 4, 2], DType.S8, output_scale, 0)
    b.operator("UNIDIRECTIONAL_SEQUENCE_LSTM", operands, [y], {"fused_activation_function": "TANH", **attributes})
    return b.finish([y])


def _circular(slots: int, inner: tuple[int, int], options: bytes | None, rows: int = 1) -> bytes:
    b = ModelBuilder()
    x = b.input([1, rows, *inner], DType.S8, 0.1, 0)
    y = b.tensor([1, slots, *inner], DType.S8, 0.1, 0)
    b.operator("CUSTOM", [x], [y], custom_code="CIRCULAR_BUFFER", custom_options=options)
    return b.finish([y])


@pytest.mark.parametrize("make", [_svdf, _lstm, lambda: _circular(4, (1, 3), _OPTIONS)])
def test_sound_models_load(make: Callable[[], bytes]) -> None:
    """What is changed below is all that is wrong."""
    parse_tflite(make(), "sound.tflite")


@pytest.mark.parametrize(
    ("model", "what"),
    [
        (_svdf(state=DType.S8), "state has type s8, but s16 is required"),
        (_svdf(bias_scale=0.02), "bias has scale 0.02, but that of the sums is 0.01"),
        (_svdf(filters=5), "5 filters do not fall into units of rank 2"),
        (_lstm({9: (2,)}), "peephole connections are not supported"),
        (_lstm({16: (2, 2)}), "a projection is not supported"),
        (_lstm({20: (2,)}), "normalization inside the layer is not supported"),
        (_lstm(output_scale=0.2), "output and output_state have different quantizations"),
        (_lstm(fused_activation_function="RELU"), "activation RELU is not supported; TFLM has TANH alone"),
        (_lstm(proj_clip=1.0), "clipping of a projection is not supported"),
        (_circular(4, (1, 3), _OPTIONS, rows=2), "input has shape [1, 2, 1, 3], but [1, 1, 1, 3] is required"),
        (_circular(4, (1, 3), b"\xff"), "its options are no flexbuffer"),
        (_circular(4, (2, 96), None), "cycles_max is missing"),
    ],
)
def test_what_tflm_refuses_or_would_read_wrongly_is_refused(model: bytes, what: str) -> None:
    """The error says what is wrong with the operator."""
    assert any(what in problem.what for problem in problems_of(model)), problems_of(model)


@zoo.requires_zoo
@pytest.mark.parametrize(
    "name", ["unidirectional_sequence_lstm", "unidirectional_sequence_lstm_quantized", "svdf_quantized"]
)
def test_operator_files_that_tflm_refuses_are_refused(name: str) -> None:
    """Variants of an LSTM, and an SVDF with another output than its filters give."""
    path = zoo.zoo_path() / "ops" / "litert_testdata" / f"{name}.tflite"
    with pytest.raises(ModelError):
        parse_tflite(path.read_bytes(), path.name)
