"""RESIZE_BILINEAR of floats: places and weights in float32, for a whole image at once."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kibi.dtypes import Array
from kibi.ir import KernelCall, NodeView, OperatorError, RowAccess, Rows
from kibi.kernels.params.resize import ResizeBilinearF32Params

_F = np.float32


@dataclass(frozen=True, slots=True)
class Centers:
    """The way in which the places of pixels are counted, as the operator's attributes say."""

    align_corners: bool
    half_pixel_centers: bool


@dataclass(frozen=True, slots=True)
class Axis:
    """Along one axis, for each place of the output.

    Attributes:
        neighbours: `[places, 2]`, the two places of the input between which it is.
        weights: `[places]`, of the second; below 0 at a border.
    """

    neighbours: NDArray[np.int64]
    weights: NDArray[np.float32]


def _axis(size: int, output_size: int, centers: Centers) -> Axis:
    """One axis, in float32. Source: TFLM `kernels/internal/reference/resize_bilinear.h`, `ComputeInterpolationValues`."""
    aligned = int(centers.align_corners and output_size > 1)
    scale = _F(size - aligned) / _F(output_size - aligned)
    places = np.arange(output_size).astype(_F)
    found = (places + _F(0.5)) * scale - _F(0.5) if centers.half_pixel_centers else places * scale
    lower = np.maximum(np.floor(found).astype(np.int64), 0)
    upper = np.minimum(np.ceil(found).astype(np.int64), size - 1)
    return Axis(np.stack([lower, upper], axis=1), (found - lower.astype(_F)).astype(_F))


def axes(view: NodeView, centers: Centers) -> tuple[Axis, Axis]:
    """Height and width."""
    sizes, outputs = view["input"].type.shape[1:3], view.output.type.shape[1:3]
    height, width = (_axis(size, output, centers) for size, output in zip(sizes, outputs, strict=True))
    return height, width


def check(shape: tuple[int, ...], view: NodeView, centers: Centers) -> None:
    """Check that no place is after the input.

    Raises:
        OperatorError: one does, through rounding.
    """
    for axis in (1, 2):
        size = view["input"].type.shape[axis]
        if int(_axis(size, shape[axis], centers).neighbours.max()) >= size:
            raise OperatorError(f"rounded places lead out of an axis of {size}; TFLM reads after it", operand="size")


def access(view: NodeView) -> RowAccess:
    """All rows of the image."""
    return RowAccess.every(view["input"].type.rows_per_batch, 1)


def rows_of(view: NodeView, centers: Centers) -> Callable[[Rows], Array]:
    """Four neighbours, each times the weights of its row and its column, added up in TFLM's order."""
    shape = view["input"].type.shape[1:]
    height, width = axes(view, centers)
    down, across = height.weights[:, None, None], width.weights[None, :, None]
    up, back = _F(1) - down, _F(1) - across

    def step(rows: Rows) -> Array:
        image = np.concatenate([np.asarray(row, np.float32).reshape(-1) for row in rows[0]]).reshape(shape)

        def tap(y: int, x: int) -> NDArray[np.float32]:
            picked: NDArray[np.float32] = image[height.neighbours[:, y]][:, width.neighbours[:, x]]
            return picked

        with np.errstate(all="ignore"):
            total = tap(0, 0) * up * back + tap(1, 0) * down * back
            total = total + tap(0, 1) * up * across + tap(1, 1) * down * across + _F(0)
        return np.asarray(total)

    return step


def call_of(view: NodeView, centers: Centers) -> KernelCall:
    """The call of `kibi_resize_bilinear_f32`, with the pointers and places of the neighbours in two tables."""
    height, width = axes(view, centers)
    channels, row_axis = view.output.type.shape[3], view["input"].type.row_axis
    # Where the image is one row high, its rows are along the width.
    units = ((1, 0), (0, channels)) if row_axis == 1 else ((0, 0), (1, 0))
    tables = (
        (axis.neighbours[:, :, None] * np.array(unit)).reshape(-1)
        for axis, unit in zip((height, width), units, strict=True)
    )
    rows, columns = (table.astype(np.int32) for table in tables)
    params = ResizeBilinearF32Params(
        rows=rows,
        row_weights=height.weights,
        row_count=len(height.weights),
        columns=columns,
        column_weights=width.weights,
        column_count=len(width.weights),
        channels=channels,
    )
    # Rows are read again for each row of the output: nothing of them may be written over.
    return KernelCall(
        "kibi_resize_bilinear_f32", params, inplace_distance_bytes=(view.output.type.size_bytes // view.steps,)
    )
