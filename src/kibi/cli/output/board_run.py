"""What a board did beside the emulated core, as `kibi measure --gdb` and `--serial` print it."""

from typing import TYPE_CHECKING

from kibi.cli.terminal import BAD, GOOD, facts, name_of, say, show, table

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import Console

    from kibi.reports.board_run import BoardRun


def show_board_run(console: "Console", run: "BoardRun") -> None:
    """Prints the board, whether its bits are the same, and the figures of both cores: totals, then operators."""
    from rich.text import Text  # noqa: PLC0415 - verbs pay for what they use

    verdict = (
        Text("yes", GOOD).append(": board, emulated core and Python", "default") if run.bit_exact else Text("no", BAD)
    )
    lines: list[tuple[str, str | Text]] = [
        ("board", f"{run.board} at {run.server}: {run.core}, program in {run.loaded_into}"),
        ("same bits", verdict),
    ]
    if run.uncounted:
        lines.append(("no cycles", run.uncounted))
    say(console)
    facts(console, lines)
    say(console)
    rows = table(console, "!board and emulated core", "output", ">emulated", ">board", ">board / emulated")
    for cost in run.ops:
        rows.add_row(cost.op, name_of(cost.name, 28), *_cells(cost.emulated_cycles, cost.cycles))
    if run.ops:
        rows.add_section()
    if not run.uncounted:
        rows.add_row("cycles", "", *_cells(run.emulated_cycles, run.cycles))
    rows.add_row("stack in bytes", "", *_cells(run.emulated_stack_bytes, run.stack_bytes))
    show(console, rows)


def show_serial_program(console: "Console", folder: "Path | None", verb: str) -> None:
    """Prints what to do with a measuring program that was written, and which verb then asks it; nothing where none was."""
    if folder is None:
        return
    say(console)
    facts(console, [("program", f"in {folder}: build all of its C files but one into the board's firmware")])
    say(
        console,
        "\nGive it kibi_serial_get and kibi_serial_put, in place of kibi_semihosting.c, and call kibi_serial_run: "
        f"kibi_serial.h says how.\nThen: {verb} with the same options, and --serial PORT in place of --serial-program.",
    )


def _cells(emulated: int | None, counted: int | None) -> tuple[str, str, str]:
    ratio = f"{counted / emulated:.3f}" if emulated and counted is not None else ""
    return "-" if emulated is None else f"{emulated:,}", "-" if counted is None else f"{counted:,}", ratio
