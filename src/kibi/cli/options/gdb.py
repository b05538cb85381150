"""The options of a board that a GDB server gives access to."""

from typing import Annotated

import typer

from kibi.cli.options.boards import Chosen
from kibi.errors import InputError

GdbServer = Annotated[
    str | None,
    typer.Option(
        "--gdb",
        metavar="HOST:PORT",
        help="Run the model on the --board, too, through the GDB server there: OpenOCD, J-Link, pyOCD, QEMU or another. "
        "With --tune, its cycles decide.",
        show_default=False,
    ),
]
TuningServer = Annotated[
    str | None,
    typer.Option(
        "--gdb",
        metavar="HOST:PORT",
        help="With --tune: count the cycles of kernels on the --board, through the GDB server there.",
        show_default=False,
    ),
]
LoadPlace = Annotated[
    str,
    typer.Option(
        "--load-into",
        metavar="P",
        help="Where --gdb loads the program: flash, or ram, which leaves the flash as it is.",
    ),
]


def check_gdb(server: str | None, place: str, picked: Chosen, *, is_plan: bool) -> None:
    """Raises an error if the options of a board do not fit each other.

    Raises:
        InputError: the server or the place has no such form, there is no --board, or what runs is a plan file.
    """
    from kibi.debugger import PLACES, Server  # noqa: PLC0415 - verbs pay for what they use

    if place not in PLACES:
        raise InputError(f"unknown place {place[:40]!r}. --load-into is {' or '.join(PLACES)}.")
    if server is None:
        if place != PLACES[0]:
            raise InputError("--load-into is for a board with --gdb. Leave one of the two out, or give both.")
        return
    Server.named(server)
    if picked.board is None:
        raise InputError(
            "--gdb is for a --board: its memories are where the program is loaded. `kibi boards` lists all."
        )
    if is_plan:
        raise InputError("--gdb is for C. Leave --format plan out.")
