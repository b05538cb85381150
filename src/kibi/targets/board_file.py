"""Boards as text: a TOML file with a table [[board]] for each, Kibi's own and those of users."""

import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Any

from kibi.errors import TargetError, did_you_mean, listed
from kibi.files import read_text
from kibi.targets.board import Board, Ram, RunCurrent
from kibi.targets.clock import HIGHEST_HZ
from kibi.targets.memory import memories

LARGEST_BYTES = 1 << 40
_MOST_BYTES = 1 << 20
_MOST_TEXT = 200
_MOST_WAIT_STATES = 1000
_MOST_ENTRIES = 64
_MOST_SHOWN = 60
_NAME = re.compile(r"[a-z0-9][a-z0-9_.-]{0,59}")
"""A board's name has no underscore, because those that users write become hyphens."""
_REQUIRED = ("name", "core", "clock_hz", "ram", "flash_bytes")
_KEYS = tuple(each.name for each in fields(Board))
_RAM_KEYS = ("name", "bytes")
_ADDRESSES = 1 << 32
_VECTORS = 512
"""The flash of a program that is loaded begins with its vectors, and cores want them at such an address."""
_CURRENT_KEYS = tuple(each.name for each in fields(RunCurrent))
_MOST_CURRENT = 1_000_000


def load_board(path: str | os.PathLike[str]) -> Board:
    """Reads the one board of a file.

    Raises:
        TargetError: there is no such file, or it does not describe one board.
    """
    text = read_text(path, _MOST_BYTES, TargetError, "Give the name of a board, or the path of a TOML file with one.")
    found = read_boards(text, os.fspath(path))
    if len(found) != 1:
        raise TargetError(f"{os.fspath(path)}: there are {len(found)} boards. Write one table [[board]] in the file.")
    return found[0]


def read_boards(text: str, source: str) -> tuple[Board, ...]:
    """Reads boards.

    Args:
        text: TOML.
        source: the name of the file, for errors.

    Raises:
        TargetError: the text describes no boards; it lists all that is wrong, with board and key.
    """
    try:
        table = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, ValueError, RecursionError) as error:
        raise TargetError(f"{source}: {error}. Write TOML, a table [[board]] for each board.") from None
    entries = table.get("board")
    if set(table) != {"board"} or not isinstance(entries, list) or not all(isinstance(each, dict) for each in entries):
        raise TargetError(
            f"{source}: this is no list of boards. Write a line [[board]], and the board's keys after it."
        )
    problems = [
        f"board {_name(entry, number)}: {problem}."
        for number, entry in enumerate(entries, 1)
        for problem in _problems(entry)
    ]
    if not problems:
        found = tuple(_board(entry) for entry in entries)
        problems = list(_doubled(found))
        if not problems:
            return found
    count = f"{len(problems)} problem{'s' if len(problems) > 1 else ''}"
    raise TargetError("\n".join([f"{source}: {count}", *listed(problems)]))


def _name(entry: Mapping[str, object], number: int) -> str:
    name = entry.get("name")
    return repr(name[:60]) if isinstance(name, str) else str(number)


def _board(entry: Mapping[str, Any]) -> Board:
    """Makes a board of a table that has no problems."""
    return Board(
        name=entry["name"],
        aliases=tuple(entry.get("aliases", ())),
        title=entry.get("title", entry["name"]),
        core=entry["core"],
        clock_hz=entry["clock_hz"],
        flash_wait_states=entry.get("flash_wait_states"),
        ram=tuple(Ram(each["name"], each["bytes"], each.get("address")) for each in entry["ram"]),
        flash_bytes=entry["flash_bytes"],
        source=entry.get("source", ""),
        note=entry.get("note", ""),
        run_current=_run_current(entry["run_current"]) if "run_current" in entry else None,
        memory=memories().get(entry.get("memory", "")),
        flash_address=entry.get("flash_address"),
    )


def _run_current(entry: Mapping[str, Any]) -> RunCurrent:
    return RunCurrent(float(entry["microamperes_per_mhz"]), float(entry["volts"]), entry["source"])


def _problems(entry: Mapping[str, object]) -> Iterator[str]:
    """Yields what is wrong with the table of one board."""
    for key in entry:
        if key not in _KEYS:
            yield f"there is no key {key[:60]!r}.{did_you_mean(key, _KEYS)} Keys are: {', '.join(_KEYS)}"
    for key in _REQUIRED:
        if key not in entry:
            yield f"{key} is missing"
    for key, value in entry.items():
        if key in _KEYS and (problem := _value_problem(key, value)):
            yield f"{key} is {_shown(value)}. {problem}"
    flash_bytes = entry.get("flash_bytes")
    if isinstance(flash_bytes, int) and (
        problem := _address_problem(entry.get("flash_address"), flash_bytes, _VECTORS)
    ):
        yield f"flash_address is {_shown(entry['flash_address'])}. {problem}"


