"""What SPACE_TO_BATCH_ND and BATCH_TO_SPACE_ND share: the block shape, and the pairs of paddings or crops."""

from dataclasses import dataclass
from math import prod

import numpy as np

from kibi.dtypes import DType
from kibi.ir import NodeView, OperatorError
from kibi.ops import checks


@dataclass(frozen=True, slots=True)
class Blocks:
    """How the spatial axes fall into blocks.

    Attributes:
        sizes: of a block along each spatial axis.
        pairs: for each spatial axis what is added or cut off in front and behind.
    """

    sizes: tuple[int, ...]
    pairs: tuple[tuple[int, int], ...]

    @property
    def pixels(self) -> int:
        """Of a block."""
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
