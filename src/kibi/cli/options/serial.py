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
