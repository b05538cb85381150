"""The parts of importers of operators."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from kibi.dtypes import Array, DType
from kibi.frontends.tflite.reader import ACTIVATIONS, PADDINGS, Options
from kibi.ir import Node, Operator, Tensor, TensorType
from kibi.ops import Activation, Padding, Reshape

T = TypeVar("T")


class OptionsError(Exception):
    """An operator's options are invalid, or Kibi does not support them.

    Attributes:
        what: the fact.
        remedy: what the user can do.
    """

    def __init__(self, what: str, remedy: str) -> None:
        self.what = what
        self.remedy = remedy
        super().__init__(what)


@dataclass(frozen=True, slots=True)
class Memory:
    """A state of an operator that is no tensor of the file: the importer adds a variable for it to the graph.

    Attributes:
        operand: the operator's name for it; one of its `states`, after the inputs that the file knows.
        type: its shape and element type.
        initial: its elements before the first inference; None for zeros.
    """

    operand: str
    type: TensorType
    initial: Array | None = None


class TensorTable:
    """The tensors of a graph by index: those of the file, then those that importers add.

    Args:
        tensors: the tensors of the file that operators name.
        count: the number of tensors in the file.
        outputs: the indices of the model's outputs.
    """

    def __init__(self, tensors: Mapping[int, Tensor], count: int, outputs: Iterable[int] = ()) -> None:
        self.tensors = dict(tensors)
        self.count = count
        self.outputs = frozenset(outputs)

    def add(self, name: str, kind: TensorType, memory: Memory | None = None) -> int:
        """Adds a tensor, and returns its index. With `memory` it is a variable."""
        initial = None if memory is None else memory.initial
        index, self.count = self.count, self.count + 1
        self.tensors[index] = Tensor(index, name, kind, is_variable=memory is not None, initial=initial)
        return index

    def constant(self, name: str, data: Array) -> int:
        """Adds a constant without quantization, and returns its index."""
        data.flags.writeable = False
        index = self.add(name, TensorType(data.shape, DType.of(data)))
        self.tensors[index] = replace(self.tensors[index], data=data)
        return index


@dataclass(frozen=True, slots=True)
class Importer:
    """The conversion of one of the schema's operators to one of Kibi's.

    Attributes:
        make: the operator from its options.
        options_type: the schema's table of options; None where the operator has none that matter.
        check: looks at options beside the input tensors, None for those left out, and raises `OptionsError`.
        part: where there are several outputs, from the operator to the one that makes output `number` of `count`; it raises
            `OptionsError` for another count than it should be.
        order: where the schema has the inputs in another order than the operator, or more of them, their places there.
        memories: the states of the operator that are no tensors of the file, from the operator, its input tensors, None for
            those left out, and its output tensors.
        settled: from the operator, its input tensors and its output tensors to the operator, where options alone do not say all.
        remembers: the operator's name for the memory of which its output is the next version, stored in the same bytes.
        takes_handle: true if the first input is the handle of a variable, which is none of the operator's.
        operands: names of the inputs and of the outputs in the file, where they do not follow from the operator's.
        instead: from what `nodes` takes, to nodes of other operators that replace it;
            none where nothing replaces it.
        ignores: the place of an input that nobody reads, so that it may be a tensor without elements.
    """

    make: Callable[[Options], Operator]
    options_type: str | None = None
    check: Callable[[Options, Sequence[Tensor | None]], None] | None = None
    part: Callable[[Operator, int, int], Operator] | None = None
    order: tuple[int, ...] | None = None
    memories: Callable[[Operator, Sequence[Tensor | None], Sequence[Tensor]], Sequence[Memory]] | None = None
    settled: Callable[[Operator, Sequence[Tensor | None], Sequence[Tensor]], Operator] | None = None
    remembers: str = ""
    takes_handle: bool = False
    operands: tuple[tuple[str, ...], tuple[str, ...]] | None = None
    instead: (
        Callable[[Operator, tuple[int | None, ...], tuple[int, ...], int, TensorTable], tuple[Node, ...]] | None
    ) = None
    ignores: int | None = None

    def ordered(self, inputs: Sequence[T]) -> tuple[T, ...]:
        """The inputs in the operator's order; as they are where there are too many for that. The last may be left out."""
        if self.order is None or len(inputs) > 1 + max(self.order):
            return tuple(inputs)
        return tuple(inputs[place] for place in self.order if place < len(inputs))

    def arity_problem(self, op: Operator, inputs: int, outputs: int) -> str:
        """Returns what is wrong with the file's numbers of inputs and outputs; empty if they are right."""
        takes, gives = self.operands or (self._file_inputs(op), op.outputs)
        required = 1 + max((place for place, name in enumerate(takes) if not name.endswith("?")), default=-1)
        made = sum(not name.endswith("?") for name in gives)
        has_any_outputs = outputs > 0 and self.part is not None
        if required <= inputs <= len(takes) and (has_any_outputs or made <= outputs <= len(gives)):
            return ""
        counts = f"{inputs} inputs and {outputs} outputs"
        return f"{op.name} takes {', '.join(takes)} and gives {', '.join(gives) or 'nothing'}; here are {counts}"

    def _file_inputs(self, op: Operator) -> tuple[str, ...]:
        """The operator's names for the inputs that a file has, in the schema's order."""
        added = () if self.memories is None else (*op.states, self.remembers)
        names = tuple(name for name in op.inputs if name.rstrip("?") not in added)
        if self.order is None:
            return names
        placed = dict(zip(self.order, names, strict=False))
        return tuple(placed.get(place, "ignored") for place in range(1 + max(self.order)))

    def nodes(
        self,
        op: Operator,
        inputs: tuple[int | None, ...],
        outputs: tuple[int, ...],
        source: int,
        table: TensorTable,
    ) -> tuple[Node, ...]:
        """The nodes of an operator: one, or one for each of several outputs where `part` says how.

        Args:
            op: what `make` gave.
            inputs: tensor indices in the schema's order; None for an optional input that is left out.
            outputs: tensor indices.
            source: the operator's index in the file.
            table: the graph's tensors, to which memories are added.

        Raises:
            OptionsError: it should have another number of outputs.
        """
        inputs = self.ordered(inputs)
        if self.settled is not None:
            given = [None if index is None else table.tensors[index] for index in inputs]
            op = self.settled(op, given, [table.tensors[index] for index in outputs])
        others = () if self.instead is None else self.instead(op, inputs, outputs, source, table)
        if others:
            return others
        inputs = self._with_memories(op, inputs, outputs, source, table)
        if self.remembers:
            return _remembered(op, self.remembers, inputs, outputs, source, table)
        if self.part is None or not outputs:
            return (Node(op, inputs, outputs, source),)
        parts = (self.part(op, number, len(outputs)) for number in range(len(outputs)))
        return tuple(Node(each, inputs, (output,), source) for each, output in zip(parts, outputs, strict=True))

    def _with_memories(
        self, op: Operator, inputs: tuple[int | None, ...], outputs: tuple[int, ...], source: int, table: TensorTable
    ) -> tuple[int | None, ...]:
        """The inputs with a variable for each memory, at its place among the operator's inputs."""
        if self.memories is None:
            return inputs
        given = [None if index is None else table.tensors[index] for index in inputs]
        places = {name.rstrip("?"): place for place, name in enumerate(op.inputs)}
        every = [*inputs, *(None,) * (len(op.inputs) - len(inputs))]
        for memory in self.memories(op, given, [table.tensors[index] for index in outputs]):
            name = f"{memory.operand} of operator {source} ({op.name})"
            every[places[memory.operand]] = table.add(name, memory.type, memory)
        return tuple(every)


