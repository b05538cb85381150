"""LOGICAL_NOT."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kibi.dtypes import Array, DType
from kibi.ir import KernelCall, NodeView, Operator, RowAccess, Rows
from kibi.ops import checks
from kibi.ops.elementwise.unary import elements_params, unary_call
from kibi.ops.registry import register


@dataclass(frozen=True, slots=True)
class LogicalNot(Operator):
    """Whether the input is false: input bool of any shape → output bool of the same shape.

    Source: TFLM `micro/kernels/elementwise.cc`, `LogicalNotEval`.
    """

    name: ClassVar[str] = "LOGICAL_NOT"
    inputs: ClassVar[tuple[str, ...]] = ("input",)
    kernels: ClassVar[tuple[str, ...]] = ("kibi_logical_not_bool",)
    types: ClassVar[tuple[DType, ...]] = (DType.BOOL,)

    def infer(self, view: NodeView) -> tuple[tuple[int, ...], DType]:
        """The input's shape, or another of the same rows, type bool."""
        return checks.same_rows(view), DType.BOOL

    def accesses(self, view: NodeView) -> tuple[RowAccess, ...]:
        """Row by row."""
        return (RowAccess.same(view.output.type.rows),)

    def reference(self, view: NodeView) -> Callable[[Rows], Array]:
        """Element by element."""
        del view
        return lambda rows: np.logical_not(np.asarray(rows[0][0]))

    def kernel_call(self, view: NodeView) -> KernelCall:
        """The one kernel."""
        return unary_call(view, elements_params(view))


register(LogicalNot)
