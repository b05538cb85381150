"""Tasks for workers, each with a key: functions that workers import by name, and the few results that many tasks share."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class Task:
    """A call of a pure function.

    Attributes:
        key: tells the task from all others; tasks of one key have one result.
        function: at the top of a module that workers can import.
        arguments: of the function; tasks among them are run first, and their results take their places. Their own arguments may
            be tasks that come before them.
    """

    key: str
    function: Callable[..., Any]
    arguments: tuple[Any, ...]


class WorkerDied(Exception):  # noqa: N818 - it is a result: what became of a task
    """The result of a task whose workers died, one after the other."""


class Runner(Protocol):
    """What runs tasks."""

    def results(self, tasks: Iterable[Task]) -> Iterator[tuple[Task, Any]]:
        """Yields each task with its result, or with a `WorkerDied`, in the order in which they end.

        Tasks are taken from the iterable when there is room for them.
        """
        ...


class InThisProcess:
    """Runs tasks one after the other, here."""

    def __init__(self) -> None:
        self._held: dict[str, Any] = {}

    def results(self, tasks: Iterable[Task]) -> Iterator[tuple[Task, Any]]:
        """Yields each task with its result, in their order."""
        for task in tasks:
            held: dict[str, Any] = {}
            for each in task.arguments:
                if isinstance(each, Task):
                    held[each.key] = self._held[each.key] if each.key in self._held else _result(each, held)
            self._held = held
            yield task, _result(task, held)


def _result(task: Task, held: Mapping[str, Any]) -> Any:
    return task.function(*(held[each.key] if isinstance(each, Task) else each for each in task.arguments))
