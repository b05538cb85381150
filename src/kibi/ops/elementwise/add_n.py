"""ADD_N."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kibi.dtypes import Array, DType
from kibi.ir import KernelCall, NodeView, Operator, OperatorError, RowAccess, Rows
from kibi.kernels.params.binary import AddNF32Params, AddNS8Params
from kibi.ops import checks
from kibi.ops.movement.concat_like import given_inputs
from kibi.ops.reductions.running_sum import RunningSum
from kibi.ops.registry import register
from kibi.ops.sums.float_sums import add_in_order

_MOST_INPUTS = 64
_MOST_SUM = (1 << 12) - 1
"""Of centred elements: shifted left by 19 bits, it fits 32."""


@dataclass(frozen=True, slots=True)
class AddN(Operator):
    """The sum of 2 to 64 inputs of one shape, s8 of one scale and zero point, or f32 → output of that type and shape.

    So many inputs of s8 that sums could leave 32 bits (TFLM is undefined there) are refused; 15 are always allowed.

    Source: TFLM `micro/kernels/add_n.cc` and `kernels/internal/reference/add_n.h`.
    """

    name: ClassVar[str] = "ADD_N"
    inputs: ClassVar[tuple[str, ...]] = ("input0", "input1", *(f"input{number}?" for number in range(2, _MOST_INPUTS)))
    row_inputs: ClassVar[tuple[str, ...]] = tuple(f"input{number}" for number in range(_MOST_INPUTS))
    kernels: ClassVar[tuple[str, ...]] = ("kibi_add_n_s8", "kibi_add_n_f32")
    types: ClassVar[tuple[DType, ...]] = (DType.S8, DType.F32)

    def infer(self, view: NodeView) -> tuple[tuple[int, ...], DType]:
        """The inputs' shape and type."""
        first, *others = given_inputs(view)
        dtype = checks.dtype(view, "input0", *self.types)
        for name, tensor in zip(view.row_names[1:], others, strict=True):
            if tensor.type.shape != first.type.shape:
                shapes = f"shape {list(tensor.type.shape)}, but input0 has {list(first.type.shape)}"
                raise OperatorError(f"{name} has {shapes}", operand=name)
            if dtype is DType.S8 and checks.per_tensor(view, name) != checks.per_tensor(view, "input0"):
                raise OperatorError(f"{name} has another scale or zero point than input0", operand=name)
        if dtype is DType.S8:
            zero_point = RunningSum.of(view, "input0").zero_point
            count = (_MOST_SUM - abs(zero_point)) // max(127 - zero_point, zero_point + 128)
            if len(others) + 1 > count:
                what = (
                    f"{len(others) + 1} inputs with zero point {zero_point} have sums beyond 32 bits; {count} have not"
                )
                raise OperatorError(what, "Add them up in groups")
        return first.type.shape, dtype

    def accesses(self, view: NodeView) -> tuple[RowAccess, ...]:
        """The same row of each."""
        return (RowAccess.same(view.output.type.rows),) * len(view.row_tensors)

    def reference(self, view: NodeView) -> Callable[[Rows], Array]:
        """Rule N24 for floats: one input after another; N34 for s8."""
        if view.output.type.dtype is DType.F32:
            zeros = np.zeros(view.output.type.row_elements, np.float32)
            return lambda rows: add_in_order(zeros, _stacked(rows).astype(np.float32))
        running = RunningSum.of(view, "input0")
        start = -running.zero_point * (len(view.row_tensors) + 1)
        return lambda rows: running.result(_stacked(rows).astype(np.int64).sum(axis=0) + start)

    def kernel_call(self, view: NodeView) -> KernelCall:
        """One kernel for each type, without scratch."""
        dtype, count = view.output.type.dtype, len(view.row_tensors)
        elements = view.output.type.row_elements
        params: AddNF32Params | AddNS8Params = AddNF32Params(inputs=count, elements=elements)
        if dtype is DType.S8:
            params = AddNS8Params(inputs=count, elements=elements, **RunningSum.of(view, "input0").params())
        return KernelCall(f"kibi_add_n_{dtype}", params, inplace_distance_bytes=(0,) * count)


def _stacked(rows: Rows) -> Array:
    """The inputs' rows, `[inputs, elements]`."""
    return np.stack([np.asarray(pieces[0]).reshape(-1) for pieces in rows])


register(AddN)
