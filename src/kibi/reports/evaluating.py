"""Runs a model on a data set, on all cores, and computes what `Evaluation` holds."""

import warnings
from array import array
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from kibi.arrays.dataset import Dataset, Sample, open_dataset
from kibi.arrays.rows import LOOKED_AT, RangeWatch
from kibi.clusters.tasks import Runner
from kibi.dtypes import Array
from kibi.errors import DataWarning, InputError, InternalError
from kibi.files import check_folder
from kibi.ir import Graph
from kibi.reports.evaluated_batches import Batch, Work, batch_engine
from kibi.reports.evaluated_parts import counted_parts
from kibi.reports.evaluation import Evaluation, WorstInput
from kibi.reports.evaluation_log import Chunk, EvaluationLog
from kibi.reports.figures import classification, comparison, detection
from kibi.reports.judging import Judgements, Labels, Task
from kibi.reports.worst_inputs import worst_by, worst_numbers, write_worst

Watch = Callable[[int, int | None], None]
"""Is told how many inputs were counted, and how many there are, or None."""


@dataclass(frozen=True, slots=True)
class Request:
    """What is evaluated, and how.

    Attributes:
        graph: the model.
        data: see `open_dataset`.
        truth: the path of a file with labels; None: those in the data.
        labels: the names of the classes in order; None: they have numbers.
        score: see `Task.of`.
        windows: how many inputs after one another are windows of one, whose scores are averaged.
        reference: another model to compare with.
        most: how many inputs at most; None: all.
        keep_state: True if each inference goes on with the variables of the one before.
        workers: how many processes; None: one on each core.
        resume: the file from which to go on, and to which to write; None: nothing is written.
        worst: the folder for the worst inputs; None: they are not written.
        worst_count: how many at most.
        runner: makes what runs parts of the data as tasks, for the time of a with-block; None: processes of this machine do.
    """

    graph: Graph
    data: str | Path | Callable[[], Iterable[Any]]
    truth: str | Path | None = None
    labels: Sequence[str] | None = None
    score: str | None = None
    windows: int = 1
    reference: Graph | None = None
    most: int | None = None
    keep_state: bool = False
    workers: int | None = None
    resume: Path | None = None
    worst: Path | None = None
    worst_count: int = 10
    runner: Callable[[], AbstractContextManager[Runner]] | None = None


def evaluate(request: Request, watch: Watch | None = None) -> Evaluation:
    """Runs a model on a data set.

    An interruption (`KeyboardInterrupt`) while inputs run ends the evaluation early: what was counted by then is its result.

    Args:
        request: what is evaluated, and how.
        watch: is told of the progress.

    Raises:
        InputError: the data, labels or options do not fit the model, or the file to go on from is of something else.
        MismatchError: the C code on this machine and the Python runtime disagree.
        ToolchainError: the compiler is missing or fails.
        LimitError: a loop of a model took too many iterations.
        OutputError: a file cannot be written.
    """
    _check(request)
    return _Run(request, watch).result()


def _check(request: Request) -> None:
    if request.resume is not None and request.keep_state:
        raise InputError(
            "an evaluation whose inferences go on from one another cannot be resumed. Leave one of both out."
        )
    if request.runner is not None:
        _check_for_cluster(request)
    if request.most is not None and request.most < 1:
        raise InputError(f"the number of inputs is {request.most}. Give at least 1.")
    for number, what in ((request.worst_count, "worst inputs"), (request.windows, "windows")):
        if number < 1:
            raise InputError(f"the number of {what} is {number}. Give at least 1.")
    if request.worst is not None:
        check_folder(request.worst)
    if request.reference is not None:
        check_reference(request.graph, request.reference)


def check_reference(graph: Graph, reference: Graph) -> None:
    """Checks that two models have inputs and outputs of the same sizes.

    Raises:
        InputError: they have not.
    """
    for ours, theirs, what in (
        (graph.inputs, reference.inputs, "inputs"),
        (graph.outputs, reference.outputs, "outputs"),
    ):
        sizes = [
            [each.tensors[index].type.elements for index in indices]
            for each, indices in ((graph, ours), (reference, theirs))
        ]
        if sizes[0] != sizes[1]:
            raise InputError(
                f"{reference.source} has {what} of {sizes[1]} elements, {graph.source} of {sizes[0]}. "
                "Give a model of the same network, such as the one before it was quantized."
            )


