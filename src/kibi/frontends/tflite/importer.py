"""Converts a file's records to a verified graph; all problems are collected and raised once."""

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from kibi.dtypes import Array
from kibi.errors import ModelError, Problem
from kibi.frontends.naming import identifier
from kibi.frontends.tflite.compression import read_compression
from kibi.frontends.tflite.drafts import GET_AGAIN, Draft, corrupt, index_problems, read_operators, read_tensors
from kibi.frontends.tflite.flatbuffer import CorruptError, OverlapError
from kibi.frontends.tflite.folding import fold
from kibi.frontends.tflite.handles import Handles, Room, first_values
from kibi.frontends.tflite.importers import OptionsError, TensorTable
from kibi.frontends.tflite.int4 import int4_problems
from kibi.frontends.tflite.layers import RefusedLayers
from kibi.frontends.tflite.overwriting import written_once
from kibi.frontends.tflite.passthrough import with_copies
from kibi.frontends.tflite.reader import ModelReader
from kibi.frontends.tflite.signatures import by_signature, listed
from kibi.frontends.tflite.tensors import unused
from kibi.frontends.tflite.variables import Access, Key, weave
from kibi.ir import Graph, Node, Tensor, verify
from kibi.ops import as_body

_SCHEMA_VERSION = 3
_MOST_LEVELS = 16
"""The depth of calls from subgraph to subgraph. Many functions visit subgraphs by recursion; Python allows some 1,000 frames."""


def import_model(data: bytes, source: str, signature: str | None = None) -> Graph:
    """The graph of a `.tflite` file's contents.

    Args:
        data: the contents of the file.
        source: the file's name, for messages and the graph's name.
        signature: the entry point whose graph is wanted; None: the first graph, which TFLM runs.

    Raises:
        ModelError: with all problems that were found.
    """
    try:
        reader = ModelReader(data)
        graphs = _Subgraphs(reader, source)
        if signature is not None:
            return by_signature(graphs.graph, reader.signatures(), signature, source)
        return replace(graphs.graph(0), signatures=listed(reader))
    except (CorruptError, OverlapError) as error:
        raise ModelError(source, [corrupt(error)]) from error
    except _TooDeepError as error:
        raise ModelError(source, [_too_deep()]) from error


def read_parts(data: bytes, source: str) -> tuple[dict[int, Tensor], list[Node]]:
    """Returns the tensors by index, and the nodes in order, of a file's first graph, whose shapes may contradict each other.

    Raises:
        ModelError: with all other problems of tensors and operators.
    """
    try:
        reader = ModelReader(data)
        parts = _Parts.of(reader, _Subgraphs(reader, source))
    except (CorruptError, OverlapError) as error:
        raise ModelError(source, [corrupt(error)]) from error
    except _TooDeepError as error:
        raise ModelError(source, [_too_deep()]) from error
    if parts.problems:
        raise ModelError(source, parts.problems)
    return parts.tensors, [node for node in parts.nodes if isinstance(node, Node)]


def _too_deep() -> Problem:
    what = f"IF and WHILE are nested more than {_MOST_LEVELS - 1} deep, which is not supported"
    return Problem(what, "Export the model with control flow that is nested less deep")


class _TooDeepError(Exception):
    """Subgraphs call one another too many levels deep; the whole file is refused."""


