"""The interpreter that users make: the Python runtime, or the model's C code on this machine."""

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from time import perf_counter
from types import TracebackType
from typing import TYPE_CHECKING, Self

import numpy as np

from kibi.dtypes import Array
from kibi.eager.handlers import Handler, NullHandler
from kibi.eager.inference_events import InferenceEnded, InferenceStarted, MoreInputNeeded, RowReceived
from kibi.eager.memory import WritableBuffer
from kibi.eager.room import room_for
from kibi.eager.tensors.interface import TensorInterface
from kibi.errors import CompilerWarning, InputError, on_failure
from kibi.ir import Graph
from kibi.planner.plan import Plan
from kibi.runtime.given import input_number, shown
from kibi.runtime.inference import Observer
from kibi.runtime.interpreter import Interpreter as PythonInterpreter
from kibi.runtime.profiling import OperatorRun, Profile

if TYPE_CHECKING:
    from kibi.engines.batch import BatchEngine

ENGINES = ("python", "host")
MOST_IN_PYTHON = 8
"""The limit of inputs of a batch that Python runs where nobody has chosen an engine."""


class Interpreter(PythonInterpreter):
    """A planned model, to run many times.

    All that `kibi.runtime.Interpreter` says is true of `engine="python"`. With `engine="host"`, the model's C code computes,
    compiled for this machine, in a process of its own. `run`, `invoke`, `push_row`, `reset` and all that sets inputs and reads
    outputs are the same. So are the bits: the first inference runs in Python, too, and ends in an error if any bit differs. C has
    memory of its own: arenas of the caller, registered buffers, tensors between the steps, observers and profiles are for
    `engine="python"`. After an error, and after an interruption, variables have their first values.

    Args:
        model: the graph.
        plan: its plan; None: see `use_embedded_plan`.
        arena: as in `kibi.runtime.Interpreter`.
        engine: `python`: the Python runtime, which is the definition. `host`: the model's C code on this machine. None: Python,
            except that `run_batch` runs more than 8 inputs as C code where nothing asks for events and no memory is the caller's.
        workers: the most processes that `run_batch` uses for C code; None: one on each core.
        guard: True if canaries in free bytes are kept and checked.
        allocate: True to allocate at once; False: the caller calls `allocate`, after `register_preallocated`.
        handler: receives the events; None: that of the current Context, or nobody.
        use_context: True to follow the Context whose with-block is entered; False: all memory is the interpreter's own.
        use_embedded_plan: which plan to follow where none is given: True for that of the model file, False for the default plan of
            the host, None for the first that there is.

    Raises:
        InputError: there is no such engine, or an argument has another type, or it is for the other engine.
        PlanError, ArenaError, ModelError, EventError: as in `kibi.runtime.Interpreter`.
        ToolchainError: the compiler for `host` is missing or fails.
    """

    def __init__(
        self,
        model: Graph,
        plan: Plan | None = None,
        arena: WritableBuffer | None = None,
        *,
        engine: str | None = None,
        workers: int | None = None,
        guard: bool = True,
        allocate: bool = True,
        handler: Handler | None = None,
        use_context: bool = True,
        use_embedded_plan: bool | None = None,
    ) -> None:
        if engine is not None and engine not in ENGINES:
            raise InputError(f"there is no engine {engine!r}. Engines are: {', '.join(ENGINES)}.")
        self._engine_name = engine or "python"
        self._takes_c = engine is None and arena is None
        self._workers = workers
        self._host: BatchEngine | None = None
        self._many: BatchEngine | None = None
        self._expected_input: int | None = None
        self._rows: list[list[Array]] = []
        if arena is not None and self._is_host:
            raise self._is_for_python("an arena of the caller")
        super().__init__(
            model,
            plan,
            arena,
            guard=guard,
            allocate=allocate,
            handler=handler,
            use_context=use_context,
            use_embedded_plan=use_embedded_plan,
        )

    @property
    def engine(self) -> str:
        """`python` or `host`."""
        return self._engine_name

    @property
    def tensors(self) -> Mapping[int, TensorInterface]:
        """The tensors that steps read or make, by index, of `engine="python"`."""
        if self._is_host:
            raise self._is_for_python("a tensor between the steps")
        return super().tensors

    def register_preallocated(self, tensor: int | str, buffer: WritableBuffer) -> int:
        """Puts a tensor into a caller-owned buffer: see `kibi.runtime.Interpreter`; of `engine="python"`."""
        if self._is_host:
            raise self._is_for_python("a registered buffer")
        return super().register_preallocated(tensor, buffer)

    @contextmanager
    def profile(
        self, on_operator: Callable[[OperatorRun], None] | None = None, clock: Callable[[], float] = perf_counter
    ) -> Iterator[Profile]:
        """Measures operators in a with-block: see `kibi.runtime.Interpreter`; of `engine="python"`."""
        if self._is_host:
            raise self._is_for_python("a profile")
        with super().profile(on_operator, clock) as made:
            yield made

    def run_batch(self, inputs: Sequence[Array] | Mapping[str, Array]) -> list[Array]:
        """Runs the model on many inputs, each as if it were the first: with the first values of all variables.

        With `engine="host"`, and without a chosen engine for more than 8 inputs, the model's C code works on all cores; the first
        inputs also run in Python, and all bits must be equal. Without a chosen engine and without a compiler, Python runs them all,
        and a `CompilerWarning` says so. Before and after it variables get their first values, and rows are forgotten.

        Args:
            inputs: for each model input an array `[N, *shape]` of its type; a list, or arrays by the names of inputs.

        Returns:
            For each model output an array `[N, *shape]`.

        Raises:
            InputError: an array does not fit, or an operator ends an inference early, because it waits for further ones.
            MismatchError: C and Python disagree.
            ToolchainError: the compiler fails.
        """
        graph = self._ready().graph
        arrays = _batch(graph, inputs)
        count = len(arrays[0]) if arrays else 0
        self.reset()
        engine = self._host or self._for_many(count)
        if engine is None:
            runs = []
            for number in range(count):
                self.reset()
                runs.append(self.run([array[number] for array in arrays]))
                if not runs[-1]:
                    raise _waits(graph, number)
            outputs = [np.array([run[place] for run in runs]) for place in range(len(graph.outputs))] if runs else []
        else:
            with self._alone(), room_for(graph.source):
                made = engine.run_batch(arrays, count=count)
                if not made.ended.all():
                    raise _waits(graph, int(np.argmin(made.ended)))
                outputs = list(made.outputs)
        self.reset()
        kinds = [graph.tensors[index].type for index in graph.outputs]
        return outputs or [np.zeros((0, *kind.shape), kind.dtype.numpy) for kind in kinds]

    @property
    def expected_row(self) -> tuple[int, int] | None:
        """The number of the input, and of its row, that `push_row` must get next; None when all rows were pushed."""
        first = super().expected_row
        if self._expected_input is None:
            return first
        number = self._expected_input
        return None if number < 0 else (number, len(self._rows[number]))

    def close(self) -> None:
        """Ends the processes of `engine="host"`; variables then have their first values. A later call starts them anew."""
        if self._many is not None:
            self._many.close()
        if self._host is not None:
            self._host.close()
            self._forget_rows()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def _is_host(self) -> bool:
        return self._engine_name == "host"

    def _is_for_python(self, what: str) -> InputError:
        return InputError(
            f"{what} is for engine='python'; C code has memory of its own. Leave it out, or take that engine."
        )

    def _allocate(self) -> None:
        super()._allocate()
        if self._is_host:
            from kibi.engines.batch import BatchEngine  # noqa: PLC0415 - `import kibi` starts no compiler

            self._host = BatchEngine(self._given[0], self._chosen.plan, workers=self._workers)

    def _for_many(self, count: int) -> "BatchEngine | None":
        """Returns the engine that runs so many inputs as C code; None where Python does."""
        is_seen = self._times.profiler is not None or not isinstance(self._handler, NullHandler)
        if count <= MOST_IN_PYTHON or not self._takes_c or is_seen or self._preallocated:
            return None
        if self._many is None:
            from kibi.engines.batch import BatchEngine  # noqa: PLC0415 - `import kibi` starts no compiler
            from kibi.toolchain.compilers import has_host_compiler  # noqa: PLC0415

            if not has_host_compiler():
                text = f"{self._given[0].source}: no compiler was found, so that Python runs all {count} inputs, which takes longer"
                remedy = "Install zig by `pip install ziglang`, or choose engine='python'"
                warnings.warn(f"{text}. {remedy}.", CompilerWarning, stacklevel=3)
                self._takes_c = False
                return None
            self._many = BatchEngine(self._given[0], self._chosen.plan, workers=self._workers)
        return self._many

    def _infer(self, given: Mapping[int, Array], observe: Observer | None) -> list[Array]:
        host, graph = self._host, self._program.graph
        if host is None:
            return super()._infer(given, observe)
        if observe is not None:
            raise self._is_for_python("an observer")
        with self._alone(), room_for(graph.source), on_failure(self._forget_rows):
            self._keep(None)
            if self._expected_input is not None:
                host.rewind()
                self._forget_rows()
            if not graph.streamed_inputs:
                self._handler.notify(InferenceStarted())
            outputs = host.run([given[index] for index in graph.inputs])
            for index in graph.streamed_inputs if outputs else ():
                for _ in range(graph.tensors[index].type.rows):
                    self._handler.notify(RowReceived())
            return self._ended(outputs)

    def _receive(self, number: int, row: Array) -> None:
        host, graph = self._host, self._program.graph
        if host is None:
            super()._receive(number, row)
            return
        with self._alone(), room_for(graph.source), on_failure(self._forget_rows):
            if self._expected_input is None:
                self._keep(None)
                self._rows = [[] for _ in graph.inputs]
            self._expected_input = host.push(number, row)
            self._rows[number].append(row.copy())
            self._handler.notify(RowReceived())

    @property
    def _is_under_way(self) -> bool:
        return super()._is_under_way if self._host is None else self._expected_input is not None

    def _finish(self) -> list[Array]:
        host = self._host
        if host is None:
            return super()._finish()
        with self._alone(), room_for(self._program.graph.source), on_failure(self._forget_rows):
            outputs = host.finish()
            if not host.is_checked:
                host.check(self._pushed(), outputs)
                host.end_check()
            self._forget_rows()
            return self._ended(outputs)

    def _ended(self, outputs: list[Array]) -> list[Array]:
        """Notes the end of an inference, and its outputs."""
        self._waits = not outputs and bool(self._program.graph.outputs)
        self._handler.notify(MoreInputNeeded() if self._waits else InferenceEnded())
        if self._waits:
            return []
        copies = [output.copy() for output in outputs]
        self._keep(copies)
        return copies

    def _pushed(self) -> list[Array]:
        """The inputs whose rows were pushed; rows that an early end of the inference made superfluous are zeros."""
        graph = self._program.graph
        arrays = []
        for number, index in enumerate(graph.inputs):
            kind = graph.tensors[index].type
            array = np.zeros((kind.rows, kind.elements // kind.rows), kind.dtype.numpy)
            for place, row in enumerate(self._rows[number]):
                array[place] = row.reshape(-1)
            arrays.append(array.reshape(kind.shape))
        return arrays

    def _reset(self) -> None:
        super()._reset()
        self._forget_rows()
        if self._host is not None:
            self._host.reset()

    def _forget_rows(self) -> None:
        """Forgets pushed rows; after a failure, the process that had them is ended, too."""
        self._expected_input, self._rows = None, []


def _batch(graph: Graph, inputs: Sequence[Array] | Mapping[str, Array]) -> list[Array]:
    """The arrays of many inferences, checked.

    Raises:
        InputError: one is missing, or does not fit.
    """
    if isinstance(inputs, Mapping):
        named = {input_number(graph, name): array for name, array in inputs.items()}
        missing = [number for number in range(len(graph.inputs)) if number not in named]
        if missing:
            raise InputError(f"{graph.source}: {shown(graph, missing[0])} is missing. Give an array for each input.")
        inputs = [named[number] for number in range(len(graph.inputs))]
    arrays = [np.asarray(array) for array in inputs]
    if len(arrays) != len(graph.inputs):
        raise InputError(f"{graph.source} takes {len(graph.inputs)} inputs, {len(arrays)} were given.")
    for number, array in enumerate(arrays):
        kind = graph.tensors[graph.inputs[number]].type
        if array.dtype != kind.dtype.numpy or array.ndim == 0 or array.shape[1:] != kind.shape:
            wanted = f"{['N', *kind.shape]} and {kind.dtype.numpy} are required".replace("'", "")
            raise InputError(f"{shown(graph, number)} has shape {list(array.shape)} and type {array.dtype}; {wanted}.")
    if len({len(array) for array in arrays}) > 1:
        raise InputError(f"{graph.source}: the arrays have {', '.join(str(len(each)) for each in arrays)} inputs each.")
    return [array.view(np.uint8) != 0 if array.dtype == np.bool_ else array for array in arrays]


def _waits(graph: Graph, number: int) -> InputError:
    what = f"{graph.source}: inference {number} has no outputs, because an operator waits for further ones"
    return InputError(f"{what}. Run them one after another with `run`.")
