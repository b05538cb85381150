"""DEPTH_TO_SPACE and SPACE_TO_DEPTH."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kibi.dtypes import DType
from kibi.ir import NodeView, OperatorError
from kibi.ops import checks
from kibi.ops.movement.index_map import IndexMap, Indices, Numbers
from kibi.ops.registry import register


@dataclass(frozen=True, slots=True)
class DepthToSpace(IndexMap):
    """Blocks of pixels from channels: input [N, H, W, C] s8 or f32 → output [N, H * B, W * B, C / B / B] of the same type.

    Source: TFLM `micro/kernels/depth_to_space.cc` and `kernels/internal/reference/depth_to_space.h`.
    """

    name: ClassVar[str] = "DEPTH_TO_SPACE"

    block_size: int = 1

    def infer(self, view: NodeView) -> tuple[tuple[int, ...], DType]:
        """The blocks spread out, the input's type."""
        batches, height, width, channels = checks.rank(view, "input", 4)
        block = self.block_size
        checks.positive("block size", (block,))
        if channels % block**2:
            what = f"{channels} channels are no multiple of {block**2}, the pixels of a block of {block}"
            raise OperatorError(what, operand="input")
        dtype = checks.dtype(view, "input", *self.types)
        return (batches, height * block, width * block, channels // block**2), dtype

    def indices(self, source: tuple[int, ...], output: tuple[int, ...], constants: tuple[Numbers, ...]) -> Indices:
        """Channels as `[row in the block, column in the block, channels]`."""
        del constants
        batches, height, width, _ = source
        block = self.block_size
        pixels = np.arange(int(np.prod(source)), dtype=np.int64).reshape(batches, height, width, block, block, -1)
        return pixels.transpose(0, 1, 3, 2, 4, 5).reshape(output)


register(DepthToSpace)


@dataclass(frozen=True, slots=True)
class SpaceToDepth(IndexMap):
    """Blocks of pixels into channels: input [N, H, W, C] s8 or f32 → output [N, H / B, W / B, C * B * B] of the same type.

    Source: TFLM `micro/kernels/space_to_depth.cc` and `kernels/internal/reference/space_to_depth.h`.
    """

    name: ClassVar[str] = "SPACE_TO_DEPTH"

    block_size: int = 1

    def infer(self, view: NodeView) -> tuple[tuple[int, ...], DType]:
        """Whole blocks, the input's type."""
        batches, height, width, channels = checks.rank(view, "input", 4)
        block = self.block_size
        checks.positive("block size", (block,))
        if height % block or width % block:
            raise OperatorError(f"{height} x {width} pixels are no whole blocks of {block}", operand="input")
        dtype = checks.dtype(view, "input", *self.types)
        return (batches, height // block, width // block, channels * block**2), dtype

    def indices(self, source: tuple[int, ...], output: tuple[int, ...], constants: tuple[Numbers, ...]) -> Indices:
        """Channels as `[row in the block, column in the block, channels]`."""
        del constants
        batches, height, width, _ = output
        block = self.block_size
        pixels = np.arange(int(np.prod(source)), dtype=np.int64).reshape(batches, height, block, width, block, -1)
        return pixels.transpose(0, 1, 3, 2, 4, 5).reshape(output)


register(SpaceToDepth)
