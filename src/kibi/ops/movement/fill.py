"""FILL and ZEROS_LIKE."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kibi.dtypes import DType
from kibi.ir import NodeView, OperatorError
from kibi.ops import checks
from kibi.ops.movement.index_map import FILLED, IndexMap, Indices, Numbers
from kibi.ops.registry import register


@dataclass(frozen=True, slots=True)
class Fill(IndexMap):
    """One value everywhere: dims [rank] s32 or s64 constant, value s8, s32 or f32 of rank 0 → output of the value's type.

    Source: TFLM `micro/kernels/fill.cc`.
    """

    name: ClassVar[str] = "FILL"
    inputs: ClassVar[tuple[str, ...]] = ("dims", "value")
    row_inputs: ClassVar[tuple[str, ...]] = ("value",)
    kernels: ClassVar[tuple[str, ...]] = ("kibi_gather_runs_s8", "kibi_gather_runs_s32", "kibi_gather_runs_f32")
    types: ClassVar[tuple[DType, ...]] = (DType.S32, DType.S64)

    def infer(self, view: NodeView) -> tuple[tuple[int, ...], DType]:
        """The shape that is asked for, the value's type."""
        dtype = checks.dtype(view, "value", DType.S8, DType.S32, DType.F32)
        checks.rank(view, "value", 0)
        checks.rank(view, "dims", 1)
        dims = tuple(int(size) for size in view.constant("dims"))
        if min(dims) < 1:
            raise OperatorError(f"dims {list(dims)} must be at least 1", operand="dims")
        return dims, dtype

    def indices(self, source: tuple[int, ...], output: tuple[int, ...], constants: tuple[Numbers, ...]) -> Indices:
        """The value's, everywhere."""
        del source, constants
        return np.zeros(output, np.int64)


register(Fill)


@dataclass(frozen=True, slots=True)
class ZerosLike(IndexMap):
    """Zeros: input s8, s32, s64 or f32, of which only the shape matters → output of the same type and shape.

    A zero is a zero byte in s8, too, whatever the zero point. Source: TFLM `micro/kernels/zeros_like.cc`.
    """

    name: ClassVar[str] = "ZEROS_LIKE"
    ignores_elements: ClassVar[bool] = True
    kernels: ClassVar[tuple[str, ...]] = (
        "kibi_gather_runs_s8",
        "kibi_gather_runs_s32",
        "kibi_gather_runs_any",
        "kibi_gather_runs_f32",
    )
    types: ClassVar[tuple[DType, ...]] = (DType.S8, DType.S32, DType.S64, DType.F32)

    def infer(self, view: NodeView) -> tuple[tuple[int, ...], DType]:
        """The input's shape and type."""
        return view["input"].type.shape, checks.dtype(view, "input", *self.types)

    def indices(self, source: tuple[int, ...], output: tuple[int, ...], constants: tuple[Numbers, ...]) -> Indices:
        """Returns None: no element comes from an input."""
        del source, constants
        return np.full(output, FILLED, np.int64)


register(ZerosLike)
