"""The interpreter: row steps in the plan's order, on the plan's bytes."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from threading import Lock
from types import MappingProxyType
from typing import TextIO

import numpy as np

from kibi.dtypes import Array
from kibi.eager.context import Context
from kibi.eager.handlers import Handler, NullHandler
from kibi.eager.inference_events import (
    ArenaTaken,
    InferenceEnded,
    InferenceStarted,
    LoopTooLong,
    MoreInputNeeded,
    OutOfSequence,
    RowReceived,
)
from kibi.eager.memory import HandleArena, Recording, WritableBuffer
from kibi.eager.memory.blocks import whole_number
from kibi.eager.memory.lent import lent_bytes, shared_names
from kibi.eager.room import room_for
from kibi.eager.tensors import BufferTensor, RomTensor, RowTensor
from kibi.eager.tensors.interface import TensorInterface
from kibi.errors import InputError, LimitError, PlanError
from kibi.ir import Graph, Tensor
from kibi.planner import Plan, PlannedModel, validate
from kibi.planner import plan as make_plan
from kibi.planner.ascii_map import print_memory_plan
from kibi.runtime.arena import Arena, check_size, side_by_side
from kibi.runtime.inputs import check_inputs, check_row
from kibi.runtime.preallocated import find_tensor
from kibi.runtime.program import Program
from kibi.targets import target

Observer = Callable[[int, Array], None]
"""Called with a tensor's index and a copy of its elements when its last row has been made."""

_DESCRIPTOR_BYTES = 48
"""Room in the metadata arena for one tensor: the largest descriptor with the arena's header."""


