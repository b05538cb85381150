"""Evaluations on a cluster: the data in parts, each a task of a worker that opens the data itself.

A task gets the graph, which is sent once for all of them, the path of the data, and the labels of its part. It returns what is
kept of each input: ten numbers, and the name of its file. The parts are put in the order of the data, so that all figures are
those of an evaluation on one machine.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from hashlib import sha256
from itertools import islice
from pathlib import Path
from threading import Lock
from typing import Any

from kibi.arrays.dataset import Dataset, open_dataset
from kibi.clusters.tasks import Runner, Task, WorkerDied
from kibi.clusters.tools import Tools, tools_here, tools_that_differ
from kibi.engines.batch import BatchEngine
from kibi.errors import InputError, KibiError, LimitError, MismatchError, ToolchainError
from kibi.ir import Graph
from kibi.ir.text import graph_text
from kibi.reports.evaluated_batches import Batch, Work, batch_engine
from kibi.reports.evaluation_log import Chunk
from kibi.reports.metrics import Numbers
from kibi.text.json import json_text

_FORMAT = 1
"""Counts up when tasks give other results for the same part."""
_PARTS, _LEAST_INPUTS, _MOST_INPUTS = 256, 16, 1024
"""Into how many parts data are divided, and the bounds of a part: a worker that dies loses no more than one."""
_COMPILER = "zig"
_REFUSALS = (InputError, LimitError, MismatchError, ToolchainError)
"""Errors that end an evaluation on one machine, too."""


@dataclass(frozen=True, slots=True)
class Part:
    """A part of the data.

    Attributes:
        number: of the part, from 0.
        path: of the data, absolute.
        count: how many inputs all of the data have.
        first: the number of the first input.
        labels: `[N]`, the number of the class of each input, or -1.
        tools: of the machine that asks; a worker that has others refuses to work.
    """

    number: int
    path: str
    count: int
    first: int
    labels: Numbers
    tools: Tools


@dataclass(frozen=True, slots=True)
class Counted:
    """What became of a part.

    Attributes:
        chunks: what is kept of its batches, in their order.
        names: of the files of its inputs; empty texts for those without.
    """

    chunks: tuple[Chunk, ...]
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Refused:
    """An error that ends the evaluation, as the result of a part.

    Attributes:
        kind: its class.
        text: its text.
        facts: its fields, by their names.
    """

    kind: type[KibiError]
    text: str
    facts: tuple[tuple[str, Any], ...] = ()

    @staticmethod
    def of(error: KibiError) -> "Refused":
        """Returns the result for an error."""
        return Refused(type(error), str(error), tuple(vars(error).items()))

    def error(self) -> KibiError:
        """Returns the error."""
        made = self.kind.__new__(self.kind)
        KibiError.__init__(made, self.text)  # a class's own takes the facts in its own order
        vars(made).update(self.facts)
        return made


def counted_parts(
    runner: Runner, work: Work, path: Path, labels: Numbers, *, first: int, count: int
) -> Iterator[Counted]:
    """Yields what became of the parts of the data, in the order of the data.

    Args:
        runner: runs the tasks.
        work: what is done with each batch.
        path: of the data, which workers open.
        labels: `[N]`, the number of the class of each input that counts, or -1.
        first: the number of the first input that was not counted before.
        count: how many inputs the data have.

    Raises:
        InputError: the data do not fit the model, or workers see others.
        LimitError, MismatchError: as in an evaluation on one machine.
        ToolchainError: workers have other tools, died, or the scheduler is lost.
    """
    held: dict[int, Counted | Refused] = {}
    following = 0
    for task, result in runner.results(_tasks(work, path, labels, first, count)):
        part: Part = task.arguments[-1]
        held[part.number] = _given_up(part, result) if isinstance(result, WorkerDied) else result
        while following in held:
            found = held.pop(following)
            if isinstance(found, Refused):
                raise found.error()
            following += 1
            yield found


def same(value: Any) -> Any:
    """Returns a value: the task whose result all parts of an evaluation share."""
    return value


def count_part(digest: str, work: Work, part: Part) -> Counted | Refused:
    """Runs a part of the data: the task of a worker.

    Args:
        digest: of the work and the data.
        work: what is done with each batch.
        part: the part.

    Returns:
        What is kept of its inputs, or the error.
    """
    try:
        own = tools_here(_COMPILER, "host")
        if own != part.tools:
            return Refused(ToolchainError, tools_that_differ(own, part.tools))
        with _one_at_a_time:
            return _counted(_opened_for(digest, work, part), work, part)
    except _REFUSALS as error:
        return Refused.of(error)


def _tasks(work: Work, path: Path, labels: Numbers, first: int, count: int) -> Iterator[Task]:
    tools = tools_here(_COMPILER, "host")
    digest = sha256()
    for graph in (work.graph, work.reference):
        digest.update(b"none" if graph is None else graph_text(graph).encode("utf-8", "replace"))
    settings = json_text([work.task.classes, work.task.score, work.source, tools.record(), _FORMAT], indent=None)
    digest.update(settings.text.encode())
    shared = Task(f"kibi-work-{digest.hexdigest()}", same, (_lean(work),))
    status = path.stat()
    digest.update(f"{path.absolute()} {count} {status.st_size} {status.st_mtime_ns}".encode("utf-8", "surrogateescape"))
    size = min(_MOST_INPUTS, max(_LEAST_INPUTS, -(-len(labels) // _PARTS)))
    for number, start in enumerate(range(first, len(labels), size)):
        part = Part(number, os.fspath(path.absolute()), count, start, labels[start : start + size], tools)
        key = sha256(f"{digest.hexdigest()} {start} ".encode() + part.labels.astype("<i8").tobytes()).hexdigest()
        yield Task(f"kibi-part-{key}", count_part, (digest.hexdigest(), shared, part))


def _lean(work: Work) -> Work:
    """The work with copies of the graphs, which have none of what was computed of them and kept."""
    return replace(
        work, graph=replace(work.graph), reference=None if work.reference is None else replace(work.reference)
    )


def _given_up(part: Part, died: WorkerDied) -> Refused:
    what = f"inputs {part.first:,} to {part.first + len(part.labels) - 1:,}: {died}"
    return Refused(ToolchainError, f"{what}. Give workers more memory, and run the same command again.")


@dataclass(frozen=True, slots=True)
class _Opened:
    """What a worker keeps from one part to the next of an evaluation: engines, whose code is built, and the data."""

    digest: str
    engine: BatchEngine
    reference: BatchEngine | None
    dataset: Dataset

    def close(self) -> None:
        for engine in (self.engine, self.reference):
            if engine is not None:
                engine.close()


_one_at_a_time = Lock()
"""A worker's threads take turns: engines are for one caller."""
_opened: list[_Opened] = []
"""What this worker has open: that of the last evaluation, or nothing."""


