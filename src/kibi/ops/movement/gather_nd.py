"""GATHER_ND."""

from dataclasses import dataclass
from math import prod
from typing import ClassVar

import numpy as np

from kibi.dtypes import DType
from kibi.ir import NodeView, OperatorError
from kibi.ops import checks
from kibi.ops.movement.gather_rows import Gathering, NumberedItems
from kibi.ops.movement.index_map import Indices, Numbers
from kibi.ops.registry import register


@dataclass(frozen=True, slots=True)
class GatherNd(Gathering):
    """Slices at several indices: input s8 or f32, indices [..., K] s32 → output of the same type.

    The output's shape is that of the indices without the last axis, and that of the input behind its first K axes, at most 5.
    TFLM looks only whether the slice lies inside the input; of a constant, here each index must lie in its axis. Indices may be
    computed; a slice outside the input then gives zeros, where TFLM stops the inference. Source: TFLM
    `micro/kernels/gather_nd.cc`.
    """

    name: ClassVar[str] = "GATHER_ND"

    def infer(self, view: NodeView) -> tuple[tuple[int, ...], DType]:
        """The indices' shape and the slices', the input's type."""
        shape, positions = view["input"].type.shape, view["indices"].type.shape
        dtype = checks.dtype(view, "input", *self.types)
        checks.dtype(view, "indices", DType.S32)
        if not shape or not positions or positions[-1] > min(len(shape), 5):
            what = f"indices {list(positions)} must name at least one and at most five axes of {list(shape)}"
            raise OperatorError(what, operand="indices")
        depth = positions[-1]
        indices = self.known(view).reshape(-1, depth)
        if (indices < 0).any() or (indices >= np.array(shape[:depth])).any():
            raise OperatorError(f"an index lies outside the axes {list(shape[:depth])}", operand="indices")
        return (*positions[:-1], *shape[depth:]), dtype

    def items(self, view: NodeView) -> NumberedItems:
        """The slices behind the axes that are named."""
        shape, depth = view["input"].type.shape, view["indices"].type.shape[-1]
        strides = tuple(prod(shape[axis + 1 : depth]) for axis in range(depth))
        return NumberedItems("input", "indices", 1, 1, prod(shape[:depth]), strides)

    def indices(self, source: tuple[int, ...], output: tuple[int, ...], constants: tuple[Numbers, ...]) -> Indices:
        """The slices one after another."""
        positions_shape, values = constants[0]
        depth = positions_shape[-1]
        positions = np.array(values, np.int64).reshape(-1, depth)
        elements = np.arange(int(np.prod(source)), dtype=np.int64).reshape(source)
        return elements[tuple(positions.T)].reshape(output)


register(GatherNd)
