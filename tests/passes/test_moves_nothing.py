"""Operators that move elements, where none has to go anywhere."""

import numpy as np
import pytest

from kibi.dtypes import DType
from tests.passes.comparison import alone, names_of
from tests.support.case import Case
from tests.support.choices import Seeded, elements
from tests.support.operator_models import OPERATOR_MODELS
from tests.support.tflite_builder import Attribute, ModelBuilder

NAME = "moves-nothing"


def _moved(
    name: str,
    shape: tuple[int, ...],
    output: tuple[int, ...],
    constants: tuple[list[int], ...] = (),
    **attributes: Attribute,
) -> Case:
    """An operator on one input, with constants behind it."""
    b = ModelBuilder()
    x, y = b.input(shape, DType.S8, 0.5, 0), b.tensor(output, DType.S8, 0.5, 0)
    b.operator(name, [x, *(b.constant(np.array(each, np.int32)) for each in constants)], [y], attributes)
    return Case(name, b.finish([y]), (elements(Seeded(1), shape),))


@pytest.mark.parametrize(
    "case",
    [
        _moved("CONCATENATION", (1, 2, 3, 4), (1, 2, 3, 4), axis=3),
        _moved("PACK", (2, 3), (2, 1, 3), axis=1, values_count=1),
        _moved("SLICE", (1, 2, 3), (1, 2, 3), ([0, 0, 0], [1, -1, 3])),
        _moved("STRIDED_SLICE", (1, 2, 3), (2, 3), ([0, 0, 0], [1, 2, 3], [1, 1, 1]), shrink_axis_mask=1),
        _moved("STRIDED_SLICE", (1, 2, 3), (1, 2, 3), ([0, 0, 0], [1, 2, 3], [-1, 1, 1]), begin_mask=1, end_mask=1),
        _moved("TRANSPOSE", (1, 4, 1, 3), (4, 1, 3, 1), ([1, 0, 3, 2],)),
        _moved("SQUEEZE", (1, 4, 1), (4,)),
        _moved("EXPAND_DIMS", (4, 3), (4, 1, 3), ([1],)),
        _moved("UNPACK", (1, 4), (4,), axis=0, num=1),
    ],
    ids=lambda case: case.operator,
)
def test_operator_that_moves_nothing_becomes_a_reshape(case: Case) -> None:
    """The bits are those of the graph before."""
    assert names_of(alone(case, NAME)) == ["RESHAPE"]


@pytest.mark.parametrize(
    "case",
    [
        _moved("SLICE", (1, 2, 3), (1, 1, 3), ([0, 0, 0], [1, 1, 3])),
        _moved("STRIDED_SLICE", (1, 2, 3), (1, 2, 3), ([0, 1, 0], [1, -3, 3], [1, -1, 1])),
        _moved("TRANSPOSE", (1, 4, 1, 3), (1, 3, 1, 4), ([0, 3, 2, 1],)),
    ],
    ids=lambda case: case.operator,
)
def test_operator_that_moves_something_stays(case: Case) -> None:
    """Parts, other directions, other orders."""
    assert names_of(alone(case, NAME)) == [case.operator]


@pytest.mark.parametrize("name", ["CONCATENATION", "SLICE", "STRIDED_SLICE", "TRANSPOSE", "UNPACK"])
def test_bits_stay_whatever_moves(name: str) -> None:
    """Drawn models before and after the pass give the same."""
    for seed in range(20):
        alone(OPERATOR_MODELS[name](Seeded(seed)), NAME)
