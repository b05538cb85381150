"""Operators that give elements of one input in another order: slices with steps, axes that are left out or permuted."""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import gcd, prod
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from kibi.dtypes import Array, DType
from kibi.ir import JoinedSteps, KernelCall, NodeView, Operator, OperatorError, RowAccess, Rows, TensorType
from kibi.kernels.params.movement import CopyBytesParams, StridedCopyParams
from kibi.ops import checks

_FEW_POINTERS = 16
"""As many pointers a step may take even where the input has fewer rows."""


@dataclass(frozen=True, slots=True)
class Axis:
    """One axis of what is selected.

    Attributes:
        source: the input's axis that it runs along.
        step: from one index to the next; not 0.
        size: how many.
    """

    source: int
    step: int
    size: int


@dataclass(frozen=True, slots=True)
class Selection:
    """The elements of an input that make the output: `[k…]` is input element `first + Σ k·step` along each axis's source.

    Attributes:
        first: for each axis of the input, the index of the first element.
        axes: of the output. No two run along the same axis of the input.
    """

    first: tuple[int, ...]
    axes: tuple[Axis, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """The output's shape."""
        return tuple(axis.size for axis in self.axes)


@dataclass(frozen=True, slots=True)
class Loop:
    """One axis of the kernel's loops: steps, and how many pointers and elements further each takes."""

    size: int
    pointers: int
    elements: int


@dataclass(frozen=True, slots=True)
class Walk:
    """The walk of a step through the pieces that it reads.

    Attributes:
        access: the rows, or parts of rows, that a step reads.
        part: elements of each.
        steps: of the node: one for each output row, or one for all.
        first: pointer and element at which the first element is.
        loops: the outermost first.
        run: neighbouring elements that are copied at a time.
    """

    access: RowAccess
    part: int
    steps: int
    first: tuple[int, int]
    loops: tuple[Loop, ...]
    run: int

    @staticmethod
    @lru_cache(maxsize=1024)
    def of(source: TensorType, output: TensorType, selection: Selection) -> "Walk":
        """By the row where an output row needs few pointers for that, else all at once."""
        by_row = _by_row(source, output, selection)
        if by_row is not None and by_row.access.count <= max(source.rows, _FEW_POINTERS):
            return by_row
        loops, position = _loops(source, source.row_elements, selection.first, selection.axes)
        rows = RowAccess(rows=source.rows, output_rows=1, stride=0)
        return _walk(rows, source.row_elements, position, loops)

    @staticmethod
    def through(source: TensorType, selection: Selection) -> "Walk":
        """All at once, from an input whose rows are stored one after another: one pointer leads to all of them."""
        loops, position = _loops(source, source.elements, selection.first, selection.axes)
        return _walk(RowAccess(rows=1, output_rows=1), source.elements, position, loops)

    @property
    def is_one_run(self) -> bool:
        """True if a step copies neighbouring elements that one pointer leads to."""
        return self.access.count == 1 and self.loops == (Loop(1, 0, 0),)

    def narrowed(self) -> "Walk":
        """The same walk by pointers to the first element that is read, where that is all there is to say; else this one."""
        if not self.is_one_run:
            return self
        elements = (self.first[1], self.first[1] + self.run) if self.run < self.part else None
        return replace(self, access=replace(self.access, elements=elements), part=self.run, first=(0, 0))

    @property
    def places(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Returns for each run in order its pointer and the element that it begins at."""
        pointers, elements = np.array([self.first[0]]), np.array([self.first[1]])
        for loop in self.loops:
            steps = np.arange(loop.size)
            pointers = (pointers[:, None] + steps * loop.pointers).reshape(-1)
            elements = (elements[:, None] + steps * loop.elements).reshape(-1)
        return pointers, elements


@dataclass(frozen=True, slots=True)
class StridedCopy(Operator):
    """One input, by the row; other inputs are constants that say what is selected."""

    inputs: ClassVar[tuple[str, ...]] = ("input",)
    kernels: ClassVar[tuple[str, ...]] = ("kibi_strided_copy_any", "kibi_copy_any")
    moves_elements: ClassVar[bool] = True

    @abstractmethod
    def selection(self, view: NodeView) -> Selection:
        """Returns the elements of the input that make the output.

        Raises:
            OperatorError: a constant or an attribute makes no sense for the input's shape.
        """

    def infer(self, view: NodeView) -> tuple[tuple[int, ...], DType]:
        """The shape of what is selected, and the input's type."""
        return self.selection(view).shape, view["input"].type.dtype

    def steps(self, view: NodeView) -> int:
        """One for each output row; one for all where rows would need too many pointers: the input is there whole then."""
        return self._walk(view).steps

    def accesses(self, view: NodeView) -> tuple[RowAccess, ...]:
        """The rows, or parts of rows, that hold the elements of an output row."""
        return (self._walk(view).access,)

    def reference(self, view: NodeView) -> Callable[[Rows], Array]:
        """The elements in order."""
        walk = self._walk(view)
        pointers, elements = walk.places
        run = np.arange(walk.run)

        def row(rows: Rows) -> Array:
            pieces = np.stack([np.asarray(piece).reshape(-1) for piece in rows[0]])
            made: Array = pieces[pointers[:, None], elements[:, None] + run]
            return made

        return row

    def kernel_call(self, view: NodeView) -> KernelCall:
        """The one kernel, without scratch."""
        return _call(self._walk(view), view.output.type.dtype)

    def joined_steps(self, view: NodeView) -> JoinedSteps:
        """The same kernel, through the elements of the whole input."""
        source, dtype = view["input"].type, view.output.type.dtype
        walk = Walk.through(source, self.selection(view))
        row, within = divmod(walk.first[1], source.row_elements)
        if walk.is_one_run and not within:
            unit_bytes = gcd(walk.run, source.row_elements) * dtype.size_bytes
            return JoinedSteps(_call(walk.narrowed(), dtype), 1, (row,), unit_bytes)
        return JoinedSteps(_call(walk, dtype), prod(loop.size for loop in walk.loops))

    def _walk(self, view: NodeView) -> Walk:
        return Walk.of(view["input"].type, view.output.type, self.selection(view)).narrowed()


def _call(walk: Walk, dtype: DType) -> KernelCall:
    """The call of the kernel for a walk."""
    element_bytes = dtype.size_bytes
    if walk.is_one_run and walk.part == walk.run:
        copied = CopyBytesParams(pieces=1, bytes=walk.run * element_bytes)
        return KernelCall("kibi_copy_any", copied, is_untyped=True, inplace_distance_bytes=(0,))
    loops = [(loop.size, loop.pointers, loop.elements * element_bytes) for loop in walk.loops]
    params = StridedCopyParams(
        bytes=walk.run * element_bytes,
        first_pointer=walk.first[0],
        first_byte=walk.first[1] * element_bytes,
        axes=len(loops),
        loops=np.array(loops, np.int32),
    )
    # Where a pointer is to a part of a row, the row's first element is no nearer to the output than the part's.
    elements = walk.places[1]
    written = np.arange(len(elements)) * walk.run
    distance = max(0, int((written - elements).max())) * element_bytes
    return KernelCall("kibi_strided_copy_any", params, is_untyped=True, inplace_distance_bytes=(distance,))


def scalar(view: NodeView, operand: str) -> int:
    """The value of a constant s32 of one element.

    Raises:
        OperatorError: it is none.
    """
    checks.dtype(view, operand, DType.S32)
    data = view.constant(operand)
    if data.size != 1:
        raise OperatorError(f"{operand} has {data.size} elements, but one is required", operand=operand)
    return int(data.reshape(-1)[0])


def axis_of(view: NodeView, axis: int) -> int:
    """An axis of the input, counted from the front.

    Raises:
        OperatorError: the input has no such axis.
    """
    rank = len(view["input"].type.shape)
    if not -rank <= axis < rank:
        raise OperatorError(f"axis {axis} is none of the input's {rank} axes", operand="input")
    return axis % rank


def vector(view: NodeView, operand: str, *dtypes: DType) -> tuple[int, ...]:
    """The values of a constant that has one element for each axis of the input.

    Raises:
        OperatorError: it has another number, or another type. TFLM would read past its end.
    """
    checks.dtype(view, operand, *dtypes)
    values = [int(value) for value in view.constant(operand).reshape(-1)]
    rank = len(view["input"].type.shape)
    if len(values) != rank:
        what = f"{operand} has {len(values)} elements, but the input has {rank} axes; TFLM takes one for each"
        raise OperatorError(what, "Export the model with one element for each axis", operand)
    return tuple(values)


def stretch(shape: Sequence[int], axis: int, start: int, size: int) -> Selection:
    """A stretch of one axis, and all of the others."""
    first = tuple(start if number == axis else 0 for number in range(len(shape)))
    axes = (Axis(number, 1, size if number == axis else each) for number, each in enumerate(shape))
    return Selection(first, tuple(axes))


def _strides(source: TensorType) -> tuple[int, ...]:
    """Elements from one index to the next along each axis of the input."""
    return tuple(prod(source.shape[axis + 1 :]) for axis in range(len(source.shape)))


def _by_row(source: TensorType, output: TensorType, selection: Selection) -> Walk | None:
    """Output row by output row; None where batches are not batches of the input."""
    row_axis = output.row_axis
    if row_axis is None:
        access, along, unit = RowAccess(source.rows, 1, stride=0), None, source.row_elements
        inner = selection.axes
    else:
        along = selection.axes[row_axis]
        strides = _strides(source)
        is_in_row = source.row_axis is None or along.source > source.row_axis
        unit = strides[along.source] if is_in_row else source.row_elements
        parts = source.row_elements // unit
        stride = strides[along.source] * along.step // unit
        if row_axis == 0 or output.shape[0] == 1:
            access = RowAccess(source.rows * parts, output.rows, stride=stride, parts=parts)
        elif _keeps_batches(source, selection):
            access = RowAccess(source.rows_per_batch * parts, output.rows_per_batch, stride=stride, parts=parts)
        else:
            return None
        inner = selection.axes[row_axis + 1 :]
    loops, position = _loops(source, unit, selection.first, inner)
    return _walk(access, unit, position, loops, output.rows)


def _keeps_batches(source: TensorType, selection: Selection) -> bool:
    """True if each batch of the output is made of the same batch of the input."""
    return selection.first[0] == 0 and selection.axes[0] == Axis(0, 1, source.shape[0])


def _loops(
    source: TensorType, part_elements: int, first: Sequence[int], axes: Sequence[Axis]
) -> tuple[list[Loop], tuple[int, int]]:
    """The loops over these axes through parts of rows of so many elements, and the part and element of the first one.

    An axis runs either over whole parts or within one.
    """
    strides = _strides(source)
    loops = []
    for axis in axes:
        stride = strides[axis.source]
        is_over_parts = stride >= part_elements
        pointers = stride * axis.step // part_elements if is_over_parts else 0
        if axis.size > 1:
            loops.append(Loop(axis.size, pointers, 0 if is_over_parts else stride * axis.step))
    return loops, divmod(sum(at * stride for at, stride in zip(first, strides, strict=True)), part_elements)


def _walk(access: RowAccess, unit: int, position: tuple[int, int], loops: Sequence[Loop], steps: int = 1) -> Walk:
    """The walk whose pointers are as few as one regular access needs."""
    reaches = [(loop.size - 1) * loop.pointers for loop in loops]
    low, high = sum(min(0, reach) for reach in reaches), sum(max(0, reach) for reach in reaches)
    distance = gcd(*(loop.pointers for loop in loops)) or 1
    access = replace(access, count=(high - low) // distance + 1, start=position[0] + low, dilation=distance)
    scaled = [replace(loop, pointers=loop.pointers // distance) for loop in loops]
    run = 1
    while scaled and (scaled[-1].pointers, scaled[-1].elements) == (0, run):
        run *= scaled.pop().size
    return Walk(access, unit, steps, (-low // distance, position[1]), _merged(scaled) or (Loop(1, 0, 0),), run)


def _merged(loops: Sequence[Loop]) -> tuple[Loop, ...]:
    """The same loops with neighbours as one where the outer goes on where the inner ends."""
    found: list[Loop] = []
    for loop in loops:
        outer = found[-1] if found else None
        if outer and (outer.pointers, outer.elements) == (loop.size * loop.pointers, loop.size * loop.elements):
            found[-1] = replace(loop, size=outer.size * loop.size)
        else:
            found.append(loop)
    return tuple(found)
