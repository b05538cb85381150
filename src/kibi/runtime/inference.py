"""An inference: the steps of a program one by one, up to each row that the caller pushes, and to the end."""

from collections.abc import Callable
from functools import partial

import numpy as np

from kibi.dtypes import Array
from kibi.eager.handlers import Handler
from kibi.eager.inference_events import (
    ArenaTaken,
    InferenceEnded,
    InferenceStarted,
    LoopTooLong,
    MoreInputNeeded,
    RowReceived,
)
from kibi.errors import InputError, LimitError
from kibi.runtime.profiling import StepTimes
from kibi.runtime.program import Program

Observer = Callable[[int, Array], None]
"""Called with a tensor's index and a copy of its elements when its last row has been made."""


class Inference:
    """How far an interpreter has come with a program: it runs one inference after another.

    Args:
        program: the steps.
        handler: receives the events of inferences.
        times: runs each step, and measures it if somebody asks.
    """

    def __init__(self, program: Program, handler: Handler, times: StepTimes) -> None:
        self._program = program
        self._handler = handler
        self._times = times
        self._is_stopped = False
        self._position = 0
        self._observed: dict[int, list[Array]] = {}

    @property
    def is_under_way(self) -> bool:
        """True if steps have run since the last inference ended or was forgotten."""
        return self._position != 0

    @property
    def is_stopped(self) -> bool:
        """True if an operator has ended the inference early, because it waits for the inputs of further ones."""
        return self._is_stopped

    @property
    def expected_row(self) -> tuple[int, int] | None:
        """The number of the input, and of its row, that `receive` must get next; None when all rows were received."""
        program = self._program
        position = program.next_arrival(self._position)
        if position == len(program.steps):
            return None
        node, row = program.plan.steps[position]
        return program.graph.inputs.index(program.graph.nodes[node].outputs[0]), row

    def begin(self) -> None:
        """Begins an inference, and forgets one that is under way."""
        self._position = 0
        self._is_stopped = False
        self._observed.clear()
        self._program.begin()
        if not self._program.graph.streamed_inputs:
            self._handler.notify(InferenceStarted())

    def forget(self) -> None:
        """Forgets the inference that is under way."""
        self._position = 0
        self._observed.clear()
        self._times.forget()

    def end(self) -> None:
        """Ends an inference of which all steps have run, or which is stopped."""
        self._position = 0
        self._handler.notify(MoreInputNeeded() if self._is_stopped else InferenceEnded())

    def check_lease(self) -> None:
        """Checks that no other interpreter has used the arena since the inference began.

        Raises:
            InputError: one has.
        """
        other = self._program.arena.lease.taken_by
        if other is not None:
            self._handler.notify(ArenaTaken())
            what = f"{other} has used the same arena since the inference began, so that its rows are lost"
            raise InputError(
                f"{self._program.graph.source} cannot go on: {what}. Begin again with the first row, and end each inference "
                "before another interpreter runs; or give each an arena of its own."
            )

    def receive(self, row: Array, observe: Observer | None) -> None:
        """Copies a row to its place, and computes until the next one is needed."""
        self._times.run(self._node, partial(self._program.steps[self._position].receive, row))
        self._handler.notify(RowReceived())
        self._done(observe)
        self.advance(observe)

    def advance(self, observe: Observer | None) -> None:
        """Runs steps until the caller must push a row, or to the end.

        Raises:
            LimitError: a loop of the model runs too often; the inference is forgotten.
        """
        steps = self._program.steps
        while self._position < len(steps) and not steps[self._position].is_arrival:
            step = steps[self._position]
            try:
                self._times.run(self._node, step.run)
            except LimitError:
                self._position = 0
                self._handler.notify(LoopTooLong())
                raise
            self._done(observe)
            if step.ends:
                self._is_stopped = True
                self._position = len(steps)
        self._times.tell()

    @property
    def _node(self) -> int:
        """The node whose step is next."""
        return self._program.plan.steps[self._position][0]

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
        program = self._program
        node, step = program.plan.steps[position]
        view = program.graph.views[node]
        for output, tensor in enumerate(view.outputs):
            index = tensor.index
            if index not in program.tensors:
                continue
            made = self._observed.setdefault(index, [])
            made.extend(program.tensors[index].row(row).reshape(-1) for row in view.made_rows(step, output))
            if step == view.steps - 1:
                observe(index, np.concatenate(self._observed.pop(index)).reshape(tensor.type.shape))
