"""The C library on an emulated core: the same calls, counted and guarded."""

from collections.abc import Sequence

import numpy as np

from kibi.codegen import Library
from kibi.dtypes import Array
from kibi.emulator import Call, Core
from kibi.engines.engine import STATUS, written_sources
from kibi.errors import EmulationError
from kibi.runtime import check_inputs
from kibi.toolchain import Image, build_image

STATE_BYTES = 4
"""`sizeof` the model's struct on a 32-bit core: the pointer to its arena."""


class DeviceEngine:
    """A model's C code, linked for a target and run on its emulated core.

    Only the arena, the state and the stack can be written; anything else stops the run with the function named.

    Args:
        library: written to disk, for a target that is emulated.
        index: which of its models.
        compiler: `zig` or `gcc`.
        optimize: `0`, `1`, `2`, `3` or `s`.

    Raises:
        ToolchainError: the compiler is missing or fails.
        EmulationError: the target is not emulated.
    """

    def __init__(self, library: Library, index: int = 0, *, compiler: str = "zig", optimize: str = "s") -> None:
        self._model = library.models[index]
        name, plan = self._model.graph.name, self._model.plan
        sources, folder = written_sources(library)
        entries = [f"{name}_{suffix}" for suffix in ("init", "input", "output", "invoke")]
        self.image: Image = build_image(
            sources, library.target, entries=entries, compiler=compiler, optimize=optimize, includes=[folder]
        )
        self._core = Core(self.image, library.target)
        # Exactly as aligned as the library asks for, so that code that relies on more is found out.
        alignment = max(library.target.arena_alignment_bytes, *(buffer.alignment for buffer in plan.buffers))
        self._state = self._core.allocate("state", STATE_BYTES, alignment=4)
        self._arena = self._core.allocate("arena", plan.arena_bytes, alignment=alignment)
        self._operators = self._function_labels()
        self._call("init", self._state, self._arena, plan.arena_bytes)
        self.last: Call | None = None

    def run(self, inputs: Sequence[Array], *, instruction_limit: int = 10_000_000_000) -> list[Array]:
        """One inference; `last` then holds what it cost.

        Args:
            inputs: one array for each model input, of its shape and type.
            instruction_limit: the most instructions that it may take.

        Raises:
            InputError: an input does not fit.
            EmulationError: the core stopped.
        """
        graph = self._model.graph
        for number, array in enumerate(check_inputs(graph, inputs)):
            self._core.write(self._call("input", self._state, number).value, array.tobytes())
        self.last = self._call("invoke", self._state, instruction_limit=instruction_limit)
        outputs: list[Array] = []
        for number, index in enumerate(graph.outputs):
            kind = graph.tensors[index].type
            data = self._core.read(self._call("output", self._state, number).value, kind.size_bytes)
            outputs.append(np.frombuffer(data, kind.dtype.numpy).reshape(kind.shape))
        return outputs

    def instructions_of(self, node: int) -> int:
        """Instructions that a node's steps took in the last run, with all that they called."""
        return 0 if self.last is None else self.last.by_operator.get(self._label(node), 0)

    def _call(self, function: str, *arguments: int, instruction_limit: int = 1_000_000) -> Call:
        name = f"{self._model.graph.name}_{function}"
        call = self._core.call(name, *arguments, operators=self._operators, instruction_limit=instruction_limit)
        if function in ("init", "invoke") and call.value:
            reason = STATUS.get(call.signed_value, "unknown")
            raise EmulationError(f"{name} returned {call.signed_value} ({reason})", function=name)
        return call

    def _label(self, node: int) -> str:
        site = self._model.graph.sites[node]
        return f"operator {site.node.source} ({site.op.name})"

    def _function_labels(self) -> dict[str, str]:
        """Symbol to label; a compiler may have cloned a function under a name with a suffix."""
        labels = {function: self._label(node) for node, function in enumerate(self._model.functions)}
        return {symbol: labels[base] for symbol in self.image.symbols if (base := symbol.partition(".")[0]) in labels}
