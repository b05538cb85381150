"""`kibi events`: the names of the ids that a device sends."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kibi.cli.options.common import AsJson
from kibi.cli.options.paths import given_path
from kibi.cli.terminal import BAD, output, print_json, say, show, table, tell
from kibi.errors import EventError, InputError
from kibi.files import read_file

if TYPE_CHECKING:
    from rich.console import Console

    from kibi.eager.event_log import LoggedEvent
    from kibi.eager.event_scan import EventMap

_WIDTHS = (1, 2, 4)
_MOST_LOG_BYTES = 64 << 20


def events(
    paths: Annotated[
        list[Path],
        typer.Argument(metavar="PATH", help="Sources, or folders of them.", parser=given_path, show_default=False),
    ],
    *,
    width: Annotated[int, typer.Option("--width", "-w", metavar="N", help="Bytes of an id: 1, 2 or 4.")] = 4,
    decode: Annotated[
        list[str] | None,
        typer.Option("--decode", "-d", metavar="ID", help="An id, or a file of them; may repeat.", show_default=False),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Find the names of event ids.

    Reads C, C++ and Python sources, prints each declared event and error with its ids, and names those that share an
    id. Fails if two share an id of the chosen width. With --decode: prints the names of an id such as 0x1f2e, or of
    the ids in a log: text, or the ids themselves, one after another.
    """
    from kibi.eager.event_scan import scan  # noqa: PLC0415

    if width not in _WIDTHS:
        raise typer.BadParameter(f"{width} is none of 1, 2 and 4.", param_hint="--width")
    found = scan(paths)
    _tell_of_unread(found)
    if decode is None:
        if as_json:
            print_json(_record(found, width))
        else:
            _show(output(), found)
        _refuse(found, width)
        return
    decoded = [(text, *_decoded(found, text, width)) for text in decode]
    if as_json:
        logs = [_decoded_record(text, is_log, logged, width) for text, is_log, logged in decoded]
        print_json({"width_bytes": width, "decoded": logs})
    else:
        _show_decoded(output(), decoded, width)
    _refuse_unknown([(text, logged) for text, is_log, logged in decoded if not is_log])


def _decoded(found: "EventMap", text: str, width: int) -> tuple[bool, "tuple[LoggedEvent, ...]"]:
    """Returns whether a text names a log, and the events of the log or of the id.

    Raises:
        InputError: it is neither a file nor an id of that width.
    """
    from kibi.eager.event_log import LoggedEvent, decode_id, decode_log  # noqa: PLC0415

    if os.path.exists(text):  # noqa: PTH110 - says no to what can be no path, where pathlib raises
        log = read_file(text, _MOST_LOG_BYTES, InputError, "Give a log that can be read.")
        return True, decode_log(found, log, width)
    try:
        number = int(text, 16)
    except ValueError:
        raise InputError(f"{text!r} is neither a file nor a hexadecimal id. Give one, such as 0x1f2e.") from None
    if not 0 <= number < 1 << 8 * width:
        raise InputError(f"{text} is no id of {width} bytes. Give the --width that the device was built with.")
    return False, (LoggedEvent(0, number, decode_id(found, number, width)),)


def _tell_of_unread(found: "EventMap") -> None:
    for path in found.unread:
        tell(f"{path} is no Python that this version reads; left out")


def _refuse(found: "EventMap", width: int) -> None:
    """Raises an error if ids cannot be told apart or are wrong, after everything has been printed."""
    wrong = [declaration for declaration in found.declarations if declaration.is_wrong]
    if wrong:
        first = wrong[0]
        raise EventError(
            "WrongEventId",
            f"{first.place} states an id for {first.type.name} that is not the hash of its name, which is "
            f"{first.type.id():#010x}. Correct {'it' if len(wrong) == 1 else f'it and {len(wrong) - 1} more'}.",
        )
    if collisions := found.collisions(width):
        names = ", ".join(f"{kind.name} ({kind.severity.value})" for kind in collisions[0].types)
        count = f"{len(collisions)} ids of {width} byte{'s' if width > 1 else ''} are"
        count = count if len(collisions) > 1 else f"an id of {width} byte{'s' if width > 1 else ''} is"
        raise EventError(
            "EventIdCollision", f"{count} shared, first by {names}. Rename one of them, or take wider ids."
        )


def _refuse_unknown(single: "list[tuple[str, tuple[LoggedEvent, ...]]]") -> None:
    unknown = [text for text, logged in single if not logged[0].types]
    if unknown:
        raise EventError("UnknownEventId", f"no source declares {', '.join(unknown)}. Add the paths of those that may.")


def _show(console: "Console", found: "EventMap") -> None:
    rows = table(console, "!name", "kind", *(f">{width} byte{'s' if width > 1 else ''}" for width in _WIDTHS), "where")
    for kind in found.types:
        ids = (_hex(kind.id(width), width) for width in _WIDTHS)
        rows.add_row(kind.name, kind.severity.value, *ids, ", ".join(found.places(kind)))
    show(console, rows)
    say(console)
    files = len({declaration.path for declaration in found.declarations})
    plural = "" if files == 1 else "s"
    say(console, f"{len(found.types)} events and errors in {files} file{plural}.")
    for width in _WIDTHS:
        for collision in found.collisions(width):
            names = ", ".join(f"{kind.name} ({kind.severity.value})" for kind in collision.types)
            say(console, f"collision at width {width}: {_hex(collision.id, width)} is {names}", BAD)


def _show_decoded(console: "Console", decoded: "list[tuple[str, bool, tuple[LoggedEvent, ...]]]", width: int) -> None:
    rows = table(console, "!from", ">at", ">id", "event or error", "kind")
    for text, is_log, logged in decoded:
        for each in logged:
            names = " or ".join(kind.name for kind in each.types) or "unknown"
            kinds = " or ".join(dict.fromkeys(kind.severity.value for kind in each.types))
            rows.add_row(text, str(each.position) if is_log else "", _hex(each.id, width), names, kinds)
    show(console, rows)


def _hex(number: int, width: int) -> str:
    return f"{number:#0{2 * width + 2}x}"


def _record(found: "EventMap", width: int) -> dict[str, Any]:
    return {
        "width_bytes": width,
        "events": [
            {
                "name": kind.name,
                "kind": kind.severity.value,
                "ids": {str(each): kind.id(each) for each in _WIDTHS},
                "places": list(found.places(kind)),
            }
            for kind in found.types
        ],
        "collisions": [
            {"width_bytes": each, "id": collision.id, "names": [kind.name for kind in collision.types]}
            for each in _WIDTHS
            for collision in found.collisions(each)
        ],
        "wrong_ids": [each.place for each in found.declarations if each.is_wrong],
        "unread": list(found.unread),
    }


def _decoded_record(text: str, is_log: bool, logged: "tuple[LoggedEvent, ...]", width: int) -> dict[str, Any]:
    return {
        "from": text,
        "is_log": is_log,
        "events": [
            {
                "at": each.position if is_log else None,
                "id": each.id,
                "hex": _hex(each.id, width),
                "names": [kind.name for kind in each.types],
                "kinds": [kind.severity.value for kind in each.types],
            }
            for each in logged
        ],
    }
