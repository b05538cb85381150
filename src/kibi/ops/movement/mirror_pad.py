"""MIRROR_PAD."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kibi.dtypes import DType
from kibi.ir import NodeView, OperatorError
from kibi.ops import checks
from kibi.ops.movement.index_map import IndexMap, Indices, Numbers
from kibi.ops.registry import register


@dataclass(frozen=True, slots=True)
class MirrorPad(IndexMap):
    """Padding with what is after the border: input s8 or f32, paddings [rank, 2] s32 or s64 constant → output.

    Where the padding after the input is longer than the input, its first element is repeated, as in TFLM. Source: TFLM
    `micro/kernels/mirror_pad.cc`.
    """

    name: ClassVar[str] = "MIRROR_PAD"
    inputs: ClassVar[tuple[str, ...]] = (
        "input",
        "paddings",
    )
    index_inputs: ClassVar[tuple[str, ...]] = ("paddings",)

    is_reflecting: bool = True
    """True if the element at the border is not mirrored itself (REFLECT), or is (SYMMETRIC)."""

    def infer(self, view: NodeView) -> tuple[tuple[int, ...], DType]:
        """The input's shape with the paddings added, the input's type."""
        shape, dtype = view["input"].type.shape, checks.dtype(view, "input", *self.types)
        checks.dtype(view, "paddings", DType.S32, DType.S64)
        pairs = checks.paddings(view)
        for size, (before, after) in zip(shape, pairs, strict=True):
            if before > size - self.is_reflecting or (after and self.is_reflecting and size == 1):
                what = f"paddings of {before} and {after} find nothing to mirror in an axis of {size}"
                raise OperatorError(what, operand="paddings")
        return tuple(size + sum(pair) for size, pair in zip(shape, pairs, strict=True)), dtype

    def indices(self, source: tuple[int, ...], output: tuple[int, ...], constants: tuple[Numbers, ...]) -> Indices:
        """Mirrored along each axis."""
        pairs = np.array(constants[0][1], np.int64).reshape(-1, 2)
        found = np.arange(int(np.prod(source)), dtype=np.int64).reshape(source)
        skipped = int(self.is_reflecting)
        for axis, (size, length) in enumerate(zip(source, output, strict=True)):
            places = np.arange(length) - pairs[axis, 0]
            places = np.where(places < 0, skipped - 1 - places, places)
            last = size - 1 - skipped
            behind = last - np.minimum(np.maximum(places - size, 0), last)
            is_behind = np.arange(length) - pairs[axis, 0] >= size
            found = np.take(found, np.where(is_behind, behind, places), axis=axis)
        return found


register(MirrorPad)
