"""Shapes turn indices into places."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kibi.eager.shapes import TensorShape
from kibi.errors import InputError

SHAPES = st.lists(st.integers(1, 5), min_size=0, max_size=4)


@given(SHAPES)
def test_linear_index_is_row_major(dimensions: list[int]) -> None:
    """Every element has NumPy's place, from as many indices as there are dimensions, and from one."""
    shape = TensorShape(*dimensions)
    order = np.arange(shape.elements).reshape(dimensions)
    for linear, indices in enumerate(np.ndindex(*dimensions)):
        assert shape.linear_index(*indices) == order[indices] == linear
        assert shape.linear_index(linear) == linear


def test_linear_index_of_fewer_indices_has_zeros_behind() -> None:
    """As on the device, two indices of four dimensions are those of a row's first element."""
    shape = TensorShape(2, 3, 4, 5)
    assert shape.linear_index(1, 2) == shape.linear_index(1, 2, 0) == shape.linear_index(1, 2, 0, 0) == 100
    assert TensorShape().linear_index() == TensorShape().linear_index(0) == 0


@pytest.mark.parametrize(
    "indices", [(2, 0), (0, 3), (-1, 0), (0, 0, 0), (6,), (-1,), (slice(None), 0), (0.5, 0), (None,)]
)
def test_linear_index_out_of_range_raises(indices: tuple[int, ...]) -> None:
    """Neither negative indices nor slices, nor more indices than dimensions."""
    with pytest.raises(InputError):
        TensorShape(2, 3).linear_index(*indices)


@pytest.mark.parametrize("dimensions", [(1, 2, 3, 4, 5), (0,), (-1, 2), (2**32,), (1.5, 2)])
def test_shape_that_cannot_be_stored_raises(dimensions: tuple[int, ...]) -> None:
    """Four dimensions of 32 bits are what a descriptor has room for."""
    with pytest.raises(InputError):
        TensorShape(*dimensions)


def test_folded_joins_leading_dimensions() -> None:
    """More than four become four, and elements keep their order."""
    shape = TensorShape.folded((2, 3, 4, 5, 6))
    assert (shape.dimensions, shape.elements) == ((6, 4, 5, 6), 720)
    assert TensorShape.folded((2, 3)) == TensorShape(2, 3)


def test_shape_is_a_value() -> None:
    """Shapes compare, hash and show their dimensions."""
    shape = TensorShape(2, 3)
    assert (shape.rank, len(shape), shape[1], shape.elements) == (2, 2, 3, 6)
    assert shape == TensorShape(2, 3)
    assert shape != TensorShape(3, 2)
    assert {shape: 1}[TensorShape(2, 3)] == 1
    assert (str(shape), repr(shape)) == ("[2, 3]", "TensorShape(2, 3)")