class Interpreter:
    """A planned model in its arena, to run many times.

    The constructor allocates everything: the planned bytes in the arena, a descriptor for each tensor in a metadata arena.
    A run allocates nothing. If the plan has stream inputs, `run` pushes their rows itself; or the caller pushes each row with
    `push_row`, and calls `invoke` at the end. An interpreter does one thing at a time: each thread needs one of its own, and
    handlers and observers cannot call the interpreter that calls them. After an error the inference is forgotten, but
    variables keep the values that they have by then; `reset` gives them their first values.

    Args:
        model: the graph.
        plan: its plan; None: the default plan for the host. Tensors in external buffers get bytes of their own, unless
            buffers are registered for them.
        arena: the caller's bytes, at least `arena_needed_bytes`; None: bytes of its own. Several interpreters may share
            one, and run one after another.
        guard: True if canaries in free bytes are kept and checked.
        allocate: True to allocate at once; False: the caller calls `allocate`, after `register_preallocated`.
        handler: receives the events of `kibi.eager.inference_events`, which generated C reports, too.

    Raises:
        PlanError: the plan is not right for the model.
        ArenaError: the arena is too small, read-only or misaligned; it says how many bytes are needed.
        InputError: an argument has another type, or this machine does not have so many bytes.
    """

    def __init__(
        self,
        model: Graph,
        plan: Plan | None = None,
        arena: WritableBuffer | None = None,
        *,
        guard: bool = True,
        allocate: bool = True,
        handler: Handler | None = None,
    ) -> None:
        _check_kinds(model, plan, handler)
        self._given = (model, plan, arena, guard)
        self._handler: Handler = NullHandler() if handler is None else handler
        self._preallocated: dict[int, WritableBuffer] = {}
        self._states: dict[int, WritableBuffer] = {}
        self._planned: PlannedModel | None = None
        self._joined: tuple[Plan, Plan] | None = None
        self._lock = Lock()
        self._is_allocated = False
        self._is_stopped = False
        self._position = 0
        self._observed: dict[int, list[Array]] = {}
        if allocate:
            self.allocate()

    @property
    def model(self) -> Graph:
        """The graph, with its inputs and outputs handed over as the plan says."""
        return self._planned_model.graph

    @property
    def plan(self) -> Plan:
        """The plan, with all regions side by side in one arena."""
        made = self._planned_model.plan
        if self._joined is None or self._joined[0] is not made:
            self._joined = made, side_by_side(made)
        return self._joined[1]

    @property
    def _planned_model(self) -> PlannedModel:
        """The model with the given plan, or with the default plan for the registered buffers."""
        if self._planned is None:
            model, plan, _, _ = self._given
            made = plan or make_plan(model, target("host"), external_buffers=tuple(sorted(self._preallocated)))
            self._planned = PlannedModel.of(model, made)
        return self._planned

    @property
    def arena_needed_bytes(self) -> int:
        """The bytes of the smallest arena that works."""
        return self.plan.arena_bytes

    @property
    def arena_used_bytes(self) -> int:
        """Bytes of the arena in use: those of the plan."""
        return self._ready().arena.allocator.live_bytes

    @property
    def metadata_used_bytes(self) -> int:
        """Bytes of descriptors, as on a device that keeps them in RAM; in generated C they are constants in flash."""
        self._ready()
        return self._metadata.live_bytes

    @property
    def allocations(self) -> int:
        """The number of blocks allocated so far, in both arenas; runs add none."""
        return self._ready().arena.allocator.allocations + self._metadata.allocations

    @property
    def tensors(self) -> Mapping[int, TensorInterface]:
        """The tensors that steps read or make, by index; the rows that exist at the moment can be read."""
        return MappingProxyType(self._ready().tensors)

    @property
    def state_bytes(self) -> int:
        """Bytes of variables, which keep their values from run to run; each interpreter has its own."""
        return sum(self.tensors[index].size_bytes for index in self._program.graph.variables)

    def register_preallocated(self, tensor: int | str, buffer: WritableBuffer) -> int:
        """Puts a tensor into a caller-owned buffer, so that it takes none of the arena; call it before `allocate`.

        Args:
            tensor: its index or name.
            buffer: writable, at least as large as the tensor, aligned for its elements.

        Returns:
            How many bytes of arena that saves.

        Raises:
            InputError: everything is allocated already; there is no such tensor, it is a constant, or nothing computes it;
                the buffer does not fit.
            PlanError: the plan that was given has a place for it.
        """
        if self._is_allocated:
            raise InputError("all is allocated already. Make the interpreter with allocate=False, and register before.")
        model, plan, _, _ = self._given
        index = find_tensor(model, tensor, buffer)
        if plan is not None and not self.model.tensors[index].is_external:
            name = model.tensors[index].name
            raise PlanError(
                f"the given plan has a place for {name!r}. Give one that was made with it in an external buffer, or none."
            )
        before = self.arena_needed_bytes
        self._preallocated[index] = buffer
        self._planned = None if plan is None else self._planned  # the default one is made anew
        return before - self.arena_needed_bytes

    def allocate(self) -> None:
        """Allocates everything; a second call does nothing.

        Raises:
            PlanError: the plan is not right for the model.
            ArenaError: the arena is too small, read-only or misaligned.
            InputError: registered buffers and the arena share bytes, or this machine has not that many bytes.
        """
        if self._is_allocated:
            return
        with self._alone(), room_for(self._given[0].source), np.errstate(all="ignore"):
            self._allocate()

    def _allocate(self) -> None:
        """Allocates everything."""
        model, given, memory, guard = self._given
        plan, graph = self.plan, self.model
        if memory is not None:
            check_size(graph, plan, memory)  # the cheapest check, and the most likely one to fail, comes first
        if given is not None:
            self._planned = validate(model, given)
            graph = self.model
        arena = Arena(graph, plan, memory, guard=guard)
        self._check_apart(arena)
        used = [
            tensor
            for tensor in graph.tensors
            if tensor.is_constant
            or tensor.is_external
            or plan.buffers_of(tensor.index)
            or (tensor.is_state and graph.variable_of(tensor.index) in graph.variables)
        ]
        own = {index: np.zeros(graph.tensors[index].type.size_bytes, np.uint8) for index in graph.variables}
        self._states = own | {index: buffer for index, buffer in self._preallocated.items() if index in own}
        self._metadata = Recording(HandleArena(max(1024, _DESCRIPTOR_BYTES * len(used)), alignment=4))
        context = Context(metadata=self._metadata, ram=arena.allocator, handler=self._handler)
        tensors = {
            tensor.index: self._described(tensor, plan.row_offsets(graph, tensor.index), arena, context)
            for tensor in used
        }
        self._program = Program(graph, plan, arena, tensors)
        self._is_allocated = True
        self._reset()

    def _check_apart(self, arena: Arena) -> None:
        """Checks that no two of arena and registered buffers share bytes.

        Raises:
            InputError: two do.
        """
        tensors = [(self._given[0].tensors[index], lent_bytes(buffer)) for index, buffer in self._preallocated.items()]
        places = {f"the buffer for {each.name!r}": memory[: each.type.size_bytes] for each, memory in tensors}
        shared = shared_names({"the arena": arena.bytes, **places})
        if shared is not None:
            raise InputError(f"{shared[0]} and {shared[1]} share bytes. Give each bytes of its own.")

    def _described(self, tensor: Tensor, offsets: Sequence[int], arena: Arena, context: Context) -> TensorInterface:
        """A tensor with its descriptor, which says where its bytes are."""
        kind, name = tensor.type, tensor.name
        if tensor.data is not None:
            return RomTensor(kind, tensor.data, name=name, context=context, constant_type=True)
        if tensor.is_state:
            state = self._states[self.model.variable_of(tensor.index)]
            return BufferTensor(kind, state, name=name, context=context, constant_type=True)
        if tensor.is_external:
            buffer = self._preallocated.get(tensor.index)
            own = np.zeros(kind.size_bytes, np.uint8) if buffer is None else buffer
            return BufferTensor(kind, own, name=name, context=context, constant_type=True)
        return RowTensor(kind, offsets=offsets, memory=arena.bytes, name=name, context=context, constant_type=True)

    def run(self, inputs: Sequence[Array], observe: Observer | None = None) -> list[Array]:
        """Runs one inference; forgets one that was begun with `push_row`.

        An operator that needs the inputs of several inferences may end one early: see `Operator.may_exit_early`.

        Args:
            inputs: one array for each model input, of its shape and type; the contents of preallocated buffers are replaced.
            observe: called with each tensor as it is completed.

        Returns:
            One array for each model output; an empty list if an operator waits for further inferences.

        Raises:
            InputError: an input does not fit, or `allocate` was not called.
        """
        program = self._ready()
        graph = program.graph
        given = check_inputs(graph, inputs)
        if observe is not None and not callable(observe):
            raise InputError(f"the observer is {type(observe).__name__}, which cannot be called. Give a function.")
        with self._alone(), room_for(graph.source):
            arrays = dict(zip(graph.inputs, map(self._kept, given), strict=True))
            self._begin()
            for index in graph.stored_inputs:
                if index in self.tensors:
                    self.tensors[index].assign(arrays[index])
            self._advance(observe)
            while (expected := self.expected_row) is not None:
                number, row = expected
                tensor = graph.tensors[graph.inputs[number]]
                self._receive(arrays[tensor.index].reshape(tensor.type.rows, -1)[row], observe)
            return self._outputs()

    @property
    def expected_row(self) -> tuple[int, int] | None:
        """The number of the input, and of its row, that `push_row` must get next; None when all rows were pushed."""
        program = self._ready()
        position = program.next_arrival(self._position)
        if position == len(program.steps):
            return None
        node, row = program.plan.steps[position]
        return program.graph.inputs.index(program.graph.nodes[node].outputs[0]), row

    def push_row(self, row: Array, input: int = 0) -> None:  # noqa: A002 - the command line's word
        """Takes the next row of a stream input, and computes everything that can be computed before the one after it.

        Args:
            row: an array with the shape and type of one row of the input.
            input: the number of the input.

        Raises:
            InputError: the row does not fit, or another one is expected: see `expected_row`; or another interpreter has used
                the arena since the inference began.
        """
        expected, graph = self.expected_row, self._program.graph
        if expected is None:
            what = "all rows have come" if graph.streamed_inputs else "this plan stores its inputs"
            self._handler.notify(OutOfSequence())
            remedy = "Call `invoke`" if graph.streamed_inputs else "Call `run`, or plan with input='streamed'"
            raise InputError(f"{graph.source} expects no row: {what}. {remedy}.")
        if whole_number(input, "the input's number", least=-(1 << 63)) != expected[0]:
            self._handler.notify(OutOfSequence())
            what = f"row {expected[1]} of input {expected[0]}, not one of input {input}"
            raise InputError(f"{graph.source} expects {what}. `expected_row` tells which is next.")
        array = check_row(graph, input, row)
        with self._alone(), room_for(graph.source):
            array = self._kept(array)
            if self._position == 0:
                self._begin()
                self._advance(None)
            self._check_lease()
            self._receive(array.reshape(-1), None)

    def invoke(self) -> list[Array]:
        """Returns the outputs, when all rows have been pushed; the next `push_row` begins another inference.

        None at all where an operator ended the inference early, for which not all rows need to have come.

        Raises:
            InputError: rows are missing, or the plan does not stream; or another interpreter has used the arena.
        """
        expected, graph = self.expected_row, self._program.graph
        if expected is not None or not graph.streamed_inputs:
            what = (
                "this plan stores its inputs"
                if expected is None
                else "row {1} of input {0} is missing".format(*expected)
            )
            self._handler.notify(OutOfSequence())
            remedy = "Call `run` with them" if expected is None else "Hand it over with `push_row`"
            raise InputError(f"{graph.source} cannot finish: {what}. {remedy}.")
        with self._alone(), room_for(graph.source):
            self._check_lease()
            return self._outputs()

    def reset(self) -> None:
        """Gives variables their first values, and forgets an inference that was begun with `push_row`."""
        with self._alone():
            self._reset()

    def _reset(self) -> None:
        """Does the work of `reset`."""
        self._position = 0
        for index in self._program.graph.variables if self._is_allocated else ():
            tensor = self.tensors[index]
            tensor.write_bytes(0, self._program.graph.tensors[index].initial_bytes)

    def print_memory_plan(self, file: TextIO | None = None) -> None:
        """Prints the plan as TFLM prints its own: rows are steps, columns are bytes, one letter for each tensor, dots are free.

        Args:
            file: where to print; None: standard output.
        """
        print_memory_plan(PlannedModel.of(self._given[0], self.plan), stream=file)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Refuses other calls of this interpreter in a with-block, and forgets an inference that an error interrupts.

        Raises:
            InputError: another call is running.
        """
        if not self._lock.acquire(blocking=False):
            what = f"{self._given[0].source}: this interpreter is computing"
            raise InputError(f"{what}. Make one for each thread, and call none from its own handler or observer.")
        try:
            yield
        except BaseException:
            self._position = 0
            self._observed.clear()
            raise
        finally:
            self._lock.release()

    def _kept(self, array: Array) -> Array:
        """An input that stays as it is while the model runs: a copy of what is in the arena, or in a registered buffer."""
        places = (self._program.arena.bytes, *map(lent_bytes, self._preallocated.values()))
        return array.copy() if any(np.may_share_memory(array, place) for place in places) else array

    def _ready(self) -> Program:
        if not self._is_allocated:
            raise InputError("nothing is allocated yet. Call `allocate` first.")
        return self._program

    def _begin(self) -> None:
        self._position = 0
        self._is_stopped = False
        self._observed.clear()
        self._program.begin()
        if not self._program.graph.streamed_inputs:
            self._handler.notify(InferenceStarted())

    def _check_lease(self) -> None:
        """Checks that no other interpreter has used the arena since the inference began.

        Raises:
            InputError: one has; the inference is forgotten.
        """
        other = self._program.arena.lease.taken_by
        if other is not None:
            self._handler.notify(ArenaTaken())
            what = f"{other} has used the same arena since the inference began, so that its rows are lost"
            raise InputError(
                f"{self._given[0].source} cannot go on: {what}. Begin again with the first row, and end each inference before "
                "another interpreter runs; or give each an arena of its own."
            )

    def _outputs(self) -> list[Array]:
        self._position = 0
        if self._is_stopped:
            self._handler.notify(MoreInputNeeded())
            return []
        self._handler.notify(InferenceEnded())
        return [self.tensors[index].to_array() for index in self._program.graph.outputs]

    def _receive(self, row: Array, observe: Observer | None) -> None:
        """Copies a row to its place, and computes until the next one is needed."""
        self._program.steps[self._position].receive(row)
        self._handler.notify(RowReceived())
        self._done(observe)
        self._advance(observe)

    def _advance(self, observe: Observer | None) -> None:
        """Runs steps until the caller must push a row, or to the end."""
        steps = self._program.steps
        while self._position < len(steps) and not steps[self._position].is_arrival:
            step = steps[self._position]
            try:
                step.run()
            except LimitError:
                self._position = 0
                self._handler.notify(LoopTooLong())
                raise
            self._done(observe)
            if step.ends:
                self._is_stopped = True
                self._position = len(steps)

    def _done(self, observe: Observer | None) -> None:
        """Notes that a step has run."""
        program, position = self._program, self._position
        if observe is not None:
            self._observe(position, observe)
        program.arena.release(position)
        self._position += 1
        order = program.plan.steps
        if self._position == len(order) or order[position][0] != order[self._position][0]:
            program.arena.check(position)

    def _observe(self, position: int, observe: Observer) -> None:
        """Copies the rows that a step has made, because a tensor's first rows may be overwritten before its last is made."""
        node, step = self._program.plan.steps[position]
        view = self._program.graph.views[node]
        for output, tensor in enumerate(view.outputs):
            index = tensor.index
            made = self._observed.setdefault(index, [])
            made.extend(self.tensors[index].row(row).reshape(-1) for row in view.made_rows(step, output))
            if step == view.steps - 1:
                observe(index, np.concatenate(self._observed.pop(index)).reshape(tensor.type.shape))


def _check_kinds(model: object, plan: object, handler: object) -> None:
    """Checks the types of the arguments.

    Raises:
        InputError: one is not.
    """
    if not isinstance(model, Graph):
        raise InputError(f"the model is {type(model).__name__}, not a graph. Give what `kibi.load` returns.")
    if plan is not None and not isinstance(plan, Plan):
        raise InputError(f"the plan is {type(plan).__name__}. Give what `kibi.plan` returns, or None.")
    if handler is not None and not callable(getattr(handler, "notify", None)):
        raise InputError(f"the handler is {type(handler).__name__}, which cannot be told. Give one with `notify`.")
