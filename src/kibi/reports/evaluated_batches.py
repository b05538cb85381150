"""The batches of an evaluation: inputs as the model takes them, run as C code, and judged."""

import hashlib
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from kibi.arrays.dataset import Sample
from kibi.arrays.rows import fit_rows, real_rows
from kibi.dtypes import Array
from kibi.engines.batch import BatchEngine
from kibi.errors import InputError
from kibi.ir import Graph
from kibi.planner import Granularity
from kibi.planner import plan as make_plan
from kibi.reports.evaluation_log import Chunk
from kibi.reports.judging import Task, judge
from kibi.reports.metrics import Numbers, Values
from kibi.reports.outputs import real_values
from kibi.targets import target


@dataclass(frozen=True, slots=True)
class Batch:
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


@dataclass(frozen=True, slots=True)
class Work:
    """What is done with each batch.

    Attributes:
        graph: the model.
        reference: another model to compare with; None: there is no comparison.
        task: what is asked of the model.
        source: the name of the data, for errors.
        keep_state: True if each inference goes on with the variables of the one before.
    """

    graph: Graph
    reference: Graph | None
    task: Task
    source: str
    keep_state: bool = False

    def batch(self, samples: Sequence[Sample], labels: Sequence[int], first: int) -> Batch:
        """Returns inputs as the model takes them.

        Args:
            samples: at least one.
            labels: the number of the class of each, or -1.
            first: the number of the first one in the data, for errors.

        Raises:
            InputError: an input does not fit the model, or has another form than the others.
        """
        raw = self.stacked(samples, first)
        inputs = tuple(fit_rows(self.graph, number, rows, self.source) for number, rows in enumerate(raw))
        return Batch(raw, inputs, np.array(labels, np.int64))

    def stacked(self, samples: Sequence[Sample], first: int) -> tuple[Array, ...]:
        """Returns for each model input an array `[N, …]` of all samples, as the data have them.

        Raises:
            InputError: they differ in shape or type.
        """
        return tuple(self._stacked(samples, number, first) for number in range(len(self.graph.inputs)))

    def chunks(
        self, take: Callable[[int], Batch | None], engine: BatchEngine, reference: BatchEngine | None, first: int
    ) -> Iterator[Chunk]:
        """Runs batches, and yields what is kept of each, in their order.

        Args:
            take: returns the next batch, of at most so many inputs; None at the end of the data.
            engine: of the model.
            reference: of the other model, if there is one.
            first: the number of the first input of the first batch, for errors.

        Raises:
            LimitError, MismatchError, InternalError: as `BatchEngine.run`.
        """
        waiting: deque[Batch] = deque()

        def taken() -> Iterator[Sequence[Array]]:
            while True:
                size = engine.batch_inputs
                if reference is not None:  # all of its processes share one batch
                    size = min(size, reference.batch_inputs * reference.workers)
                batch = take(size)
                if batch is None:
                    return
                waiting.append(batch)
                yield batch.inputs

        for made in engine.stream(taken(), keep_state=self.keep_state, first=first):
            batch, theirs = waiting.popleft(), None
            if reference is not None:
                count = len(batch.labels)
                inputs = self._for_reference(reference.graph, batch)
                other = reference.run_batch(inputs, count=count, keep_state=self.keep_state, first=first)
                made = replace(made, ended=made.ended & other.ended)  # noqa: PLW2901 - both must have outputs
                kinds = [reference.graph.tensors[index] for index in reference.graph.outputs]
                theirs = [real_values(kind, array) for kind, array in zip(kinds, other.outputs, strict=True)]
            found = judge(self.graph, self.task, self._reconstructed(batch), made, batch.labels, theirs)
            first += len(batch.labels)
            yield Chunk(batch.digest, found)

    def _stacked(self, samples: Sequence[Sample], number: int, first: int) -> Array:
        """One input of all samples, which must have one shape and type."""
        arrays = [sample.inputs[number] for sample in samples]
        for at, array in enumerate(arrays):
            if (array.shape, array.dtype) != (arrays[0].shape, arrays[0].dtype):
                what = f"{self.source}, input {first + at}: it has shape {list(array.shape)} and type {array.dtype}"
                others = f"the one before has {list(arrays[0].shape)} and {arrays[0].dtype}"
                raise InputError(f"{what}, {others}. Give all inputs in one form.")
        return np.stack(arrays)

    def _reconstructed(self, batch: Batch) -> Values | None:
        """The real values that a model is to reconstruct: those of the data, before they are quantized."""
        if self.task.score != "reconstruction":
            return None
        if batch.raw[0].dtype.kind == "f":
            return batch.raw[0].astype(np.float64)
        return real_values(self.graph.tensors[self.graph.inputs[0]], batch.inputs[0])

    def _for_reference(self, other: Graph, batch: Batch) -> list[Array]:
        return [
            fit_rows(other, number, real_rows(self.graph, number, rows), self.source)
            for number, rows in enumerate(batch.raw)
        ]


def batch_engine(graph: Graph, workers: int | None) -> BatchEngine:
    """Returns the engine of a model for evaluations: whole tensors, which is the fastest on this machine.

    Raises:
        InputError: there is no such number of processes.
        ToolchainError: the compiler is missing or fails.
    """
    plan = make_plan(graph, target("host"), granularity=Granularity.TENSOR)
    return BatchEngine(graph, plan, workers=workers)
