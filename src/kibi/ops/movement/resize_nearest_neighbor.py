"""RESIZE_NEAREST_NEIGHBOR."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from kibi.dtypes import DType
from kibi.ir import NodeView
from kibi.ops import checks
from kibi.ops.movement.index_map import IndexMap, Indices, Numbers
from kibi.ops.registry import register
from kibi.ops.windows.resize import resized_shape


@dataclass(frozen=True, slots=True)
class ResizeNearestNeighbor(IndexMap):
    """The nearest pixel: input [N, H, W, C] s8, s16 or f32, size [2] s32 constant → output [N, OH, OW, C].

    TFLM copies the elements, whatever the two quantizations. Source: TFLM
    `kernels/internal/reference/resize_nearest_neighbor.h`.
    """

    name: ClassVar[str] = "RESIZE_NEAREST_NEIGHBOR"
    inputs: ClassVar[tuple[str, ...]] = ("input", "size")
    kernels: ClassVar[tuple[str, ...]] = ("kibi_gather_runs_s8", "kibi_gather_runs_s16", "kibi_gather_runs_f32")
    types: ClassVar[tuple[DType, ...]] = (DType.S8, DType.S16, DType.F32)
    moves_elements: ClassVar[bool] = True

    align_corners: bool = False
    half_pixel_centers: bool = False

    def infer(self, view: NodeView) -> tuple[tuple[int, ...], DType]:
        """Shape `[N, OH, OW, C]`, the input's type."""
        return resized_shape(view), checks.dtype(view, "input", *self.types)

    def indices(self, source: tuple[int, ...], output: tuple[int, ...], constants: tuple[Numbers, ...]) -> Indices:
        """The pixel nearest in height and in width."""
        del constants
        rows, columns = (self._nearest(source[axis], output[axis]) for axis in (1, 2))
        pixels = np.arange(int(np.prod(source)), dtype=np.int64).reshape(source)
        return pixels[:, rows][:, :, columns]

    def _nearest(self, size: int, output_size: int) -> NDArray[np.int64]:
        """Returns for each place along an output axis that of the input; in float32, as TFLM computes it."""
        f32 = np.float32
        aligned = int(self.align_corners and output_size > 1)
        scale = f32(size - aligned) / f32(output_size - aligned)
        real = (np.arange(output_size).astype(f32) + f32(0.5 if self.half_pixel_centers else 0)) * scale
        # Nothing is below 0 here, so that half away from zero is half up; in float64 the half is added exactly.
        places = np.floor(real.astype(np.float64) + 0.5) if self.align_corners else np.floor(real)
        return np.clip(places.astype(np.int64), 0, size - 1)


register(ResizeNearestNeighbor)
