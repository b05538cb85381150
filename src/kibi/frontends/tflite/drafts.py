"""Drafts: operators and tensors of a file, each sound by itself, before they are connected."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from kibi.errors import ModelError, Problem
from kibi.frontends.tflite.coding import CodingError
from kibi.frontends.tflite.compression import DECODE, Compression
from kibi.frontends.tflite.flatbuffer import CorruptError, OverlapError
from kibi.frontends.tflite.handles import Handles, is_resolved
from kibi.frontends.tflite.importers import (
    Importer,
    OptionsError,
    importer_of,
    refusal_of,
)
from kibi.frontends.tflite.reader import ModelReader, OperatorRecord, Options
from kibi.frontends.tflite.tensors import import_tensor
from kibi.ir import Graph, Operator, Tensor

GET_AGAIN = "Export the model again, or download it again"
"""What to do about a damaged file."""
# What the schema writes for an optional input that is not there.
_LEFT_OUT = -1


@dataclass(frozen=True, slots=True)
class Draft:
    """An operator that was made; its operands are not checked."""

    index: int
    op: Operator
    record: OperatorRecord
    options: Options
    importer: Importer

    @property
    def inputs(self) -> tuple[int | None, ...]:
        """Tensor indices, without a variable's handle; None for an optional input that is left out."""
        inputs = self.record.inputs[1 if self.importer.takes_handle else 0 :]
        return tuple(None if index == _LEFT_OUT else index for index in inputs)

    @property
    def operands(self) -> tuple[int, ...]:
        """Tensor indices of the inputs that are there, and of the outputs."""
        return (*(index for index in self.inputs if index is not None), *self.record.outputs)


def corrupt(error: CorruptError | OverlapError, operator: int | None = None, tensor: str | None = None) -> Problem:
    """Returns the problem that reports damaged bytes."""
    return Problem(f"the flatbuffer is corrupt: {error}", GET_AGAIN, operator, tensor)


def read_operators(
    reader: ModelReader, compression: Compression, graphs: Callable[[int], Graph]
) -> tuple[list[Draft], Handles, list[Problem]]:
    """Returns the operators that could be made, the handles of variables, and the problems of the others."""
    drafts: list[Draft] = []
    problems: list[Problem] = []
    resolved: list[tuple[int, OperatorRecord]] = []
    unsupported: dict[str, list[int]] = {}
    for index in range(reader.operator_count):
        try:
            record = reader.operator(index)
        except CorruptError as error:
            problems.append(corrupt(error, operator=index))
            continue
        if record.name == DECODE:
            problems += compression.add(index, record)
            continue
        if is_resolved(record):
            resolved.append((index, record))
            continue
        try:
            importer = importer_of(record.name)
            if importer is None:
                unsupported.setdefault(record.name, []).append(index)
                continue
            options = reader.options(record, importer.options_type, graphs)
            record = _without_empty(record, importer.ignores, reader)
            drafts.append(Draft(index, importer.make(options), record, options, importer))
        except CorruptError as error:
            problems.append(corrupt(error, operator=index))
        except OptionsError as error:
            problems.append(Problem(f"{record.name}: {error.what}", error.remedy, index))
        except ModelError as error:
            problems += (
                replace(each, what=f"{record.name}: in a subgraph: {each.what}", operator=index)
                for each in error.problems
            )
    problems = [*_unsupported_problems(unsupported), *problems]
    try:
        return drafts, Handles.of(resolved, reader), problems
    except CorruptError as error:
        return drafts, Handles({}, ()), [*problems, corrupt(error, operator=resolved[0][0])]


def _without_empty(record: OperatorRecord, place: int | None, reader: ModelReader) -> OperatorRecord:
    """The operator without the input at that place, where the input has no elements."""
    index = _LEFT_OUT if place is None or place >= len(record.inputs) else record.inputs[place]
    if not 0 <= index < reader.tensor_count or 0 not in reader.tensor(index).shape:
        return record
    return replace(record, inputs=tuple(_LEFT_OUT if at == place else each for at, each in enumerate(record.inputs)))


def _unsupported_problems(unsupported: Mapping[str, Sequence[int]]) -> Iterator[Problem]:
    """One for each kind of operator, where it first is; the last says what is supported."""
    for position, (name, indices) in enumerate(unsupported.items(), 1):
        count = "" if len(indices) == 1 else f" (the model has {len(indices)} of them)"
        supported = "`kibi operators` lists those that are" if position == len(unsupported) else ""
        vendor, remedy = refusal_of(name)
        what = f"{name} is not supported{count}" + (f": it is {vendor}" if vendor else "")
        yield Problem(what, remedy if vendor else ". ".join(filter(None, [supported, remedy])), indices[0])


def index_problems(reader: ModelReader, drafts: Iterable[Draft]) -> Iterator[Problem]:
    """Tensor indices that lead nowhere."""
    count = reader.tensor_count
    for kind, indices in (("input", reader.inputs), ("output", reader.outputs)):
        for index in indices:
            if not 0 <= index < count:
                yield Problem(f"an {kind} of the model is tensor {index}, but there are {count} tensors", GET_AGAIN)
    for draft in drafts:
        for index in draft.operands:
            if not 0 <= index < count:
                what = f"{draft.record.name}: an operand is tensor {index}, but there are {count} tensors"
                yield Problem(what, GET_AGAIN, draft.index)


def read_tensors(
    reader: ModelReader, drafts: Iterable[Draft], compression: Compression
) -> tuple[dict[int, Tensor], list[Problem]]:
    """Returns the tensors that the model's inputs, outputs and supported operators name, and the problems of invalid ones."""
    operators: dict[int, int | None] = {}  # for each tensor, the first operator that names it
    for draft in drafts:
        for index in draft.operands:
            operators.setdefault(index, draft.index)
    for index in (*reader.inputs, *reader.outputs):
        operators.setdefault(index, None)
    tensors: dict[int, Tensor] = {}
    problems: list[Problem] = []
    inputs = frozenset(reader.inputs)
    for index, operator in operators.items():
        if not 0 <= index < reader.tensor_count:
            continue
        try:
            record = reader.tensor(index)
            if index in inputs:  # what a caller gives is an input, even where the file calls it a variable
                record = replace(record, is_variable=False)
            restored = compression.restore(index, record)
            tensor, found = import_tensor(index, restored, reader.copied, is_input=index in inputs)
        except CorruptError as error:
            problems.append(corrupt(error, operator, f"tensor_{index}"))
            continue
        except CodingError as error:
            maker = compression.operator_of(index)
            problems.append(Problem(error.what, error.remedy, operator if maker is None else maker, record.name))
            continue
        problems += (replace(problem, operator=operator) for problem in found)
        if tensor is not None:
            tensors[index] = compression.remembered(tensor)
    return tensors, problems
