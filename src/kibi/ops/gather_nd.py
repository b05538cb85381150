"""GATHER_ND."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kibi.dtypes import DType
from kibi.ir import OperatorError, Site
from kibi.ops import checks
from kibi.ops.index_map import IndexMap, Indices, Numbers
from kibi.ops.registry import register


@dataclass(frozen=True, slots=True)
class GatherNd(IndexMap):
    """Slices at several indices: input s8 or f32, indices [..., K] s32 constant → output of the same type.

    The output's shape is that of the indices without the last axis, and that of the input behind its first K axes, at most 5.
    TFLM looks only whether the slice lies inside the input; here each index must lie in its axis. Source: TFLM
    `micro/kernels/gather_nd.cc`.
    """

    name: ClassVar[str] = "GATHER_ND"
    inputs: ClassVar[tuple[str, ...]] = (
        "input",
        "indices",
    )
    index_inputs: ClassVar[tuple[str, ...]] = ("indices",)

    def infer(self, site: Site) -> tuple[tuple[int, ...], DType]:
        """The indices' shape and the slices', the input's type."""
        shape, positions = site["input"].type.shape, site["indices"].type.shape
        dtype = checks.dtype(site, "input", *self.types)
        checks.dtype(site, "indices", DType.S32)
        if not shape or not positions or positions[-1] > min(len(shape), 5):
            what = f"indices {list(positions)} must name at least one and at most five axes of {list(shape)}"
            raise OperatorError(what, operand="indices")
        depth = positions[-1]
        indices = site.constant("indices").astype(np.int64).reshape(-1, depth)
        if (indices < 0).any() or (indices >= np.array(shape[:depth])).any():
            raise OperatorError(f"an index lies outside the axes {list(shape[:depth])}", operand="indices")
        return (*positions[:-1], *shape[depth:]), dtype

    def indices(self, source: tuple[int, ...], output: tuple[int, ...], constants: tuple[Numbers, ...]) -> Indices:
        """The slices one after another."""
        positions_shape, values = constants[0]
        depth = positions_shape[-1]
        positions = np.array(values, np.int64).reshape(-1, depth)
        elements = np.arange(int(np.prod(source)), dtype=np.int64).reshape(source)
        return elements[tuple(positions.T)].reshape(output)


register(GatherNd)