def _opened_for(digest: str, work: Work, part: Part) -> _Opened:
    """The engines and the data of an evaluation; those of another one are closed."""
    while _opened and _opened[0].digest != digest:
        _opened.pop().close()
    if not _opened:
        dataset = _dataset(work.graph, part)
        engine = batch_engine(work.graph, 1)
        reference = None if work.reference is None else batch_engine(work.reference, 1)
        _opened.append(_Opened(digest, engine, reference, dataset))
    return _opened[0]


def _dataset(graph: Graph, part: Part) -> Dataset:
    remedy = "Workers open the data themselves: give a path under which each of them has the same files."
    try:
        dataset = open_dataset(graph, part.path)
    except InputError as error:
        raise InputError(f"a worker cannot open the data: {error} {remedy}") from None
    if dataset.count != part.count:
        found = "an unknown number of" if dataset.count is None else f"{dataset.count:,}"
        raise InputError(f"{part.path}: a worker sees {found} inputs, and not {part.count:,}. {remedy}")
    return dataset


def _counted(opened: _Opened, work: Work, part: Part) -> Counted:
    samples = islice(opened.dataset.samples(part.first), len(part.labels))
    names: list[str] = []

    def take(size: int) -> Batch | None:
        batch, at = list(islice(samples, size)), len(names)
        if not batch:
            return None
        names.extend(sample.name for sample in batch)
        return work.batch(batch, part.labels[at : at + len(batch)].tolist(), part.first + at)

    chunks = tuple(work.chunks(take, opened.engine, opened.reference, part.first))
    return Counted(chunks, tuple(names))
