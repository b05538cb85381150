"""The C library on a board: the same calls as on the emulated core, through a GDB server."""

from collections.abc import Sequence
from typing import Protocol

from kibi.codegen import Library
from kibi.debugger import ENTRIES, BoardCore, BoardMemory, Session, processor_of
from kibi.dtypes import Array
from kibi.emulator import Call
from kibi.engines.linked import LinkedEngine
from kibi.engines.ways import linked_for
from kibi.targets import Target
from kibi.toolchain import Image


class MeasuringEngine(Protocol):
    """A model's C code on a board that tells what it took."""

    @property
    def core_name(self) -> str:
        """The name of the core that answered."""

    @property
    def uncounted(self) -> str:
        """Why there are no cycles; empty if there are."""

    @property
    def last(self) -> Call | None:
        """What the last inference took."""

    def run(self, inputs: Sequence[Array]) -> list[Array]:
        """Runs one inference: takes an array for each input, returns an array for each output."""

    def operator_cycles(self, inputs: Sequence[Array]) -> list[int | None]:
        """Runs inferences, and returns the cycles of each node; None where the board cannot tell."""


class BoardEngine(LinkedEngine):
    """A model's C code, linked for a board's addresses, loaded there and run.

    Args:
        library: written to disk, for the board's target.
        session: with the board's GDB server.
        memory: where the program is on the board.
        seconds: how long a call may take.
        compiler: `zig`, `gcc` or `clang`.
        level: `0`, `1`, `2`, `3` or `s`.

    Raises:
        ToolchainError: the compiler is missing or fails.
        BoardError: the board has another core or too little memory, or the server does not do what is asked.
    """

    def __init__(
        self,
        library: Library,
        session: Session,
        memory: BoardMemory,
        *,
        seconds: float,
        compiler: str = "zig",
        level: str = "s",
    ) -> None:
        def make_core(image: Image, target: Target) -> BoardCore:
            self.core = BoardCore(image, target, session, memory, seconds=seconds)
            return self.core

        super().__init__(
            library,
            (linked_for(memory.layout), make_core),
            compiler=compiler,
            level=level,
            sources=[processor_of(library.target.name, memory.board).start],
            entries=ENTRIES,
        )

    @property
    def core_name(self) -> str:
        """The name of the core that answered."""
        return self.core.core_name

    @property
    def uncounted(self) -> str:
        """Why there are no cycles; empty if there are."""
        return self.core.uncounted

    def operator_cycles(self, inputs: Sequence[Array]) -> list[int | None]:
        """Runs an inference for each node, with breakpoints at its beginning and its end; errors as of `cycles_of`."""
        return [self.cycles_of(node, inputs) for node in range(len(self._model.graph.nodes))]

    def cycles_of(self, node: int, inputs: Sequence[Array]) -> int | None:
        """Runs an inference, and returns the cycles of a node's function with all that it calls; None where nothing counts them.

        A function that several nodes share counts for the first of them.

        Args:
            node: its index.
            inputs: one array for each model input.

        Raises:
            BoardError: the board stopped.
        """
        if self.is_shared(node):
            return 0
        label = self.label(node)
        if label not in self.labels:  # the compiler has inlined it
            return None
        self.core.watch(label)
        try:
            self.run(inputs)
        finally:
            self.core.watch("")
        spent = self.spent_on(node)
        return None if spent is None else spent.cycles