class _Subgraphs:
    """The subgraphs of a file as graphs, each imported when it is first asked for."""

    def __init__(self, reader: ModelReader, source: str) -> None:
        self._reader = reader
        self._source = source
        self._done: dict[int, Graph] = {}
        self._refused: set[int] = set()
        self._open: list[int] = []
        """The subgraphs that are being imported: each calls the next."""
        self._levels: dict[int, int] = {}
        """The depth of nested calls by subgraph, as known so far: 1 without calls."""
        self._bodies: dict[int, Graph] = {}

    def graph(self, number: int) -> Graph:
        """A subgraph.

        Raises:
            ModelError: with all problems that were found in it, or it has some that were raised before.
            CorruptError: no graph has that number, or the graph calls itself.
            _TooDeepError: calls are nested too deep.
        """
        if number in self._open:
            raise CorruptError(f"subgraph {number} calls itself")
        if number in self._refused:
            what = f"subgraph {number} has problems, which are listed where it is used first"
            raise ModelError(self._source, [Problem(what)])
        if len(self._open) + self._levels.get(number, 1) > _MOST_LEVELS:
            raise _TooDeepError
        if number not in self._done:
            self._import(number)
        if self._open:
            caller = self._open[-1]
            self._levels[caller] = max(self._levels[caller], 1 + self._levels[number])
        return self._done[number]

    def _import(self, number: int) -> None:
        reader = self._reader.subgraph(number) if number else self._reader
        source = f"{self._source}, subgraph {number}" if number else self._source
        self._open.append(number)
        self._levels[number] = 1
        try:
            self._done[number] = _import(reader, source, self, is_main=not number)
        except ModelError:
            self._refused.add(number)
            raise
        finally:
            self._open.pop()

    def body(self, number: int) -> Graph:
        """A subgraph in the form in which operators run it: one object, however many run it.

        Raises:
            ModelError: with all problems that were found in it.
            CorruptError: no graph has that number, or the graph calls itself.
        """
        if number not in self._bodies:
            self._bodies[number] = as_body(self.graph(number))
        return self._bodies[number]

    def first_values(self, handles: Handles) -> tuple[dict[Key, Array], list[Problem]]:
        """Returns the variables' values from the subgraphs that are called once, and the problems of these subgraphs."""
        values: dict[Key, Array] = {}
        problems: list[Problem] = []
        room = Room.beside(self._reader.size_bytes)
        for index, number in handles.calls:
            parts = _Parts.of(self._reader.subgraph(number), self)
            found = parts.problems or list(first_values(self._source, parts.tensors, parts.nodes, values, room))
            problems += (replace(each, operator=index) for each in found)
        return values, problems


@dataclass(frozen=True, slots=True)
class _Parts:
    """The valid parts of a subgraph.

    Attributes:
        tensors: by index.
        count: the number of tensors, including those that importers have added.
        nodes: in the file's order.
        outputs: tensor indices.
        handles: of variables.
        problems: what is not sound.
    """

    tensors: dict[int, Tensor]
    count: int
    nodes: list[Node | Access]
    outputs: tuple[int, ...]
    handles: Handles
    problems: list[Problem]

    @staticmethod
    def of(reader: ModelReader, graphs: _Subgraphs) -> "_Parts":
        """Returns the parts of the subgraph that the reader reads."""
        compression = read_compression(reader)
        drafts, handles, operator_problems = read_operators(reader, compression, graphs.body)
        misled = index_problems(reader, drafts)
        tensors, tensor_problems = read_tensors(reader, drafts, compression)
        table = TensorTable(tensors, reader.tensor_count, reader.outputs)
        once = written_once(drafts, reader.inputs, reader.outputs, table)
        nodes, operand_problems = _connect(once.drafts, table, handles)
        problems = [*operator_problems, *misled, *tensor_problems, *once.problems, *operand_problems]
        return _Parts(table.tensors, table.count, nodes, once.outputs, handles, problems)

    @property
    def accesses(self) -> list[Access]:
        """Reads and assignments of variables."""
        return [each for each in self.nodes if isinstance(each, Access)]


def _import(reader: ModelReader, source: str, graphs: _Subgraphs, *, is_main: bool) -> Graph:
    parts = _Parts.of(reader, graphs)
    problems = [*_model_problems(reader), *parts.problems]
    if is_main:
        initial, found = graphs.first_values(parts.handles)
        problems += [*found, *parts.handles.order_problems(parts.accesses)]
    else:
        initial = {}
        problems += _state_problems(parts)
    woven = weave(parts.tensors, parts.nodes, parts.outputs, initial, parts.count)
    problems += woven.problems
    tensors, nodes = fold(source, woven.tensors, woven.nodes, parts.outputs)
    if problems:
        made = {*reader.inputs, *(index for node in nodes for index in node.outputs)}
        problems += _rule_problems(source, (node for node in nodes if not _waits(node, tensors, made)), tensors)
        raise ModelError(source, list(dict.fromkeys(problems)))
    count = max([reader.tensor_count, *(index + 1 for index in tensors)])
    tensors, nodes, outputs = with_copies(tensors, nodes, parts.outputs, count)
    count = max([count, *(index + 1 for index in tensors)])
    every = tuple(tensors.get(index) or unused(index) for index in range(count))
    graph = verify(Graph(identifier(source), source, every, tuple(nodes), reader.inputs, outputs))
    return replace(graph, nodes=tuple(_without_unread_parts(graph)))


