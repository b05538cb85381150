"""Dask's clusters: workers on this machine, or those of a scheduler of the user's.

Few tasks are with the scheduler at a time, so that its memory does not grow with the number of tasks. What several tasks share,
such as the bytes of a model, is a task itself: it is sent once, and made again if the worker that has it dies.
"""

import contextlib
import logging
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from kibi.clusters.extra import imported
from kibi.clusters.tasks import Runner, Task, WorkerDied
from kibi.errors import InputError, ToolchainError
from kibi.printable import printable

_TASKS_OF_A_THREAD = 4
"""With the scheduler at a time: the one that runs, and some that wait, so that no worker waits for us."""
_FEWEST_TASKS = 16
_TASKS_OF_AN_ANSWER = 32
"""Tasks after which the scheduler is asked again how many threads its workers have."""
_ANSWER_SECONDS, _WORKERS_SECONDS = 10, 60
"""How long we wait for the scheduler of an address, and then for its first worker."""
_ADDRESS = re.compile(r"(tcp|tls)://[^\s/?#@]+:[0-9]{1,5}/?")
_NO_PAGES = "127.0.0.1:0"
_PAGES = ("distributed.scheduler.http.routes", "distributed.worker.http.routes")
"""Dask's web pages, which every user of the machine could read: a cluster of ours has none, at a port that only the machine has."""
_LARGE_GRAPH = "1 GiB"
"""Dask warns of tasks whose arguments are large; ours are models, which are sent once each."""


@contextlib.contextmanager
def local_cluster(workers: int | None = None) -> Iterator[Any]:
    """Starts workers on this machine, each a process with one thread, and yields their client.

    They speak TLS with keys that exist only as long as they do: no other user of the machine can give them work.

    Args:
        workers: how many; None: one for each processor.

    Raises:
        ToolchainError: the extra is not installed, or the workers do not start.
    """
    distributed = imported("distributed")
    imported("cryptography.x509")  # Dask makes the keys with it
    with _settings({name: [] for name in _PAGES}), contextlib.ExitStack() as held:
        try:
            cluster = held.enter_context(
                distributed.LocalCluster(
                    n_workers=workers,
                    threads_per_worker=1,
                    processes=True,
                    protocol="tls://",
                    security=True,
                    dashboard_address=_NO_PAGES,
                    worker_dashboard_address=_NO_PAGES,
                    silence_logs=logging.CRITICAL,
                    preload=["kibi.clusters.worker"],
                )
            )
            client = held.enter_context(distributed.Client(cluster, set_as_default=False))
        except (OSError, TimeoutError, RuntimeError) as error:
            raise ToolchainError(
                f"no workers start on this machine: {error}. Where a script calls kibi.sweep, let it do so under "
                '`if __name__ == "__main__":`, since each worker imports the script.'
            ) from error
        yield client


@contextlib.contextmanager
def joined_cluster(address: str) -> Iterator[Any]:
    """Connects to a scheduler, and yields the client, once there is a worker.

    Args:
        address: such as `tcp://host:8786`; `tls://…` with the keys that Dask's configuration names.

    Raises:
        InputError: the address has another form.
        ToolchainError: the extra is not installed, nobody answers, or there are no workers.
    """
    check_address(address)
    distributed = imported("distributed")
    with _settings({}), contextlib.ExitStack() as held:
        try:
            client = held.enter_context(distributed.Client(address, set_as_default=False, timeout=_ANSWER_SECONDS))
        except (OSError, TimeoutError, ValueError, TypeError, RuntimeError) as error:
            what = f"the scheduler {address} does not answer: {str(error) or type(error).__name__}"
            raise ToolchainError(f"{what}. Check the address, and start `dask scheduler` there.") from error
        try:
            client.wait_for_workers(1, timeout=_WORKERS_SECONDS)
        except (OSError, TimeoutError) as error:
            what = f"the scheduler {address} has no workers"
            raise ToolchainError(f"{what}. Start some: dask worker {address} --nthreads 1") from error
        yield client


def check_address(address: str) -> None:
    """Checks the form of the address of a scheduler.

    Raises:
        InputError: it is another one than `tcp://host:port` and `tls://host:port`.
    """
    if not _ADDRESS.fullmatch(address):
        what = f"the address of the scheduler is {printable(address[:80])!r}"
        raise InputError(f"{what}. Write tcp://host:port, or tls://host:port.")


