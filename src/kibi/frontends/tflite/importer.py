"""From a file's records to a verified graph; all problems are collected and raised once."""

from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from kibi.dtypes import DType
from kibi.errors import ModelError, Problem
from kibi.frontends.naming import identifier
from kibi.frontends.tflite.flatbuffer import CorruptError, OverlapError
from kibi.frontends.tflite.folding import fold
from kibi.frontends.tflite.importers import (
    CUSTOM,
    IMPORTERS,
    Importer,
    OptionsError,
    TensorTable,
    importer_of,
    remedy_for,
)
from kibi.frontends.tflite.reader import ModelReader, OperatorRecord, Options
from kibi.frontends.tflite.tensors import import_tensor, unused
from kibi.ir import Graph, Node, Operator, Tensor, verify

_SCHEMA_VERSION = 3
# TFLM `compression.h`: the name of the metadata that say how buffers are compressed.
_COMPRESSION = "COMPRESSION_METADATA"
_GET_AGAIN = "Export the model again, or download it again"
# What the schema writes for an optional input that is not there.
_LEFT_OUT = -1


@dataclass(frozen=True, slots=True)
class _Draft:
    """An operator that was made; its operands are not checked."""

    index: int
    op: Operator
    record: OperatorRecord
    options: Options
    importer: Importer

    @property
    def inputs(self) -> tuple[int | None, ...]:
        """Tensor indices; None for an optional input that is left out."""
        return tuple(None if index == _LEFT_OUT else index for index in self.record.inputs)

    @property
    def operands(self) -> tuple[int, ...]:
        """Tensor indices of the inputs that are there, and of the outputs."""
        return (*(index for index in self.inputs if index is not None), *self.record.outputs)


def import_model(data: bytes, source: str) -> Graph:
    """The graph of a `.tflite` file's contents.

    Args:
        data: the whole file.
        source: the file's name, for messages and the graph's name.

    Raises:
        ModelError: with all problems that were found.
    """
    try:
        return _Subgraphs(ModelReader(data), source).graph(0)
    except (CorruptError, OverlapError) as error:
        raise ModelError(source, [_corrupt(error)]) from error


class _Subgraphs:
    """The subgraphs of a file as graphs, each imported when it is first asked for."""

    def __init__(self, reader: ModelReader, source: str) -> None:
        self._reader = reader
        self._source = source
        self._done: dict[int, Graph | None] = {}

    def graph(self, number: int) -> Graph:
        """A subgraph.

        Raises:
            ModelError: with all problems that were found in it.
            CorruptError: there is none of that number, or it calls itself.
        """
        if number not in self._done:
            self._done[number] = None
            reader = self._reader.subgraph(number) if number else self._reader
            source = f"{self._source}, subgraph {number}" if number else self._source
            self._done[number] = _import(reader, source, self.graph)
        graph = self._done[number]
        if graph is None:
            raise CorruptError(f"subgraph {number} calls itself")
        return graph


def _import(reader: ModelReader, source: str, graphs: Callable[[int], Graph]) -> Graph:
    if _COMPRESSION in reader.metadata_names():
        # Its buffers hold indices in place of weights; there is no use in judging them.
        what = "the model's weights are compressed for TFLM, which is not supported"
        raise ModelError(source, [Problem(what, "Use the model as it was before compression")])
    drafts, operator_problems = _read_operators(reader, graphs)
    index_problems = list(_index_problems(reader, drafts))
    tensors, tensor_problems = _read_tensors(reader, drafts)
    table = TensorTable(tensors, reader.tensor_count)
    nodes, operand_problems = _connect(drafts, table)
    tensors, nodes = fold(source, table.tensors, nodes, reader.outputs)
    problems = [*_model_problems(reader), *operator_problems, *index_problems, *tensor_problems, *operand_problems]
    if problems:
        made = {*reader.inputs, *(index for node in nodes for index in node.outputs)}
        problems += _rule_problems(source, (node for node in nodes if not _waits(node, tensors, made)), tensors)
        raise ModelError(source, list(dict.fromkeys(problems)))
    every = tuple(tensors.get(index) or unused(index) for index in range(table.count))
    graph = verify(Graph(identifier(source), source, every, tuple(nodes), reader.inputs, reader.outputs))
    return replace(graph, nodes=tuple(_without_unread_parts(graph)))


