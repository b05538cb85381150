"""The form of a `.tflite` file that TFLM reads: data inside of the flatbuffer, and float32 weights where it has no narrower ones.

Newer converters write what TFLM does not read. Here it becomes what TFLM does read, without a change of what the file means:

- data that are stored after the flatbuffer come into it;
- constants of float16, and the DEQUANTIZE that follows them, become constants of float32, which hold the same numbers;
- constants of 8 or 4 bits at an operator whose elements are float32 (hybrid operators, as dynamic-range quantization makes them)
  become the float32 numbers that they mean.

Source of the fields: TensorFlow's `tensorflow/compiler/mlir/lite/schema/schema.fbs`.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import tflite
from flatbuffers import number_types

from kibi.dtypes import Array
from kibi.frontends.tflite.flatbuffer import Budget, CheckedTable, CorruptError, OverlapError, reading
from kibi.frontends.tflite.model_tables import (
    BufferSlot,
    ModelSlot,
    ModelTables,
    OperatorSlot,
    SubgraphSlot,
    TensorSlot,
)
from kibi.frontends.tflite.new_root import NewRoot, has_newer_fields
from kibi.frontends.tflite.reader import IDENTIFIER, ModelReader, OperatorRecord, TensorRecord
from kibi.frontends.tflite.tensors import import_tensor

_FLOAT16, _FLOAT32 = tflite.TensorType.FLOAT16, tflite.TensorType.FLOAT32
_NARROW = frozenset((tflite.TensorType.INT8, tflite.TensorType.UINT8, tflite.TensorType.INT4))
_DEQUANTIZE = "DEQUANTIZE"
_CUSTOM = "CUSTOM:"


@dataclass(frozen=True, slots=True)
class NormalForm:
    """A file in the form that TFLM reads.

    Attributes:
        data: its contents; those that were given if nothing had to change.
        inlined: how many buffers were stored after the flatbuffer.
        float16: how many constants were float16.
        hybrid: how many constants of hybrid operators became float32.
        notes: what else users may want to know, a sentence each, without full stops.
    """

    data: bytes = field(repr=False)
    inlined: int = 0
    float16: int = 0
    hybrid: int = 0
    notes: tuple[str, ...] = ()

    @property
    def is_changed(self) -> bool:
        """True if these are other bytes than those that were given."""
        return bool(self.inlined or self.float16 or self.hybrid or self.notes)


def normal_form(data: bytes) -> NormalForm:
    """The form of a file that TFLM reads. A file that is no sound flatbuffer stays as it is: whoever imports it says why.

    Args:
        data: the contents of a `.tflite` file.
    """
    if data[4:8] != IDENTIFIER:
        return NormalForm(data)
    try:
        with reading():
            inside, inlined = _inlined(data)
            widened, float16, hybrid = _widened(inside)
    except (CorruptError, OverlapError):
        return NormalForm(data)
    return NormalForm(widened, inlined, float16, hybrid)


def _inlined(data: bytes) -> tuple[bytes, int]:
    """Brings data that are stored after the flatbuffer into it; returns the file, and the number of such buffers."""
    tables = ModelTables(data)
    buffers = tables.children(tables.model, ModelSlot.BUFFERS)
    places = {number: _external(tables, buffer) for number, buffer in enumerate(buffers)}
    outside = {number: place for number, place in places.items() if place is not None}
    if not outside or has_newer_fields(tables):
        return data, 0
    budget = Budget(len(data))
    for start, size in outside.values():
        budget.spend(size)
        if start + size > len(data):
            raise CorruptError(f"the data of {size} bytes at byte {start} are outside the file of {len(data)} bytes")
    new = NewRoot(tables, data[: min(start for start, _ in outside.values())])
    lists = [
        new.buffer(data[outside[number][0] : sum(outside[number])]) if number in outside else new.place_of(buffer)
        for number, buffer in enumerate(buffers)
    ]
    return new.finished({ModelSlot.BUFFERS: lists}), len(outside)


def _external(tables: ModelTables, buffer: CheckedTable) -> tuple[int, int] | None:
    """Where data are that are stored after the flatbuffer, and their size; None: the buffer has no such data."""
    start = tables.number(buffer, BufferSlot.OFFSET, number_types.Uint64Flags)
    return (start, tables.number(buffer, BufferSlot.SIZE, number_types.Uint64Flags)) if start > 1 else None


def _widened(data: bytes) -> tuple[bytes, int, int]:
    """Converts narrow constants; returns the file, the number of those of float16, and of those of hybrid operators."""
    tables = ModelTables(data)
    subgraphs = tables.children(tables.model, ModelSlot.SUBGRAPHS)
    if has_newer_fields(tables):
        return data, 0, 0
    edits = [
        each
        for number, subgraph in enumerate(subgraphs)
        if (each := _Edit.of(data, tables, subgraph, number)) is not None
    ]
    if not edits:
        return data, 0, 0
    body = bytearray(data)
    buffers = tables.children(tables.model, ModelSlot.BUFFERS)
    contents: list[bytes] = []
    for edit in edits:
        edit.apply(tables, subgraphs[edit.subgraph], body, len(buffers) + len(contents))
        contents += [each.tobytes() for each in edit.constants.values()]
    new = NewRoot(tables, body)
    lists = [new.place_of(buffer) for buffer in buffers]
    made = new.finished({ModelSlot.BUFFERS: [*lists, *map(new.buffer, contents)]})
    return made, sum(each.float16 for each in edits), sum(len(each.constants) - each.float16 for each in edits)


@dataclass(frozen=True, slots=True)
class _Edit:
    """What changes in one subgraph.

    Attributes:
        subgraph: its number.
        constants: the elements of constants, f32, by index; those of float16 come first.
        float16: how many of them were float16.
        dropped: the indices of operators that go.
        instead: the tensor that takes the place of another one, an output of a dropped operator.
    """

    subgraph: int
    constants: Mapping[int, Array]
    float16: int
    dropped: frozenset[int]
    instead: Mapping[int, int]

    @classmethod
    def of(cls, data: bytes, tables: ModelTables, subgraph: CheckedTable, number: int) -> "_Edit | None":
        """What is to be changed in a subgraph; None: nothing."""
        types = [
            tables.number(tensor, TensorSlot.TYPE, number_types.Int8Flags)
            for tensor in tables.children(subgraph, SubgraphSlot.TENSORS)
        ]
        if _FLOAT16 not in types and not (_FLOAT32 in types and _NARROW.intersection(types)):
            return None
        reader = ModelReader(data).subgraph(number)
        operators = [reader.operator(index) for index in range(reader.operator_count)]
        halves = dict(_halves(reader, types))
        dropped = {
            index: (each.outputs[0], each.inputs[0])
            for index, each in enumerate(operators)
            if each.name == _DEQUANTIZE and len(each.inputs) == len(each.outputs) == 1 and each.inputs[0] in halves
            if each.outputs[0] not in reader.outputs
        }
        constants = halves | dict(_hybrid(reader, types, operators))
        return cls(number, constants, len(halves), frozenset(dropped), dict(dropped.values())) if constants else None

    def apply(self, tables: ModelTables, subgraph: CheckedTable, body: bytearray, first_buffer: int) -> None:
        """Changes the bytes of a file; the constants are in buffers from that index on, in their order."""
        tensors = tables.children(subgraph, SubgraphSlot.TENSORS)
        for buffer, index in enumerate(self.constants, first_buffer):
            _set(body, tensors[index], TensorSlot.TYPE, _FLOAT32, 1)
            _set(body, tensors[index], TensorSlot.BUFFER, buffer, 4)
        entries = tables.entries(subgraph, SubgraphSlot.OPERATORS)
        for operator in tables.children(subgraph, SubgraphSlot.OPERATORS):
            start, count = tables.integers_at(operator, OperatorSlot.INPUTS)
            for place in range(start, start + 4 * count, 4):
                given = int.from_bytes(body[place : place + 4], "little")
                body[place : place + 4] = self.instead.get(given, given).to_bytes(4, "little")
        kept = [subgraph.Indirect(entry) for number, entry in enumerate(entries) if number not in self.dropped]
        for entry, place in zip(entries, kept, strict=False):  # earlier entries: references still lead forward
            body[entry : entry + 4] = (place - entry).to_bytes(4, "little")
        if self.dropped:
            body[entries[0] - 4 : entries[0]] = len(kept).to_bytes(4, "little")


def _set(body: bytearray, table: CheckedTable, slot: int, value: int, size: int) -> None:
    """Overwrites the number in a field, which the file has.

    Raises:
        CorruptError: the file leaves the field out.
    """
    offset = table.Offset(slot)
    if not offset:
        raise CorruptError(f"a constant has no field {slot}")
    body[table.Pos + offset : table.Pos + offset + size] = value.to_bytes(size, "little")


def _halves(reader: ModelReader, types: Sequence[int]) -> Iterator[tuple[int, Array]]:
    """Yields the index and the elements `[N]` f32 of each constant of float16."""
    for index, code in enumerate(types):
        data = reader.tensor(index).data if code == _FLOAT16 else None
        if data is not None and data.size % 2 == 0:
            reader.copied(2 * data.size)
            yield index, np.frombuffer(data.tobytes(), "<f2").astype("<f4")


def _hybrid(
    reader: ModelReader, types: Sequence[int], operators: Sequence[OperatorRecord]
) -> Iterator[tuple[int, Array]]:
    """Yields the index and the elements f32 of each narrow constant that hybrid operators alone read."""
    users: dict[int, list[bool]] = {}
    for each in operators:
        is_hybrid = _is_hybrid(each, types)
        for index in (*each.inputs, *each.outputs):
            users.setdefault(index, []).append(is_hybrid)
    for index, uses in users.items():
        if 0 <= index < len(types) and types[index] in _NARROW and all(uses):
            record = reader.tensor(index)
            elements = None if record.data is None else _meaning(reader, index, record)
            if elements is not None:
                yield index, elements


def _is_hybrid(operator: OperatorRecord, types: Sequence[int]) -> bool:
    """True if an operator computes float32 from float32 and constants."""
    ends = (*operator.inputs[:1], *operator.outputs[:1])
    are_there = len(operator.inputs) > 1 and len(ends) == 2 and all(0 <= index < len(types) for index in ends)
    return are_there and not operator.name.startswith(_CUSTOM) and all(types[index] == _FLOAT32 for index in ends)


def _meaning(reader: ModelReader, index: int, record: TensorRecord) -> Array | None:
    """The real numbers `[N]` f32 that a quantized constant means; None if it has no scale, or breaks a rule."""
    tensor, _ = import_tensor(index, record, reader.copied)
    if tensor is None or tensor.data is None or tensor.type.quantization is None:
        return None
    quantization = tensor.type.quantization
    reader.copied(4 * tensor.data.size)
    along = [1] * tensor.data.ndim
    if quantization.is_per_channel:
        along[quantization.axis] = -1
    scales = np.asarray(quantization.scales, np.float32).reshape(along)
    zero_points = np.asarray(quantization.zero_points, np.int64).reshape(along)
    elements: Array = ((tensor.data.astype(np.int64) - zero_points).astype(np.float32) * scales).astype("<f4")
    return elements
