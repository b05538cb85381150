"""Profiles: the operators that an interpreter runs, with their kernels, steps and times."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from time import perf_counter

from kibi.errors import InputError
from kibi.ir import Graph


@dataclass(frozen=True, slots=True)
class OperatorRun:
    """Consecutive steps of one operator, or all of its steps.

    Attributes:
        number: the place of its node in the graph.
        label: its name in reports and in generated C: `operator 3 (CONV_2D)`; or `input 0 (STREAM_INPUT)`, which receives rows.
        kernel: the C kernel that the plan has for it; empty if it has none.
        steps: how many row steps ran.
        ticks: the time that they took, in the clock's unit: seconds, unless another clock was given.
    """

    number: int
    label: str
    kernel: str
    steps: int
    ticks: float


class Profile:
    """The sums of what operators took; made by `Interpreter.profile`."""

    def __init__(self) -> None:
        self._sums: dict[int, OperatorRun] = {}

    @property
    def operators(self) -> tuple[OperatorRun, ...]:
        """Each operator that ran, in the order of the graph, with all its steps and ticks so far."""
        return tuple(self._sums[number] for number in sorted(self._sums))

    @property
    def ticks(self) -> float:
        """The ticks of all operators."""
        return sum(each.ticks for each in self._sums.values())

    def clear(self) -> None:
        """Forgets everything."""
        self._sums.clear()

    def add(self, run: OperatorRun) -> None:
        """Adds steps of an operator."""
        before = self._sums.get(run.number)
        if before is not None:
            run = replace(run, steps=before.steps + run.steps, ticks=before.ticks + run.ticks)
        self._sums[run.number] = run

    def __str__(self) -> str:
        """A line for each operator: ticks, steps, label, kernel."""
        return "\n".join(f"{each.ticks:12.6f} {each.steps:6} {each.label} {each.kernel}" for each in self.operators)


class Profiler:
    """Measures steps, and tells of consecutive ones of an operator at once.

    Args:
        graph: the graph that runs, with a kernel for each node.
        clock: returns the time, in any unit.
        tell: receives each run of consecutive steps.
    """

    def __init__(self, graph: Graph, clock: Callable[[], float], tell: Callable[[OperatorRun], None]) -> None:
        self._graph = graph
        self._clock = clock
        self._tell = tell
        self._running: OperatorRun | None = None

    def now(self) -> float:
        """The time."""
        return self._clock()

    def ran(self, number: int, since: float) -> None:
        """Notes that a step of a node has run since a time."""
        ticks = self._clock() - since
        before = self._running
        if before is not None and before.number == number:
            self._running = replace(before, steps=before.steps + 1, ticks=before.ticks + ticks)
            return
        self.flush()
        label, kernel = self._graph.nodes[number].label, self._graph.calls[number].kernel
        self._running = OperatorRun(number, label, kernel, 1, ticks)

    def flush(self) -> None:
        """Tells of the steps that ran last."""
        done, self._running = self._running, None
        if done is not None:
            self._tell(done)

    def forget(self) -> None:
        """Forgets the steps that ran last, after an error."""
        self._running = None


class StepTimes:
    """Runs steps, and measures them while a profile is being made.

    Attributes:
        profiler: what measures them; None: nobody asks.
    """

    def __init__(self) -> None:
        self.profiler: Profiler | None = None

    def run(self, node: int, work: Callable[[], None]) -> None:
        """Does the work of a step of a node."""
        profiler = self.profiler
        if profiler is None:
            work()
            return
        since = profiler.now()
        work()
        profiler.ran(node, since)

    def tell(self) -> None:
        """Tells of the steps that ran last."""
        if self.profiler is not None:
            self.profiler.flush()

    def forget(self) -> None:
        """Forgets the steps that ran last, after an error."""
        if self.profiler is not None:
            self.profiler.forget()


class Profiled(ABC):
    """Measures the steps of a model where somebody asks."""

    def __init__(self) -> None:
        self._times = StepTimes()

    @property
    @abstractmethod
    def model(self) -> Graph:
        """The graph, with a kernel for each node."""

    @contextmanager
    def profile(
        self, on_operator: Callable[[OperatorRun], None] | None = None, clock: Callable[[], float] = perf_counter
    ) -> Iterator[Profile]:
        """Measures operators in a with-block: `with interpreter.profile() as profile: interpreter.run(inputs)`.

        Args:
            on_operator: called after consecutive steps of an operator, like `KIBI_ON_OPERATOR` in generated C.
            clock: returns the time; its unit is that of the ticks.

        Yields:
            The sums for each operator; kernels of C, whose bits Python computes with NumPy.

        Raises:
            InputError: an argument cannot be called, or another profile is being made.
        """
        for each in (clock, clock if on_operator is None else on_operator):
            if not callable(each):
                raise InputError(f"{type(each).__name__} cannot be called. Give functions to `profile`.")
        if self._times.profiler is not None:
            raise InputError(f"{self.model.source}: another profile of this interpreter is being made. End it first.")
        profile = Profile()

        def tell(run: OperatorRun) -> None:
            profile.add(run)
            if on_operator is not None:
                on_operator(run)

        self._times.profiler = Profiler(self.model, clock, tell)
        try:
            yield profile
        finally:
            self._times.profiler = None