def _without_unread_parts(graph: Graph) -> Iterator[Node]:
    """The nodes but those that make one of several outputs of an operator, and one that nobody reads.

    All were verified. Where nobody reads any, the first one stays, so that the operator is still there to be seen.
    """
    used = {*graph.outputs, *(index for node in graph.nodes for index in node.inputs)}
    for _, parts in groupby(graph.nodes, lambda node: node.source):
        nodes = list(parts)
        yield from [node for node in nodes if used.intersection(node.outputs)] or nodes[:1]


def _corrupt(error: CorruptError | OverlapError, operator: int | None = None, tensor: str | None = None) -> Problem:
    return Problem(f"the flatbuffer is corrupt: {error}", _GET_AGAIN, operator, tensor)


def _model_problems(reader: ModelReader) -> Iterator[Problem]:
    """Problems of the model as a whole."""
    if reader.version != _SCHEMA_VERSION:
        what = f"the schema's version is {reader.version}; version {_SCHEMA_VERSION} is supported"
        yield Problem(what, "Convert the model with a converter of TensorFlow 1.14 or newer")
    if reader.subgraph_count == 0:
        yield Problem("the model has no subgraph, so it computes nothing", _GET_AGAIN)


def _read_operators(reader: ModelReader, graphs: Callable[[int], Graph]) -> tuple[list[_Draft], list[Problem]]:
    """The operators that could be made, and what is wrong with the others."""
    drafts: list[_Draft] = []
    problems: list[Problem] = []
    unsupported: dict[str, list[int]] = {}
    for index in range(reader.operator_count):
        try:
            record = reader.operator(index)
        except CorruptError as error:
            problems.append(_corrupt(error, operator=index))
            continue
        try:
            importer = importer_of(record.name)
            if importer is None:
                unsupported.setdefault(record.name, []).append(index)
                continue
            options = reader.options(record, importer.options_type, graphs)
            drafts.append(_Draft(index, importer.make(options), record, options, importer))
        except CorruptError as error:
            problems.append(_corrupt(error, operator=index))
        except OptionsError as error:
            problems.append(Problem(f"{record.name}: {error.what}", error.remedy, index))
        except ModelError as error:
            problems += (
                replace(each, what=f"{record.name}: in a subgraph: {each.what}", operator=index)
                for each in error.problems
            )
    return drafts, [*_unsupported_problems(unsupported), *problems]


def _unsupported_problems(unsupported: Mapping[str, Sequence[int]]) -> Iterator[Problem]:
    """One for each kind of operator, where it first is; the last says what is supported."""
    for position, (name, indices) in enumerate(unsupported.items(), 1):
        count = "" if len(indices) == 1 else f" (the model has {len(indices)} of them)"
        supported = f"Supported operators: {', '.join([*IMPORTERS, *CUSTOM])}" if position == len(unsupported) else ""
        remedy = ". ".join(filter(None, [supported, remedy_for(name)]))
        yield Problem(f"{name} is not supported{count}", remedy, indices[0])


def _index_problems(reader: ModelReader, drafts: Iterable[_Draft]) -> Iterator[Problem]:
    """Tensor indices that lead nowhere."""
    count = reader.tensor_count
    for kind, indices in (("input", reader.inputs), ("output", reader.outputs)):
        for index in indices:
            if not 0 <= index < count:
                yield Problem(f"an {kind} of the model is tensor {index}, but there are {count} tensors", _GET_AGAIN)
    for draft in drafts:
        for index in draft.operands:
            if not 0 <= index < count:
                what = f"{draft.record.name}: an operand is tensor {index}, but there are {count} tensors"
                yield Problem(what, _GET_AGAIN, draft.index)


