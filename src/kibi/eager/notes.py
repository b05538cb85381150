"""Who is told what a program does: the recorders that are open in this thread or task."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from inspect import signature
from typing import Any, ParamSpec, Protocol

_P = ParamSpec("_P")


class Recorder(Protocol):
    """Is told what a program does with tensors, in its order."""

    def created(self, tensor: Any) -> None:
        """A tensor is being made; its data may not be there yet."""

    def written(self, tensor: Any, offset: int, data: bytes) -> None:
        """The program, not an operator, has replaced bytes of a tensor."""

    def freed(self, tensor: Any) -> None:
        """A tensor was freed."""

    def evaluated(self, op: Any, operands: Mapping[str, Any]) -> None:
        """An operator has been evaluated."""

    def called(self, name: str, arguments: Mapping[str, Any]) -> None:
        """An operator that is a function of tensors has been called: its arguments by the function's names for them."""

    def stepped(self, op: Any) -> None:
        """The program has called one step of an operator."""

    def rebalanced(self, arena: Any) -> None:
        """The program has had an arena's blocks moved together."""


_open: ContextVar[tuple[Recorder, ...]] = ContextVar("kibi_recorders", default=())


def recorders() -> tuple[Recorder, ...]:
    """The recorders that are open, the outermost first; none while an operator works."""
    return _open.get()


@contextmanager
def only(these: tuple[Recorder, ...]) -> Iterator[None]:
    """In a with-block these recorders are told, and no others."""
    token = _open.set(these)
    try:
        yield
    finally:
        _open.reset(token)


def noted(function: Callable[_P, None]) -> Callable[_P, None]:
    """Makes a function of tensors one whose calls are recorded as a whole, and not by what it writes."""
    parameters = signature(function)

    @wraps(function)
    def call(*given: _P.args, **named: _P.kwargs) -> None:
        told = recorders()
        with only(()):
            function(*given, **named)
        if told:
            bound = parameters.bind(*given, **named)
            bound.apply_defaults()
            for each in told:
                each.called(function.__name__, bound.arguments)

    return call
