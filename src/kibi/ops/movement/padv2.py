"""PADV2."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kibi.dtypes import Array, DType
from kibi.ir import NodeView, OperatorError
from kibi.ops import checks
from kibi.ops.movement.index_map import FILLED, IndexMap, Indices, Numbers
from kibi.ops.registry import register


@dataclass(frozen=True, slots=True)
class PadV2(IndexMap):
    """Padding with a value: input s8, s16, s32 or f32 of rank 1 to 5, paddings [rank, 2] s32, value constants → output.

    Source: TFLM `micro/kernels/pad_common.cc`.
    """

    name: ClassVar[str] = "PADV2"
    inputs: ClassVar[tuple[str, ...]] = (
        "input",
        "paddings",
        "value",
    )
    index_inputs: ClassVar[tuple[str, ...]] = ("paddings",)
    kernels: ClassVar[tuple[str, ...]] = (
        "kibi_gather_runs_s8",
        "kibi_gather_runs_s16",
        "kibi_gather_runs_s32",
        "kibi_gather_runs_f32",
    )
    types: ClassVar[tuple[DType, ...]] = (DType.S8, DType.S16, DType.S32, DType.F32)

    def infer(self, view: NodeView) -> tuple[tuple[int, ...], DType]:
        """The input's shape with the paddings added, the input's type."""
        shape, dtype = checks.rank(view, "input", 1, 2, 3, 4, 5), checks.dtype(view, "input", *self.types)
        checks.dtype(view, "paddings", DType.S32)
        checks.dtype(view, "value", dtype)
        if view["value"].type.elements != 1:
            raise OperatorError(f"value has {view['value'].type.elements} elements; one is required", operand="value")
        if dtype is DType.S8:
            value, output = checks.per_tensor(view, "value"), checks.per_tensor(view, "output")
            if (value.scale, value.zero_point) != (output.scale, output.zero_point):
                what = f"value ({value}) and output ({output}) must have the same scale and zero point"
                raise OperatorError(what, operand="value")
        pairs = checks.paddings(view)
        return tuple(size + sum(pair) for size, pair in zip(shape, pairs, strict=True)), dtype

    def indices(self, source: tuple[int, ...], output: tuple[int, ...], constants: tuple[Numbers, ...]) -> Indices:
        """The input's own, and nothing around them."""
        del output
        pairs = np.array(constants[0][1], np.int64).reshape(-1, 2)
        elements = np.arange(int(np.prod(source)), dtype=np.int64).reshape(source)
        return np.pad(elements, pairs, constant_values=FILLED)

    def fill(self, view: NodeView) -> Array:
        """The value."""
        return view.constant("value").reshape(1)


register(PadV2)
