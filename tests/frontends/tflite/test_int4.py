"""Weights of int4: unpacked as TFLM unpacks them, and refused where TFLM does not take them."""

import numpy as np
import pytest
import tflite
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from kibi.dtypes import Array, DType
from kibi.errors import ModelError
from kibi.frontends.tflite import parse_tflite
from kibi.frontends.tflite.builder import ModelBuilder
from kibi.frontends.tflite.int4 import packed, packed_bytes, unpacked
from kibi.frontends.tflite.reader import ModelReader


def test_unpacked_any_byte_gives_its_lower_half_first() -> None:
    """Each half is a number of -8 … 7; the upper half of the last byte may be left over."""
    data = np.array([0x80, 0xF7, 0x5B], np.uint8)
    assert unpacked(data, 6).tolist() == [0, -8, 7, -1, -5, 5]
    assert unpacked(data, 5).tolist() == [0, -8, 7, -1, -5]
    assert unpacked(data, 6).dtype == np.int8


@settings(derandomize=True, deadline=None)
@given(arrays(np.int8, array_shapes(max_dims=4, max_side=5), elements=st.integers(-8, 7)))
def test_packed_elements_of_any_count_are_unpacked_again(elements: Array) -> None:
    """Also of an odd count, whose last upper half is 0, and as a constant of a file."""
    data = packed(elements)
    assert len(data) == packed_bytes(elements.size)
    assert np.array_equal(unpacked(data, elements.size), elements.reshape(-1))
    assert elements.size % 2 == 0 or data[-1] < 16
    b = ModelBuilder()
    b.constant(elements, [0.5], [0], is_int4=True)
    record = ModelReader(b.finish([])).tensor(0)
    assert (record.type_code, record.shape) == (tflite.TensorType.INT4, elements.shape)
    assert record.data is not None
    assert record.data.tobytes() == data.tobytes()


def _model(dtype: DType, scales: int, *, size: int = 8, weights: str = "INT4") -> bytes:
    b = ModelBuilder()
    x = b.input([1, 4], dtype, 0.1, 0, name="x")
    scale, zeros = [0.01] * scales, [0] * scales
    w = b.tensor([4, 4], weights, scale, zeros, name="w", data=bytes(range(size)))
    y = b.tensor([1, 4], dtype, 0.1, 0, name="y")
    b.operator("FULLY_CONNECTED", [x, w], [y])
    return b.finish([y])


def test_load_weights_of_int4_are_those_of_int8() -> None:
    """They become elements of s8, read-only."""
    (view,) = parse_tflite(_model(DType.S8, 1), "m.tflite").views
    weights = view["filter"]
    assert (weights.type.dtype, weights.is_int4) == (DType.S8, True)
    assert view.constant("filter")[:2].tolist() == [[0, 0, 1, 0], [2, 0, 3, 0]]
    assert not view.constant("filter").flags.writeable


@pytest.mark.parametrize(
    ("model", "what"),
    [
        (_model(DType.S8, 4), "weights of int4 with a scale for each channel are not supported, nor by TFLM"),
        (_model(DType.S16, 1), "weights of int4 under elements of s16 are not supported, nor by TFLM"),
        (_model(DType.S8, 1, size=16), r"it has 16 bytes of data, but shape \[4, 4\] of int4 takes 8"),
    ],
)
def test_load_weights_of_int4_that_tflm_refuses_are_refused(model: bytes, what: str) -> None:
    """The reason is named, and the tensor."""
    with pytest.raises(ModelError, match=rf"tensor 'w'.*{what}"):
        parse_tflite(model, "m.tflite")


def test_load_other_constants_of_int4_are_refused() -> None:
    """TFLM has int4 for weights alone."""
    b = ModelBuilder()
    x = b.input([1, 4], DType.S8, 0.1, 0, name="x")
    other = b.tensor([1, 4], "INT4", 0.1, 0, name="other", data=bytes(2))
    y = b.tensor([1, 4], DType.S8, 0.1, 0, name="y")
    b.operator("ADD", [x, other], [y])
    with pytest.raises(ModelError, match=r"tensor 'other': ADD: input2 has type int4; TFLM has it for weights of"):
        parse_tflite(b.finish([y]), "m.tflite")


def test_load_elements_of_int4_are_refused() -> None:
    """What is computed cannot be of int4."""
    b = ModelBuilder()
    x, y = b.input([1, 4], "INT4", 0.1, 0, name="x"), b.tensor([1, 4], DType.S8, 0.1, 0)
    b.operator("RELU", [x], [y])
    with pytest.raises(ModelError, match="tensor 'x': it has type INT4, which is supported for constants alone"):
        parse_tflite(b.finish([y]), "m.tflite")
