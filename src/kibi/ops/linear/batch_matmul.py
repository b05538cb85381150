"""BATCH_MATMUL."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import gcd, prod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from kibi.dtypes import Array, DType
from kibi.ir import KernelCall, NodeView, Operator, OperatorError, RowAccess, Rows, TensorType
from kibi.kernels.params import PARAMS
from kibi.ops import checks
from kibi.ops.registry import register
from kibi.ops.sums.float_sums import add_products
from kibi.quant import Multiplier, requantize, requantize_wide, wrap_s32

_SIDES = ("input1", "input2")
_MOST_BITS = {DType.S8: 30, DType.S16: 7}
"""Of integer bits in the factor."""


@dataclass(frozen=True, slots=True)
class _Side:
    """The readings of one input in a step.

    Attributes:
        access: its pieces.
        axes: those of the block that a step reads, batches first: size, and how many pointers and elements further an index is.
    """

    access: RowAccess
    axes: tuple[tuple[int, int, int], ...]

    @staticmethod
    def of(source: TensorType, shape: Sequence[int], front: int, rows: int, output_rows: int) -> "_Side":
        """The pieces in a block of neighbouring elements.

        Args:
            source: the input's type.
            shape: its shape, with as many axes as the output's.
            front: axes that all elements of the block have in common; those after the first are 1, but for the last.
            rows: blocks of one batch.
            output_rows: of one batch.
        """
        block = prod(shape[front:])
        piece = gcd(source.row_elements, block)
        count = block // piece
        access = RowAccess(
            rows=rows * count,
            output_rows=output_rows,
            count=count,
            stride=count if rows > 1 else 0,
            parts=source.row_elements // piece,
            is_shared=prod(shape[:front]) == rows,
        )
        axes = []
        for axis in range(front, len(shape)):
            step = prod(shape[axis + 1 :])
            axes.append((shape[axis], step // piece, 0) if step >= piece else (shape[axis], 0, step))
        return _Side(access, tuple(axes))

    def matrices(self, sizes: Sequence[int]) -> list[tuple[int, int]]:
        """Pointer and element at which the matrix of each batch begins; an axis of 1 is the same for all."""
        batches = [
            (0, 0) if size == 1 else (pointers, elements) for size, pointers, elements in self.axes[: len(sizes)]
        ]
        return [
            (
                sum(at * pointers for at, (pointers, _) in zip(place, batches, strict=True)),
                sum(at * elements for at, (_, elements) in zip(place, batches, strict=True)),
            )
            for place in product(*map(range, sizes))
        ]


@dataclass(frozen=True, slots=True)
class _Steps:
    """The division of a node into steps.

    Attributes:
        count: one for each output row, or one for all.
        batches: sizes of the output's batch axes inside a step.
        rows: of the output's matrices, inside a step.
        sides: what a step reads.
    """

    count: int
    batches: tuple[int, ...]
    rows: int
    sides: tuple[_Side, _Side]


@dataclass(frozen=True, slots=True)
class BatchMatmul(Operator):
    """Products of matrices: input1 […, M, K] and input2 […, K, N], s8, s16 or f32 → output […, M, N] of that type.

    Ranks from 2 to 5; axes before the last two broadcast. Either input may have its last two axes in the other order. There is
    no activation. Sums of s8 have 32 bits and wrap; those of s16, whose zero points are 0, have 64 bits. In a model file one of
    two s16 matrices may be s8 instead, which TFLM refuses: it is widened when the model is loaded.

    Source: TFLM `micro/kernels/batch_matmul.cc` and `kernels/internal/reference/batch_matmul.h`.
    """

    name: ClassVar[str] = "BATCH_MATMUL"
    inputs: ClassVar[tuple[str, ...]] = _SIDES
    row_inputs: ClassVar[tuple[str, ...]] = _SIDES
    kernels: ClassVar[tuple[str, ...]] = ("kibi_batch_matmul_s8", "kibi_batch_matmul_s16", "kibi_batch_matmul_f32")
    types: ClassVar[tuple[DType, ...]] = (DType.S8, DType.S16, DType.F32)

    adj_x: bool = False
    adj_y: bool = False

    def infer(self, view: NodeView) -> tuple[tuple[int, ...], DType]:
        """The broadcast batches, the rows of the first input and the columns of the second; the inputs' type."""
        first, second = (checks.rank(view, name, 2, 3, 4, 5) for name in _SIDES)
        dtype = checks.dtype(view, "input2", view["input1"].type.dtype)
        checks.dtype(view, "output", dtype)
        rows, depth = first[-2:][::-1] if self.adj_x else first[-2:]
        depth2, columns = second[-2:][::-1] if self.adj_y else second[-2:]
        text = f"inputs of shapes {list(first)} and {list(second)}"
        if depth != depth2:
            raise OperatorError(f"{text} have {depth} and {depth2} elements to multiply and add up", operand="input2")
        if dtype is not DType.F32:
            _check_scales(view)
        try:
            batches = np.broadcast_shapes(first[:-2], second[:-2])
        except ValueError:
            raise OperatorError(f"the batches of {text} do not broadcast", operand="input2") from None
        return (*(int(size) for size in batches), rows, columns), dtype

    def steps(self, view: NodeView) -> int:
        """One for each output row; one for all where a row takes a column of the first input."""
        return self._steps(view).count

    def accesses(self, view: NodeView) -> tuple[RowAccess, ...]:
        """Returns for each input the pieces that hold its matrices, or its rows of them."""
        return tuple(side.access for side in self._steps(view).sides)

    def reference(self, view: NodeView) -> Callable[[Rows], Array]:
        """Rules N24 for floats, N35 for integers."""
        steps, dtype = self._steps(view), view.output.type.dtype
        is_float = dtype is DType.F32
        zeros = [0 if is_float else view[name].quantization.zero_point for name in _SIDES]

        def row(rows: Rows) -> Array:
            left, right = (
                np.concatenate([np.asarray(piece).reshape(-1) for piece in pieces]).reshape(_shape(side))
                for pieces, side in zip(rows, steps.sides, strict=True)
            )
            a = np.moveaxis(left, -2 if self.adj_x else -1, 0)[..., None]
            b = np.moveaxis(right, -1 if self.adj_y else -2, 0)[..., None, :]
            if is_float:
                totals = np.zeros((*steps.batches, steps.rows, view.output.type.shape[-1]), np.float32)
                return add_products(totals, a.astype(np.float32), b.astype(np.float32))
            products = (a.astype(np.int64) - zeros[0]) * (b.astype(np.int64) - zeros[1])
            return self._scaled(view, products.sum(axis=0))

        return row

    def _scaled(self, view: NodeView, sums: NDArray[np.int64]) -> Array:
        dtype, factor, zero_point = view.output.type.dtype, _factor(view), view.output.quantization.zero_point
        if dtype is DType.S8:
            scaled = requantize(wrap_s32(sums), factor.value, factor.shift)
        else:
            scaled = requantize_wide(sums, factor.value, factor.shift)
        low, high = dtype.limits
        return np.clip(wrap_s32(scaled + zero_point), low, high).astype(dtype.numpy)

    def kernel_call(self, view: NodeView) -> KernelCall:
        """The type's kernel, without scratch."""
        steps, dtype = self._steps(view), view.output.type.dtype
        left, right = steps.sides
        starts = zip(left.matrices(steps.batches), right.matrices(steps.batches), strict=True)
        matrices = np.array([(*first, *second) for first, second in starts], np.int32)
        (_, *down), (depth, *along) = left.axes[-2:][::-1] if self.adj_x else left.axes[-2:]
        (_, *across), (columns, *to_right) = right.axes[-2:][::-1] if self.adj_y else right.axes[-2:]
        places = {"row": down, "depth1": along, "depth2": across, "column": to_right}
        kernel = f"kibi_batch_matmul_{dtype}"
        params = PARAMS[kernel](
            matrices=matrices,
            matrix_count=len(matrices),
            rows=steps.rows,
            columns=columns,
            depth=depth,
            pointers1=left.access.count,
            **{f"{name}_pointers": pointers for name, (pointers, _) in places.items()},
            **{f"{name}_step": elements for name, (_, elements) in places.items()},
            **_scaling_params(view),
        )
        return KernelCall(kernel, params)

    def macs(self, view: NodeView) -> int:
        """Products that are added up."""
        return view.output.type.elements * view["input1"].type.shape[-2 if self.adj_x else -1]

    def _steps(self, view: NodeView) -> _Steps:
        output = view.output.type
        rank, axis = len(output.shape), output.row_axis
        sources = [view[name].type for name in _SIDES]
        shapes = [(1,) * (rank - len(source.shape)) + source.shape for source in sources]
        takes_column = axis == rank - 2 and self.adj_x
        if axis is None or takes_column:
            sides = [_Side.of(source, shape, 0, 1, 1) for source, shape in zip(sources, shapes, strict=True)]
            return _Steps(1, output.shape[:-2], output.shape[-2], (sides[0], sides[1]))
        is_row_of_matrix = axis == rank - 2
        found = []
        for number, (source, shape) in enumerate(zip(sources, shapes, strict=True)):
            # Of the first input's matrices only the row itself is read; of the second input's all are read.
            front = axis if is_row_of_matrix and number == 1 else axis + 1
            rows = prod(shape[1:front])
            found.append(_Side.of(source, shape, front, rows, output.rows_per_batch))
        batches = () if is_row_of_matrix else output.shape[axis + 1 : -2]
        first, second = found
        if is_row_of_matrix:
            # The row's one axis, and one of size 1 in the place of the rows.
            first = replace(first, axes=((1, 0, 0), *first.axes))
        return _Steps(output.rows, batches, 1 if is_row_of_matrix else output.shape[-2], (first, second))


