"""The shared parts of EQUAL, NOT_EQUAL, GREATER, GREATER_EQUAL, LESS and LESS_EQUAL."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

import numpy as np

from kibi.dtypes import Array, DType
from kibi.ir import KernelCall, NodeView, OperatorError, Rows
from kibi.kernels.params.binary import CompareParams, CompareS8Params
from kibi.ops import checks
from kibi.ops.elementwise.broadcast import Broadcast2, Numbers
from kibi.ops.registry import register
from kibi.quant import Multiplier, quantize_multiplier, requantize

LESS, EQUAL, GREATER, UNORDERED = 1, 2, 4, 8
"""How one element may stand to another; where a NaN is among them, it is the last."""
_LEFT_SHIFT = 8


@dataclass(frozen=True, slots=True)
class Comparison(Broadcast2):
    """Two inputs s8, s32, s64 or f32 that broadcast (ranks up to 6) → output bool.

    Elements of s8 are compared in their scales, which must be below 1 (rule N33).

    Source of the rules: TFLM `micro/kernels/comparisons.cc`.
    """

    kernels: ClassVar[tuple[str, ...]] = ("kibi_compare_s8", "kibi_compare_s32", "kibi_compare_s64", "kibi_compare_f32")
    types: ClassVar[tuple[DType, ...]] = (DType.S8, DType.S32, DType.S64, DType.F32)
    relation: ClassVar[int]
    """Which of the four make the output true, added up."""

    def infer(self, view: NodeView) -> tuple[tuple[int, ...], DType]:
        """The broadcast shape, type bool."""
        shape, dtype = Broadcast2.infer(self, view)
        if dtype is DType.S8:
            for operand in self.inputs:
                _factor(view, operand)
        return shape, DType.BOOL

    def reference(self, view: NodeView) -> Callable[[Rows], Array]:
        """Compares the elements: whether their order is among those asked for."""
        is_scaled = view["input1"].type.dtype is DType.S8
        planes = self.planes(view)

        def row(rows: Rows) -> Array:
            a, b = planes(rows)
            if is_scaled:
                a, b = _scaled(view, "input1", a), _scaled(view, "input2", b)
            outcomes = np.select([a < b, a == b, a > b], [LESS, EQUAL, GREATER], UNORDERED)
            return np.asarray((outcomes & self.relation) != 0)

        return row

    def kernel_call(self, view: NodeView) -> KernelCall:
        """One kernel for each type of the inputs, without scratch."""
        dtype = view["input1"].type.dtype
        params = self._scaled_params(view) if dtype is DType.S8 else self._plain_params(view)
        return KernelCall(f"kibi_compare_{dtype}", params, inplace_distance_bytes=self.overlaps(view))

    def _plain_params(self, view: NodeView) -> CompareParams:
        return CompareParams(relation=self.relation, **self.broadcast_params(view))

    def _scaled_params(self, view: NodeView) -> CompareS8Params:
        first, second = (_factor(view, operand) for operand in self.inputs)
        zero1, zero2 = (view[operand].quantization.zero_point for operand in self.inputs)
        return CompareS8Params(
            relation=self.relation,
            zero_point1=zero1,
            multiplier1=first.value,
            shift1=first.shift,
            zero_point2=zero2,
            multiplier2=second.value,
            shift2=second.shift,
            **self.broadcast_params(view),
        )


@dataclass(frozen=True, slots=True)
class Equality(Comparison):
    """Two inputs s8, s32, s64, f32 or bool that broadcast (ranks up to 6) → output bool."""

    kernels: ClassVar[tuple[str, ...]] = (*Comparison.kernels, "kibi_compare_bool")
    types: ClassVar[tuple[DType, ...]] = (*Comparison.types, DType.BOOL)


def _factor(view: NodeView, operand: str) -> Multiplier:
    """The scale itself as a factor.

    Raises:
        OperatorError: it is not below 1, which TFLM does not survive.
    """
    scale = checks.per_tensor(view, operand).scale
    factor = quantize_multiplier(scale)
    if factor.shift > 0:
        what = f"{operand} has scale {scale:.9g}, but less than 1 is required"
        raise OperatorError(what, "Quantize the model again with representative data", operand)
    return factor


def _scaled(view: NodeView, operand: str, values: Numbers) -> Numbers:
    """Rule N33."""
    factor = _factor(view, operand)
    return requantize((values - view[operand].quantization.zero_point) << _LEFT_SHIFT, factor.value, factor.shift)


@dataclass(frozen=True, slots=True)
class Equal(Equality):
    """True if a == b, for two inputs that broadcast.

    Source: TFLM `kernels/internal/reference/comparisons.h`, `EqualFn`.
    """

    name: ClassVar[str] = "EQUAL"
    relation: ClassVar[int] = EQUAL


register(Equal)


@dataclass(frozen=True, slots=True)
class NotEqual(Equality):
    """True if a != b, which a NaN always is, for two inputs that broadcast.

    Source: TFLM `kernels/internal/reference/comparisons.h`, `NotEqualFn`.
    """

    name: ClassVar[str] = "NOT_EQUAL"
    relation: ClassVar[int] = LESS | GREATER | UNORDERED


register(NotEqual)


@dataclass(frozen=True, slots=True)
class Greater(Comparison):
    """True if a > b, for two inputs that broadcast.

    Of the comparisons TFLM runs only this one on s16, in `GreaterEval`. `ComparisonsPrepare` sets zero points and multipliers
    for s8 alone, so that what lay in the arena before decides, and Kibi refuses s16.
    Source: TFLM `kernels/internal/reference/comparisons.h`, `GreaterFn`.
    """

    name: ClassVar[str] = "GREATER"
    relation: ClassVar[int] = GREATER
    undefined: ClassVar[Mapping[DType, str]] = MappingProxyType(
        {DType.S16: "it compares int16 by zero points and multipliers that it never sets"}
    )


register(Greater)


@dataclass(frozen=True, slots=True)
class GreaterEqual(Comparison):
    """True if a >= b, for two inputs that broadcast.

    Source: TFLM `kernels/internal/reference/comparisons.h`, `GreaterEqualFn`.
    """

    name: ClassVar[str] = "GREATER_EQUAL"
    relation: ClassVar[int] = GREATER | EQUAL


register(GreaterEqual)


@dataclass(frozen=True, slots=True)
class Less(Comparison):
    """True if a < b, for two inputs that broadcast.

    Source: TFLM `kernels/internal/reference/comparisons.h`, `LessFn`.
    """

    name: ClassVar[str] = "LESS"
    relation: ClassVar[int] = LESS


register(Less)


@dataclass(frozen=True, slots=True)
class LessEqual(Comparison):
    """True if a <= b, for two inputs that broadcast.

    Source: TFLM `kernels/internal/reference/comparisons.h`, `LessEqualFn`.
    """

    name: ClassVar[str] = "LESS_EQUAL"
    relation: ClassVar[int] = LESS | EQUAL


register(LessEqual)
