"""SHAPE."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kibi.dtypes import Array, DType
from kibi.ir import KernelCall, NodeView, Operator, OperatorError, RowAccess, Rows
from kibi.kernels.params.movement import ShapeParams
from kibi.ops.registry import register


@dataclass(frozen=True, slots=True)
class Shape(Operator):
    """The shape of the input, of any type and rank 1 or more → output [rank] s32; the elements do not matter.

    Source: TFLM `micro/kernels/shape.cc`.
    """

    name: ClassVar[str] = "SHAPE"
    inputs: ClassVar[tuple[str, ...]] = ("input",)
    ignores_elements: ClassVar[bool] = True
    kernels: ClassVar[tuple[str, ...]] = ("kibi_shape_any",)
    types: ClassVar[tuple[DType, ...]] = tuple(DType)

    def infer(self, view: NodeView) -> tuple[tuple[int, ...], DType]:
        """One number for each axis, type s32."""
        rank = len(view["input"].type.shape)
        if rank == 0:
            raise OperatorError("input has no axes, so that its shape has no elements", operand="input")
        return (rank,), DType.S32

    def accesses(self, view: NodeView) -> tuple[RowAccess, ...]:
        """The first row, which is not looked at."""
        return (RowAccess(rows=view["input"].type.rows, output_rows=1, stride=0),)

    def reference(self, view: NodeView) -> Callable[[Rows], Array]:
        """The shape."""
        shape = np.array(view["input"].type.shape, np.int32)
        return lambda _: shape

    def kernel_call(self, view: NodeView) -> KernelCall:
        """A copy of constant numbers."""
        shape = np.array(view["input"].type.shape, np.int32)
        params = ShapeParams(sizes=shape, rank=len(shape))
        return KernelCall("kibi_shape_any", params, is_untyped=True, inplace_distance_bytes=(0,))


register(Shape)
