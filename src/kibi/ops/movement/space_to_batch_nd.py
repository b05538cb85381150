"""SPACE_TO_BATCH_ND."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kibi.dtypes import DType
from kibi.ir import NodeView, OperatorError
from kibi.ops import checks
from kibi.ops.movement.batch_blocks import Blocks
from kibi.ops.movement.index_map import FILLED, IndexMap, Indices, Numbers
from kibi.ops.registry import register


@dataclass(frozen=True, slots=True)
class SpaceToBatchNd(IndexMap):
    """Pixels of blocks into the batch: input [N, H, W, C] or [N, H, C] s8 or f32, block shape and paddings s32 constant → output.

    What is padded is 0 in every type: TFLM gives zero bytes, whatever the zero point. Source: TFLM
    `kernels/internal/reference/space_to_batch_nd.h`.
    """

    name: ClassVar[str] = "SPACE_TO_BATCH_ND"
    inputs: ClassVar[tuple[str, ...]] = (
        "input",
        "block_shape",
        "paddings",
    )
    index_inputs: ClassVar[tuple[str, ...]] = (
        "block_shape",
        "paddings",
    )

    def infer(self, view: NodeView) -> tuple[tuple[int, ...], DType]:
        """A batch for each pixel of a block, the input's type."""
        dtype = checks.dtype(view, "input", *self.types)
        blocks = Blocks.of(view, "paddings")
        batches, *sizes, channels = view["input"].type.shape
        padded = [size + sum(pair) for size, pair in zip(sizes, blocks.pairs, strict=True)]
        if any(size % block for size, block in zip(padded, blocks.sizes, strict=True)):
            what = f"padded axes of {padded} are no whole blocks of {list(blocks.sizes)}"
            raise OperatorError(what, operand="paddings")
        spatial = (size // block for size, block in zip(padded, blocks.sizes, strict=True))
        return (batches * blocks.pixels, *spatial, channels), dtype

    def indices(self, source: tuple[int, ...], output: tuple[int, ...], constants: tuple[Numbers, ...]) -> Indices:
        """Padded, cut into blocks, and each pixel of a block with a batch of its own."""
        sizes, pairs = constants[0][1], np.array(constants[1][1], np.int64).reshape(-1, 2)
        elements = np.arange(int(np.prod(source)), dtype=np.int64).reshape(source)
        padded = np.pad(elements, [(0, 0), *map(tuple, pairs), (0, 0)], constant_values=FILLED)
        axes = [(size // block, block) for size, block in zip(padded.shape[1:-1], sizes, strict=True)]
        split = padded.reshape(source[0], *(part for axis in axes for part in axis), source[-1])
        within = range(2, 2 + 2 * len(sizes), 2)
        order = (*within, 0, *(axis - 1 for axis in within), 1 + 2 * len(sizes))
        return split.transpose(order).reshape(output)


register(SpaceToBatchNd)