def _shape(side: _Side) -> tuple[int, ...]:
    return tuple(size for size, _, _ in side.axes)


def _check_scales(view: NodeView) -> None:
    """The quantization that integers need.

    Raises:
        OperatorError: it is another.
    """
    check = checks.per_tensor if view.output.type.dtype is DType.S8 else checks.symmetric
    for operand in (*_SIDES, "output"):
        check(view, operand)
    _factor(view)


def _scaling_params(view: NodeView) -> dict[str, Any]:
    """The struct fields of what is done with sums, which are fewer for s16 and none for f32."""
    dtype = view.output.type.dtype
    if dtype is DType.F32:
        return {}
    factor = _factor(view)
    scaling = {"output_multiplier": factor.value, "output_shift": factor.shift}
    if dtype is not DType.S8:
        return scaling
    zero1, zero2, zero = (view[operand].quantization.zero_point for operand in (*_SIDES, "output"))
    return {**scaling, "zero_point1": zero1, "zero_point2": zero2, "output_zero_point": zero}


def _factor(view: NodeView) -> Multiplier:
    """Rule N35: the product of the inputs' scales, rounded to f32, by the output's."""
    first, second, output = (np.float32(view[name].quantization.scale) for name in (*_SIDES, "output"))
    with np.errstate(over="ignore", under="ignore"):
        real = float(first * second) / float(output)
    return checks.factor(real, _MOST_BITS[view.output.type.dtype])


register(BatchMatmul)