def _check_for_cluster(request: Request) -> None:
    if request.keep_state:
        what = "inferences that go on from one another run one after the other"
        raise InputError(f"{what}. Leave out the scheduler, or the state.")
    if request.workers is not None:
        what = f"the number of processes is {request.workers}, and a scheduler has its own workers"
        raise InputError(f"{what}. Leave one of both out.")
    if callable(request.data) or (":" in str(request.data) and not Path(request.data).exists()):
        what = "workers of a cluster open the data themselves, each a part"
        raise InputError(f"{what}. Give a .npy or .npz file or a folder, under a path that all of them have.")


class _Run:
    """One evaluation.

    Args:
        request: what is evaluated.
        watch: is told of the progress; None: nobody is.
    """

    def __init__(self, request: Request, watch: Watch | None) -> None:
        self._request = request
        self._watch = watch
        self._graph = request.graph
        self._task = Task.of(self._graph, request.score, has_reference=request.reference is not None)
        if request.windows > 1 and not self._task.score:
            raise InputError("windows are for the scores of a detector. Give --score, or leave them out.")
        self._dataset: Dataset = open_dataset(self._graph, request.data, request.truth)
        self._labels = Labels.of(self._task, request.labels, self._dataset.classes, self._dataset.source)
        known = islice(self._dataset.labels(), request.most)
        self._numbers = array("q", (self._labels.number(label, f"input {at}") for at, label in enumerate(known)))
        if self._total is not None:
            self._check_windows(self._total)
        self._work = Work(self._graph, request.reference, self._task, self._dataset.source, request.keep_state)
        self._ranges = RangeWatch(self._graph)
        self._warnings: list[str] = []
        self._names: list[str] = []
        self._parts: list[Judgements] = []
        self._is_complete = False

    def result(self) -> Evaluation:
        """Evaluates, and returns the result."""
        request = self._request
        log = None if request.resume is None else EvaluationLog(request.resume, self._facts())
        try:
            self._show_progress()
            samples = islice(self._dataset.samples(), request.most)
            self._resume(samples, log.chunks if log is not None else ())
            for chunk in self._here(samples) if request.runner is None else self._on_cluster(request.runner):
                if log is not None:
                    log.append(chunk)
                self._count(chunk.judgements)
            self._is_complete = True
        except KeyboardInterrupt:
            pass
        if self._is_complete:
            self._tell(self._ranges.news(is_last=True))
        judged = Judgements.joined(self._parts)
        if not len(judged) and self._is_complete:
            raise InputError(f"{self._dataset.source}: there are no inputs. Give data with at least one.")
        if self._is_complete:
            self._check_windows(len(judged))
        return self._evaluation(judged)

    @property
    def _total(self) -> int | None:
        """How many inputs will be counted; None if that is known at the end alone."""
        known, most = self._dataset.count, self._request.most
        return most if known is None else known if most is None else min(known, most)

    def _check_windows(self, count: int) -> None:
        if count % self._request.windows:
            what = f"{self._dataset.source}: it has {count:,} inputs, and {self._request.windows:,} are windows of one"
            raise InputError(f"{what}. Give a number of windows that divides them.")

    def _facts(self) -> dict[str, str]:
        """What the file to resume from is about."""
        request = self._request
        return {
            "model": _identity(self._graph),
            "reference": "" if request.reference is None else _identity(request.reference),
            "task": self._task.score or str(self._task.classes),
        }

    def _resume(self, samples: Iterator[Sample], chunks: Sequence[Chunk]) -> None:
        """Counts what was counted before, if the data are the same."""
        for chunk in chunks:
            start, count = len(self._names), len(chunk.judgements)
            batch = self._take(samples, count)
            if batch is None or len(batch.labels) != count or batch.digest != chunk.digest:
                what = f"{self._request.resume}: inputs {start} to {start + count - 1} were others when it was written"
                raise InputError(f"{what}. Give the data of then, or a name for a new file.")
            if not chunk.judgements.fits(batch.labels, self._task):
                raise InputError(f"{self._request.resume}: it is damaged. Give a name for a new file.")
            self._count(chunk.judgements)

    def _here(self, samples: Iterator[Sample]) -> Iterator[Chunk]:
        """Runs the inputs that are left on this machine, batch by batch."""
        request = self._request
        with ExitStack() as held:
            engine = held.enter_context(batch_engine(self._graph, request.workers))
            reference = None
            if request.reference is not None:
                reference = held.enter_context(batch_engine(request.reference, request.workers))
            yield from self._work.chunks(
                lambda size: self._take(samples, size), engine, reference, first=len(self._names)
            )

    def _on_cluster(self, run: Callable[[], AbstractContextManager[Runner]]) -> Iterator[Chunk]:
        """Lets workers run the inputs that are left, part by part."""
        first, path = len(self._names), Path(str(self._request.data))
        count, total = self._dataset.count, self._total
        if count is None or total is None:
            raise InternalError(f"{path}: it does not say how many inputs it has")
        looked_at = list(islice(self._dataset.samples(first), min(LOOKED_AT, total - first)))
        if not looked_at:
            return
        self._look(self._work.stacked(looked_at, first))
        labels = np.array(self._numbers, np.int64) if self._numbers else np.full(total, -1, np.int64)
        with run() as runner:
            for part in counted_parts(runner, self._work, path, labels, first=first, count=count):
                self._names += part.names
                yield from part.chunks

    def _take(self, samples: Iterator[Sample], size: int) -> Batch | None:
        """The next inputs as the model takes them, at most so many; None if there are none."""
        taken, first = list(islice(samples, size)), len(self._names)
        if not taken:
            return None
        labels = [self._labels.number(sample.label, f"input {first + at}") for at, sample in enumerate(taken)]
        batch = self._work.batch(taken, labels, first)
        self._look(batch.raw)
        self._names += [sample.name for sample in taken]
        return batch

    def _look(self, raw: Sequence[Array]) -> None:
        self._ranges.look(raw)
        self._tell(self._ranges.news())

    def _count(self, judged: Judgements) -> None:
        self._parts.append(judged)
        self._show_progress()

    def _show_progress(self) -> None:
        if self._watch is not None:
            self._watch(sum(map(len, self._parts)), self._total)

    def _tell(self, news: Sequence[str]) -> None:
        """Warns, and keeps the warnings for the result."""
        for text in news:
            self._warnings.append(text)
            warnings.warn(text, DataWarning, stacklevel=2)

    def _evaluation(self, judged: Judgements) -> Evaluation:
        """The result."""
        request, task = self._request, self._task
        found = detection(task, judged, request.windows) if task.score else None
        threshold = found.threshold if found is not None else None
        worst = tuple(
            self._worst(judged, number, figure)
            for number, figure in worst_numbers(task, judged, threshold, request.worst_count)
        )
        if request.worst is not None and worst:
            worst = write_worst(self._graph, self._dataset, worst, request.worst)
        return Evaluation(
            model=self._graph.name,
            data=self._dataset.source,
            inputs=len(judged),
            total=self._dataset.count,
            is_complete=self._is_complete,
            without_outputs=int((judged.ended == 0).sum()),
            classification=classification(task, judged, self._labels) if task.classes else None,
            detection=found,
            comparison=None if request.reference is None else comparison(task, judged, self._graph, request.reference),
            worst_by=worst_by(task, judged),
            worst=worst,
            warnings=tuple(self._warnings),
        )

    def _worst(self, judged: Judgements, number: int, figure: float) -> WorstInput:
        label, answer = int(judged.labels[number]), int(judged.answers[number])
        return WorstInput(number, self._names[number], self._labels.name(label), self._labels.name(answer), figure)


def _identity(graph: Graph) -> str:
    from kibi.codegen.provenance import digest  # noqa: PLC0415

    return f"{graph.source} {digest(graph)}"
