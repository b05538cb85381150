"""BATCH_TO_SPACE_ND and SPACE_TO_BATCH_ND."""

from dataclasses import dataclass
from math import prod
from typing import ClassVar

import numpy as np

from kibi.dtypes import DType
from kibi.ir import NodeView, OperatorError
from kibi.ops import checks
from kibi.ops.movement.index_map import FILLED, IndexMap, Indices, Numbers
from kibi.ops.registry import register


@dataclass(frozen=True, slots=True)
class Blocks:
    """The division of the spatial axes into blocks.

    Attributes:
        sizes: of a block along each spatial axis.
        pairs: for each spatial axis what is added or cut off before and after.
    """

    sizes: tuple[int, ...]
    pairs: tuple[tuple[int, int], ...]

    @property
    def pixels(self) -> int:
        """The number of pixels of a block."""
        return prod(self.sizes)

    @staticmethod
    def of(view: NodeView, pairs: str) -> "Blocks":
        """From the constants `block_shape` `[axes]` and the named one `[axes, 2]`, both s32.

        Raises:
            OperatorError: the input has no one or two spatial axes, or the constants do not fit them.
        """
        axes = len(checks.rank(view, "input", 3, 4)) - 2
        for operand in ("block_shape", pairs):
            checks.dtype(view, operand, DType.S32)
        sizes, ends = (view.constant(name).astype(np.int64) for name in ("block_shape", pairs))
        if sizes.shape != (axes,) or (sizes < 1).any():
            what = f"block shape {sizes.tolist()} must be {axes} numbers of at least 1"
            raise OperatorError(what, operand="block_shape")
        if ends.shape != (axes, 2) or (ends < 0).any():
            what = f"{pairs} {ends.tolist()} must be {axes} pairs of numbers that are not negative"
            raise OperatorError(what, operand=pairs)
        return Blocks(tuple(map(int, sizes)), tuple((int(low), int(high)) for low, high in ends))


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
