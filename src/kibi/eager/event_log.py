"""Logs of ids: text with ids in hexadecimal, or the ids themselves, one after another."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from kibi.eager.event_scan import EventMap
from kibi.eager.events import EventType
from kibi.errors import InputError

_TEXT_CONTROLS = frozenset(b"\t\n\r\f\x1b")


@dataclass(frozen=True, slots=True)
class LoggedEvent:
    """One id of a log, and the events and errors that have it.

    Attributes:
        position: the line of a text, counted from 1, or the byte offset in a binary log.
        id: the id in the log.
        types: events and errors of that id: none if nobody declares it, several if they collide.
    """

    position: int
    id: int
    types: tuple[EventType, ...]


def decode_id(events: EventMap, number: int, id_bytes: int) -> tuple[EventType, ...]:
    """The events and errors that have an id of that width."""
    return events.by_id(id_bytes).get(number, ())


def decode_log(events: EventMap, data: bytes, id_bytes: int) -> tuple[LoggedEvent, ...]:
    """The ids of a log, in order.

    A log is text if it is UTF-8 without control characters. In a text ids are words such as `0x1f`, of at most two digits for
    each byte of the width, and lines of nothing but exactly as many digits, without the `0x`. Else ids follow one another,
    little-endian.

    Args:
        events: the known events and errors.
        data: the log's bytes.
        id_bytes: 1, 2 or 4.

    Raises:
        InputError: the bytes are no whole number of ids.
    """
    known = events.by_id(id_bytes)
    ids = _text_ids(data.decode(), id_bytes) if is_text(data) else _binary_ids(data, id_bytes)
    return tuple(LoggedEvent(position, number, known.get(number, ())) for position, number in ids)


def is_text(data: bytes) -> bool:
    """True if a log is text."""
    if any(byte < 0x20 and byte not in _TEXT_CONTROLS for byte in data):
        return False
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def _text_ids(text: str, id_bytes: int) -> Iterator[tuple[int, int]]:
    digits = 2 * id_bytes
    word = re.compile(rf"\b0[xX]([0-9a-fA-F]{{1,{digits}}})\b")
    bare = re.compile(rf"[0-9a-fA-F]{{{digits}}}")
    for number, line in enumerate(text.splitlines(), 1):
        if bare.fullmatch(line.strip()):
            yield number, int(line, 16)
        else:
            yield from ((number, int(match[1], 16)) for match in word.finditer(line))


def _binary_ids(data: bytes, id_bytes: int) -> Iterator[tuple[int, int]]:
    if len(data) % id_bytes:
        raise InputError(
            f"the log has {len(data)} bytes, which is no whole number of ids of {id_bytes} bytes. Give the width that the "
            "device was built with."
        )
    for offset in range(0, len(data), id_bytes):
        yield offset, int.from_bytes(data[offset : offset + id_bytes], "little")
