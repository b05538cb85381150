"""Tensors that are never whole."""

from collections.abc import Callable, Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from kibi.dtypes import Array, DType
from kibi.eager.context import Context
from kibi.eager.tensors import CameraTensor, RamTensor, RowTensor
from kibi.errors import EventError, InputError
from kibi.ir import TensorType
from tests.runtime.tensors.places import FAST, SLOW

IMAGE = TensorType((1, 6, 2, 3), DType.S8)
VALUES = np.arange(36, dtype=np.int8).reshape(1, 6, 2, 3)


def _row(y: int) -> NDArray[np.int8]:
    row: NDArray[np.int8] = VALUES[0, y]
    return row


def test_ring_keeps_the_last_rows() -> None:
    """A row takes the place of the one that is a ring's length in front of it."""
    context = Context(1024, 1024)
    tensor = RowTensor(IMAGE, ring=3, context=context)
    assert (tensor.stored_bytes, context.ram.available()) == (18, 1024 - 18)
    for y in range(6):
        with pytest.raises(EventError, match=f"RowNotWritten.*row {y}"):
            tensor.row(y)
        tensor.write_row(y, _row(y))
        assert tensor.rows_there == tuple(range(max(0, y - 2), y + 1))
        for x in tensor.rows_there:
            assert np.array_equal(tensor.row(x), _row(x))
        if y >= 3:
            with pytest.raises(EventError, match=f"RowOverwritten.*row {y - 3}"):
                tensor.row(y - 3)
    with pytest.raises(EventError, match="RowOverwritten"):
        tensor.to_array()
    tensor.restart()
    with pytest.raises(EventError, match="RowNotWritten"):
        tensor.row(5)


@given(st.lists(st.integers(0, 30), min_size=6, max_size=6), st.lists(st.integers(0, 5), max_size=20))
def test_planned_rows_are_lost_only_to_rows_on_their_bytes(offsets: list[int], order: list[int]) -> None:
    """Whatever the plan, a row that can be read holds what was written, and one that is lost was overlapped since."""
    memory = bytearray(40)
    tensor = RowTensor(IMAGE, offsets=offsets, memory=memory, context=Context(1024, 1024))
    owner: list[tuple[int, int] | None] = [None] * 40
    for turn, y in enumerate(order):
        tensor.write_row(y, _row(y) + np.int8(turn))
        owner[offsets[y] : offsets[y] + 6] = [(y, turn)] * 6
        for x in range(6):
            holders = set(owner[offsets[x] : offsets[x] + 6])
            whole = len(holders) == 1 and (holder := holders.pop()) is not None and holder[0] == x
            assert (x in tensor.rows_there) == whole
            if whole:
                assert holder is not None
                assert np.array_equal(tensor.row(x), _row(x) + np.int8(holder[1]))


def test_row_tensor_elements_are_within_rows() -> None:
    """Elements are read and written where their row lies; nothing is read across two rows."""
    tensor = RowTensor(IMAGE, offsets=[30, 24, 18, 12, 6, 0], context=Context(1024, 1024))
    tensor.assign(VALUES)
    assert np.array_equal(tensor.to_array(), VALUES)
    tensor[0, 2, 1, 2] = -5
    assert tensor[17] == -5
    assert tensor[0, 2, 1, 1].u16 == 0xFB00 + 16
    with pytest.raises(EventError, match=r"InvalidMemoryAccess.*row 2"):
        _ = tensor[0, 2, 1, 2].u16
    with pytest.raises(EventError, match="DirectAccessRefused"), tensor.direct(FAST):
        pass


def test_row_tensor_wrongly_placed_is_refused() -> None:
    """Neither, both, too few, negative, too small."""
    context = Context(1024, 1024)
    for wrong in (
        {},
        {"ring": 2, "offsets": [0] * 6},
        {"ring": 0},
        {"offsets": [0] * 5},
        {"offsets": [-1] * 6},
        {"ring": 3, "memory": bytearray(17)},
    ):
        with pytest.raises(InputError):
            RowTensor(IMAGE, context=context, **wrong)
    assert (context.metadata.available(), context.ram.available()) == (1024, 1024)


def test_row_tensor_of_a_batch_counts_rows_of_all() -> None:
    """The rows of a batch's parts lie one behind another."""
    tensor = RowTensor(TensorType((2, 3, 2), DType.S16), ring=6, context=Context(1024, 1024))
    values = np.arange(12, dtype=np.int16).reshape(2, 3, 2)
    tensor.assign(values)
    assert np.array_equal(tensor.to_array(), values)
    assert tensor[1, 2, 0] == 10


