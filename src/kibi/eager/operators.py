"""Operators of eager use: one operator on tensors that are stored anywhere, row by row, without a graph or a plan.

After uTensor's operators, which take their operands by name and do not care where those are stored
(`src/uTensor/core/operatorBase.hpp`).
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

import numpy as np

from kibi.dtypes import Array
from kibi.eager.notes import only, recorders
from kibi.eager.operands import Operand, checked_operands, verified_view
from kibi.errors import EventError, InputError
from kibi.ir import Accumulation, Made, NodeView, Operator, RowAccess, Rows, TensorType


def bind(op: Operator, /, **operands: Operand | None) -> "BoundOperator":
    """Returns an operator with its operands: `bind(op, input=x, filter=w, output=y).eval()`.

    Args:
        op: the operator.
        operands: tensors by the names in the operator's `inputs` and `outputs`, in any order; optional ones may be left out.

    Raises:
        InputError: a name is missing or unknown, an operand is no tensor, or one breaks a rule of the operator.
        EventError: a constant cannot be read.
    """
    return BoundOperator(op, operands)


@dataclass(frozen=True, slots=True)
class _Run:
    """The data of one evaluation; each evaluation makes its own, because constants may have been written in between.

    Attributes:
        view: the node with the constants' values.
        accesses: the accesses of the row inputs, in order.
        function: the reference, a function of rows; None if the node accumulates or has states.
        remembering: of the rows and the states; None where there are none.
        accumulation: where it does.
        accumulator: what has been added up.
    """

    view: NodeView
    accesses: tuple[RowAccess, ...]
    function: Callable[[Rows], Made] | None
    remembering: Callable[[Rows, Sequence[Array]], Made] | None
    accumulation: Accumulation | None
    accumulator: Array

    @staticmethod
    def of(view: NodeView) -> "_Run":
        """The evaluation of a view from its first step on."""
        op = view.op
        if view.accumulates:
            accumulation = op.accumulation(view)
            return _Run(view, view.accesses, None, None, accumulation, accumulation.start.copy())
        function, remembering = (None, op.stateful_reference(view)) if op.states else (op.reference(view), None)
        return _Run(view, view.accesses, function, remembering, None, np.zeros(0, np.int8))

    def compute(self, rows: Rows, step: int, states: Sequence[Array]) -> tuple[Array, ...]:
        """The elements that a step makes, of each output; nothing where it only accumulates. It changes the states in place."""
        each_made = self.view.op.each_made
        if self.remembering is not None:
            return each_made(self.remembering(rows, states))
        if self.function is not None:
            return each_made(self.function(rows))
        if self.accumulation is None:
            return ()
        self.accumulation.add(self.accumulator, rows, step)
        is_last = step == self.view.steps - 1
        return each_made(self.accumulation.finish(self.accumulator)) if is_last else ()


class BoundOperator:
    """An operator with its operands; made by `bind`.

    `eval` computes the output, or all outputs. To interleave several operators by the row, as a plan does, call `step` with
    each step in ascending order; `needs` returns the rows that a step reads.

    Rows are read and written through the operands' own interface. An operator that is marked fast reads the bytes directly where
    operands allow it; the bits are the same. Operands that the kernel packs ahead of time (weights, axes) may be any tensors;
    an evaluation uses the values that they have when it begins.

    Args:
        op: the operator.
        operands: tensors by the operator's names for them; None for an optional one that is left out.

    Raises:
        InputError: a name is missing or unknown, an operand is no tensor, or one breaks a rule of the operator.
        EventError: a constant cannot be read.
    """

    def __init__(self, op: Operator, operands: Mapping[str, Operand | None]) -> None:
        self._op = op
        self._operands = checked_operands(op, operands)
        self._run = self._begin()
        self._next = 0
        self._check_in_place()

    @property
    def op(self) -> Operator:
        """The operator."""
        return self._op

    @property
    def output(self) -> Operand:
        """The tensor that is made; of several outputs the first."""
        return self._operands["output"]

    @property
    def steps(self) -> int:
        """Row steps that make the outputs."""
        return self._run.view.steps

    def needs(self, step: int) -> dict[str, tuple[int, ...]]:
        """Returns, for each input that is read by the row, the rows that a step reads, ascending."""
        names = self._run.view.row_names
        return {name: access.needs(step) for name, access in zip(names, self._run.accesses, strict=True)}

    def eval(self) -> Operand:
        """Computes the output, row by row.

        Returns:
            The output, for the next operator; of several outputs the first.

        Raises:
            InputError: constants that were written since break a rule of the operator.
            EventError: a row cannot be read or written; for one that is gone, it says how many rows must be kept.
        """
        self._next = 0
        told = recorders()
        with only(()):
            for step in range(self.steps):
                self.step(step)
        for each in told:
            each.evaluated(self._op, self._operands)
        return self.output

    def step(self, number: int) -> range:
        """Runs one row step; step 0 begins another evaluation.

        Args:
            number: 0, or the step after the last one.

        Returns:
            The rows of the output that the step made; with several outputs, those of the first.

        Raises:
            InputError: another step is next, or as of `eval`.
            EventError: as of `eval`.
        """
        if number and number != self._next:
            raise InputError(
                f"{self._op.name}: step {number} is out of order; 0 or {self._next} of {self.steps} is next."
            )
        if not number:
            self._run = self._begin()
        told = recorders()
        with ExitStack() as held, only(()):
            self._compute(held, number)
        for each in told:
            each.stepped(self._op)
        self._next = (number + 1) % self.steps
        return self._run.view.made_rows(number)

    def _compute(self, held: ExitStack, step: int) -> None:
        """A step; views of rows that are held end with this call, so that nothing keeps an arena from moving them."""
        states = [self._operands[name] for name in self._op.states]
        arrays = [state.to_array() for state in states]
        with np.errstate(all="ignore"):  # what overflows, or is no number, has the bits that the operator says
            made = self._run.compute(self._rows(held, step), step, arrays)
        for state, array in zip(states, arrays, strict=True):
            for y, row in enumerate(array.reshape(state.type.rows, *state.type.row_shape)):
                state.write_row(y, row)
        for output, (name, values) in enumerate(zip(self._run.view.output_names, made, strict=False)):
            tensor = self._operands[name]
            size = tensor.type.row_elements
            for k, y in enumerate(self._run.view.made_rows(step, output)):
                self._write(tensor, y, values.reshape(-1)[k * size : (k + 1) * size])

    def _rows(self, held: ExitStack, step: int) -> Rows:
        """The rows, or parts of rows, that a step reads.

        Of each tensor the last one comes first: what arrives row by row, such as a camera's, then takes the place of others
        before any of them is used, and not meanwhile.
        """
        sources = [self._operands[name] for name in self._run.view.row_names]
        wanted: dict[int, set[int]] = {}
        for source, access in zip(sources, self._run.accesses, strict=True):
            wanted.setdefault(id(source), set()).update(access.needs(step))
        there = {
            id(source): {y: self._read(held, source, y, step) for y in sorted(wanted[id(source)], reverse=True)}
            for source in {id(source): source for source in sources}.values()
        }
        return tuple(
            tuple(_pieces(source.type, access, step, there[id(source)]))
            for source, access in zip(sources, self._run.accesses, strict=True)
        )

    def _read(self, held: ExitStack, tensor: Operand, y: int, step: int) -> Array:
        """A row as a flat array in this machine's byte order."""
        try:
            if self._op.is_fast and (tensor.is_fast or tensor.has_fast_rows):
                row = held.enter_context(tensor.direct_row(y, self._op))
                return row.reshape(-1).astype(tensor.type.dtype.numpy, copy=False)
            return tensor.row(y).reshape(-1)
        except EventError as error:
            what = f"{self._op.name}, step {step}: {error}"
            meaning = (
                f"where its rows come and go, {tensor.name!r} must keep at least {self._kept_rows(tensor)} of them"
            )
            raise EventError(error.name, what, meaning) from error

    def _write(self, tensor: Operand, y: int, values: Array) -> None:
        """Writes a row of an output."""
        cast = values.astype(tensor.type.dtype.numpy, copy=False)
        if self._op.is_fast and (tensor.is_fast or tensor.has_fast_rows):
            with tensor.direct_row(y, self._op, writing=True) as row:
                row[...] = cast.reshape(row.shape)
                del row
        else:
            tensor.write_row(y, cast.reshape(tensor.type.row_shape))

    def _kept_rows(self, tensor: Operand) -> int:
        """Returns the greatest number of latest rows that a step may still read."""
        newest, most = 0, 1
        for step in range(self.steps):
            needed = self.needs(step)
            rows = {y for name, numbers in needed.items() if self._operands[name] is tensor for y in numbers}
            newest = max(newest, *rows, 0)
            most = max(most, newest - min(rows, default=newest) + 1)
        return most

    def _begin(self) -> _Run:
        """A new evaluation: constants are read, and all rules checked."""
        return _Run.of(verified_view(self._op, self._operands))

    def _check_in_place(self) -> None:
        """Refuses an output that is an input, too, unless the last read of each row comes before its overwrite."""
        view = self._run.view
        pairs = [(name, made) for name in self._operands for made in view.output_names if name != made]
        for name, made in pairs:
            if self._operands[name] is not self._operands[made]:
                continue
            output = view.output_names.index(made)
            last = {y: step for step in range(view.steps) for y in self.needs(step).get(name, ())}
            if name not in self._op.row_inputs or any(
                last.get(y, -1) > step for step in range(view.steps) for y in view.made_rows(step, output)
            ):
                raise InputError(
                    f"{self._op.name}: {name} and {made} are the same tensor {self._operands[made].name!r}, and rows would be "
                    "overwritten before they are read. Give another output."
                )

    def __repr__(self) -> str:
        given = ", ".join(f"{name}={operand.name!r}" for name, operand in self._operands.items())
        return f"<{self._op} on {given}>"


def _pieces(kind: TensorType, access: RowAccess, step: int, rows: Mapping[int, Array]) -> Iterator[Array | None]:
    """The rows, or parts of rows, that an access names, from whole rows by their number."""
    whole, (first, size) = kind.row_elements // access.parts, access.taken(kind.row_elements)
    fill = None if access.fill is None else np.full(size, access.fill, kind.dtype.numpy)
    for position in access.positions(step):
        if position is None:
            yield fill
        else:
            y, part = divmod(position, access.parts)
            begin = part * whole + first
            yield rows[y][begin : begin + size]
