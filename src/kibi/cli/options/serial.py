"""The options of a board that is reached over a serial line."""

from pathlib import Path
from typing import Annotated

import typer

from kibi.cli.options.boards import Chosen
from kibi.cli.options.paths import given_path
from kibi.errors import InputError

SerialPort = Annotated[
    str | None,
    typer.Option(
        "--serial",
        metavar="PORT[:BAUD]",
        help="Run the model on the --board, too, through a serial port or one of pyserial's URLs. Its firmware has the program "
        "that --serial-program writes.",
        show_default=False,
    ),
]
SerialProgram = Annotated[
    Path | None,
    typer.Option(
        "--serial-program",
        metavar="DIR",
        help="Write the program that measures the model on the --board, in C, to be built into its firmware.",
        parser=given_path,
        show_default=False,
    ),
]

TuningPort = Annotated[
    str | None,
    typer.Option(
        "--serial",
        metavar="PORT[:BAUD]",
        help="With --tune: count the cycles of kernels on the --board, through a serial port or one of pyserial's URLs. Its "
        "firmware has the program that --serial-program writes.",
        show_default=False,
    ),
]
TuningProgram = Annotated[
    Path | None,
    typer.Option(
        "--serial-program",
        metavar="DIR",
        help="With --tune: also write the program that counts the cycles of kernels on the --board, in C, to be built into its "
        "firmware.",
        parser=given_path,
        show_default=False,
    ),
]


def check_tuning_over_serial(
    port: str | None, program: Path | None, picked: Chosen, *, gdb: str | None, models: int, goal: str
) -> None:
    """Raises an error if the options of tuning over a serial line do not fit the others, which are of a run with `--tune`.

    Raises:
        InputError: as of `check_serial`, or there are several models, or bytes decide.
        BoardError: no measuring program runs on the board's core.
    """
    check_serial(port, program, picked, gdb=gdb, is_plan=False)
    if port is None and program is None:
        return
    option = "--serial" if port is not None else "--serial-program"
    if models > 1:
        raise InputError(f"{option} is for one model; {models} were given. Tune them one by one.")
    if goal == "flash":
        raise InputError(f"with --goal flash, bytes decide which kernel runs a layer. Leave {option} out.")


def check_serial(port: str | None, program: Path | None, picked: Chosen, *, gdb: str | None, is_plan: bool) -> None:
    """Raises an error if the options of a serial line do not fit the others.

    Raises:
        InputError: the port has no such form, there is no --board, a GDB server is named, too, or what runs is a plan file.
        BoardError: no measuring program runs on the board's core.
    """
    from kibi.debugger import processor_of  # noqa: PLC0415 - verbs pay for what they use
    from kibi.serial_line import PortPlace  # noqa: PLC0415

    if port is None and program is None:
        return
    option = "--serial" if port is not None else "--serial-program"
    if port is not None:
        PortPlace.named(port)
    if picked.board is None:
        raise InputError(f"{option} is for a --board. `kibi boards` lists all.")
    if gdb is not None:
        raise InputError(f"{option} is for a board without a GDB server. Leave it or --gdb out.")
    if is_plan:
        raise InputError(f"{option} is for C. Leave --format plan out.")
    processor_of(picked.target.name, picked.board.name)
