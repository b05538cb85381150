"""RESIZE_BILINEAR of floats: places and weights are floats, too."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kibi.dtypes import Array
from kibi.ir import KernelCall, Param, Rows, Site


@dataclass(frozen=True, slots=True)
class Taps:
    """Along one axis the neighbours between which each output lies.

    Attributes:
        first, second: `[outputs]`, places inside the input.
        weights: `[outputs]` f32, of the second; the first has 1 less it. Near the edges they may be below 0 or above 1.
    """

    first: NDArray[np.int64]
    second: NDArray[np.int64]
    weights: NDArray[np.float32]

    @staticmethod
    def of(size: int, output_size: int, *, align_corners: bool, half_pixel_centers: bool) -> "Taps":
        """The taps from `size` places to `output_size`, each step rounded to f32.

        Source: TFLM `kernels/internal/reference/resize_bilinear.h`, `ComputeInterpolationValues`.
        """
        aligned = int(align_corners and output_size > 1)
        scale = np.float32(size - aligned) / np.float32(output_size - aligned)
        half = np.float32(0.5)
        numbers = np.arange(output_size, dtype=np.float32)
        places = (numbers + half) * scale - half if half_pixel_centers else numbers * scale
        first = np.maximum(np.floor(places).astype(np.int64), 0)
        second = np.minimum(np.ceil(places).astype(np.int64), size - 1)
        return Taps(first, second, (places - first.astype(np.float32)).astype(np.float32))

    def table(self, pointers: int, elements: int) -> NDArray[np.int32]:
        """`[outputs, 4]`: pointer and element of both neighbours, for so many of each from place to place."""
        columns = [place * step for place in (self.first, self.second) for step in (pointers, elements)]
        return np.stack(columns, axis=1).astype(np.int32)


def reference(site: Site, down: Taps, across: Taps) -> Callable[[Rows], Array]:
    """Four neighbours by their weights, each product and each sum rounded."""
    _, height, width, channels = site["input"].type.shape
    dy, dx = down.weights[:, None, None], across.weights[None, :, None]
    one = np.float32(1)

    def step(rows: Rows) -> Array:
        image = np.concatenate([np.asarray(row, np.float32).reshape(-1) for row in rows[0]])
        image = image.reshape(height, width, channels)
        upper, lower = image[down.first], image[down.second]
        with np.errstate(all="ignore"):
            sums = upper[:, across.first] * (one - dy) * (one - dx) + lower[:, across.first] * dy * (one - dx)
            sums = sums + upper[:, across.second] * (one - dy) * dx + lower[:, across.second] * dy * dx
            return np.asarray(sums + np.float32(0), np.float32)

    return step


def kernel_call(site: Site, down: Taps, across: Taps) -> KernelCall:
    """The kernel with its tables, without scratch."""
    _, _, width, channels = site["input"].type.shape
    axis = site["input"].type.row_axis
    params = (
        Param("rows", down.table(*((1, 0) if axis == 1 else (0, width * channels)))),
        Param("down", down.weights),
        Param("row_count", len(down.weights)),
        Param("columns", across.table(*((1, 0) if axis == 2 else (0, channels)))),
        Param("across", across.weights),
        Param("column_count", len(across.weights)),
        Param("channels", channels),
    )
    return KernelCall("kibi_resize_bilinear_f32", params)
