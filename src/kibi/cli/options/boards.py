"""The options that name a processor: --target, --board, --clock; and the line that says whether a model fits a board."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kibi.cli.options.common import DEFAULT_TARGET
from kibi.cli.terminal import BAD, GOOD
from kibi.errors import InputError, TargetError
from kibi.targets import EMULATORS, Board, Memory, Runner, Target, board, boards, target, targets
from kibi.targets.clock import clock_of

if TYPE_CHECKING:
    from rich.text import Text

    from kibi.planner import Plan, PlannedModel
    from kibi.reports.board_fit import Fit
    from kibi.reports.measurement import Measurement


def target_names(incomplete: str) -> list[str]:
    """Returns the targets whose names begin so: what a shell offers after --target."""
    return [each.name for each in targets() if each.name.startswith(incomplete)]


def board_names(incomplete: str) -> list[str]:
    """Returns the names and aliases of boards that begin so: what a shell offers after --board, before files."""
    known = (name for each in boards() for name in (each.name, *each.aliases))
    return [name for name in known if name.startswith(incomplete)]


TargetName = Annotated[
    str | None,
    typer.Option(
        "--target",
        "-t",
        metavar="T",
        help="The processor; `kibi targets` lists them.",
        show_default=DEFAULT_TARGET,
        autocompletion=target_names,
    ),
]
BoardName = Annotated[
    str | None,
    typer.Option(
        "--board",
        metavar="B",
        help="The board, instead of a target; `kibi boards` lists them. Or a file NAME.toml that describes one.",
        show_default=False,
        autocompletion=board_names,
    ),
]
ClockRate = Annotated[
    str | None,
    typer.Option(
        "--clock",
        metavar="HZ",
        help="The clock for times, as 64M or 120MHz. Without: the board's, or that of a common board.",
        show_default=False,
    ),
]


def emulator_names(incomplete: str) -> list[str]:
    """Returns the emulators whose names begin so: what a shell offers after --emulator."""
    return [each for each in EMULATORS if each.startswith(incomplete)]


EmulatorName = Annotated[
    str | None,
    typer.Option(
        "--emulator",
        metavar="E",
        help="What runs the target's code: unicorn, which comes with Kibi, or qemu, which estimates no cycles.",
        show_default="unicorn where it can",
        autocompletion=emulator_names,
    ),
]


CODE_PLACES = ("flash", "ram")
CodePlace = Annotated[
    str,
    typer.Option("--code-in", metavar="P", help="Where code runs from, for cycles of a board: flash or ram."),
]


@dataclass(frozen=True, slots=True)
class Chosen:
    """The processor that the options name, and the board, if they name one.

    Attributes:
        target: the processor, at the clock that was asked for.
        board: None without --board.
    """

    target: Target
    board: Board | None

    @property
    def uncounted_waits(self) -> str:
        """Says that the waits of the board's flash are not counted, with their states if these are known at this clock."""
        states = self.board.flash_wait_states if self.board and self.target.clock_hz == self.board.clock_hz else None
        if states == 1:
            return "the wait state of its flash is not counted"
        return (
            f"the {states} wait states of its flash are not counted" if states else "waits of its flash are not counted"
        )


def chosen_processor(
    target_name: str | None, board_name: str | None, clock: str | None = None, emulator: str | None = None
) -> Chosen:
    """Returns the processor and the board that options name.

    Raises:
        TargetError: there is no such target, board, clock or emulator, the board has another processor than the target, or the
            emulator does not run it.
    """
    found = None if board_name is None else board(board_name)
    if (
        found is not None
        and target_name is not None
        and target(target_name).name not in (found.target.name, "host", "generic")
    ):
        raise TargetError(
            f"board {found.name!r} has a {found.core}, but --target is {target_name}. Leave one of the two out."
        )
    if found is None or target_name not in (None, found.target.name):
        processor = target(target_name or DEFAULT_TARGET)
    else:
        processor = found.target
    processor = processor if emulator is None else processor.emulated_by(emulator)
    return Chosen(processor if clock is None else replace(processor, clock_hz=clock_of(clock)), found)


def emulator_line(processor: Target) -> list[tuple[str, str]]:
    """Returns the line that says which machine and core of QEMU run the code; none where unicorn does."""
    if processor.runner is not Runner.QEMU or processor.qemu is None:
        return []
    found = processor.qemu
    why = f", because {found.replaces}" if found.replaces else ""
    return [("emulator", f"QEMU, machine {found.machine.name}, core {found.core}{why}")]


def place_words(picked: Chosen, board_name: str | None, *, is_tuned: bool) -> list[str]:
    """The words of a command line that name the processor; the board instead where its cycles have chosen the kernels."""
    if is_tuned and board_name is not None and picked.board is not None and picked.board.memory is not None:
        return ["--board", Path(board_name).name]
    return ["--target", picked.target.name]


def measured_memory(picked: Chosen, code_in: str) -> Memory | None:
    """Returns the memory that cycles are counted with; None for zero wait states.

    Args:
        picked: what the options name.
        code_in: where code runs from.

    Raises:
        InputError: there is no such place, or nothing is known of the flash that code would be taken from.
    """
    if code_in not in CODE_PLACES:
        raise InputError(f"unknown place {code_in!r}. Code runs from {' or '.join(CODE_PLACES)}.")
    found = picked.board.memory if picked.board is not None else None
    if code_in != "flash" and found is None:
        raise InputError("--code-in is for a --board whose flash is modelled: see `kibi boards --json`, memory.")
    return found


def fit_line(found: "Fit") -> "tuple[str, Text]":
    """Returns the name and the text of the line that says whether a model fits: in green, or in red with what is missing."""
    from rich.text import Text  # noqa: PLC0415 - verbs pay for what they use

    verdict = Text("fits", GOOD) if found.fits else Text("does not fit", BAD)
    return found.board, verdict.append(f": {found.text}", "default")


def plan_fit(planned: "PlannedModel", given: Board) -> "Fit":
    """Compares the arena and the state of a plan with a board. Stack and flash are not known before the code is compiled."""
    from kibi.reports.board_fit import fit  # noqa: PLC0415 - as above

    graph, plan = planned.graph, planned.plan
    state_bytes = sum(graph.tensors[index].type.size_bytes for index in graph.variables)
    return fit(given, plan.arena_bytes + state_bytes, 0 if plan.regions else plan.arena_bytes)


def measured_fit(found: "Measurement", plan: "Plan", given: Board) -> "Fit":
    """Compares all that was measured with a board; a plan with regions says itself what goes where."""
    from kibi.reports.board_fit import fit  # noqa: PLC0415 - as above

    return fit(given, found.ram_bytes, 0 if plan.regions else found.arena_bytes, found.flash_bytes)
