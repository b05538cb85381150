"""The C library on an emulated core: the same calls, counted and guarded."""

from collections.abc import Sequence

import numpy as np

from kibi.codegen import Library
from kibi.dtypes import Array
from kibi.emulator import Call, Core
from kibi.engines.engine import LIMIT_REACHED, MORE_INPUT, PAUSED, STATUS, entry_points, written_sources
from kibi.errors import EmulationError, LimitError
from kibi.ops import While
from kibi.runtime import check_inputs
from kibi.toolchain import Image, build_image


class DeviceEngine:
    """A model's C code, linked for a target and run on its emulated core.

    Only the arena, the state, external buffers and the stack can be written; anything else stops the run with the function
    named. Where inputs stream, their rows are pushed one by one.

    Args:
        library: written to disk, for a target that is emulated.
        index: which of its models.
        compiler: `zig` or `gcc`.
        level: `0`, `1`, `2`, `3` or `s`.

    Raises:
        ToolchainError: the compiler is missing or fails.
        EmulationError: the target is not emulated.
    """

    def __init__(self, library: Library, index: int = 0, *, compiler: str = "zig", level: str = "s") -> None:
        self._model = library.models[index]
        sources, folder = written_sources(library)
        self.image: Image = build_image(
            sources,
            library.target,
            entries=entry_points(self._model),
            compiler=compiler,
            level=level,
            includes=[folder],
        )
        self._core = Core(self.image, library.target)
        self._operators = self._function_labels()
        self._state = self._core.allocate("state", self.state_bytes, alignment=8)
        self._initialize(library.target.arena_alignment_bytes)
        self._external = {tensor: self._external_buffer(number) for number, tensor in enumerate(self._model.external)}
        longest = max(self._model.graph.tensors[index].type.row_bytes for index in self._model.graph.inputs)
        self._row = self._core.allocate("row", longest, alignment=8, writable=False) if self._model.arrivals else 0
        self.last: Call | None = None
        self.slices: tuple[Call, ...] = ()

    @property
    def state_bytes(self) -> int:
        """`sizeof` the model's struct."""
        return self._model.state_bytes()

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
        graph = self._model.graph
        arrays = check_inputs(graph, inputs)
        for number, (index, array) in enumerate(zip(graph.inputs, arrays, strict=True)):
            if index not in graph.streamed_inputs:
                place = self._external.get(index) or self._call("input", self._state, number).value
                self._core.write(place, array.tobytes())
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
        outputs: list[Array] = []
        if status == MORE_INPUT:
            return outputs
        for number, index in enumerate(graph.outputs):
            kind = graph.tensors[index].type
            data = self._core.read(self._call("output", self._state, number).value, kind.size_bytes)
            outputs.append(np.frombuffer(data, kind.dtype.numpy).reshape(kind.shape))
        return outputs

    def call(self, function: str, *arguments: int) -> int:
        """Calls one of the model's functions by its name without the prefix, on its state, and returns its status or value."""
        return self._core.call(f"{self._model.graph.name}_{function}", self._state, *arguments).signed_value

    def instructions_of(self, node: int) -> int:
        """Instructions that a node's steps took in the last run, with all that they called."""
        return 0 if self.last is None else self.last.by_operator.get(self._label(node), 0)

    def _in_slices(self, steps: int | None, instruction_limit: int) -> list[Call]:
        """Runs what can be run, in slices; nothing without a number of steps."""
        if steps is None:
            return []
        made = [self._call("run_for", self._state, steps, instruction_limit=instruction_limit)]
        while made[-1].value == PAUSED:
            made.append(self._call("run_for", self._state, steps, instruction_limit=instruction_limit))
        self.slices += tuple(made)
        return made

    def _push(self, array: Array, number: int, row: int, instruction_limit: int) -> Call:
        """Hands over one row of an input."""
        kind = self._model.graph.tensors[self._model.graph.inputs[number]].type
        self._core.write(self._row, array.reshape(kind.rows, -1)[row].tobytes())
        which = (number,) if len(self._model.graph.inputs) > 1 else ()
        return self._call("push_row", self._state, *which, self._row, instruction_limit=instruction_limit)

    def _initialize(self, arena_alignment: int) -> None:
        """Allocates blocks for the regions, aligned exactly as the library asks: code that relies on more alignment fails."""
        plan = self._model.plan
        alignment = max(
            (arena_alignment, 4 if self._model.extras.lease else 1, *(buffer.alignment for buffer in plan.buffers))
        )
        regions = self._model.regions
        if not regions:
            arena = self._core.allocate("arena", self._model.arena_bytes, alignment=alignment)
            self._call("init", self._state, arena, self._model.arena_bytes)
            return
        sizes = self._model.region_bytes
        named = zip(regions, sizes, strict=True)
        blocks = [self._core.allocate(use.name, size, alignment=alignment) for use, size in named]
        lists = []
        for name, numbers in (("regions", blocks), ("sizes", sizes)):
            lists.append(self._core.allocate(name, 4 * len(numbers), alignment=4))
            self._core.write(lists[-1], np.array(numbers, np.uint32).tobytes())
        self._call("init", self._state, *lists)

    def _external_buffer(self, number: int) -> int:
        """Returns the address of a block for a tensor in an external buffer."""
        kind = self._model.graph.tensors[self._model.external[number]].type
        block = self._core.allocate(f"external {number}", kind.size_bytes, alignment=kind.dtype.size_bytes)
        self._call("set_external_buffer", self._state, number, block, kind.size_bytes)
        return block

    def _call(self, function: str, *arguments: int, instruction_limit: int = 1_000_000) -> Call:
        name = f"{self._model.graph.name}_{function}"
        call = self._core.call(name, *arguments, operators=self._operators, instruction_limit=instruction_limit)
        if function in ("invoke", "run_for") and call.signed_value == LIMIT_REACHED:
            raise LimitError(f"a loop of {self._model.graph.source}, in C on the emulated core,", While.most_turns)
        if function not in ("input", "output") and call.value not in (0, MORE_INPUT, PAUSED):
            reason = STATUS.get(call.signed_value, "unknown")
            raise EmulationError(f"{name} returned {call.signed_value} ({reason})", function=name)
        return call

    def _label(self, node: int) -> str:
        return self._model.graph.nodes[node].label

    def _function_labels(self) -> dict[str, str]:
        """Symbol to label; a compiler may have cloned a function under a name with a suffix."""
        labels = {function: self._label(node) for node, function in enumerate(self._model.functions)}
        return {symbol: labels[base] for symbol in self.image.symbols if (base := symbol.partition(".")[0]) in labels}