def _state_problems(parts: _Parts) -> Iterator[Problem]:
    """Variables in a subgraph that another operator calls."""
    used = [access.node.source for access in parts.accesses] + [index for index, _ in parts.handles.calls]
    if used:
        what = "a variable is read or assigned in a subgraph that an operator calls, which is not supported"
        yield Problem(what, "Use each variable in the main subgraph alone", min(used))


def _without_unread_parts(graph: Graph) -> Iterator[Node]:
    """Yields the nodes, without parts that nobody reads: a part makes one of several outputs of an operator.

    All parts were verified before. If nobody reads any part, the first one stays, so that the operator is still visible.
    """
    used = {*graph.outputs, *(index for node in graph.nodes for index in node.inputs)}
    for _, parts in groupby(graph.nodes, lambda node: node.source):
        nodes = list(parts)
        yield from [node for node in nodes if used.intersection(node.outputs)] or nodes[:1]


def _model_problems(reader: ModelReader) -> Iterator[Problem]:
    """Yields the problems of the complete model."""
    if reader.version != _SCHEMA_VERSION:
        what = f"the schema's version is {reader.version}; version {_SCHEMA_VERSION} is supported"
        yield Problem(what, "Convert the model with a converter of TensorFlow 1.14 or newer")
    if reader.subgraph_count == 0:
        yield Problem("the model has no subgraph, so it computes nothing", GET_AGAIN)


def _connect(
    drafts: Iterable[Draft], table: TensorTable, handles: Handles
) -> tuple[list[Node | Access], list[Problem]]:
    """Returns the nodes of operators whose tensors are all valid, and the problems of the others."""
    tensors = table.tensors
    nodes: list[Node | Access] = []
    problems: list[Problem] = []
    refused = RefusedLayers()
    for draft in drafts:
        arity = draft.importer.arity_problem(draft.op, len(draft.record.inputs), len(draft.record.outputs))
        if arity:
            problems.append(Problem(arity, GET_AGAIN, draft.index))
        elif all(index in tensors for index in draft.operands):
            inputs = [None if index is None else tensors[index] for index in draft.inputs]
            operands = dict(zip(draft.op.inputs, draft.importer.ordered(inputs), strict=False))
            found = list(_operand_problems(draft, inputs))
            problems += found
            is_refused = refused.add(draft.index, draft.record.name, operands.get("input"), operands.get("filter"))
            if draft.importer.takes_handle:
                access = handles.access(draft.record, Node(draft.op, draft.inputs, draft.record.outputs, draft.index))
                if isinstance(access, Problem):
                    problems.append(access)
                else:
                    nodes.append(access)
            elif not found and not is_refused:
                try:
                    nodes += draft.importer.nodes(draft.op, draft.inputs, draft.record.outputs, draft.index, table)
                except OptionsError as error:
                    problems.append(Problem(f"{draft.record.name}: {error.what}", error.remedy, draft.index))
    return nodes, [*refused.problems(), *problems]


def _operand_problems(draft: Draft, inputs: Sequence[Tensor | None]) -> Iterator[Problem]:
    """Yields the problems of operands that only the file shows; the operator's own rule does not know files and converters."""
    operands = dict(zip(draft.op.inputs, draft.importer.ordered(inputs), strict=False))
    for what, remedy, name in int4_problems(draft.record.name, operands):
        yield Problem(f"{draft.record.name}: {what}", remedy, draft.index, name)
    check = draft.importer.check
    try:
        if check is not None:
            check(draft.options, inputs)
    except CorruptError as error:
        yield corrupt(error, operator=draft.index)
    except OptionsError as error:
        yield Problem(f"{draft.record.name}: {error.what}", error.remedy, draft.index)


def _waits(node: Node, tensors: Mapping[int, Tensor], made: Container[int]) -> bool:
    """True if an operand that must be constant comes from an operator with a problem: then it is no further problem."""
    packed = zip((name.rstrip("?") not in node.op.row_inputs for name in node.op.inputs), node.inputs, strict=False)
    return any(
        must and index is not None and not tensors[index].is_constant and index not in made for must, index in packed
    )


def _rule_problems(source: str, nodes: Iterable[Node], tensors: Mapping[int, Tensor]) -> Iterator[Problem]:
    """Yields the violations of operators' rules in a model that has other problems, too.

    Such a model cannot be verified as one graph; each node is verified as its own graph.
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