def test_camera_gives_rows_as_they_come() -> None:
    """Each is asked for once, in order; rows in front of one come and go; only the last are kept."""
    asked = []

    def line(y: int) -> Array:
        asked.append(y)
        return _row(y)

    context = Context(1024, 1024)
    camera = CameraTensor(IMAGE, line, keep=2, context=context)
    assert context.ram.available() == 1024 - 12
    assert np.array_equal(camera.row(0), _row(0))
    assert (asked, camera.next_row) == ([0], 1)
    assert np.array_equal(camera.row(3), _row(3))
    assert np.array_equal(camera.row(2), _row(2))
    assert camera[0, 3, 1, 2] == _row(3)[1, 2]
    assert asked == [0, 1, 2, 3]
    with pytest.raises(EventError, match=r"RowOverwritten.*row 1"):
        camera.row(1)
    with pytest.raises(EventError, match="ReadOnlyTensor"):
        camera.write_row(0, _row(0))
    camera.restart()
    assert np.array_equal(camera.to_array(), VALUES)
    assert asked == [0, 1, 2, 3, 0, 1, 2, 3, 4, 5]


def test_camera_of_an_iterator_ends_with_it() -> None:
    """An iterator yields one picture; the next needs another."""

    def lines() -> Iterator[Array]:
        yield from VALUES[0, :3]

    camera = CameraTensor(IMAGE, lines(), context=Context(1024, 1024))
    assert np.array_equal(camera.row(2), _row(2))
    with pytest.raises(EventError, match=r"RowsEnded.*row 3"):
        camera.row(3)
    with pytest.raises(InputError, match="once"):
        camera.restart()
    camera.restart(list(VALUES[0]))
    assert np.array_equal(camera.to_array(), VALUES)
    camera.restart()
    assert np.array_equal(camera.row(0), _row(0))


def test_camera_row_of_another_type_is_refused_and_not_skipped() -> None:
    """A bad row is never taken for another one; a function is asked again."""
    good = False

    def line(y: int) -> Array:
        return _row(y) if good else _row(y).astype(np.int16)

    camera = CameraTensor(IMAGE, line, context=Context(1024, 1024))
    with pytest.raises(InputError, match="row 0"):
        camera.row(0)
    good = True
    assert np.array_equal(camera.row(0), _row(0))
    iterated = CameraTensor(IMAGE, [[1], *VALUES[0]], context=Context(1024, 1024))
    with pytest.raises(InputError, match="row 0"):
        iterated.row(0)
    with pytest.raises(EventError, match="RowsEnded"):
        iterated.row(0)


@pytest.mark.parametrize("keep", [0, 7])
def test_camera_keeps_a_sensible_number_of_rows(keep: int) -> None:
    """At least one, and not more than there are."""
    with pytest.raises(InputError, match="kept"):
        CameraTensor(IMAGE, _row, keep=keep, context=Context(1024, 1024))


def test_direct_rows_are_for_operators_that_are_marked_fast() -> None:
    """A fast operator writes and reads rows in place, under the same rules as everybody; others are refused."""
    context = Context(1024, 1024)
    ring = RowTensor(IMAGE, ring=2, context=context)
    for y in range(3):
        with ring.direct_row(y, FAST, writing=True) as row:
            row[...] = _row(y)
            del row
    with ring.direct_row(2, FAST) as row:
        assert np.array_equal(row, _row(2))
        with pytest.raises(ValueError, match="read-only"):
            row[0] = 0
        del row
    with pytest.raises(EventError, match="RowOverwritten"), ring.direct_row(0, FAST):
        pass
    with pytest.raises(EventError, match="DirectAccessRefused"), ring.direct_row(2, SLOW):
        pass
    with pytest.raises(EventError, match="InvalidMemoryAccess"), ring.direct_row(6, FAST):
        pass
    camera = CameraTensor(IMAGE, _row, context=context)
    with camera.direct_row(1, FAST) as row:
        assert np.array_equal(row, _row(1))
        del row
    with pytest.raises(EventError, match="ReadOnlyTensor"), camera.direct_row(1, FAST, writing=True):
        pass
    whole = RamTensor(IMAGE, VALUES, context=context)
    with whole.direct_row(3, FAST) as row:
        assert np.array_equal(row, _row(3))
        del row


def test_freed_rows_return_to_the_arena() -> None:
    """Ring and camera give their room back when they are freed, and a caller's memory stays."""
    context = Context(1024, 1024)
    memory = bytearray(12)
    makers: list[Callable[[], RowTensor | CameraTensor]] = [
        lambda: RowTensor(IMAGE, ring=2, context=context),
        lambda: RowTensor(IMAGE, ring=2, memory=memory, context=context),
        lambda: CameraTensor(IMAGE, _row, keep=2, context=context),
    ]
    for make in makers:
        with make() as tensor:
            assert list(context.tensors) == [tensor]
        assert not context.tensors
        assert (context.metadata.available(), context.ram.available()) == (1024, 1024)
        with pytest.raises(EventError, match="TensorFreed"):
            tensor.row(0)
