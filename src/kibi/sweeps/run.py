"""Runs a sweep: models and settings become tasks, results become rows of the journal, and these the table."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from hashlib import sha256
from itertools import chain
from pathlib import Path

from kibi.clusters.tasks import Runner, Task, WorkerDied
from kibi.clusters.tools import Tools, tools_here
from kibi.errors import InputError
from kibi.sweeps.best import Budget, Objective, best, front
from kibi.sweeps.functions import NamedFunction
from kibi.sweeps.journal import Journal, journal_path, opened
from kibi.sweeps.models import Model
from kibi.sweeps.rows import Outcome, Row, Status
from kibi.sweeps.settings import Grid, Setting
from kibi.sweeps.table import MOST_ROWS, read_table, write_table
from kibi.sweeps.task import evaluated, key_of, library_name, measured, model_bytes


@dataclass(frozen=True, slots=True)
class Swept:
    """What a sweep found.

    Attributes:
        path: of the table.
        rows: of the table, in the order of models and settings.
        reused: how many rows an earlier run of the sweep had found.
    """

    path: Path
    rows: tuple[Row, ...] = field(repr=False)
    reused: int

    def count(self, status: Status) -> int:
        """Returns how many rows have a status."""
        return sum(row.outcome.status is status for row in self.rows)

    def best(
        self, *, maximize: str | None = None, minimize: str = "instructions", most: int = 10, **limits: float
    ) -> tuple[Row, ...]:
        """Returns the best rows under a budget, the best first.

        Args:
            maximize: the name of a cost or a figure of which more is better; None: `minimize` counts.
            minimize: the name of one of which less is better.
            most: how many to return.
            limits: the most that costs or figures may be, by name, such as `ram_bytes=8192`.

        Raises:
            InputError: no row has such a cost or figure.
        """
        objective = Objective(maximize or minimize, maximize is not None)
        return best(self.rows, Budget(tuple(limits.items())), objective, most)

    def front(self, *, maximize: str | None = None, minimize: str = "instructions") -> tuple[Row, ...]:
        """Returns the rows that no other of their target beats in RAM, flash, instructions and the objective."""
        return front(self.rows, Objective(maximize or minimize, maximize is not None))


@dataclass(frozen=True, slots=True)
class Job:
    """What a sweep is to do.

    Attributes:
        models: read one by one.
        grid: the settings.
        evaluate: a function from the bytes of a model to figures, or None.
        path: of the table.
        run: returns what runs tasks, for the time of a with-block; it is called if there is something to run.
        watch: is told in a few words how far it is.
        measure: the function of the tasks; it is what `measured` is.
    """

    models: Iterable[Model]
    grid: Grid
    evaluate: NamedFunction | None
    path: Path
    run: Callable[[], AbstractContextManager[Runner]]
    watch: Callable[[str], None] = lambda _: None
    measure: Callable[..., Outcome] = measured


def run_sweep(job: Job) -> Swept:
    """Runs a sweep, or what an earlier run has left of it, and writes its table.

    Each row is in the journal beside the table as soon as it is known. If the run ends early, the same call goes on where it was,
    and a table that was there before is as it was.

    Raises:
        InputError: the table or the journal is damaged, or something else; or there are no models.
        OutputError: they cannot be written, or another sweep writes them.
        ToolchainError: an extra or a compiler is missing, or the scheduler is lost.
    """
    tools = tools_here(job.grid.compiler, job.grid.targets[0])
    with opened(journal_path(job.path)) as (journal, later):
        earlier = read_table(job.path)
        known = {row.key: row.outcome for row in (*earlier, *later) if row.is_final}
        sweep = _Sweep(job, tools, journal, known, frozenset(known))
        sweep.run()
        if not sweep.rows:
            raise InputError("models are missing. Name some, or let the generator yield some.")
        rows = tuple(sweep.rows[number] for number in range(len(sweep.rows)))
        evaluation = None if job.evaluate is None else {"name": job.evaluate.text, "sha256": job.evaluate.sha256}
        write_table(job.path, rows, {"tools": tools.record(), "evaluation": evaluation})
        journal.remove()
    return Swept(job.path, rows, sweep.reused)


@dataclass(slots=True)
class _Sweep:
    """A run: which rows are known, and which wait for tasks.

    Attributes:
        known: outcomes by their keys.
        earlier: the keys that were known at the start.
        rows: by their number.
        waiting: rows without outcomes, by the key that they wait for.
        reused: how many rows have one of these.
    """

    job: Job
    tools: Tools
    journal: Journal
    known: dict[str, Outcome]
    earlier: frozenset[str]
    rows: dict[int, Row] = field(default_factory=dict)
    waiting: dict[str, list[tuple[int, Model, Setting]]] = field(default_factory=dict)
    reused: int = 0

    def run(self) -> None:
        """Runs all tasks; starts no cluster for none."""
        tasks = self._tasks()
        first = next(tasks, None)
        if first is None:
            return
        with self.job.run() as runner:
            for task, result in runner.results(chain([first], tasks)):
                outcome = Outcome(Status.FAILED, f"{result}.") if isinstance(result, WorkerDied) else result
                self._add(task.key, outcome)

    def _add(self, task: str, outcome: Outcome) -> None:
        key = task.rpartition("-")[2]
        self.known[key] = outcome
        for number, model, setting in self.waiting.pop(key):
            self.rows[number] = _row(model, setting, key, outcome)
            self.journal.add(self.rows[number])
        self.job.watch(f"{len(self.rows):,} rows")

    def _tasks(self) -> Iterator[Task]:
        """Yields the tasks of the rows that are not known, in the order of the rows."""
        settings, number = self.job.grid.settings, 0
        for model in self.job.models:
            shared = _shared(model, self.job.evaluate)
            digest, name = model.sha256, library_name(model.name)
            for setting in settings:
                key = key_of(digest, name, setting, self.tools, self.job.evaluate) if model.data else ""
                if not key:
                    self.rows[number] = _row(model, setting, "", Outcome(Status.REFUSED, model.refusal))
                elif key in self.known:
                    self.rows[number] = _row(model, setting, key, self.known[key])
                    self.reused += key in self.earlier
                elif key in self.waiting:
                    self.waiting[key].append((number, model, setting))
                else:
                    self.waiting[key] = [(number, model, setting)]
                    yield Task(
                        f"kibi-measured-{key}", self.job.measure, (shared[0], name, setting, self.tools, *shared[1:])
                    )
                number += 1
                if number > MOST_ROWS:
                    raise InputError(f"there are more than {MOST_ROWS:,} rows. Divide the sweep.")


def _shared(model: Model, function: NamedFunction | None) -> tuple[Task, ...]:
    """The tasks whose results all tasks of a model share: its bytes, and what is said of it."""
    data = Task(f"kibi-model-{model.sha256}", model_bytes, (model.data,))
    if function is None:
        return (data,)
    key = sha256(f"{model.sha256} {function.sha256} {function.name}".encode()).hexdigest()
    return data, Task(f"kibi-evaluated-{key}", evaluated, (data, function))


def _row(model: Model, setting: Setting, key: str, outcome: Outcome) -> Row:
    return Row(model.name, model.sha256, model.parameters, setting, key, outcome)
