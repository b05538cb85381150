"""`kibi boards`: the boards that Kibi knows."""

from dataclasses import asdict
from typing import Annotated, Any

import typer

from kibi.cli.options.common import AsJson
from kibi.cli.terminal import is_roomy, output, print_json, say, show, table
from kibi.errors import TargetError
from kibi.targets import Board
from kibi.targets import boards as all_boards

_KIB = 1024


def boards(
    words: Annotated[
        str, typer.Argument(metavar="FILTER", help="Boards whose names, title or core have this.", show_default=False)
    ] = "",
    *,
    as_json: AsJson = False,
) -> None:
    """List the boards that --board names.

    The memories are all that a board has: the rest of your firmware is in them, too.
    """
    found = [each for each in all_boards() if _has(each, words)]
    if not found:
        raise TargetError(f"no board has {words[:60]!r} in its names, title or core. Leave it out to list all.")
    if as_json:
        print_json({"boards": [record(each) for each in found]})
        return
    console = output()
    further = ("title",) if is_roomy(console) else ()
    rows = table(console, "!board", "core", ">clock", ">waits", ">RAM", ">flash", *further)
    for each in found:
        rows.add_row(*cells(each), *([each.title] if further else []))
    show(console, rows)
    say(console)
    say(
        console,
        f"{len(found)} of {len(all_boards())} boards. RAM and flash are in KiB; waits are wait states of the flash at this "
        "clock, where they are known. In brackets: cores that get generic C, which is not measured.",
    )


def cells(found: Board) -> tuple[str, ...]:
    """Returns the cells of a board in a table: name, core, clock, wait states, RAM and flash in KiB."""
    ranges = " + ".join(f"{each.size_bytes / _KIB:g}" for each in found.ram)
    waits = found.flash_wait_states
    return (
        found.name,
        found.core if found.is_supported else f"({found.core})",
        f"{found.clock_hz / 1e6:g} MHz",
        "" if waits is None else str(waits),
        ranges,
        f"{found.flash_bytes / _KIB:,g}",
    )


def record(found: Board) -> dict[str, Any]:
    """Returns a board as plain data, for JSON."""
    memory = None if found.memory is None else found.memory.name
    return {**asdict(found), "memory": memory, "ram_bytes": found.ram_bytes, "is_supported": found.is_supported}


def _has(found: Board, words: str) -> bool:
    texts = (found.name, *found.aliases, found.title, found.core)
    return all(any(word in text.lower() for text in texts) for word in words.lower().split())
