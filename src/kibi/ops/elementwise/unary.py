"""Elementwise operators on one input of more types than s8: s8 by a table, the others by a kernel of their own."""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from kibi.dtypes import Array, DType
from kibi.ir import KernelCall, NodeView, Operator, RowAccess, Rows
from kibi.kernels.params import Params
from kibi.kernels.params.unary import ElementsParams
from kibi.ops import checks
from kibi.ops.elementwise.table import TableOperator

Numbers = NDArray[Any]
"""Elements of s64 or f32."""
Real = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class RealUnary(Operator):
    """A function of one f32 element: input f32 of any shape → output f32 of the same shape."""

    inputs: ClassVar[tuple[str, ...]] = ("input",)
    types: ClassVar[tuple[DType, ...]] = (DType.F32,)

    @abstractmethod
    def real(self, values: Real) -> Real:
        """The outputs for inputs of any shape, each step rounded to f32."""

    def infer(self, view: NodeView) -> tuple[tuple[int, ...], DType]:
        """The input's shape, or another of the same rows, type f32."""
        return checks.same_rows(view), DType.F32

    def accesses(self, view: NodeView) -> tuple[RowAccess, ...]:
        """Row by row."""
        return (RowAccess.same(view.output.type.rows),)

    def reference(self, view: NodeView) -> Callable[[Rows], Array]:
        """The function, on each element of a row."""
        del view
        return real_rows(self.real)

    def kernel_call(self, view: NodeView) -> KernelCall:
        """The one kernel."""
        return unary_call(view, elements_params(view))


@dataclass(frozen=True, slots=True)
class Unary(TableOperator):
    """A function of one element: input s8, s16 or f32 of any shape → output of that type and shape."""

    def infer(self, view: NodeView) -> tuple[tuple[int, ...], DType]:
        """The input's shape, or another of the same rows; the input's type."""
        dtype = view["input"].type.dtype
        checks.dtype(view, "output", dtype)
        if dtype is DType.S8:
            return TableOperator.infer(self, view)
        self.params(view)  # which refuses scales that are out of proportion
        return checks.same_rows(view), dtype

    @abstractmethod
    def params(self, view: NodeView) -> Params:
        """The parameters of the kernel of s16 or f32.

        Raises:
            OperatorError: the node breaks a rule of the operator.
        """

    @abstractmethod
    def wide(self, view: NodeView) -> Callable[[Numbers], Numbers]:
        """The function from elements of s16 or f32 to the outputs, which may be of a wider type."""

    def reference(self, view: NodeView) -> Callable[[Rows], Array]:
        """The table, indexed, or the function on each element of a row."""
        dtype = view.output.type.dtype
        if dtype is DType.S8:
            return TableOperator.reference(self, view)
        function = self.wide(view)

        def row(rows: Rows) -> Array:
            values = np.asarray(rows[0][0])
            with np.errstate(all="ignore"):
                return function(values if dtype is DType.F32 else values.astype(np.int64)).astype(dtype.numpy)

        return row

    def kernel_call(self, view: NodeView) -> KernelCall:
        """The look-up, or the type's kernel."""
        if view.output.type.dtype is DType.S8:
            return TableOperator.kernel_call(self, view)
        return unary_call(view, self.params(view))


def real_rows(function: Callable[[Real], Real]) -> Callable[[Rows], Array]:
    """A function that takes a row of f32."""

    def row(rows: Rows) -> Array:
        with np.errstate(all="ignore"):  # as in C
            return function(np.asarray(rows[0][0], np.float32)).astype(np.float32)

    return row


def elements_params(view: NodeView) -> ElementsParams:
    """The parameters of a kernel that needs no more than the size of a row."""
    return ElementsParams(elements=view.output.type.row_elements)


def unary_call(view: NodeView, params: Params) -> KernelCall:
    """The call of `kibi_<name>_<type>`, which may work in place."""
    return KernelCall(f"kibi_{view.op.name.lower()}_{view.output.type.dtype}", params, inplace_distance_bytes=(0,))
