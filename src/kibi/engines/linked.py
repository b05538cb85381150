"""A model's C code, called on a processor: what an emulated core and a board have in common."""

from collections.abc import Collection, Sequence
from pathlib import Path

import numpy as np

from kibi.codegen import CompiledModel, Library
from kibi.dtypes import Array
from kibi.emulator import Call, Spent
from kibi.engines.engine import (
    LIMIT_REACHED,
    MORE_INPUT,
    PAUSED,
    STATUS,
    DeviceCore,
    entry_points,
    written_sources,
)
from kibi.engines.storage import storage_sources
from kibi.engines.ways import Ways
from kibi.errors import EmulationError, LimitError
from kibi.ops import While
from kibi.runtime import check_inputs


class CalledEngine:
    """A model's C code on a processor that has it.

    Arena, external buffers and rows are aligned as the header asks and not to more, so that code that relies on more
    fails, and figures hold for every caller. Where inputs stream, their rows are pushed one by one.

    Args:
        model: the model.
        core: the processor.
        pointer_bytes: of the processor.
        symbols: the names of the functions whose costs the processor counts.

    Raises:
        EmulationError: the core stopped.
        BoardError: a board has another core or too little memory.
    """

    def __init__(
        self, model: CompiledModel, core: DeviceCore, pointer_bytes: int, symbols: Collection[str] = ()
    ) -> None:
        self._model, self._core, self._pointer_bytes = model, core, pointer_bytes
        self._operators = self._function_labels(symbols)
        self._state = self._core.allocate("state", self.state_bytes, alignment=8)
        self._memory = self._allocated()
        self._lists = self._listed()
        kinds = [self._model.graph.tensors[tensor].type for tensor in self._model.external]
        self._external = {
            tensor: self._core.allocate(
                f"external {number}", kind.size_bytes, alignment=kind.dtype.size_bytes, is_exact=True
            )
            for number, (tensor, kind) in enumerate(zip(self._model.external, kinds, strict=True))
        }
        self._row = self._allocated_row() if self._model.arrivals else 0
        self.initialize()
        self.last: Call | None = None
        self.slices: tuple[Call, ...] = ()

    @property
    def state_bytes(self) -> int:
        """`sizeof` the model's struct."""
        return self._model.state_bytes(self._pointer_bytes)

    def run(
        self, inputs: Sequence[Array], *, slice_steps: int | None = None, instruction_limit: int = 10_000_000_000
    ) -> list[Array]:
        """Runs one inference; without outputs if an operator ended it early. `last` then holds its costs.

        Args:
            inputs: one array for each model input, of its shape and type.
            slice_steps: the row steps of a slice, for a library with slices, whose costs `slices` then holds; None: all at once.
            instruction_limit: the most instructions that each call may take.

        Raises:
            InputError: an input does not fit.
            EmulationError: the core stopped.
        """
        arrays = self.write_inputs(inputs)
        calls, self.slices = [], ()
        for number, row in self._model.arrivals:
            calls += self._in_slices(slice_steps, instruction_limit)
            if self._model.early_exits and self.call("expected_input") < 0:
                break
            calls.append(self._push(arrays[number], number, row, instruction_limit))
        calls += self._in_slices(slice_steps, instruction_limit)
        if slice_steps is None or self._model.arrivals:
            calls.append(self._call("invoke", self._state, instruction_limit=instruction_limit))
        self.last = calls.pop()
        status = self.last.signed_value
        for call in reversed(calls):
            self.last = call.then(self.last)
        return [] if status == MORE_INPUT else self.outputs()

    def write_inputs(self, inputs: Sequence[Array]) -> list[Array]:
        """Writes the inputs that do not stream where an inference reads them, and returns all of them as arrays.

        Args:
            inputs: one array for each model input, of its shape and type.

        Raises:
            InputError: an input does not fit.
        """
        graph = self._model.graph
        arrays = check_inputs(graph, inputs)
        for number, (index, array) in enumerate(zip(graph.inputs, arrays, strict=True)):
            if index not in graph.streamed_inputs:
                place = self._external.get(index) or self._call("input", self._state, number).value
                self._core.write(place, array.tobytes())
        return arrays

    def outputs(self) -> list[Array]:
        """Returns the outputs of the last inference."""
        graph = self._model.graph
        outputs: list[Array] = []
        for number, index in enumerate(graph.outputs):
            kind = graph.tensors[index].type
            data = self._core.read(self._call("output", self._state, number).value, kind.size_bytes)
            outputs.append(np.frombuffer(data, kind.dtype.numpy).reshape(kind.shape))
        return outputs

    def call(self, function: str, *arguments: int) -> int:
        """Calls one of the model's functions by its name without the prefix, on its state, and returns its status or value."""
        return self._core.call(f"{self._model.graph.name}_{function}", self._state, *arguments).signed_value

    def instructions_of(self, node: int) -> int:
        """Instructions that a node's steps took in the last run, with all that they called.

        A function that several nodes share counts for the first of them, so that the nodes add up to what ran in them.
        """
        return 0 if self.last is None or self.is_shared(node) else self.last.by_operator.get(self.label(node), 0)

    @property
    def labels(self) -> frozenset[str]:
        """The labels of nodes whose function is in the image: a compiler may have inlined others."""
        return frozenset(self._operators.values())

    def is_shared(self, node: int) -> bool:
        """True if a node before it has the same function."""
        functions = self._model.functions
        return functions.index(functions[node]) < node

    def spent_on(self, node: int) -> Spent | None:
        """Cycles of the same; None where the core has no timing table."""
        spent = None if self.last is None else self.last.spent
        if spent is None or self.is_shared(node):
            return None if spent is None else Spent()
        return spent.get(self.label(node), Spent())

    def _in_slices(self, steps: int | None, instruction_limit: int) -> list[Call]:
        """Runs what can be run, in slices; nothing without a number of steps."""
        if steps is None:
            return []
        made = [self._call("run_for", self._state, steps, instruction_limit=instruction_limit)]
        while made[-1].signed_value == PAUSED:
            made.append(self._call("run_for", self._state, steps, instruction_limit=instruction_limit))
        self.slices += tuple(made)
        return made

    def _push(self, array: Array, number: int, row: int, instruction_limit: int) -> Call:
        """Hands over one row of an input."""
        kind = self._model.graph.tensors[self._model.graph.inputs[number]].type
        self._core.write(self._row, array.reshape(kind.rows, -1)[row].tobytes())
        which = (number,) if len(self._model.graph.inputs) > 1 else ()
        return self._call("push_row", self._state, *which, self._row, instruction_limit=instruction_limit)

    @property
    def blocks(self) -> tuple[tuple[int, int], ...]:
        """Address and size of the model's struct and of its arena, or regions."""
        return ((self._state, self.state_bytes), *zip(self._memory, self._model.region_bytes, strict=True))

    def initialize(self) -> None:
        """Gives the model its memory."""
        given = self._lists or (*self._memory, *self._model.region_bytes)
        self._call("init", self._state, *given)
        for number, (tensor, block) in enumerate(self._external.items()):
            kind = self._model.graph.tensors[tensor].type
            self._call("set_external_buffer", self._state, number, block, kind.size_bytes)

    def _allocated(self) -> tuple[int, ...]:
        """Blocks for the regions, aligned exactly as the header asks."""
        names = [use.name for use in self._model.regions] or ["arena"]
        named = zip(names, self._model.region_bytes, self._model.region_alignments, strict=True)
        return tuple(self._core.allocate(name, size, alignment=each, is_exact=True) for name, size, each in named)

    def _allocated_row(self) -> int:
        """A block for the rows that are pushed, aligned exactly as their elements."""
        graph = self._model.graph
        kinds = [graph.tensors[index].type for index in graph.inputs]
        longest, alignment = max(kind.row_bytes for kind in kinds), max(kind.dtype.size_bytes for kind in kinds)
        return self._core.allocate("row", longest, alignment=alignment, writable=False, is_exact=True)

    def _listed(self) -> tuple[int, ...]:
        """Addresses of the lists of regions and of their sizes; none where there is one arena."""
        if not self._model.regions:
            return ()
        lists = []
        for name, numbers in (("regions", self._memory), ("sizes", self._model.region_bytes)):
            size = self._pointer_bytes
            lists.append(self._core.allocate(name, size * len(numbers), alignment=size))
            self._core.write(lists[-1], np.array(numbers, f"<u{size}").tobytes())
        return tuple(lists)

    def _call(self, function: str, *arguments: int, instruction_limit: int = 1_000_000) -> Call:
        name = f"{self._model.graph.name}_{function}"
        call = self._core.call(name, *arguments, operators=self._operators, instruction_limit=instruction_limit)
        if function in ("invoke", "run_for") and call.signed_value == LIMIT_REACHED:
            raise LimitError(f"a loop of {self._model.graph.source}, in C on the emulated core,", While.most_turns)
        if function not in ("input", "output"):
            self._checked(name, call)
        return call

    def _checked(self, name: str, call: Call) -> None:
        """Raises an error if a function returned one."""
        if call.signed_value not in (0, MORE_INPUT, PAUSED):
            reason = STATUS.get(call.signed_value, "unknown")
            raise EmulationError(f"{name} returned {call.signed_value} ({reason})", function=name)

    def label(self, node: int) -> str:
        """The name of a node's operator; with the node's function where several nodes come from that operator."""
        nodes = self._model.graph.nodes
        label = nodes[node].label
        is_alone = sum(each.label == label for each in nodes) == 1
        return label if is_alone else f"{label} in {self._model.functions[node]}"

    def _function_labels(self, symbols: Collection[str]) -> dict[str, str]:
        """Symbol to label; a compiler may have cloned a function under a name with a suffix."""
        nodes = range(len(self._model.functions))
        labels = {self._model.functions[node]: self.label(node) for node in nodes if not self.is_shared(node)}
        return {symbol: labels[base] for symbol in symbols if (base := symbol.partition(".")[0]) in labels}


