"""Handlers keep, raise, pass on or forget."""

import logging
from threading import Thread

import pytest

from kibi.eager.events import Event, declare_error, declare_event
from kibi.eager.handlers import ErrorHandler, LoggingHandler, NullHandler
from kibi.errors import EventError

Tick = declare_event("Tick")
Broken = declare_error("Broken", "something broke")


def test_error_handler_keeps_the_last_events() -> None:
    """History is bounded; the oldest are forgotten; iterating is not disturbed by what comes."""
    handler = ErrorHandler(history=3)
    for number in range(5):
        handler.notify(Tick(number=number))
    assert [event.facts["number"] for event in handler] == [2, 3, 4]
    assert (len(handler), handler.history) == (3, 3)
    for event in handler:
        handler.notify(event)
    handler.clear()
    assert (list(handler), len(handler)) == ([], 0)
    assert handler


def test_error_handler_raises_errors_by_default() -> None:
    """An error names itself, its facts and its meaning, and is kept."""
    handler = ErrorHandler()
    with pytest.raises(EventError, match=r"Broken \(part 3\): something broke") as caught:
        handler.notify(Broken(part=3))
    assert caught.value.name == "Broken"
    assert caught.value.exit_code == 12
    assert [event.type for event in handler] == [Broken]


def test_error_handler_callback_takes_errors_alone() -> None:
    """With a callback nothing raises, and events that are no errors do not reach it."""
    taken: list[Event] = []
    handler = ErrorHandler(history=0, on_error=taken.append)
    handler.notify(Tick())
    handler.notify(Broken(part=1))
    assert taken == [Broken(part=1)]
    assert len(handler) == 0


def test_error_handler_of_negative_history_is_refused() -> None:
    """A history cannot be shorter than nothing."""
    with pytest.raises(ValueError, match="-1"):
        ErrorHandler(history=-1)


def test_null_handler_forgets_everything() -> None:
    """Neither events nor errors leave a trace."""
    handler = NullHandler()
    handler.notify(Tick())
    handler.notify(Broken())


def test_logging_handler_forwards_with_names_and_ids(caplog: pytest.LogCaptureFixture) -> None:
    """Events are debug records, errors are errors; both carry name and id for filters."""
    with caplog.at_level(logging.DEBUG, "kibi"):
        LoggingHandler().notify(Tick(number=1))
        LoggingHandler(logging.getLogger("kibi.other"), id_bytes=2).notify(Broken())
    assert [(record.name, record.levelname, record.message) for record in caplog.records] == [
        ("kibi", "DEBUG", "Tick (number 1)"),
        ("kibi.other", "ERROR", "Broken"),
    ]
    assert [vars(record)["event_id"] for record in caplog.records] == [Tick.id(), Broken.id(2)]
    assert [vars(record)["event_name"] for record in caplog.records] == ["Tick", "Broken"]
    with pytest.raises(ValueError, match="not 3"):
        LoggingHandler(id_bytes=3)


def test_error_handler_of_several_threads_loses_nothing() -> None:
    """Events from threads are all kept while others read."""
    handler = ErrorHandler(history=4000)

    def work(name: int) -> None:
        for number in range(1000):
            handler.notify(Tick(name=name, number=number))
            if number % 100 == 0:
                assert list(handler)

    threads = [Thread(target=work, args=(name,)) for name in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(handler) == 4000
    for name in range(4):
        assert [event.facts["number"] for event in handler if event.facts["name"] == name] == list(range(1000))