def on_scheduler(address: str) -> Callable[[], contextlib.AbstractContextManager[Runner]]:
    """Returns what makes a runner of tasks on the workers of a scheduler, for the time of a with-block.

    Raises:
        InputError: the address has another form.
    """
    check_address(address)
    return lambda: _running(address)


@contextlib.contextmanager
def _running(address: str) -> Iterator[Runner]:
    with joined_cluster(address) as client:
        yield OnCluster(client)


class OnCluster:
    """Runs tasks on the workers of a cluster.

    Args:
        client: of the cluster.
    """

    def __init__(self, client: Any) -> None:
        self._client = client
        self._shared: dict[str, Any] = {}
        self._asked, self._room = 0, _FEWEST_TASKS

    def results(self, tasks: Iterable[Task]) -> Iterator[tuple[Task, Any]]:
        """Yields each task with its result, or with a `WorkerDied`, in the order in which they end.

        Raises:
            ToolchainError: the scheduler is lost, or workers cannot run the tasks.
        """
        distributed = imported("distributed")
        done = distributed.as_completed(with_results=True, raise_errors=False, loop=self._client.loop)
        running: dict[str, _Running] = {}
        for task in tasks:
            most = self._most()
            while len(running) >= most:
                yield self._next(done, running)
            held = self._held(task)
            given = [held[each.key] if isinstance(each, Task) else each for each in task.arguments]
            future = self._client.submit(task.function, *given, key=task.key, pure=True)
            running[task.key] = _Running(task, future, tuple(held.values()))
            done.add(future)
            while done.has_ready():  # the next task may be long in coming
                yield self._next(done, running)
        while running:
            yield self._next(done, running)

    def _most(self) -> int:
        """How many tasks may be with the scheduler. Workers come and go; it is asked for them from time to time."""
        if self._asked % _TASKS_OF_AN_ANSWER == 0:
            threads = sum(self._client.nthreads().values())
            self._room = max(_FEWEST_TASKS, _TASKS_OF_A_THREAD * threads)
        self._asked += 1
        return self._room

    def _held(self, task: Task) -> dict[str, Any]:
        """The futures of the tasks among the arguments; those of the task before it are sent no second time."""
        shared = [each for each in task.arguments if isinstance(each, Task)]
        held: dict[str, Any] = {}
        for each in shared:
            given = [held[part.key] if isinstance(part, Task) else part for part in each.arguments]
            held[each.key] = self._shared.get(each.key) or self._client.submit(
                each.function, *given, key=each.key, pure=True
            )
        self._shared = held
        return held

    def _next(self, done: Any, running: dict[str, "_Running"]) -> tuple[Task, Any]:
        distributed = imported("distributed")
        future, result = next(done)
        task = running.pop(future.key).task
        error = _failure(result)
        if error is None:  # also if the worker has died since, so that the scheduler takes the result for lost
            return task, result
        if isinstance(error, distributed.KilledWorker):
            return task, WorkerDied("the workers that ran it died, one after the other")
        if future.status == "error":
            what = f"workers cannot run the tasks: {type(error).__name__}: {error}"
            raise ToolchainError(f"{what}. Install kibi[sweep] of the same version for all of them.")
        raise ToolchainError(
            "the scheduler is lost, or gave the tasks up. Start it again, and run the same command again."
        )


def _failure(result: Any) -> BaseException | None:
    """The exception in place of a result: of a task that failed Dask gives a tuple with it, of one that was cancelled itself."""
    found = result[1] if isinstance(result, tuple) and len(result) == 3 else result
    return found if isinstance(found, BaseException) else None


@dataclass(frozen=True, slots=True)
class _Running:
    """A task that is with the scheduler, its future, and the futures that it needs, which live as long as it does."""

    task: Task
    future: Any
    held: tuple[Any, ...]


@contextlib.contextmanager
def _settings(own: Mapping[str, Any]) -> Iterator[None]:
    """Sets Dask up for the time of a with-block; what it would log of a lost scheduler, with tracebacks, is an error of ours."""
    config, utils = imported("dask.config"), imported("distributed.utils")
    with (
        config.set({"distributed.admin.large-graph-warning-threshold": _LARGE_GRAPH, **own}),
        utils.silence_logging_cmgr(logging.CRITICAL),
    ):
        yield
