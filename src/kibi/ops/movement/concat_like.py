"""Operators that lay several inputs side by side: which pieces of their rows make an output row."""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import gcd, prod
from typing import ClassVar

import numpy as np

from kibi.dtypes import Array
from kibi.ir import JoinedSteps, KernelCall, NodeView, Operator, OperatorError, RowAccess, Rows, Tensor
from kibi.kernels.params.movement import ConcatenationParams
from kibi.ops.overlap import least_distance, pieces_distance

MOST_INPUTS = 64
"""TFLM takes any number in PACK, and ten in CONCATENATION."""


@dataclass(frozen=True, slots=True)
class ConcatLike(Operator):
    """Up to 64 inputs of one type, by the row; those after the last one that is there are left out."""

    inputs: ClassVar[tuple[str, ...]] = ("input0", *(f"input{number}?" for number in range(1, MOST_INPUTS)))
    row_inputs: ClassVar[tuple[str, ...]] = tuple(f"input{number}" for number in range(MOST_INPUTS))
    kernels: ClassVar[tuple[str, ...]] = ("kibi_concatenation_any",)
    moves_elements: ClassVar[bool] = True

    axis: int = 0

    @abstractmethod
    def sizes(self, view: NodeView) -> tuple[int, ...]:
        """The share of the output that each input takes along the axis."""

    def accesses(self, view: NodeView) -> tuple[RowAccess, ...]:
        """Returns for each input the pieces of its rows that follow one another in an output row; null where it has no part."""
        output, axis, sizes = view.output.type, self._axis(view), self.sizes(view)
        if _is_inside(view, axis):
            blocks = [tensor.type.elements // output.rows for tensor in view.row_tensors]
            shares, output_rows = [(output.rows, 0)] * len(sizes), output.rows
        else:
            # Along the batch axis rows count from the first batch on, along another one within each batch.
            output_rows = output.rows_per_batch if axis else output.rows
            unit = output_rows // output.shape[axis]
            blocks = [output.row_elements] * len(sizes)
            shares = [(size * unit, sum(sizes[:number]) * unit) for number, size in enumerate(sizes)]
        return tuple(
            _access(tensor.type.row_elements, block, rows, before, output_rows)
            for tensor, block, (rows, before) in zip(view.row_tensors, blocks, shares, strict=True)
        )

    def reference(self, view: NodeView) -> Callable[[Rows], Array]:
        """Returns a function that joins pieces of the inputs, one of each at a time, to an output row."""
        repeats = self._repeats(view)

        def row(rows: Rows) -> Array:
            there = [np.concatenate(pieces) for source in rows if (pieces := _present(source))]
            return np.concatenate([data.reshape(repeats, -1) for data in there], axis=1)

        return row

    def kernel_call(self, view: NodeView) -> KernelCall:
        """The one kernel, without scratch."""
        repeats, element_bytes = self._repeats(view), view.output.type.dtype.size_bytes
        accesses = self.accesses(view)
        sizes = [
            tensor.type.row_elements // access.parts // repeats * element_bytes
            for tensor, access in zip(view.row_tensors, accesses, strict=True)
        ]
        pieces = np.array([(access.count, size) for access, size in zip(accesses, sizes, strict=True)], np.int32)
        params = ConcatenationParams(repeats=repeats, inputs=len(accesses), pieces=pieces)
        is_inside = _is_inside(view, self._axis(view))
        distances = (
            _distances_in_turns(accesses, sizes, repeats)
            if is_inside
            else tuple(pieces_distance(each, view.steps, size) for each, size in zip(accesses, sizes, strict=True))
        )
        return KernelCall("kibi_concatenation_any", params, is_untyped=True, inplace_distance_bytes=distances)

    def joined_steps(self, view: NodeView) -> JoinedSteps | None:
        """The same kernel, which takes a piece of each input at a time."""
        repeats = prod(view.output.type.shape[: self._axis(view)])
        index_bytes = view.output.type.size_bytes // repeats // view.output.type.shape[self._axis(view)]
        sizes = [size * index_bytes for size in self.sizes(view)]
        params = ConcatenationParams(
            repeats=repeats, inputs=len(sizes), pieces=np.array([(1, size) for size in sizes], np.int32)
        )
        distances = _distances_in_turns([RowAccess(rows=1, output_rows=1)] * len(sizes), sizes, repeats)
        call = KernelCall("kibi_concatenation_any", params, is_untyped=True, inplace_distance_bytes=distances)
        return JoinedSteps(call, repeats * len(sizes), unit_bytes=gcd(*sizes))

    def _axis(self, view: NodeView) -> int:
        rank = len(view.output.type.shape)
        if not -rank <= self.axis < rank:
            raise OperatorError(f"axis {self.axis} is none of the output's {rank} axes", operand="output")
        return self.axis % rank

    def _repeats(self, view: NodeView) -> int:
        """Returns how many pieces of each input an output row has: one for each index of the row's axes before the axis."""
        axis, row_axis = self._axis(view), view.output.type.row_axis
        if not _is_inside(view, axis):
            return 1
        return prod(view.output.type.shape[0 if row_axis is None else row_axis + 1 : axis])


def given_inputs(view: NodeView) -> tuple[Tensor, ...]:
    """The inputs of one type, none of which is left out before another.

    Raises:
        OperatorError: they are not.
    """
    names, tensors = view.row_names, view.row_tensors
    if names != view.op.row_inputs[: len(names)]:
        missing = next(name for name, given in zip(view.op.row_inputs, names, strict=False) if name != given)
        raise OperatorError(f"{missing} is left out, but {names[-1]} is there", "Export the model again")
    for name, tensor in zip(names, tensors, strict=True):
        if tensor.type.dtype is not tensors[0].type.dtype:
            raise OperatorError(
                f"{name} has type {tensor.type.dtype}, but input0 has {tensors[0].type.dtype}", "", name
            )
    return tensors


def _present(pieces: object) -> list[Array]:
    return [np.asarray(piece).reshape(-1) for piece in pieces if piece is not None]  # type: ignore[attr-defined]


def _is_inside(view: NodeView, axis: int) -> bool:
    """True if the axis is within the output's rows."""
    row_axis = view.output.type.row_axis
    return row_axis is None or axis > row_axis


def _access(row_elements: int, block: int, rows: int, before: int, output_rows: int) -> RowAccess:
    """Returns how an output row reads a block of neighbouring elements of an input.

    Args:
        row_elements: of a row of the input.
        block: elements that one output row has of it.
        rows: output rows that have any, of one batch.
        before: output rows before those.
        output_rows: of one batch.
    """
    piece = gcd(row_elements, block)
    count = block // piece
    return RowAccess(rows * count, output_rows, count, count, -before * count, parts=row_elements // piece)


def _distances_in_turns(accesses: Sequence[RowAccess], sizes: Sequence[int], repeats: int) -> tuple[int, ...]:
    """Returns, for each input, the distance of `KernelCall.inplace_distance_bytes` where inputs alternate in a row.

    Where a step reads several pieces of an input they may be rows of their own, each read from its first byte on.
    """
    shares = [access.count * size for access, size in zip(accesses, sizes, strict=True)]
    turn, start, distances = sum(shares), 0, []
    for access, size, share in zip(accesses, sizes, shares, strict=True):
        last = start + (repeats - 1) * turn + share - size
        place = (repeats - 1) * size if access.count == 1 else 0
        distances.append(least_distance([(0, start), (place, last)]))
        start += share
    return tuple(distances)
