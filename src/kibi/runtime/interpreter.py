"""The interpreter: row steps in the plan's order, on the plan's bytes."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from threading import Lock
from types import MappingProxyType
from typing import Any, TextIO

import numpy as np
from numpy.typing import NDArray

from kibi.dtypes import Array
from kibi.eager.context import Context, entered_context
from kibi.eager.handlers import Handler, NullHandler
from kibi.eager.inference_events import OutOfSequence
from kibi.eager.memory import WritableBuffer
from kibi.eager.memory.blocks import whole_number
from kibi.eager.memory.lent import lent_bytes
from kibi.eager.room import room_for
from kibi.eager.tensors.interface import TensorInterface
from kibi.errors import InputError, PlanError
from kibi.ir import Graph
from kibi.planner import Plan, PlannedModel, validate
from kibi.planner.ascii_map import print_memory_plan
from kibi.runtime.allocation import Request, allocated
from kibi.runtime.arena import check_size, side_by_side
from kibi.runtime.arguments import check_choices, check_kinds
from kibi.runtime.given import Inputs, given_inputs, shown
from kibi.runtime.inference import Inference, Observer
from kibi.runtime.inputs import check_row
from kibi.runtime.numbered import NumberedTensors, buffer_array
from kibi.runtime.plan_choice import ChosenPlan, PlanOrigin, choose_plan
from kibi.runtime.preallocated import find_tensor
from kibi.runtime.profiling import Profiled
from kibi.runtime.program import Program


class Interpreter(NumberedTensors, Profiled):
    """A planned model in its arena, to run many times.

    The constructor allocates everything: the planned bytes in the arena, a descriptor for each tensor in a metadata arena.
    A run allocates nothing. Give the inputs to `run`, or set each with `set_input` and call `invoke`. If the plan has stream
    inputs, both push their rows; or the caller pushes each row with `push_row`, and calls `invoke` at the end. An
    interpreter does one thing at a time: each thread needs one of its own, and handlers and observers cannot call the
    interpreter that calls them. After an error the inference is forgotten, but variables keep the values that they have by
    then; `reset` gives them their first values.

    Args:
        model: the graph.
        plan: its plan; None: see `use_embedded_plan`. Tensors in external buffers get bytes of their own, unless buffers are
            registered for them.
        arena: the caller's bytes, at least `arena_needed_bytes`; None: a block of the current Context's RAM, or bytes of its
            own. Several interpreters may share one, and run one after another.
        guard: True if canaries in free bytes are kept and checked.
        allocate: True to allocate at once; False: the caller calls `allocate`, after `register_preallocated`.
        handler: receives the events of `kibi.eager.inference_events`, which generated C reports, too; None: that of the current
            Context, or nobody.
        use_context: True to follow the Context whose with-block is entered: the arena, in a block that does not move while the
            interpreter lives, and the descriptors are in its allocators. False, or outside of such blocks: all is its own.
        use_embedded_plan: without a given plan, None: the plan that the model file carries (TFLM's `OfflineMemoryAllocation`) if
            there is one that can be followed, else the default plan for the host. True: that plan and no other. False: the
            default plan. `plan_origin` says which it is; events `EmbeddedPlanUsed` and `EmbeddedPlanLeft` say it, too.

    Raises:
        PlanError: the plan is not right for the model.
        ArenaError: the arena is too small, read-only or misaligned; it says how many bytes are needed.
        InputError: an argument has another type, or this machine does not have so many bytes.
        ModelError: the file's plan is wanted, and does not fit its tensors.
        EventError: the current Context has no room.
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
        use_context: bool = True,
        use_embedded_plan: bool | None = None,
    ) -> None:
        NumberedTensors.__init__(self)
        Profiled.__init__(self)
        check_kinds(model, plan, handler)
        check_choices(use_context, use_embedded_plan)
        self._given = (model, plan, arena, guard)
        self._context = entered_context() if use_context else None
        own: Handler = NullHandler() if self._context is None else self._context.handler
        self._handler = own if handler is None else handler
        self._preallocated: dict[int, WritableBuffer] = {}
        self._use_embedded_plan = use_embedded_plan
        self._choice: ChosenPlan | None = None
        self._planned: PlannedModel | None = None
        self._joined: tuple[Plan, Plan] | None = None
        self._lock = Lock()
        self._is_allocated = False
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
    def plan_origin(self) -> PlanOrigin:
        """Where the plan is from: it was given, the model file carries it, or it is the default one."""
        return self._chosen.origin

    @property
    def context(self) -> Context | None:
        """The Context that the interpreter follows: the one that was current when it was made; None if it follows none."""
        return self._context

    @property
    def _chosen(self) -> ChosenPlan:
        """The plan for the registered buffers, and where it is from."""
        if self._choice is None:
            model, plan, _, _ = self._given
            external = sorted(self._preallocated)
            self._choice = choose_plan(model, plan, external, use_embedded_plan=self._use_embedded_plan)
        return self._choice

    @property
    def _planned_model(self) -> PlannedModel:
        """The model with its plan."""
        if self._planned is None:
            self._planned = PlannedModel.of(self._given[0], self._chosen.plan)
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
        return self._memory.metadata_bytes

    @property
    def allocations(self) -> int:
        """The number of blocks allocated so far, in both arenas; runs add none."""
        self._ready()
        return self._memory.allocations

    @property
    def tensors(self) -> Mapping[int, TensorInterface]:
        """The tensors that steps read or make, by index; the rows that exist at the moment can be read."""
        return MappingProxyType(self._ready().tensors)

    @property
    def state_bytes(self) -> int:
        """Bytes of variables, which keep their values from run to run; each interpreter has its own."""
        tensors = self._ready().tensors
        return sum(tensors[index].size_bytes for index in self._program.graph.variables)

    def register_preallocated(self, tensor: int | str, buffer: WritableBuffer) -> int:
        """Puts a tensor into a caller-owned buffer, so that it takes none of the arena; call it before `allocate`.

        The buffer is read and written in place. That of an input is never written.

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
        if self._use_embedded_plan:
            raise PlanError(f"{model.source} carries a plan, which leaves no tensor to the caller. Plan without it.")
        before = self.arena_needed_bytes
        self._preallocated[index] = buffer
        if plan is None:  # one that leaves this tensor to the caller is made
            self._choice = self._planned = None
        return before - self.arena_needed_bytes

    def allocate(self) -> None:
        """Allocates everything; a second call does nothing.

        Raises:
            PlanError: the plan is not right for the model.
            ArenaError: the arena is too small, read-only or misaligned.
            InputError: registered buffers and the arena share bytes, or this machine has not that many bytes.
            EventError: the current Context has no room.
        """
        if self._is_allocated:
            return
        with self._alone(), room_for(self._given[0].source), np.errstate(all="ignore"):
            self._allocate()

    def _allocate(self) -> None:
        """Allocates everything."""
        model, _, memory, guard = self._given
        plan, graph = self.plan, self.model
        if memory is not None:
            check_size(graph, plan, memory)  # the cheapest check, and the most likely one to fail, comes first
        chosen = self._chosen
        if chosen.origin is not PlanOrigin.DEFAULT:
            self._planned = validate(model, chosen.plan)
            graph = self.model
        if chosen.event is not None:
            self._handler.notify(chosen.event)
        registered = dict(self._preallocated)
        self._memory = allocated(Request(graph, plan, memory, guard, registered, self._context, self._handler))
        self._program = self._memory.program
        self._inference = Inference(self._program, self._handler, self._times)
        self._is_allocated = True
        self._reset()

    def run(self, inputs: Inputs = (), observe: Observer | None = None) -> list[Array]:
        """Runs one inference; forgets one that was begun with `push_row`.

        An operator that needs the inputs of several inferences may end one early: see `Operator.may_exit_early`.

        Args:
            inputs: one array for each model input, of its shape and type; or arrays by the names of inputs, or by the names in a
                signature. An input in a registered buffer is read there, and left out: None in a list, or no name.
            observe: called with each tensor as it is completed.

        Returns:
            One array for each model output, a copy where it is in a registered buffer; an empty list if an operator waits for
            further inferences.

        Raises:
            InputError: an input does not fit, is missing, unknown or named twice, an array is given for one that is in a
                registered buffer, or `allocate` was not called.
        """
        graph = self._ready().graph
        given = given_inputs(graph, inputs, self._registered_inputs())
        if observe is not None and not callable(observe):
            raise InputError(f"the observer is {type(observe).__name__}, which cannot be called. Give a function.")
        return self._infer(given, observe)

    def _infer(self, given: Mapping[int, Array], observe: Observer | None) -> list[Array]:
        """Runs one inference on these inputs, and on those that are in registered buffers."""
        graph = self._program.graph
        with self._alone(), room_for(graph.source):
            arrays = {index: self._kept(array) for index, array in given.items()}
            self._begin()
            tensors = self._program.tensors
            for index in graph.stored_inputs:
                if index in tensors and index in arrays:
                    tensors[index].assign(arrays[index])
            self._inference.advance(observe)
            while (expected := self.expected_row) is not None:
                number, row = expected
                tensor = graph.tensors[graph.inputs[number]]
                self._inference.receive(arrays[tensor.index].reshape(tensor.type.rows, -1)[row], observe)
            return self._outputs()

    @property
    def expected_row(self) -> tuple[int, int] | None:
        """The number of the input, and of its row, that `push_row` must get next; None when all rows were pushed."""
        self._ready()
        return self._inference.expected_row

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
        self._receive(input, check_row(graph, input, row))

    def _receive(self, number: int, row: Array) -> None:
        """Takes the row that is expected, of the input of that number."""
        del number  # it is known by the order
        with self._alone(), room_for(self._program.graph.source):
            array = self._kept(row)
            if not self._inference.is_under_way:
                self._begin()
                self._inference.advance(None)
            self._inference.check_lease()
            self._inference.receive(array.reshape(-1), None)

    def invoke(self) -> list[Array]:
        """Runs one inference on the inputs that were set with `set_input` or `input`, or are in registered buffers.

        If rows were pushed, returns the outputs of that inference; the next `push_row` begins another one.

        Returns:
            As of `run`; `output` and `get_output` give the outputs one by one.

        Raises:
            InputError: an input is not set, rows are missing, or another interpreter has used the arena.
        """
        expected, graph = self.expected_row, self._program.graph
        registered = self._registered_inputs()
        unset = [n for n, index in enumerate(graph.inputs) if n not in self._set and index not in registered]
        if not self._is_under_way and not unset:
            return self._infer(
                given_inputs(graph, [self._set.get(n) for n in range(len(graph.inputs))], registered), None
            )
        if expected is not None or not graph.streamed_inputs:
            self._handler.notify(OutOfSequence())
            if expected is None:
                what = f"this plan stores its inputs, and {shown(graph, unset[0])} is not set"
                raise InputError(f"{graph.source} cannot compute: {what}. Call `set_input`, or `run` with all inputs.")
            what = "row {1} of input {0} is missing".format(*expected)
            raise InputError(f"{graph.source} cannot finish: {what}. Hand it over with `push_row`, or set the inputs.")
        return self._finish()

    @property
    def _is_under_way(self) -> bool:
        """True if rows were pushed for an inference that has not ended."""
        return self._inference.is_under_way

    def _finish(self) -> list[Array]:
        """Ends an inference whose rows were pushed."""
        with self._alone(), room_for(self._program.graph.source):
            self._inference.check_lease()
            return self._outputs()

    def reset(self) -> None:
        """Gives variables their first values, and forgets an inference that was begun with `push_row`."""
        with self._alone():
            self._reset()

    def _reset(self) -> None:
        """Does the work of `reset`."""
        if not self._is_allocated:
            return
        self._inference.forget()
        for index in self._program.graph.variables:
            tensor = self._program.tensors[index]
            tensor.write_bytes(0, self._program.graph.tensors[index].initial_bytes)

    def print_memory_plan(self, file: TextIO | None = None) -> None:
        """Prints the plan as TFLM prints its own: rows are steps, columns are bytes, one letter for each tensor, dots are free.

        Args:
            file: where to print; None: standard output.
        """
        print_memory_plan(PlannedModel.of(self._given[0], self.plan), stream=file)

    def __repr__(self) -> str:
        context = "no context" if self._context is None else f"in {self._context!r}"
        what = f"{self.arena_needed_bytes} bytes of arena, {self.plan_origin} plan"
        return f"<Interpreter of {self._given[0].source}, {what}, {context}>"

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
            if self._is_allocated:
                self._inference.forget()
            raise
        finally:
            self._lock.release()

    @property
    def _registered(self) -> Mapping[int, NDArray[Any]]:
        """An array over each registered buffer, by tensor."""
        tensors = self._given[0].tensors
        return {index: buffer_array(tensors[index].type, buffer) for index, buffer in self._preallocated.items()}

    def _registered_inputs(self) -> dict[int, NDArray[Any]]:
        """Those of inputs."""
        return {index: array for index, array in self._registered.items() if index in self.model.inputs}

    def _kept(self, array: Array) -> Array:
        """An input that stays as it is while the model runs: a copy of what is in the arena, or in a registered buffer."""
        places = (self._program.arena.bytes, *map(lent_bytes, self._preallocated.values()))
        return array.copy() if any(np.may_share_memory(array, place) for place in places) else array

    def _ready(self) -> Program:
        if not self._is_allocated:
            raise InputError("nothing is allocated yet. Call `allocate` first.")
        return self._program

    def _begin(self) -> None:
        self._keep(None)
        self._inference.begin()

    def _outputs(self) -> list[Array]:
        self._waits = self._inference.is_stopped
        self._inference.end()
        if self._waits:
            return []
        outputs = [self._program.tensors[index].to_array() for index in self._program.graph.outputs]
        self._keep(outputs)
        return outputs
