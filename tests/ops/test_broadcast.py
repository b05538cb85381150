"""Broadcasts whose pieces could be mistaken for those of another axis."""

import numpy as np
import pytest

import kibi
from kibi.dtypes import DType
from kibi.frontends.tflite.builder import ModelBuilder
from tests.ops.comparison import graph_of
from tests.support.case import one

_SHAPES = (((1, 1, 1, 2, 1), (1, 3, 2, 2, 1)), ((1, 1, 2, 3), (4, 2, 2, 3)), ((2, 1, 1, 3, 1), (2, 4, 3, 3, 2)))


@pytest.mark.parametrize("shapes", _SHAPES, ids=str)
def test_rows_along_another_axis_than_the_columns_are_not_taken_for_theirs(
    shapes: tuple[tuple[int, ...], tuple[int, ...]],
) -> None:
    """Where the pieces of an input are as many as the output's columns, but lie along its channels."""
    first, second = shapes
    rng, b = np.random.default_rng(5), ModelBuilder()
    given = [rng.integers(-(1 << 20), 1 << 20, shape).astype(np.int32) for shape in shapes]
    operands = [b.input(shape, DType.S32) for shape in shapes]
    output = b.tensor(np.broadcast_shapes(first, second), DType.S32)
    graph = graph_of(one("ADD", b, operands, output, given))
    file = kibi.compile_plan(graph, target="host")
    for engine in ("c", "numpy"):
        (found,) = kibi.open_plan(file, engine=engine).run(given)
        assert np.array_equal(found, given[0] + given[1])
