"""Measures a model on a board, and puts the figures beside those of the emulated core."""

from dataclasses import asdict, dataclass
from typing import Any

from kibi.codegen import CompiledModel, Library
from kibi.debugger import PLACES, Server, board_memory, connected
from kibi.emulator import Call
from kibi.engines.board import BoardEngine, MeasuringEngine
from kibi.engines.serial import SerialEngine
from kibi.errors import InputError, TargetError
from kibi.reports.measurement import Measurement, outputs_of_each, same_bits
from kibi.runtime import Interpreter, seeded_inputs
from kibi.serial_line import PortPlace, greeted
from kibi.targets import Board

_LEAST_SECONDS = 30.0
_SLOWER = 100
"""How much slower than the board at its highest clock a call may be: after a reset, clocks are low."""


@dataclass(frozen=True, slots=True)
class OperatorCycles:
    """The cycles of one operator.

    Attributes:
        name: its output tensor.
        op: its kind.
        emulated_cycles: the estimate; None if there is no table for the core.
        cycles: what the board counted; None where it did not.
    """

    name: str
    op: str
    emulated_cycles: int | None
    cycles: int | None


@dataclass(frozen=True, slots=True)
class BoardRun:
    """What a board did, beside what the emulated core did with the same inputs. The field names are a contract with other tools.

    Attributes:
        board: its name.
        server: the GDB server, or the serial port.
        core: the name of the core that answered, with its revision.
        loaded_into: `flash` or `ram`; `firmware` over a serial line, since its user has built the program in.
        bit_exact: True if the board's outputs equal those of the Python runtime.
        emulated_cycles: the estimate of the emulated core; None if there is no table for the core.
        cycles: what the board counted, the most that one of the inputs took; None where it did not count.
        uncounted: why it did not; empty if it did.
        emulated_stack_bytes: the stack of the emulated core.
        stack_bytes: the lowest byte of the stack that the board wrote, from its top; bytes that are reserved but never written do
            not count.
        ops: each operator, for the first of the inputs; empty where the board does not count.
        seeds: the seeds of the inputs.
    """

    board: str
    server: str
    core: str
    loaded_into: str
    bit_exact: bool
    emulated_cycles: int | None
    cycles: int | None
    uncounted: str
    emulated_stack_bytes: int
    stack_bytes: int
    ops: tuple[OperatorCycles, ...]
    seeds: tuple[int, ...]

    def to_dict(self) -> dict[str, Any]:
        """Returns the facts as plain data, for JSON."""
        return asdict(self)


def run_on_board(
    library: Library,
    board: Board,
    server: str,
    emulated: Measurement,
    *,
    load_into: str = "flash",
    seconds: float | None = None,
    compiler: str = "zig",
    level: str = "s",
) -> BoardRun:
    """Loads a library's first model onto a board, runs the inputs that the emulated core ran, and leaves the board halted.

    Args:
        library: written to disk, for the board's target.
        board: with addresses.
        server: `HOST:PORT` of its GDB server.
        emulated: what the emulated core took, with this compiler and level.
        load_into: `flash`; or `ram`, for code and constants, too.
        seconds: how long a call may take; None: 30 s, or a hundred times the estimate.
        compiler: `zig`, `gcc` or `clang`.
        level: `0`, `1`, `2`, `3` or `s`.

    Raises:
        InputError: the server or the place has another form.
        TargetError: the library is for another core than the board's.
        ToolchainError: the compiler is missing or fails.
        BoardError: there is no such server, the link broke, the core is another one or faulted, or memory is too little.
    """
    where = Server.named(server)
    if load_into not in PLACES:
        raise InputError(f"unknown place {load_into[:40]!r}. A program is loaded into {' or '.join(PLACES)}.")
    _check_core(library, board)
    stored_bytes = sum(len(each.weights) for each in library.models)
    memory = board_memory(board, load_into, emulated.flash_bytes + stored_bytes, emulated.stack_bytes)
    limit = seconds or _limit(board, emulated)
    with connected(where) as session:
        engine = BoardEngine(library, session, memory, seconds=limit, compiler=compiler, level=level)
        return _run(library.model, engine, emulated, board, str(where), load_into)


def run_over_serial(
    library: Library, board: Board, port: str, emulated: Measurement, *, seconds: float | None = None
) -> BoardRun:
    """Runs the inputs that the emulated core ran on a board that has the measuring program of a library.

    Args:
        library: that of which the program was written.
        board: the board.
        port: `PORT`, `PORT:BAUD`, or a URL as pyserial has them.
        emulated: what the emulated core took.
        seconds: how long a call may take; None: 30 s, or a hundred times the estimate.

    Raises:
        InputError: the port has another form.
        TargetError: the library is for another core than the board's.
        ToolchainError: pyserial is not installed.
        BoardError: no such port, no measuring program, that of another library, another core, or the program does not answer.
    """
    place = PortPlace.named(port)
    _check_core(library, board)
    with greeted(place) as session:
        engine = SerialEngine(library, session, board.name, seconds=seconds or _limit(board, emulated))
        return _run(library.model, engine, emulated, board, str(place), "firmware")


def _check_core(library: Library, board: Board) -> None:
    if library.target.name != board.core:
        raise TargetError(f"the library is for {library.target.name}, but {board.name} has a {board.core}.")


def _limit(board: Board, emulated: Measurement) -> float:
    """How many seconds a call may take."""
    return max(_LEAST_SECONDS, _SLOWER * (emulated.cycles_estimate or 0) / board.clock_hz)


def _run(
    model: CompiledModel, engine: MeasuringEngine, emulated: Measurement, board: Board, where: str, place: str
) -> BoardRun:
    """Runs the inputs on a board, and reports what it did."""
    calls, is_exact = _tried(model, engine, emulated.seeds)
    counted = [each.cycles_estimate for each in calls if each.cycles_estimate is not None]
    uncounted = engine.uncounted
    if not uncounted and len(counted) < len(calls):
        counted, uncounted = [], "the counter of 32 bits may have begun anew during the inference"
    return BoardRun(
        board=board.name,
        server=where,
        core=engine.core_name,
        loaded_into=place,
        bit_exact=is_exact,
        emulated_cycles=emulated.cycles_estimate,
        cycles=max(counted, default=None),
        uncounted=uncounted,
        emulated_stack_bytes=emulated.stack_bytes,
        stack_bytes=max(each.stack_bytes for each in calls),
        ops=() if uncounted else _operators(model, engine, emulated),
        seeds=emulated.seeds,
    )


def _tried(model: CompiledModel, engine: MeasuringEngine, seeds: tuple[int, ...]) -> tuple[list[Call], bool]:
    """Runs the inputs, and returns what the last inference with each took, and whether all outputs are the Python runtime's."""
    interpreter = Interpreter(model.planned.model, model.plan)
    calls: list[Call] = []
    is_exact = True
    for seed in seeds:
        inputs = seeded_inputs(model.graph, seed)
        expected = outputs_of_each(interpreter, inputs)
        outputs = [engine.run(inputs) for _ in expected][-1]
        is_exact = is_exact and same_bits(outputs, expected[-1])
        calls += [] if engine.last is None else [engine.last]
    return calls, is_exact


def _operators(model: CompiledModel, engine: MeasuringEngine, emulated: Measurement) -> tuple[OperatorCycles, ...]:
    """What the board counts for each operator, with the first of the inputs."""
    cycles = engine.operator_cycles(seeded_inputs(model.graph, emulated.seeds[0]))
    return tuple(
        OperatorCycles(cost.name, cost.op, cost.cycles_estimate, each)
        for cost, each in zip(emulated.ops, cycles, strict=True)
    )