def _read_tensors(reader: ModelReader, drafts: Iterable[_Draft]) -> tuple[dict[int, Tensor], list[Problem]]:
    """The tensors that the model's inputs, outputs and supported operators name, and what is wrong with the others."""
    operators: dict[int, int | None] = {}  # for each tensor, the first operator that names it
    for draft in drafts:
        for index in draft.operands:
            operators.setdefault(index, draft.index)
    for index in (*reader.inputs, *reader.outputs):
        operators.setdefault(index, None)
    tensors: dict[int, Tensor] = {}
    problems: list[Problem] = []
    for index, operator in operators.items():
        if not 0 <= index < reader.tensor_count:
            continue
        try:
            tensor, found = import_tensor(index, reader.tensor(index), reader.copied)
        except CorruptError as error:
            problems.append(_corrupt(error, operator, f"tensor_{index}"))
            continue
        problems += (replace(problem, operator=operator) for problem in found)
        if tensor is not None:
            tensors[index] = tensor
    return tensors, problems


def _connect(drafts: Iterable[_Draft], table: TensorTable) -> tuple[list[Node], list[Problem]]:
    """The nodes of the operators whose tensors are all sound, and what is wrong with the others."""
    tensors = table.tensors
    nodes: list[Node] = []
    problems: list[Problem] = []
    for draft in drafts:
        if all(index in tensors for index in draft.operands):
            found = list(
                _operand_problems(draft, [None if index is None else tensors[index] for index in draft.inputs])
            )
            problems += found
            if not found:
                try:
                    nodes += draft.importer.nodes(draft.op, draft.inputs, draft.record.outputs, draft.index, table)
                except OptionsError as error:
                    problems.append(Problem(f"{draft.record.name}: {error.what}", error.remedy, draft.index))
    return nodes, problems


def _operand_problems(draft: _Draft, inputs: Sequence[Tensor | None]) -> Iterator[Problem]:
    """What is wrong with operands beside the operator's own rule, which knows nothing of files and converters."""
    operands = dict(zip(draft.op.inputs, inputs, strict=False))
    first, weights = operands.get("input"), operands.get("filter")
    if first and weights and first.type.dtype is DType.F32 and weights.type.dtype.is_integer:
        types = f"{first.type.dtype} activations, {weights.type.dtype} weights"
        what = f"{draft.record.name}: a hybrid model ({types}) is not supported"
        remedy = "Quantize the activations as well, with a representative dataset"
        yield Problem(what, remedy, draft.index, weights.name)
    check = draft.importer.check
    try:
        if check is not None:
            check(draft.options, inputs)
    except CorruptError as error:
        yield _corrupt(error, operator=draft.index)
    except OptionsError as error:
        yield Problem(f"{draft.record.name}: {error.what}", error.remedy, draft.index)


def _waits(node: Node, tensors: Mapping[int, Tensor], made: Container[int]) -> bool:
    """Whether what must be a constant comes from an operator that is a problem already: this one is none of its own."""
    packed = zip((name.rstrip("?") not in node.op.row_inputs for name in node.op.inputs), node.inputs, strict=False)
    return any(
        must and index is not None and not tensors[index].is_constant and index not in made for must, index in packed
    )


def _rule_problems(source: str, nodes: Iterable[Node], tensors: Mapping[int, Tensor]) -> Iterator[Problem]:
    """What breaks an operator's rule in a model that has other problems too.

    The whole cannot be verified then; each node is, as a graph of its own.
    """
    own = {index for index, tensor in tensors.items() if tensor.is_constant or tensor.is_variable}
    for node in nodes:
        given = [index for index in node.inputs if index is not None]
        place = {index: position for position, index in enumerate(dict.fromkeys((*given, *node.outputs)))}
        inputs = tuple(None if index is None else place[index] for index in node.inputs)
        outputs = tuple(place[index] for index in node.outputs)
        alone = tuple(replace(tensors[index], index=position) for index, position in place.items())
        free = tuple(dict.fromkeys(place[index] for index in given if index not in own))
        try:
            verify(Graph("node", source, alone, (Node(node.op, inputs, outputs, node.source),), free, outputs))
        except ModelError as error:
            yield from error.problems
