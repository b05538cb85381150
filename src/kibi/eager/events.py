"""Events and errors, each with an id: the hash of its name, the same on every machine.

A device cannot afford strings; it sends the id, and `kibi events` finds the name in the sources. After uTensor's
`DECLARE_EVENT` and `DECLARE_ERROR`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType
from typing import Any

_OFFSET_BASIS = 0x811C9DC5
_PRIME = 0x01000193
ID_BYTES = (1, 2, 4)
"""The possible widths of ids in bytes."""


def fnv1a(text: str) -> int:
    """The 32-bit FNV-1a hash of a text's UTF-8 bytes. Source of the rule: its authors, Fowler, Noll and Vo."""
    value = _OFFSET_BASIS
    for byte in text.encode():
        value = (value ^ byte) * _PRIME & 0xFFFFFFFF
    return value


def check_id_bytes(id_bytes: int) -> None:
    """Checks that ids can have that width.

    Raises:
        ValueError: they cannot.
    """
    if id_bytes not in ID_BYTES:
        raise ValueError(f"ids have 1, 2 or 4 bytes, not {id_bytes}")


def event_id(name: str, id_bytes: int = 4) -> int:
    """The id of an event or error: the lowest bytes of the hash of its name.

    Args:
        name: the declared name.
        id_bytes: 1, 2 or 4.

    Raises:
        ValueError: ids cannot be that wide.
    """
    check_id_bytes(id_bytes)
    return fnv1a(name) & ((1 << 8 * id_bytes) - 1)


class Severity(Enum):
    """Kinds of events: information, or an error."""

    EVENT = "event"
    ERROR = "error"


@dataclass(frozen=True, slots=True)
class EventType:
    """A kind of event.

    Attributes:
        name: the declared name, for example `OutOfMemory`.
        severity: an error goes to the handler's callback, and raises by default.
        meaning: one sentence for people; not part of the id.
    """

    name: str
    severity: Severity = Severity.EVENT
    meaning: str = field(default="", compare=False)

    def id(self, id_bytes: int = 4) -> int:
        """Returns its id; see `event_id`."""
        return event_id(self.name, id_bytes)

    def __call__(self, **facts: Any) -> "Event":
        """Returns an event of this kind, with its facts."""
        return Event(self, MappingProxyType(facts))


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened.

    Attributes:
        type: the kind of event.
        facts: the facts of the event, by name, for people; a device sends only the id.
    """

    type: EventType
    facts: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}), hash=False)

    @property
    def is_error(self) -> bool:
        """True if something went wrong."""
        return self.type.severity is Severity.ERROR

    def __str__(self) -> str:
        facts = ", ".join(f"{name} {value}" for name, value in self.facts.items())
        return f"{self.type.name} ({facts})" if facts else self.type.name


def declare_event(name: str, meaning: str = "") -> EventType:
    """Declares a kind of event."""
    return EventType(name, Severity.EVENT, meaning)


def declare_error(name: str, meaning: str = "") -> EventType:
    """Declares a kind of error."""
    return EventType(name, Severity.ERROR, meaning)


def encode_ids(events: Iterable[Event], id_bytes: int = 4) -> bytes:
    """The bytes that a device sends for some events: the id of each, little-endian, without separators.

    `kibi events PATH --decode LOG` finds the names again.

    Args:
        events: the oldest first.
        id_bytes: 1, 2 or 4.

    Raises:
        ValueError: ids cannot be that wide.
    """
    return b"".join(event.type.id(id_bytes).to_bytes(id_bytes, "little") for event in events)
