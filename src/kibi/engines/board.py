"""The C library on a board: the same calls as on the emulated core, through a GDB server."""

from collections.abc import Sequence

from kibi.codegen import Library
from kibi.debugger import ENTRIES, BoardCore, BoardMemory, Session, processor_of
from kibi.dtypes import Array
from kibi.engines.linked import LinkedEngine
from kibi.engines.ways import linked_for
from kibi.targets import Target
from kibi.toolchain import Image


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
