"""Error handlers: objects that receive events and errors.

Whoever reports an error to a handler goes on when `notify` returns: an allocator then gives nothing. A tensor that has no
value to give raises `EventError` all the same.
"""

import logging
from collections import deque
from collections.abc import Callable, Iterator
from threading import RLock
from typing import Protocol

from kibi.eager.events import Event, check_id_bytes
from kibi.errors import EventError


class Handler(Protocol):
    """Receives every event and error."""

    def notify(self, event: Event) -> None:
        """Receives an event."""


def error_of(event: Event) -> EventError:
    """Returns the exception for an event that is an error."""
    return EventError(event.type.name, str(event), event.type.meaning)


class ErrorHandler:
    """Keeps the last events; errors raise, unless a callback takes them.

    Several threads may report to one handler.

    Args:
        history: how many events are kept, at least 0; the oldest are forgotten.
        on_error: called with each error, after it has been kept; None: errors raise `EventError`.

    Raises:
        ValueError: the history is shorter than nothing.
    """

    def __init__(self, history: int = 64, on_error: Callable[[Event], None] | None = None) -> None:
        if history < 0:
            raise ValueError(f"a history holds 0 events or more, not {history}")
        self._events: deque[Event] = deque(maxlen=history)
        self._lock = RLock()  # a collected object may report while an event is being kept
        self.on_error = on_error

    @property
    def history(self) -> int:
        """The most events that are kept."""
        return self._events.maxlen or 0

    def notify(self, event: Event) -> None:
        """Keeps the event; gives an error to the callback, or raises it.

        Raises:
            EventError: it is an error, and there is no callback.
        """
        with self._lock:
            self._events.append(event)
        if event.is_error:
            if self.on_error is None:
                raise error_of(event)
            self.on_error(event)

    def __iter__(self) -> Iterator[Event]:
        """Iterates over the kept events, the oldest first, without those that come meanwhile."""
        with self._lock:
            kept = tuple(self._events)
        return iter(kept)

    def __len__(self) -> int:
        return len(self._events)

    def __bool__(self) -> bool:
        return True  # a handler without events is one all the same

    def clear(self) -> None:
        """Forgets all events."""
        with self._lock:
            self._events.clear()


class NullHandler:
    """Forgets everything, errors too."""

    def notify(self, event: Event) -> None:
        """Forgets the event."""


class LoggingHandler:
    """Forwards to a logger: events as debug messages, errors as errors; nothing raises.

    Each record has `event_name` and `event_id` as attributes for formatters and filters.

    Args:
        logger: the logger; None: the logger `kibi`.
        id_bytes: width of the ids: 1, 2 or 4.

    Raises:
        ValueError: ids cannot be that wide.
    """

    def __init__(self, logger: logging.Logger | None = None, *, id_bytes: int = 4) -> None:
        check_id_bytes(id_bytes)
        self._logger = logger or logging.getLogger("kibi")
        self._id_bytes = id_bytes

    def notify(self, event: Event) -> None:
        """Logs the event."""
        level = logging.ERROR if event.is_error else logging.DEBUG
        facts = {"event_name": event.type.name, "event_id": event.type.id(self._id_bytes)}
        self._logger.log(level, "%s", event, extra=facts)
