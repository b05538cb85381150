"""GATHER and GATHER_ND."""

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
class Gather(Gathering):
    """Slices along an axis: input s8 or f32, indices s32 → output of the same type.

    The output's shape is the input's with the axis replaced by the axes of the indices that are no batch axes. Indices may be
    computed; one outside the axis then gives zeros, where TFLM reads whatever is stored there. Source: TFLM
    `micro/kernels/gather.cc`.
    """

    name: ClassVar[str] = "GATHER"

    axis: int = 0
    batch_dims: int = 0

    def infer(self, view: NodeView) -> tuple[tuple[int, ...], DType]:
        """The input's shape with the indices' in place of the axis, the input's type."""
        shape, positions = view["input"].type.shape, view["indices"].type.shape
        dtype = checks.dtype(view, "input", *self.types)
        checks.dtype(view, "indices", DType.S32)
        axis, batch = self._axes(len(shape), len(positions))
        if not 0 <= batch <= axis < len(shape) or batch > len(positions) or shape[:batch] != positions[:batch]:
            what = f"axis {self.axis} and {self.batch_dims} batch axes do not fit {list(shape)} and {list(positions)}"
            raise OperatorError(what, operand="indices")
        indices = self.known(view)
        if (indices < 0).any() or (indices >= shape[axis]).any():
            what = f"an index is {int(indices.min())} or {int(indices.max())}, outside an axis of {shape[axis]}"
            raise OperatorError(what, operand="indices")
        return (*shape[:axis], *positions[batch:], *shape[axis + 1 :]), dtype

    def items(self, view: NodeView) -> NumberedItems:
        """The items of each part of the input along the axis."""
        shape = view["input"].type.shape
        axis, batch = self._axes(len(shape), len(view["indices"].type.shape))
        return NumberedItems("input", "indices", prod(shape[:batch]), prod(shape[batch:axis]), shape[axis])

    def _axes(self, rank: int, positions_rank: int) -> tuple[int, int]:
        """The axis and the number of batch axes; negative ones count from the end."""
        axis, batch = self.axis, self.batch_dims
        return axis + rank if axis < 0 else axis, batch + positions_rank if batch < 0 else batch

    def indices(self, source: tuple[int, ...], output: tuple[int, ...], constants: tuple[Numbers, ...]) -> Indices:
        """Slices of each part of the batch, at its own positions."""
        positions_shape, values = constants[0]
        axis, batch = self._axes(len(source), len(positions_shape))
        batches, outer = int(np.prod(source[:batch])), int(np.prod(source[batch:axis]))
        elements = np.arange(int(np.prod(source)), dtype=np.int64).reshape(batches, outer, source[axis], -1)
        positions = np.array(values, np.int64).reshape(batches, 1, -1, 1)
        return np.take_along_axis(elements, positions, axis=2).reshape(output)


register(Gather)


@dataclass(frozen=True, slots=True)
class GatherNd(Gathering):
    """Slices at several indices: input s8 or f32, indices [..., K] s32 → output of the same type.

    The output's shape is that of the indices without the last axis, and that of the input after its first K axes, at most 5.
    TFLM looks only whether the slice is inside the input; of a constant, here each index must be in its axis. Indices may be
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
            raise OperatorError(f"an index is outside the axes {list(shape[:depth])}", operand="indices")
        return (*positions[:-1], *shape[depth:]), dtype

    def items(self, view: NodeView) -> NumberedItems:
        """The slices after the axes that are named."""
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
