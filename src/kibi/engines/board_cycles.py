"""The cycles of layers on a board, for tuning."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from kibi.codegen import Library, generate, write
from kibi.debugger import Server, board_memory, connected
from kibi.engines.board import BoardEngine, MeasuringEngine
from kibi.engines.serial import SerialEngine
from kibi.errors import BoardError
from kibi.planner import PlannedModel
from kibi.runtime import Interpreter, seeded_inputs
from kibi.serial_line import PortPlace, greeted
from kibi.targets import Board, Target
from kibi.toolchain.cache import temporary_folder


@dataclass(frozen=True, slots=True)
class Trial:
    """A program that a board runs.

    Attributes:
        planned: its model, with the kernels that are tried.
        flash_bytes: of code and constants.
        stack_bytes: that an inference takes.
    """

    planned: PlannedModel
    flash_bytes: int
    stack_bytes: int


class CountingPlace(Protocol):
    """A board that counts cycles."""

    def cycles(
        self, trials: Sequence[Trial], nodes: Sequence[int], target: Target, compiler: str, level: str
    ) -> list[Mapping[int, int]]:
        """Runs programs, and returns for each the cycles of nodes in one inference.

        Args:
            trials: the programs.
            nodes: whose cycles are asked for.
            target: whose code the board runs.
            compiler: `zig`, `gcc` or `clang`.
            level: `0`, `1`, `2`, `3` or `s`.

        Returns:
            The cycles of each node that the board can tell from others.

        Raises:
            BoardError: the board does not count, gives other bits than Python, or stopped.
        """


@dataclass(frozen=True, slots=True)
class BoardPlace:
    """A board that counts, with a GDB server. Programs are loaded one after the other.

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

    def cycles(
        self, trials: Sequence[Trial], nodes: Sequence[int], target: Target, compiler: str, level: str
    ) -> list[Mapping[int, int]]:
        """As of `CountingPlace`."""
        return [self._cycles(trial, nodes, target, compiler, level) for trial in trials]

    def _cycles(
        self, trial: Trial, nodes: Sequence[int], target: Target, compiler: str, level: str
    ) -> Mapping[int, int]:
        memory = board_memory(self.board, self.load_into, trial.flash_bytes, trial.stack_bytes)
        inputs = seeded_inputs(trial.planned.graph, 0)
        with temporary_folder() as folder, connected(self.server) as session:
            library = write(generate([trial.planned], target, command="counted by Kibi"), folder / "library")
            engine = BoardEngine(library, session, memory, seconds=self.seconds, compiler=compiler, level=level)
            _check(engine, trial.planned, self.board.name, "--gdb")
            found = {node: engine.cycles_of(node, inputs) for node in nodes if not engine.is_shared(node)}
        return {node: cycles for node, cycles in found.items() if cycles}


@dataclass(frozen=True, slots=True)
class SerialPlace:
    """A board that counts, whose firmware has the program of `trial_library`.

    Attributes:
        board: the board.
        port: the serial port.
        seconds: how long a call may take.
    """

    board: Board
    port: PortPlace
    seconds: float = 60.0

    def cycles(
        self, trials: Sequence[Trial], nodes: Sequence[int], target: Target, compiler: str, level: str
    ) -> list[Mapping[int, int]]:
        """As of `CountingPlace`; its user has compiled the program."""
        del compiler, level
        library = trial_library(trials, target)
        counted: list[Mapping[int, int]] = []
        with greeted(self.port) as session:
            for index, trial in enumerate(trials):
                engine = SerialEngine(library, session, self.board.name, seconds=self.seconds, index=index)
                _check(engine, trial.planned, self.board.name, "--serial")
                found = engine.operator_cycles(seeded_inputs(trial.planned.graph, 0))
                counted.append({node: cycles for node in nodes if (cycles := found[node])})
        return counted


def trial_library(trials: Sequence[Trial], target: Target) -> Library:
    """Returns a library with the models of several programs, which differ in kernels alone and share what is the same.

    Args:
        trials: the programs.
        target: the processor.
    """
    name = trials[0].planned.graph.name
    models = [
        PlannedModel.of(
            replace(each.planned.model, name=f"{name}_{number}"), replace(each.planned.plan, model=f"{name}_{number}")
        )
        for number, each in enumerate(trials)
    ]
    return generate(models, target, command="counted by Kibi")


def _check(engine: MeasuringEngine, planned: PlannedModel, board: str, option: str) -> None:
    """Runs an inference, and raises an error if the board does not count, or if it gives other bits than Python."""
    inputs = seeded_inputs(planned.graph, 0)
    outputs = engine.run(inputs)
    if engine.uncounted:
        raise BoardError(
            f"{board} cannot tell which kernel is fastest: {engine.uncounted}. Leave {option} out, and the emulated core counts."
        )
    expected = Interpreter(planned.model, planned.plan).run(inputs)
    if any(one.tobytes() != other.tobytes() for one, other in zip(outputs, expected, strict=True)):
        raise BoardError(f"{board} computes other outputs than the emulated core. Measure it without --tune.")
