"""Functions of one element: CEIL, COS, EXP, FLOOR, LOG, NEG, ROUND, SIN, SQRT, SQUARE, and what other functions share with them."""

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
from kibi.ops.registry import register
from kibi.quant import cos_f32, exp_f32, log_f32, sin_f32

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


@dataclass(frozen=True, slots=True)
class Ceil(RealUnary):
    """The least integer that is not below x: input f32 → output f32.

    Source: TFLM `kernels/internal/reference/ceil.h`.
    """

    name: ClassVar[str] = "CEIL"
    kernels: ClassVar[tuple[str, ...]] = ("kibi_ceil_f32",)

    def real(self, values: Real) -> Real:
        """Element by element."""
        return np.ceil(values)


register(Ceil)


@dataclass(frozen=True, slots=True)
class Cos(RealUnary):
    """The cosine: input f32 → output f32; TFLM has no other type.

    Source: TFLM `micro/kernels/elementwise.cc`.
    """

    name: ClassVar[str] = "COS"
    kernels: ClassVar[tuple[str, ...]] = ("kibi_cos_f32",)
    ulps: ClassVar[int] = 1

    def real(self, values: Real) -> Real:
        """Rule N31."""
        return cos_f32(values)


register(Cos)


@dataclass(frozen=True, slots=True)
class Exp(RealUnary):
    """The exponential function: input f32 → output f32; TFLM has no other type.

    Source: TFLM `kernels/internal/reference/exp.h`.
    """

    name: ClassVar[str] = "EXP"
    kernels: ClassVar[tuple[str, ...]] = ("kibi_exp_f32_each",)
    ulps: ClassVar[int] = 1

    def real(self, values: Real) -> Real:
        """Rule N23."""
        return exp_f32(values)

    def kernel_call(self, view: NodeView) -> KernelCall:
        """The one kernel."""
        return KernelCall("kibi_exp_f32_each", elements_params(view), inplace_distance_bytes=(0,))


register(Exp)


@dataclass(frozen=True, slots=True)
class Floor(RealUnary):
    """The largest integer that is not above x: input f32 → output f32.

    Source: TFLM `kernels/internal/reference/floor.h`.
    """

    name: ClassVar[str] = "FLOOR"
    kernels: ClassVar[tuple[str, ...]] = ("kibi_floor_f32",)

    def real(self, values: Real) -> Real:
        """Element by element."""
        return np.floor(values)


register(Floor)


@dataclass(frozen=True, slots=True)
class Log(RealUnary):
    """The natural logarithm; of what is negative it is no number: input f32 → output f32; TFLM has no other type.

    Source: TFLM `micro/kernels/elementwise.cc`.
    """

    name: ClassVar[str] = "LOG"
    kernels: ClassVar[tuple[str, ...]] = ("kibi_log_f32",)
    ulps: ClassVar[int] = 1

    def real(self, values: Real) -> Real:
        """Rule N30."""
        return log_f32(values)


register(Log)


@dataclass(frozen=True, slots=True)
class Neg(RealUnary):
    """-x: input f32 → output f32; TFLM has no other type.

    Source: TFLM `kernels/internal/reference/neg.h`.
    """

    name: ClassVar[str] = "NEG"
    kernels: ClassVar[tuple[str, ...]] = ("kibi_neg_f32",)

    def real(self, values: Real) -> Real:
        """Element by element."""
        return np.negative(values)


register(Neg)


@dataclass(frozen=True, slots=True)
class Round(RealUnary):
    """The nearest integer, halves to the even one: input f32 → output f32; what rounds up to zero is +0.

    Source: TFLM `kernels/internal/reference/round.h`, `RoundToNearest`.
    """

    name: ClassVar[str] = "ROUND"
    kernels: ClassVar[tuple[str, ...]] = ("kibi_round_f32",)

    def real(self, values: Real) -> Real:
        """The integer below, or the next one."""
        below = np.floor(values)
        rest = values - below
        is_below = (rest < 0.5) | ((rest == 0.5) & (below % 2 == 0))
        return np.where(is_below, below, below + np.float32(1))


register(Round)


@dataclass(frozen=True, slots=True)
class Sin(RealUnary):
    """The sine: input f32 → output f32; TFLM has no other type.

    Source: TFLM `micro/kernels/elementwise.cc`.
    """

    name: ClassVar[str] = "SIN"
    kernels: ClassVar[tuple[str, ...]] = ("kibi_sin_f32",)
    ulps: ClassVar[int] = 1

    def real(self, values: Real) -> Real:
        """Rule N31."""
        return sin_f32(values)


register(Sin)


@dataclass(frozen=True, slots=True)
class Sqrt(RealUnary):
    """The square root: input f32 → output f32; TFLM has no other type.

    Source: TFLM `micro/kernels/elementwise.cc`.
    """

    name: ClassVar[str] = "SQRT"
    kernels: ClassVar[tuple[str, ...]] = ("kibi_sqrt_f32",)

    def real(self, values: Real) -> Real:
        """Rounded to nearest, as IEEE 754 has it."""
        return np.sqrt(values)


register(Sqrt)


@dataclass(frozen=True, slots=True)
class Square(RealUnary):
    """x * x: input f32 → output f32; TFLM has no other type.

    Source: TFLM `micro/kernels/elementwise.cc`.
    """

    name: ClassVar[str] = "SQUARE"
    kernels: ClassVar[tuple[str, ...]] = ("kibi_square_f32",)

    def real(self, values: Real) -> Real:
        """Element by element."""
        return np.square(values)


register(Square)