class LinkedEngine(CalledEngine):
    """A model's C code, linked for a target and run on a processor.

    Args:
        library: written to disk, for the processor's target.
        ways: what builds the program, and what gives the processor that runs it.
        index: which of its models.
        compiler: `zig`, `gcc` or `clang`.
        level: `0`, `1`, `2`, `3` or `s`.
        sources: further C files, which include headers of the library.
        entries: functions of these to keep.
        storage: C files with the function that reads weights from slow memory; None: it copies them from a constant.

    Raises:
        ToolchainError: the compiler is missing or fails.
        EmulationError: an emulated core does not run the target's code.
        BoardError: a board has another core or too little memory.
    """

    def __init__(
        self,
        library: Library,
        ways: Ways,
        index: int = 0,
        *,
        compiler: str = "zig",
        level: str = "s",
        sources: Sequence[Path] = (),
        entries: Sequence[str] = (),
        storage: Sequence[Path] | None = None,
    ) -> None:
        model = library.models[index]
        own, folder = written_sources(library)
        with storage_sources(library, storage) as further:
            build, make_core = ways
            self.image = build(
                [*own, *sources, *further],
                library.target,
                entries=[*entry_points(model), *entries],
                compiler=compiler,
                level=level,
                includes=[folder],
            )
        core = make_core(self.image, library.target)
        super().__init__(model, core, library.target.pointer_bytes, self.image.symbols)
