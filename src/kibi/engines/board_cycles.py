"""The cycles of layers on a board, for tuning."""

from collections.abc import Sequence
from dataclasses import dataclass

from kibi.codegen import Library
from kibi.debugger import Server, board_memory, connected
from kibi.engines.board import BoardEngine
from kibi.errors import BoardError
from kibi.runtime import Interpreter, seeded_inputs
from kibi.targets import Board


@dataclass(frozen=True, slots=True)
class BoardPlace:
    """A board that counts.

    Attributes:
        board: with addresses.
        server: its GDB server.
        load_into: `flash` or `ram`.
        seconds: how long a call may take.
    """

    board: Board
    server: Server
    load_into: str = "flash"
    seconds: float = 60.0


def cycles_on_board(
    library: Library,
    nodes: Sequence[int],
    place: BoardPlace,
    flash_bytes: int,
    stack_bytes: int,
    compiler: str,
    level: str,
) -> dict[int, int]:
    """Loads a program onto a board, and returns the cycles of nodes in one inference.

    Args:
        library: written to disk, of one model.
        nodes: whose cycles are asked for.
        place: the board.
        flash_bytes: of code and constants.
        stack_bytes: that an inference takes.
        compiler: `zig`, `gcc` or `clang`.
        level: `0`, `1`, `2`, `3` or `s`.

    Returns:
        The cycles of each node that has a function of its own.

    Raises:
        BoardError: the board does not count, gives other bits than Python, or stopped.
    """
    model = library.model
    memory = board_memory(place.board, place.load_into, flash_bytes, stack_bytes)
    inputs = seeded_inputs(model.graph, 0)
    with connected(place.server) as session:
        engine = BoardEngine(library, session, memory, seconds=place.seconds, compiler=compiler, level=level)
        outputs = engine.run(inputs)
        if engine.uncounted:
            raise BoardError(
                f"{place.board.name} cannot tell which kernel is fastest: {engine.uncounted}. Leave --gdb out, and the "
                "emulated core counts."
            )
        expected = Interpreter(model.planned.model, model.plan).run(inputs)
        if any(one.tobytes() != other.tobytes() for one, other in zip(outputs, expected, strict=True)):
            raise BoardError(
                f"{place.board.name} computes other outputs than the emulated core. Measure it without --tune."
            )
        found = {node: engine.cycles_of(node, inputs) for node in nodes if not engine.is_shared(node)}
    return {node: cycles for node, cycles in found.items() if cycles}
