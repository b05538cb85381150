"""Many inputs at once: a model's C code in one process for each core, held against the Python runtime on the first inputs."""

import os
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from queue import SimpleQueue
from types import TracebackType
from typing import Self
from weakref import finalize

import numpy as np

from kibi.dtypes import Array
from kibi.engines.host_process import HostCode, HostProcess, Results
from kibi.errors import InputError, MismatchError, on_failure
from kibi.ir import Graph
from kibi.planner import Plan, PlannedModel
from kibi.runtime import Interpreter

CHECKED_INPUTS = 4
"""The most inputs that are run in Python, too, when an engine gets its first ones."""
_BATCH_SECONDS = 0.1
_MOST_BATCH_BYTES = 4 << 20
_MOST_BATCH_INPUTS = 512


class BatchEngine:
    """A planned model's C code in child processes of this machine, one for each core.

    The first inputs that it gets also run in Python, and their bits must be the same. Processes start when they are needed. After
    an error or an interruption they are ended; the next call starts them anew, with the first values of all variables.

    Args:
        model: the graph.
        plan: its plan, for any target, which is right for the model.
        workers: how many processes at most; None: as many as there are cores.
        compiler: `zig`, `gcc` or `clang`; None: zig where it is installed, else the system's.
        level: of the compiler: `0`, `1`, `2`, `3` or `s`.

    Raises:
        InputError: there is no such number of processes.
        ToolchainError: the compiler is missing or fails.
    """

    def __init__(
        self, model: Graph, plan: Plan, *, workers: int | None = None, compiler: str | None = None, level: str = "2"
    ) -> None:
        self._given = model, plan
        self._planned = PlannedModel.of(model, plan)
        self.workers = _cores() if workers is None else workers
        if self.workers < 1:
            raise InputError(f"the number of processes is {workers}. Give at least 1, or None for one on each core.")
        self._code = HostCode.of(self._planned, compiler=compiler, level=level)
        self._processes: list[HostProcess] = []
        self._end = finalize(self, _close, self._processes)
        self._definition: Interpreter | None = None
        self._is_checked = False
        self._seconds = 0.0

    @property
    def graph(self) -> Graph:
        """The graph that runs."""
        return self._planned.graph

    @property
    def batch_inputs(self) -> int:
        """How many inputs make a good batch: about a tenth of a second of work, by the time that the first inputs took."""
        if not self._is_checked:
            return CHECKED_INPUTS
        graph = self.graph
        moved = sum(graph.tensors[index].type.size_bytes for index in (*graph.inputs, *graph.outputs))
        most = min(_MOST_BATCH_INPUTS, max(1, _MOST_BATCH_BYTES // max(1, moved)))
        return max(1, min(most, int(_BATCH_SECONDS / max(self._seconds, 1e-9))))

    def run(self, inputs: Sequence[Array]) -> list[Array]:
        """Runs one inference, which goes on with the variables of the one before; without outputs if an operator ended it early.

        Args:
            inputs: one array for each model input, of its shape and type.

        Raises:
            LimitError: a loop of the model took too many iterations.
            MismatchError: the bits are not those of the Python runtime.
            InternalError: the C code returned an error, wrote outside its memory, or crashed.
        """
        made = self.run_batch([np.asarray(array)[np.newaxis] for array in inputs], count=1, keep_state=True)
        return [array[0] for array in made.outputs] if made.ended[0] else []

    def run_batch(self, inputs: Sequence[Array], *, count: int, keep_state: bool = False, first: int = 0) -> Results:
        """Runs inferences on all cores.

        Args:
            inputs: for each model input an array `[N, *shape]` of its type.
            count: N.
            keep_state: True if each inference goes on with the variables that the one before has left, on one core; False if each
                begins with their first values.
            first: the number of the first input, for errors.

        Raises:
            LimitError, MismatchError, InternalError: as `run`.
        """
        parts = list(self.stream(self._pieces(inputs, count), keep_state=keep_state, first=first))
        if len(parts) == 1:
            return parts[0]
        kinds = [self.graph.tensors[index].type for index in self.graph.outputs]
        outputs = [
            np.concatenate([part.outputs[number] for part in parts])
            if parts
            else np.zeros((0, *kind.shape), kind.dtype.numpy)
            for number, kind in enumerate(kinds)
        ]
        ended = np.concatenate([np.zeros(0, np.bool_), *(part.ended for part in parts)])
        return Results(tuple(outputs), ended, sum(part.seconds for part in parts))

    def stream(
        self, batches: Iterable[Sequence[Array]], *, keep_state: bool = False, first: int = 0
    ) -> Iterator[Results]:
        """Yields the results of batches in their order, while later ones run.

        Two batches for each core are taken ahead, so that the memory does not depend on how many there are.

        Args:
            batches: for each batch the arrays `[N, *shape]` of all model inputs; N is at least 1 and may differ.
            keep_state: as in `run_batch`.
            first: the number of the first input, for errors.

        Raises:
            LimitError, MismatchError, InternalError: as `run`.
        """
        workers = 1 if keep_state else self.workers
        with ExitStack() as held:
            held.enter_context(on_failure(self.close))
            waiting: deque[Future[Results]] = deque()
            free: SimpleQueue[HostProcess] = SimpleQueue()
            started = 0
            pool = held.enter_context(ThreadPoolExecutor(workers))
            held.enter_context(on_failure(self.close))  # before the pool waits for its threads

            def work(batch: Sequence[Array], at: int) -> Results:
                process = free.get()
                try:
                    return process.run(batch, count=len(batch[0]) if batch else 1, keep_state=keep_state, first=at)
                finally:
                    free.put(process)

            for batch in batches:
                count = len(batch[0]) if batch else 1
                if not self._is_checked:
                    yield self._checked(batch, count, keep_state=keep_state, first=first)
                else:
                    if started < workers:
                        free.put(self._process(started))
                        started += 1
                    waiting.append(pool.submit(work, batch, first))
                    if len(waiting) >= 2 * workers:
                        yield waiting.popleft().result()
                first += count
            while waiting:
                yield waiting.popleft().result()

    def push(self, number: int, row: Array) -> int:
        """Hands over the next row of a stream input; returns the number of the input whose row must come next, or -1.

        Args:
            number: of the input.
            row: of its type.

        Raises:
            LimitError, InternalError: as `run`.
        """
        with on_failure(self.close):
            return self._process(0).push(number, row)

    def finish(self) -> list[Array]:
        """Ends an inference whose rows were pushed; without outputs if an operator ended it early.

        Raises:
            LimitError, InternalError: as `run`.
        """
        with on_failure(self.close):
            made = self._process(0).finish()
        return [array[0] for array in made.outputs] if made.ended[0] else []

    def check(self, inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
        """Compares an inference with the Python runtime, which goes on from the one that was compared before.

        Args:
            inputs: one array for each model input.
            outputs: what the C code made of them; none if an operator ended the inference early.

        Raises:
            MismatchError: the bits differ.
        """
        if self._definition is None:
            self._definition = Interpreter(*self._given, use_context=False)
        expected = self._definition.run(list(inputs))
        if len(expected) != len(outputs):
            raise self._mismatch("an operator ended the inference early in one of them alone")
        for index, found, wanted in zip(self.graph.outputs if expected else (), outputs, expected, strict=True):
            if found.tobytes() != wanted.tobytes():
                differing = int(np.count_nonzero(_words(found) != _words(wanted)))
                name = self.graph.tensors[index].name
                raise self._mismatch(f"{differing} of {found.size} elements of output {name!r} differ")

    def reset(self) -> None:
        """Gives variables their first values, and forgets rows that were pushed."""
        if self._definition is not None:
            self._definition.reset()
        if self._processes:
            with on_failure(self.close):
                self._process(0).reset()

    def rewind(self) -> None:
        """Forgets rows that were pushed."""
        if self._processes:
            with on_failure(self.close):
                self._process(0).rewind()

    def end_check(self) -> None:
        """Ends the comparison with the Python runtime, and gives up its memory."""
        self._is_checked, self._definition = True, None

    @property
    def is_checked(self) -> bool:
        """True if inputs have run in Python, too."""
        return self._is_checked

    def close(self) -> None:
        """Ends all processes at once, whatever they do; the next inference begins with the first values of variables."""
        _close(self._processes)
        self._definition = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _checked(self, batch: Sequence[Array], count: int, *, keep_state: bool, first: int) -> Results:
        """Runs the first batch, and the first of its inputs in Python, too."""
        made = self._process(0).run(batch, count=count, keep_state=keep_state, first=first)
        self._seconds = made.seconds / count
        for number in range(min(count, CHECKED_INPUTS)):
            if self._definition is not None and not keep_state:
                self._definition.reset()
            outputs = [array[number] for array in made.outputs] if made.ended[number] else []
            self.check([array[number] for array in batch], outputs)
        self.end_check()
        return made

    def _mismatch(self, what: str) -> MismatchError:
        name = self.graph.source
        return MismatchError(
            f"{name}: the C code on this machine and the Python runtime disagree: {what}. "
            "Run `kibi verify` on the model, which names the operator, and report it; until then, use the Python engine."
        )

    def _pieces(self, inputs: Sequence[Array], count: int) -> Iterator[list[Array]]:
        start = 0
        while start < count:
            size = self.batch_inputs
            yield [array[start : start + size] for array in inputs]
            start += size

    def _process(self, number: int) -> HostProcess:
        """A process, started if it does not run yet."""
        while len(self._processes) <= number:
            self._processes.append(HostProcess(self._code))
        return self._processes[number]


def _close(processes: list[HostProcess]) -> None:
    while processes:
        processes.pop().close()


def _words(array: Array) -> Array:
    """The elements as bits, so that floats that are no numbers are equal to themselves."""
    return np.frombuffer(array.tobytes(), np.dtype(f"V{array.dtype.itemsize}"))


def _cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
