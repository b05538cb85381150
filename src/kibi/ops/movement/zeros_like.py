"""ZEROS_LIKE."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kibi.dtypes import DType
from kibi.ir import NodeView
from kibi.ops import checks
from kibi.ops.movement.index_map import FILLED, IndexMap, Indices, Numbers
from kibi.ops.registry import register


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
        """None."""
        del source, constants
        return np.full(output, FILLED, np.int64)


register(ZerosLike)
