"""Hostile bytes: positions outside the file, and files that would take far more time and memory than their size."""

import struct
from collections.abc import Callable

import pytest

from kibi.dtypes import DType
from kibi.frontends.tflite.builder import ModelBuilder
from kibi.frontends.tflite.flatbuffer import Budget, CheckedTable, CorruptError, OverlapError, reading
from tests.frontends.models import problems_of, relu

_MANY = 100_000


def _table(fields: bytes, contents: bytes = b"", distance: int | None = None) -> CheckedTable:
    """A table behind its list of fields; `distance` is what it says of the way back to the list."""
    way_back = len(fields) if distance is None else distance
    data = fields + struct.pack("<i", way_back) + contents
    return CheckedTable(data, len(fields), Budget(len(data)))


@pytest.mark.parametrize(
    ("fields", "distance"),
    [
        (struct.pack("<HH", 4, 4), 5),  # in front of the file: Python would count from its end
        (struct.pack("<HH", 4, 4), -5),  # behind the file
        (struct.pack("<HH", 4, 4), 1 << 30),
        (struct.pack("<HH", 2, 4), None),
        (struct.pack("<HH", 5, 4), None),
        (struct.pack("<HH", 0xFFFE, 4), None),
    ],
)
def test_table_whose_list_of_fields_is_not_in_the_file_is_refused(fields: bytes, distance: int | None) -> None:
    """The list is looked at before any field is."""
    with pytest.raises(CorruptError):
        _table(fields, distance=distance)


@pytest.mark.parametrize("position", [-4, -1, 1, 4, 1 << 40])
def test_table_outside_the_file_is_refused(position: int) -> None:
    """A negative position is no position, though Python would read from the end."""
    with pytest.raises(CorruptError, match="outside the file"):
        CheckedTable(b"\0\0\0\0", position, Budget(4))


@pytest.mark.parametrize("reference", [0xFFFFFFFF, 0x80000000, 100])
def test_reference_out_of_the_file_is_refused(reference: int) -> None:
    """Vectors and texts are looked for inside the file only."""
    table = _table(struct.pack("<HHH", 6, 8, 4), struct.pack("<I", reference))
    for read in (table.Vector, table.VectorLen, table.Indirect, table.String):
        with pytest.raises(CorruptError, match="outside the file"):
            read(10)


def test_vector_longer_than_the_file_is_refused_before_it_is_read() -> None:
    """A length of four billion costs nothing."""
    table = _table(struct.pack("<HHH", 6, 8, 4), struct.pack("<II", 4, 0xFFFFFFFF))
    with pytest.raises(CorruptError, match="a vector of 17179869180 bytes"):
        table.VectorLen(4)


@pytest.mark.parametrize("root", [0, 1, 5, 0x7FFFFFFF, 0xFFFFFFFF])
def test_model_whose_root_is_no_table_is_refused(root: int) -> None:
    """The first number of the file leads somewhere, or is an error."""
    data = root.to_bytes(4, "little") + relu()[4:]
    assert "the flatbuffer is corrupt" in str(problems_of(data))


def _many_operators(builder: ModelBuilder) -> None:
    builder.operator("RELU", [0], [1])
    builder._graph.operators *= _MANY


def _many_inputs(builder: ModelBuilder) -> None:
    builder.operator("RELU", [0] * _MANY, [1])
    builder._graph.operators *= _MANY


def _many_names(builder: ModelBuilder) -> None:
    builder.tensor([1, 4], DType.S8, 0.5, 0, name="n" * _MANY)
    _use_last_tensor_often(builder)


def _many_scales(builder: ModelBuilder) -> None:
    builder.tensor([_MANY], DType.S8, [0.5] * _MANY, [0] * _MANY)
    _use_last_tensor_often(builder)


def _use_last_tensor_often(builder: ModelBuilder) -> None:
    first = len(builder._graph.tensors)
    builder._graph.tensors += builder._graph.tensors[-1:] * 1000
    for index in range(first, first + 1000):
        builder.operator("RELU", [index], [index])


@pytest.mark.timeout(20)
@pytest.mark.parametrize("overlap", [_many_operators, _many_inputs, _many_names, _many_scales])
def test_file_whose_parts_overlap_many_times_is_refused_early(overlap: Callable[[ModelBuilder], None]) -> None:
    """A hundred thousand references to one table, text or vector end in one short error."""
    builder = ModelBuilder()
    builder.input([1, 4], DType.S8, 0.5, 0)
    builder.tensor([1, 4], DType.S8, 0.5, 0)
    overlap(builder)
    (problem,) = problems_of(builder.finish([1]))
    assert "overlap many times over" in problem.what


@pytest.mark.parametrize(
    "error", [struct.error("s"), IndexError("i"), TypeError("t"), ValueError("v"), OverflowError("o")]
)
def test_errors_of_the_schemas_reader_become_corruption(error: Exception) -> None:
    """Should a check be missing here, the generated code's exceptions still end as a problem of the file."""
    with pytest.raises(CorruptError, match="the schema's reader failed"), reading():
        raise error


def test_budget_is_spent_once() -> None:
    """Reading up to the limit is free, and one byte more is not."""
    budget = Budget(1000)
    budget.spend(8 * 1000 + (1 << 16))
    with pytest.raises(OverlapError):
        budget.spend(1)
