"""BROADCAST_TO."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kibi.dtypes import DType
from kibi.ir import NodeView, OperatorError
from kibi.ops import checks
from kibi.ops.movement.index_map import IndexMap, Indices, Numbers
from kibi.ops.registry import register


@dataclass(frozen=True, slots=True)
class BroadcastTo(IndexMap):
    """The input repeated: input of any type, shape [rank] s32 or s64 constant → output of that shape and type; ranks up to 5.

    Source: TFLM `micro/kernels/broadcast_to.cc`.
    """

    name: ClassVar[str] = "BROADCAST_TO"
    inputs: ClassVar[tuple[str, ...]] = (
        "input",
        "shape",
    )
    kernels: ClassVar[tuple[str, ...]] = (
        "kibi_gather_runs_s8",
        "kibi_gather_runs_s16",
        "kibi_gather_runs_s32",
        "kibi_gather_runs_f32",
        "kibi_gather_runs_any",
    )
    types: ClassVar[tuple[DType, ...]] = (
        *(DType.S8, DType.U8, DType.S16, DType.S32, DType.U32, DType.S64, DType.F32, DType.BOOL),
    )

    def infer(self, view: NodeView) -> tuple[tuple[int, ...], DType]:
        """The shape that is asked for, the input's type."""
        shape, dtype = view["input"].type.shape, checks.dtype(view, "input", *self.types)
        checks.dtype(view, "shape", DType.S32, DType.S64)
        wanted = tuple(int(size) for size in view.constant("shape").reshape(-1))
        fits = len(shape) <= len(wanted) <= 5 and view["shape"].type.shape == (len(wanted),) and min(wanted) > 0
        if not fits or any(size not in (1, to) for size, to in zip(shape[::-1], wanted[::-1], strict=False)):
            what = f"an input of {list(shape)} does not broadcast to {list(wanted)}, of at most five axes"
            raise OperatorError(what, operand="shape")
        return wanted, dtype

    def indices(self, source: tuple[int, ...], output: tuple[int, ...], constants: tuple[Numbers, ...]) -> Indices:
        """The input's own, repeated."""
        del constants
        elements = np.arange(int(np.prod(source)), dtype=np.int64).reshape(source)
        return np.broadcast_to(elements, output)


register(BroadcastTo)
