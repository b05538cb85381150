"""Constants of a few bytes that name sizes: compared with the declared shape before anything of those sizes is made."""

import tracemalloc
from collections.abc import Callable

import numpy as np
import pytest

from kibi.dtypes import DType
from kibi.errors import ModelError
from kibi.frontends.tflite import parse_tflite
from kibi.frontends.tflite.builder import Attribute, ModelBuilder

_HUGE = (1 << 31) - 1
_MOST_BYTES = 4 << 20
_SMALL = [1, 4, 4, 1]
_PADS = [[0, 0], [0, 1 << 30], [0, 1 << 30], [0, 0]]
_CENTERS: dict[str, dict[str, Attribute]] = {
    "plain": {},
    "aligned": {"align_corners": True},
    "centered": {"half_pixel_centers": True},
}
_CASES: dict[str, tuple[list[list[int] | list[list[int]]], dict[str, Attribute]]] = {
    "RESIZE_NEAREST_NEIGHBOR": ([[_HUGE, _HUGE]], {}),
    "PAD": ([_PADS], {}),
    "MIRROR_PAD": ([_PADS], {}),
    "SPACE_TO_BATCH_ND": ([[1, 1], _PADS[1:3]], {}),
    "BATCH_TO_SPACE_ND": ([[1 << 30, 1 << 30], [[0, 0], [0, 0]]], {}),
    "BROADCAST_TO": ([[1 << 28, 4, 4, 1 << 28]], {}),
    "SLICE": ([[0, 0, 0, 0], [1, _HUGE, _HUGE, 1]], {}),
    "STRIDED_SLICE": ([[0, 0, 0, 0], [1, _HUGE, _HUGE, 1], [1, 1, 1, 1]], {"begin_mask": 15, "end_mask": 15}),
    "RESHAPE": ([[1, _HUGE, _HUGE, 1]], {}),
    "TRANSPOSE": ([[_HUGE, 1, 2, 3]], {}),
    "GATHER": ([[_HUGE]], {"axis": 1}),
}


def _model(name: str, dtype: DType, constants: Callable[[ModelBuilder], list[int]], **attributes: Attribute) -> bytes:
    b = ModelBuilder()
    quantization = () if dtype is DType.F32 else (1.0, 0)
    x = b.input(_SMALL, dtype, *quantization)
    y = b.tensor(_SMALL, dtype, *quantization)
    b.operator(name, [x, *constants(b)], [y], attributes)
    return b.finish([y])


def _peak_bytes(model: bytes) -> int:
    """Of what Python and NumPy hold while a file is loaded, whether it is refused or not."""
    tracemalloc.start()
    try:
        parse_tflite(model, "sizes.tflite")
    except ModelError:
        pass
    finally:
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    return peak


def _numbers(*values: list[int] | list[list[int]]) -> Callable[[ModelBuilder], list[int]]:
    return lambda b: [b.constant(np.array(each, np.int32)) for each in values]


@pytest.mark.parametrize("dtype", [DType.S8, DType.F32])
@pytest.mark.parametrize("name", _CASES)
def test_constant_that_names_a_huge_size_takes_no_memory_at_load(name: str, dtype: DType) -> None:
    """The declared output is small: nothing of the other size is made before the two are compared."""
    values, attributes = _CASES[name]
    assert _peak_bytes(_model(name, dtype, _numbers(*values), **attributes)) < _MOST_BYTES


@pytest.mark.parametrize("dtype", [DType.S8, DType.F32])
@pytest.mark.parametrize("centers", _CENTERS)
@pytest.mark.parametrize("size", [_HUGE, 1 << 19])
def test_resize_to_a_size_that_is_not_declared_is_refused_without_its_tables(
    dtype: DType, centers: str, size: int
) -> None:
    """A table of two billion places took sixteen gigabytes; one of half a million is not made either."""
    model = _model("RESIZE_BILINEAR", dtype, _numbers([size, 4]), **_CENTERS[centers])
    with pytest.raises(ModelError, match=r"output has shape|sizes up to"):
        parse_tflite(model, "sizes.tflite")
    assert _peak_bytes(model) < _MOST_BYTES


def test_fill_of_dims_that_are_not_declared_is_refused_without_its_elements() -> None:
    """Dims of 2^90 elements against a declared one: only the two shapes are compared."""
    b = ModelBuilder()
    dims, value = b.constant(np.array([1 << 30] * 3, np.int32)), b.constant(np.array(1, np.float32))
    y = b.tensor([1, 1, 1], DType.F32)
    b.operator("FILL", [dims, value], [y])
    assert _peak_bytes(b.finish([y])) < _MOST_BYTES


def test_variable_of_two_billion_slots_is_refused_without_a_place_for_each() -> None:
    """Which steps wait for which is told step by step, so in models with variables their number has a bound."""
    b = ModelBuilder()
    x = b.input((1, 1, 1, 1), DType.S8, 1.0, 0)
    y = b.tensor((1, _HUGE, 1, 1), DType.S8, 1.0, 0, variable=True)
    z = b.tensor((1, _HUGE, 1, 1), DType.S8, 1.0, 0)
    b.operator("CUSTOM", [x], [y], custom_code="CIRCULAR_BUFFER")
    b.operator("RELU", [y], [z])
    model = b.finish([z])
    with pytest.raises(ModelError, match=r"CIRCULAR_BUFFER: 2147483647 row steps or rows, in a model with variables"):
        parse_tflite(model, "slots.tflite")
    assert _peak_bytes(model) < _MOST_BYTES
