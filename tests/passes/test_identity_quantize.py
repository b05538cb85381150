"""Changes of scale that change nothing, and chains of them."""

import numpy as np
import pytest

from kibi.dtypes import DType
from kibi.ops import Quantize
from tests.passes.comparison import alone, names_of
from tests.passes.networks import Chain, Scale
from tests.support.operator_models import Case
from tests.support.tflite_builder import ModelBuilder

NAME = "identity-quantize"
HERE: Scale = (0.05, 4)


def _net(scale: Scale = HERE) -> Chain:
    """Each of the 256 values through a table."""
    return Chain((1, 16, 16), scale).same("RELU6")


@pytest.mark.parametrize("zero_point", [-128, 0, 127])
def test_quantize_into_the_same_scale_vanishes(zero_point: int) -> None:
    """In between, in front, and behind, where its producer makes the model's output."""
    net = Chain((1, 16, 16), (0.05, zero_point))
    case = net.same("QUANTIZE").same("RELU6").same("QUANTIZE").same("RELU").same("QUANTIZE").case()
    assert names_of(alone(case, NAME)) == ["RELU6", "RELU"]


def test_quantize_between_the_models_ends_stays() -> None:
    """An output of its own needs somebody to write it."""
    assert names_of(alone(Chain((1, 16, 16)).same("QUANTIZE").case(), NAME)) == ["QUANTIZE"]


def test_dequantize_and_quantize_into_the_same_scale_vanish() -> None:
    """The way through floats and back changes none of the 256 values."""
    assert names_of(alone(_net().by_floats(HERE).case(), NAME)) == ["RELU6"]
    assert names_of(alone(_net().by_floats(HERE).by_floats(HERE).same("RELU").case(), NAME)) == ["RELU6", "RELU"]


def test_dequantize_and_quantize_into_another_scale_become_one() -> None:
    """Where integers round as the floats do for all of the 256 values, no float is needed."""
    simplified = alone(_net().by_floats((0.1, 4)).case(), NAME)
    assert names_of(simplified) in (["RELU6", "QUANTIZE"], ["RELU6", "DEQUANTIZE", "QUANTIZE"])
    simplified = alone(_net((0.05, 0)).by_floats((0.025, 0)).case(), NAME)
    assert names_of(simplified) == ["RELU6", "QUANTIZE"]
    assert simplified.graph.views[1]["input"].type.dtype is DType.S8


def test_dequantize_that_others_read_stays_for_them() -> None:
    """The QUANTIZE behind it goes all the same."""
    b = ModelBuilder()
    x = b.input((1, 8), DType.S8, *HERE)
    y, real, z = b.tensor((1, 8), DType.S8, *HERE), b.tensor((1, 8), DType.F32), b.tensor((1, 8), DType.S8, *HERE)
    b.operator("RELU", [x], [y])
    b.operator("DEQUANTIZE", [y], [real])
    b.operator("QUANTIZE", [real], [z])
    simplified = alone(Case("NETWORK", b.finish([real, z]), (np.arange(8, dtype=np.int8).reshape(1, 8),)), NAME)
    assert names_of(simplified) == ["RELU", "DEQUANTIZE"]


@pytest.mark.parametrize(
    ("first", "second", "left"),
    [
        ((0.025, 4), (0.05, 4), 2),
        ((0.1, 4), (0.05, 4), 2),
        ((0.05, 10), (0.05, 7), 2),
        ((0.05001, 4), (0.13, 4), 1),
        ((0.05, 4), (0.1, 4), 1),
        ((0.1, 4), (0.2, 4), 2),
    ],
    ids=[
        "finer and back",
        "coarser and back",
        "cut off",
        "hardly finer, then coarser",
        "the same, then coarser",
        "rounded twice",
    ],
)
def test_changes_of_scale_in_a_row_become_one_where_all_values_agree(first: Scale, second: Scale, left: int) -> None:
    """Rounding twice and cutting off at the ends keep them apart."""
    simplified = alone(_net().same("QUANTIZE", first).same("QUANTIZE", second).case(), NAME)
    assert sum(isinstance(node.op, Quantize) for node in simplified.graph.nodes) == left


def test_change_of_scale_that_others_read_is_not_joined() -> None:
    """It would stay, and what it reads would have to live longer."""
    net = _net().same("QUANTIZE", (HERE[0], 2))
    shifted = net.last.index
    assert alone(net.same("QUANTIZE", (0.1, 4)).case(shifted, net.last.index), NAME).changes == ()


def test_quantize_into_a_wider_type_stays() -> None:
    """Only tables of s8 are compared: behind the way through s16, a QUANTIZE into s16 or back is another matter."""
    b = ModelBuilder()
    x, wide = b.input((1, 256), DType.S8, *HERE), b.tensor((1, 256), DType.S16, 0.01, 0)
    wider, y = b.tensor((1, 256), DType.S16, 0.0001, 0), b.tensor((1, 256), DType.S8, 0.3, 1)
    for source, target in ((x, wide), (wide, wider), (wider, y)):
        b.operator("QUANTIZE", [source], [target])
    data = np.arange(-128, 128, dtype=np.int8).reshape(1, 256)
    assert names_of(alone(Case("NETWORK", b.finish([y]), (data,)), NAME)) == ["QUANTIZE"] * 3
