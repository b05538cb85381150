"""Files whose float32 inputs or outputs become the integers that the model computes with.

A QUANTIZE of an input goes, and its output is the input; so does a DEQUANTIZE before an output. Weights and all other operators
stay as they are, so that the integers inside of the model have the same bits.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import tflite

from kibi.errors import ModelError, Problem
from kibi.frontends.tflite.flatbuffer import CheckedTable
from kibi.frontends.tflite.model_tables import ModelSlot, ModelTables, SubgraphSlot, located
from kibi.frontends.tflite.new_root import NewRoot, has_newer_fields
from kibi.frontends.tflite.reader import ModelReader, OperatorRecord
from kibi.ir import Signature

_FLOAT32 = int(tflite.TensorType.FLOAT32)
_INTEGERS = {int(tflite.TensorType.INT8), int(tflite.TensorType.UINT8), int(tflite.TensorType.INT16)}
_QUANTIZE_FIRST = "Leave it float32, or quantize the model: kibi quantize"


@dataclass(frozen=True, slots=True)
class _Ends:
    """What changes in a file.

    Attributes:
        tensors: the new input or output in place of each that changes.
        operators: those that go.
        problems: why other inputs or outputs cannot change.
    """

    tensors: Mapping[int, int]
    operators: frozenset[int]
    problems: tuple[Problem, ...]


def with_quantized_ends(data: bytes, source: str, *, inputs: bool, outputs: bool) -> tuple[bytes, int]:
    """Gives the first graph of a file inputs or outputs of integers.

    Args:
        data: the contents of a `.tflite` file.
        source: the file's name, for errors.
        inputs: True to take integers at each float32 input.
        outputs: True to give integers at each float32 output.

    Returns:
        The contents of the new file, and how many inputs and outputs have changed: 0 where none is float32.

    Raises:
        ModelError: a float32 input is read by another operator than QUANTIZE, a float32 output is made by another one than
            DEQUANTIZE, or the file is corrupt or has fields of a newer schema.
    """
    with located(data, source):
        reader, tables = ModelReader(data), ModelTables(data)
        operators = [reader.operator(index) for index in range(reader.operator_count)]
        first = _first_ends(reader, operators) if inputs else _Ends({}, frozenset(), ())
        last = _last_ends(reader, operators) if outputs else _Ends({}, frozenset(), ())
        problems = [*first.problems, *last.problems]
        count = len(first.tensors) + len(last.tensors)
        if has_newer_fields(tables) and count:
            problems.append(
                Problem("the model has fields of a newer schema, which a copy would lose", "Export it without them")
            )
        if problems:
            raise ModelError(source, problems)
        return (_copied(tables, reader, first, last), count) if count else (data, 0)


def _first_ends(reader: ModelReader, operators: list[OperatorRecord]) -> _Ends:
    """The changes at the inputs."""
    tensors: dict[int, int] = {}
    gone: set[int] = set()
    problems: list[Problem] = []
    for index in dict.fromkeys(reader.inputs):
        record = reader.tensor(index)
        if record.type_code != _FLOAT32:
            continue
        readers = [number for number, each in enumerate(operators) if index in each.inputs]
        problem = _input_problem(reader, operators, index, readers)
        if problem:
            problems.append(Problem(f"input {record.name!r} {problem}", _QUANTIZE_FIRST))
            continue
        tensors[index] = operators[readers[0]].outputs[0]
        gone.add(readers[0])
    return _Ends(tensors, frozenset(gone), tuple(problems))


def _input_problem(reader: ModelReader, operators: list[OperatorRecord], index: int, readers: list[int]) -> str:
    """Why an input stays float32, as the end of a sentence; empty if it need not."""
    if index in reader.outputs:
        return "is an output, too"
    if len(readers) != 1:
        return f"is read by {len(readers)} operators, not by one QUANTIZE"
    one = operators[readers[0]]
    if one.name != "QUANTIZE":
        return f"is read as float32 by {one.name}"
    return "" if _is_integer(reader, one.outputs) else "becomes a type that Kibi takes at no input"


def _last_ends(reader: ModelReader, operators: list[OperatorRecord]) -> _Ends:
    """The changes at the outputs."""
    tensors: dict[int, int] = {}
    gone: set[int] = set()
    problems: list[Problem] = []
    for index in dict.fromkeys(reader.outputs):
        record = reader.tensor(index)
        if record.type_code != _FLOAT32:
            continue
        makers = [number for number, each in enumerate(operators) if index in each.outputs]
        name = operators[makers[0]].name if makers else "no operator"
        if len(makers) != 1 or name != "DEQUANTIZE" or not _is_integer(reader, operators[makers[0]].inputs):
            problems.append(Problem(f"output {record.name!r} is made as float32 by {name}", _QUANTIZE_FIRST))
            continue
        tensors[index] = operators[makers[0]].inputs[0]
        if not any(index in each.inputs for each in operators):
            gone.add(makers[0])
    return _Ends(tensors, frozenset(gone), tuple(problems))


def _is_integer(reader: ModelReader, tensors: tuple[int, ...]) -> bool:
    """True if the one tensor of an operator's inputs or outputs is of integers."""
    if len(tensors) != 1 or not 0 <= tensors[0] < reader.tensor_count:
        return False
    return reader.tensor(tensors[0]).type_code in _INTEGERS


def _copied(tables: ModelTables, reader: ModelReader, first: _Ends, last: _Ends) -> bytes:
    """The file with other inputs and outputs, without the operators that go, and with signatures that name the new ends."""
    subgraph = tables.children(tables.model, ModelSlot.SUBGRAPHS)[0]
    body = bytearray(tables.data)
    for slot, ends in ((SubgraphSlot.INPUTS, first), (SubgraphSlot.OUTPUTS, last)):
        start, count = tables.integers_at(subgraph, slot)
        for place in range(start, start + 4 * count, 4):
            index = int.from_bytes(body[place : place + 4], "little")
            body[place : place + 4] = ends.tensors.get(index, index).to_bytes(4, "little")
    _shorten(tables, subgraph, body, first.operators | last.operators)
    new = NewRoot(tables, body)
    signatures = [new.signature(each) for each in _signatures(reader.signatures(), {**first.tensors}, {**last.tensors})]
    return new.finished({ModelSlot.SIGNATURE_DEFS: signatures} if signatures else {})


def _shorten(tables: ModelTables, subgraph: CheckedTable, body: bytearray, gone: frozenset[int]) -> None:
    """Takes operators out of the list; the references of those after them move to the front, so that they still lead forward."""
    entries = tables.entries(subgraph, SubgraphSlot.OPERATORS)
    kept = [subgraph.Indirect(entry) for number, entry in enumerate(entries) if number not in gone]
    for entry, place in zip(entries, kept, strict=False):
        body[entry : entry + 4] = (place - entry).to_bytes(4, "little")
    body[entries[0] - 4 : entries[0]] = len(kept).to_bytes(4, "little")


def _signatures(
    listed: tuple[Signature, ...], inputs: Mapping[int, int], outputs: Mapping[int, int]
) -> Iterator[Signature]:
    """The signatures with the new ends of the first graph."""
    for each in listed:
        is_first = each.subgraph == 0
        yield Signature(
            each.key,
            each.subgraph,
            tuple((name, inputs.get(index, index) if is_first else index) for name, index in each.inputs),
            tuple((name, outputs.get(index, index) if is_first else index) for name, index in each.outputs),
        )