def _value_problem(key: str, value: object) -> str:
    match key:
        case "name" | "core":
            form = "Give lower-case letters, digits, dots and hyphens, 60 at most"
            return "" if _is_board_name(value) else form
        case "aliases":
            is_list = isinstance(value, list) and len(value) <= _MOST_ENTRIES and all(map(_is_board_name, value))
            return "" if is_list else 'Give a list of names, as in ["pico"]'
        case "clock_hz":
            return _number_problem(value, HIGHEST_HZ)
        case "flash_bytes":
            return _number_problem(value, LARGEST_BYTES)
        case "flash_address":
            return ""  # as its size
        case "flash_wait_states":
            return _number_problem(value, _MOST_WAIT_STATES, least=0)
        case "ram":
            return _ram_problem(value)
        case "run_current":
            return _current_problem(value)
        case "memory":
            is_known = isinstance(value, str) and value in memories()
            return "" if is_known else f"Give one of {', '.join(memories())}"
        case _:
            is_text = isinstance(value, str) and len(value) <= _MOST_TEXT
            return "" if is_text else f"Give a text of {_MOST_TEXT} characters at most"


def _ram_problem(value: object) -> str:
    example = 'as in [{ name = "sram", bytes = 131_072 }]'
    if not isinstance(value, list) or not 1 <= len(value) <= _MOST_ENTRIES:
        return f"Give a list of ranges, {example}"
    for each in value:
        if not isinstance(each, dict) or set(each) - {"address"} != set(_RAM_KEYS) or not _is_name(each["name"]):
            return f"Give each range a name and bytes, {example}"
        if problem := _number_problem(each["bytes"], LARGEST_BYTES):
            return f"Of {each['name']}: {problem}"
        if problem := _address_problem(each.get("address"), each["bytes"]):
            return f"Of the address of {each['name']}: {problem}"
    return "" if len({each["name"] for each in value}) == len(value) else "Give each range a name of its own"


def _address_problem(value: object, size_bytes: int, multiple: int = 4) -> str:
    """What is wrong with the first address of a memory; nothing where None is given."""
    if value is None:
        return ""
    is_whole = isinstance(value, int) and not isinstance(value, bool) and value >= 0 and not value % multiple
    if is_whole and isinstance(value, int) and value + size_bytes <= _ADDRESSES:
        return ""
    return f"Give a multiple of {multiple} so that the last byte is below 2^32, as in 0x0800_0000"


def _current_problem(value: object) -> str:
    example = 'as in { microamperes_per_mhz = 51.6, volts = 3.0, source = "the document that states it" }'
    if not isinstance(value, dict) or set(value) != set(_CURRENT_KEYS):
        return f"Give a current for each megahertz, the supply and the source, {example}"
    for key in ("microamperes_per_mhz", "volts"):
        number = value[key]
        if not isinstance(number, int | float) or isinstance(number, bool) or not 0 < number <= _MOST_CURRENT:
            return f"Of {key}: Give a number above 0 and up to {_MOST_CURRENT:_}, {example}"
    is_text = isinstance(value["source"], str) and 0 < len(value["source"]) <= _MOST_TEXT
    return "" if is_text else f"Of source: Give a text of {_MOST_TEXT} characters at most, {example}"


def _number_problem(value: object, most: int, least: int = 1) -> str:
    is_whole = isinstance(value, int) and not isinstance(value, bool) and least <= value <= most
    return "" if is_whole else f"Give a whole number from {least} to {most:_}"


def _is_name(value: object) -> bool:
    return isinstance(value, str) and _NAME.fullmatch(value) is not None


def _is_board_name(value: object) -> bool:
    return isinstance(value, str) and "_" not in value and _is_name(value)


def _shown(value: object) -> str:
    text = str(value).lower() if isinstance(value, bool) else repr(value)
    return text if len(text) <= _MOST_SHOWN else f"{text[: _MOST_SHOWN - 1]}…"


def _doubled(found: tuple[Board, ...]) -> Iterator[str]:
    """Yields names that two boards have."""
    owners: dict[str, str] = {}
    for each in found:
        for name in (each.name, *each.aliases):
            if name in owners:
                yield f"{name!r} names {owners[name]!r} and {each.name!r}. Give each board names of its own."
            owners.setdefault(name, each.name)