def _remembered(
    op: Operator, memory: str, inputs: tuple[int | None, ...], outputs: tuple[int, ...], source: int, table: TensorTable
) -> tuple[Node, ...]:
    """The node whose output is the next version of one of its inputs; an output of the model is a copy of that."""
    before = inputs[[name.rstrip("?") for name in op.inputs].index(memory)]
    made = table.tensors[outputs[0]]
    table.tensors[made.index] = replace(made, is_variable=False)
    if made.index not in table.outputs:
        table.tensors[made.index] = replace(made, is_variable=False, updates=before)
        return (Node(op, inputs, outputs, source),)
    version = table.add(f"{made.name}, next", made.type)
    table.tensors[version] = replace(table.tensors[version], updates=before)
    return (Node(op, inputs, (version,), source), Node(Reshape(), (version,), outputs, source))


def padding_of(options: Options) -> Padding:
    """The padding scheme.

    Raises:
        OptionsError: the schema has no such scheme.
    """
    code = options.integer("Padding")
    if code not in PADDINGS:
        raise OptionsError(f"padding scheme {code} is unknown", "Use SAME or VALID padding")
    return Padding[PADDINGS[code]]


def activation_of(options: Options) -> Activation:
    """The fused activation.

    Raises:
        OptionsError: it is none that Kibi, or TFLM, fuses.
    """
    code = options.integer("FusedActivationFunction")
    name = ACTIVATIONS.get(code, str(code))
    if name not in Activation.__members__:
        remedy = f"Use one of {', '.join(Activation.__members__)}, or make it an operator of its own"
        raise OptionsError(f"fused activation {name} is not supported", remedy)
    return Activation[name]


def pair(options: Options, what: str, height: str, width: str) -> tuple[int, int]:
    """Two sizes of at least 1, height first.

    Raises:
        OptionsError: one is less.
    """
    pair = options.integer(height), options.integer(width)
    if min(pair) < 1:
        raise OptionsError(
            f"{what} [{pair[0]}, {pair[1]}] is less than 1", "Export the model again; the file is damaged"
        )
    return pair


def plain(operator: Callable[[], Operator]) -> Importer:
    """An operator without attributes."""
    return Importer(lambda _: operator())
