"""Runs a model on a data set, on all cores, and computes what `Evaluation` holds."""

import hashlib
import warnings
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from kibi.arrays.dataset import Dataset, Sample, open_dataset
from kibi.arrays.rows import RangeWatch, fit_rows, real_rows
from kibi.dtypes import Array
from kibi.engines.batch import BatchEngine
from kibi.errors import DataWarning, InputError
from kibi.files import check_folder
from kibi.ir import Graph
from kibi.planner import Granularity
from kibi.planner import plan as make_plan
from kibi.reports.evaluation import Evaluation, WorstInput
from kibi.reports.evaluation_log import Chunk, EvaluationLog
from kibi.reports.figures import classification, comparison, detection
from kibi.reports.judging import Judgements, Labels, Task, judge
from kibi.reports.metrics import Numbers, Values
from kibi.reports.outputs import real_values
from kibi.reports.worst_inputs import worst_by, worst_numbers, write_worst
from kibi.targets import target

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


@dataclass(frozen=True, slots=True)
class _Batch:
    """Several inputs.

    Attributes:
        raw: for each model input an array `[N, …]` as the data have it.
        inputs: the same as the model takes it.
        labels: `[N]`, the numbers of classes, or -1.
    """

    raw: tuple[Array, ...]
    inputs: tuple[Array, ...]
    labels: Numbers

    @property
    def digest(self) -> str:
        """A hash of the inputs and labels."""
        total = hashlib.sha256(self.labels.astype("<i8").tobytes())
        for array in self.inputs:
            total.update(np.ascontiguousarray(array).view(np.uint8).reshape(-1).data)
        return total.hexdigest()[:32]


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
    if request.most is not None and request.most < 1:
        raise InputError(f"the number of inputs is {request.most}. Give at least 1.")
    for number, what in ((request.worst_count, "worst inputs"), (request.windows, "windows")):
        if number < 1:
            raise InputError(f"the number of {what} is {number}. Give at least 1.")
    if request.worst is not None:
        check_folder(request.worst)
    if request.reference is not None:
        for ours, theirs, what in (
            (request.graph.inputs, request.reference.inputs, "inputs"),
            (request.graph.outputs, request.reference.outputs, "outputs"),
        ):
            sizes = [
                [graph.tensors[index].type.elements for index in indices]
                for graph, indices in ((request.graph, ours), (request.reference, theirs))
            ]
            if sizes[0] != sizes[1]:
                raise InputError(
                    f"{request.reference.source} has {what} of {sizes[1]} elements, {request.graph.source} of {sizes[0]}. "
                    "Give a model of the same network, such as the one before it was quantized."
                )


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
        for number, label in enumerate(islice(self._dataset.labels(), request.most)):
            self._labels.number(label, f"input {number}")
        if self._total is not None:
            self._check_windows(self._total)
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
            with ExitStack() as held:
                samples = islice(self._dataset.samples(), request.most)
                self._resume(samples, log.chunks if log is not None else ())
                engine = held.enter_context(self._engine(self._graph))
                reference = None if request.reference is None else held.enter_context(self._engine(request.reference))
                for chunk in self._chunks(samples, engine, reference):
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

    def _engine(self, graph: Graph) -> BatchEngine:
        plan = make_plan(graph, target("host"), granularity=Granularity.TENSOR)
        return BatchEngine(graph, plan, workers=self._request.workers)

    def _resume(self, samples: Iterator[Sample], chunks: Sequence[Chunk]) -> None:
        """Counts what was counted before, if the data are the same."""
        for chunk in chunks:
            start, count = len(self._names), len(chunk.judgements)
            batch = self._batch(list(islice(samples, count)))
            if batch is None or len(batch.labels) != count or batch.digest != chunk.digest:
                what = f"{self._request.resume}: inputs {start} to {start + count - 1} were others when it was written"
                raise InputError(f"{what}. Give the data of then, or a name for a new file.")
            if not chunk.judgements.fits(batch.labels, self._task):
                raise InputError(f"{self._request.resume}: it is damaged. Give a name for a new file.")
            self._count(chunk.judgements)

    def _chunks(self, samples: Iterator[Sample], engine: BatchEngine, reference: BatchEngine | None) -> Iterator[Chunk]:
        """Runs the inputs that are left, batch by batch."""
        keep = self._request.keep_state
        waiting: deque[_Batch] = deque()

        def taken() -> Iterator[Sequence[Array]]:
            while True:
                size = engine.batch_inputs
                if reference is not None:  # all of its processes share one batch
                    size = min(size, reference.batch_inputs * reference.workers)
                batch = self._batch(list(islice(samples, size)))
                if batch is None:
                    return
                waiting.append(batch)
                yield batch.inputs

        for made in engine.stream(taken(), keep_state=keep):
            batch, theirs = waiting.popleft(), None
            if reference is not None:
                other = reference.run_batch(self._for_reference(batch), count=len(batch.labels), keep_state=keep)
                made = replace(made, ended=made.ended & other.ended)  # noqa: PLW2901 - both must have outputs
                kinds = [reference.graph.tensors[index] for index in reference.graph.outputs]
                theirs = [real_values(kind, array) for kind, array in zip(kinds, other.outputs, strict=True)]
            found = judge(self._graph, self._task, self._reconstructed(batch), made, batch.labels, theirs)
            yield Chunk(batch.digest, found)

    def _reconstructed(self, batch: _Batch) -> Values | None:
        """The real values that a model is to reconstruct: those of the data, before they are quantized."""
        if self._task.score != "reconstruction":
            return None
        if batch.raw[0].dtype.kind == "f":
            return batch.raw[0].astype(np.float64)
        return real_values(self._graph.tensors[self._graph.inputs[0]], batch.inputs[0])

    def _batch(self, samples: Sequence[Sample]) -> _Batch | None:
        """Inputs as the model takes them; None if there are none."""
        if not samples:
            return None
        first = len(self._names)
        raw = tuple(self._stacked(samples, number, first) for number in range(len(self._graph.inputs)))
        inputs = tuple(fit_rows(self._graph, number, rows, self._dataset.source) for number, rows in enumerate(raw))
        self._ranges.look(raw)
        self._tell(self._ranges.news())
        labels = [self._labels.number(sample.label, f"input {first + at}") for at, sample in enumerate(samples)]
        self._names += [sample.name for sample in samples]
        return _Batch(raw, inputs, np.array(labels, np.int64))

    def _stacked(self, samples: Sequence[Sample], number: int, first: int) -> Array:
        """One input of all samples, which must have one shape and type."""
        arrays = [sample.inputs[number] for sample in samples]
        for at, array in enumerate(arrays):
            if (array.shape, array.dtype) != (arrays[0].shape, arrays[0].dtype):
                what = f"{self._dataset.source}, input {first + at}: it has shape {list(array.shape)} and type {array.dtype}"
                others = f"the one before has {list(arrays[0].shape)} and {arrays[0].dtype}"
                raise InputError(f"{what}, {others}. Give all inputs in one form.")
        return np.stack(arrays)

    def _for_reference(self, batch: _Batch) -> list[Array]:
        graph = self._request.reference
        if graph is None:
            return []
        return [
            fit_rows(graph, number, real_rows(self._graph, number, rows), self._dataset.source)
            for number, rows in enumerate(batch.raw)
        ]

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
