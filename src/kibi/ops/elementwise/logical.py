"""LOGICAL_AND, LOGICAL_OR and LOGICAL_NOT."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

import numpy as np

from kibi.dtypes import Array, DType
from kibi.ir import KernelCall, NodeView, Operator, RowAccess, Rows
from kibi.ops import checks
from kibi.ops.elementwise.broadcast import Broadcast2
from kibi.ops.elementwise.unary import elements_params, unary_call
from kibi.ops.registry import register

_BYTES = "it takes elements for bools, of which C++ leaves all but 0 and 1 undefined"
_WIDER = "it takes the first bytes of the tensor for bools, one for each element"


@dataclass(frozen=True, slots=True)
class Logical(Broadcast2):
    """Two inputs bool that broadcast (ranks up to 6) → output bool.

    TFLM checks no type, and reads tensors of any other type as bools, too. What it gives then is undefined, so Kibi refuses them.
    Source: TFLM `micro/kernels/logical_common.cc`.
    """

    types: ClassVar[tuple[DType, ...]] = (DType.BOOL,)
    undefined: ClassVar[Mapping[DType, str]] = MappingProxyType(
        {dtype: _BYTES if dtype.size_bytes == 1 else _WIDER for dtype in DType if dtype is not DType.BOOL}
    )


@dataclass(frozen=True, slots=True)
class LogicalAnd(Logical):
    """True if both inputs are true: two inputs bool that broadcast → output bool.

    Source: TFLM `micro/kernels/logical_common.cc`.
    """

    name: ClassVar[str] = "LOGICAL_AND"
    kernels: ClassVar[tuple[str, ...]] = ("kibi_logical_and_bool",)

    def reference(self, view: NodeView) -> Callable[[Rows], Array]:
        """Element by element."""
        planes = self.planes(view)
        return lambda rows: np.asarray(np.logical_and(*planes(rows)))


register(LogicalAnd)


@dataclass(frozen=True, slots=True)
class LogicalOr(Logical):
    """True if at least one input is true: two inputs bool that broadcast → output bool.

    Source: TFLM `micro/kernels/logical_common.cc`.
    """

    name: ClassVar[str] = "LOGICAL_OR"
    kernels: ClassVar[tuple[str, ...]] = ("kibi_logical_or_bool",)

    def reference(self, view: NodeView) -> Callable[[Rows], Array]:
        """Element by element."""
        planes = self.planes(view)
        return lambda rows: np.asarray(np.logical_or(*planes(rows)))


register(LogicalOr)


@dataclass(frozen=True, slots=True)
class LogicalNot(Operator):
    """True if the input is false: input bool of any shape → output bool of the same shape.

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
