"""BATCH_TO_SPACE_ND."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kibi.dtypes import DType
from kibi.ir import NodeView, OperatorError
from kibi.ops import checks
from kibi.ops.movement.batch_blocks import Blocks
from kibi.ops.movement.index_map import IndexMap, Indices, Numbers
from kibi.ops.registry import register


@dataclass(frozen=True, slots=True)
class BatchToSpaceNd(IndexMap):
    """Blocks of pixels from the batch: input [N, H, W, C] or [N, H, C] s8 or f32, block shape and crops s32 constant → output.

    Source: TFLM `kernels/internal/reference/batch_to_space_nd.h`.
    """

    name: ClassVar[str] = "BATCH_TO_SPACE_ND"
    inputs: ClassVar[tuple[str, ...]] = (
        "input",
        "block_shape",
        "crops",
    )
    index_inputs: ClassVar[tuple[str, ...]] = (
        "block_shape",
        "crops",
    )

    def infer(self, view: NodeView) -> tuple[tuple[int, ...], DType]:
        """The blocks joined and cropped, the input's type."""
        dtype = checks.dtype(view, "input", *self.types)
        blocks = Blocks.of(view, "crops")
        batches, *sizes, channels = view["input"].type.shape
        axes = zip(sizes, blocks.sizes, blocks.pairs, strict=True)
        spatial = tuple(size * block - sum(pair) for size, block, pair in axes)
        if batches % blocks.pixels or min(spatial) < 1:
            what = f"{[batches, *sizes]} gives no blocks of {list(blocks.sizes)} cropped by {list(blocks.pairs)}"
            raise OperatorError(what, operand="input")
        return (batches // blocks.pixels, *spatial, channels), dtype

    def indices(self, source: tuple[int, ...], output: tuple[int, ...], constants: tuple[Numbers, ...]) -> Indices:
        """A batch for each pixel of a block, side by side, and cropped."""
        sizes, pairs = constants[0][1], np.array(constants[1][1], np.int64).reshape(-1, 2)
        rank = len(sizes)
        elements = np.arange(int(np.prod(source)), dtype=np.int64).reshape(*sizes, output[0], *source[1:])
        order = (rank, *(part for axis in range(rank) for part in (rank + 1 + axis, axis)), 2 * rank + 1)
        joined = [size * block for size, block in zip(source[1:-1], sizes, strict=True)]
        whole = elements.transpose(order).reshape(output[0], *joined, source[-1])
        inside = (slice(low, size - high) for size, (low, high) in zip(joined, pairs.tolist(), strict=True))
        return whole[(slice(None), *inside)]


register(BatchToSpaceNd)
