"""RESIZE_BILINEAR."""

from collections.abc import Callable
from dataclasses import dataclass
from math import gcd
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from kibi.dtypes import Array, DType
from kibi.ir import KernelCall, NodeView, Operator, OperatorError, RowAccess, Rows
from kibi.kernels.params.resize import ResizeBilinearS8Params
from kibi.ops.registry import register
from kibi.ops.windows import resize_bilinear_f32
from kibi.ops.windows.resize import resized_shape

_ONE = 1 << 10
"""Weights and places in fixed point."""
_LARGEST = 1 << 19
"""Sizes whose places fit 32 bits with 10 of fraction, with room for the half that is added; of floats, tables of any use."""


@dataclass(frozen=True, slots=True)
class Geometry:
    """The geometry of a step.

    Attributes:
        access: the rows that it reads; a null pointer for a neighbour outside the image, whose other neighbour counts alone.
        steps: of the node.
        rows: `[rows that a step makes, 3]`: which pointers hold the two neighbours, and the weight of the second in 1/1024.
        columns: `[columns, 3]`: the same for the first elements of the two neighbours in their rows.
        row_step, column_step: elements of the output from row to row, and from column to column.
    """

    access: RowAccess
    steps: int
    rows: NDArray[np.int64]
    columns: NDArray[np.int64]
    row_step: int
    column_step: int


@dataclass(frozen=True, slots=True)
class ResizeBilinear(Operator):
    """Between the four nearest pixels: input [N, H, W, C] s8, size [2] s32 constant → output [N, OH, OW, C] s8.

    Weights have 10 bits; sums are rounded half away from zero, and the quantizations do not matter. Or input and output are
    f32. Source: TFLM `kernels/internal/reference/resize_bilinear.h`, `ResizeBilinearInteger` and `ResizeBilinear`.
    """

    name: ClassVar[str] = "RESIZE_BILINEAR"
    inputs: ClassVar[tuple[str, ...]] = ("input", "size")
    kernels: ClassVar[tuple[str, ...]] = ("kibi_resize_bilinear_s8", "kibi_resize_bilinear_f32")
    types: ClassVar[tuple[DType, ...]] = (DType.S8, DType.F32)

    align_corners: bool = False
    half_pixel_centers: bool = False

    def infer(self, view: NodeView) -> tuple[tuple[int, ...], DType]:
        """Shape `[N, OH, OW, C]`, the input's type."""
        if self.align_corners and self.half_pixel_centers:
            raise OperatorError("corners cannot be aligned where pixels have half-pixel centers; TFLM refuses it, too")
        shape = resized_shape(view)
        if max(*shape[1:3], *view["input"].type.shape[1:3]) > _LARGEST:
            raise OperatorError(f"sizes up to {_LARGEST} are supported", operand="size")
        return shape, view["input"].type.dtype

    def check_in_full(self, view: NodeView) -> None:
        """No place is outside the input."""
        shape = view.output.type.shape
        if view["input"].type.dtype is DType.F32:
            resize_bilinear_f32.check(shape, view, self._centers)
            return
        for axis in (1, 2):
            size = view["input"].type.shape[axis]
            if self._places(size, shape[axis])[0][-1] >= _ONE * size:
                raise OperatorError(
                    f"rounded weights lead out of an axis of {size}; TFLM reads after it", operand="size"
                )

    @property
    def _centers(self) -> resize_bilinear_f32.Centers:
        return resize_bilinear_f32.Centers(self.align_corners, self.half_pixel_centers)

    def _places(self, size: int, output_size: int) -> tuple[NDArray[np.int64], int]:
        """Along one axis the place of each output in the input, and the distance of two, in 1/1024; rounded as TFLM does."""
        aligned = int(self.align_corners and output_size > 1)
        scale = (_ONE * (size - aligned) + (output_size - aligned) // 2) // (output_size - aligned)
        front = scale // 2 - _ONE // 2 if self.half_pixel_centers else 0
        return np.arange(output_size, dtype=np.int64) * scale + front, scale

    def _neighbours(self, size: int, output_size: int) -> NDArray[np.int64]:
        """Returns for each output the two input places between which it is, and the weight of the second; inside the input."""
        taps = _taps(self._places(size, output_size)[0])
        taps[:, :2] = np.clip(taps[:, :2], 0, size - 1)
        return taps

    def geometry(self, view: NodeView) -> Geometry:
        """Puts into a step as many rows as meet the next rows of the input in the same way, or all of a part of the batch."""
        source, output = view["input"].type, view.output.type
        (batches, height, width, channels), (_, out_height, out_width, _) = source.shape, output.shape
        steps = (out_width * channels, channels)
        unit = np.array([channels, channels, 1])
        if source.row_axis == 2:  # the image is one row high, and its rows are along the width
            rows, columns = self._neighbours(width, out_width), self._neighbours(1, out_height)
            return Geometry(RowAccess.every(width, 1), batches, rows, columns * unit, *steps[::-1])
        columns = self._neighbours(width, out_width) * unit
        if source.row_axis == output.row_axis == 1:
            places, scale = self._places(height, out_height)
            made = _ONE // gcd(scale, _ONE)
            if out_height % made == 0:
                rows = _taps(places[:made])
                start = int(rows[:, :2].min())
                count = int(rows[:, :2].max()) - start + 1
                access = RowAccess(height, out_height // made, count, made * scale // _ONE, start)
                return Geometry(
                    access, batches * out_height // made, rows - np.array([start, start, 0], np.int64), columns, *steps
                )
        rows = self._neighbours(height, out_height)
        return Geometry(RowAccess.every(source.rows_per_batch, 1), batches, rows, columns, *steps)

    def steps(self, view: NodeView) -> int:
        """Returns steps of one or several rows, or of a part of the batch."""
        if view["input"].type.dtype is DType.F32:
            return view["input"].type.shape[0]
        return self.geometry(view).steps

    def accesses(self, view: NodeView) -> tuple[RowAccess, ...]:
        """The rows between which those of a step are."""
        if view["input"].type.dtype is DType.F32:
            return (resize_bilinear_f32.access(view),)
        return (self.geometry(view).access,)

    def reference(self, view: NodeView) -> Callable[[Rows], Array]:
        """Four neighbours by their weights, rounded half away from zero; of floats rounded step by step."""
        if view["input"].type.dtype is DType.F32:
            return resize_bilinear_f32.rows_of(view, self._centers)
        g = self.geometry(view)
        size, channels = view["input"].type.row_elements, view.output.type.shape[3]
        first, second = (g.columns[:, k, None] + np.arange(channels) for k in (0, 1))
        across = g.columns[:, 2, None]

        def between(row: NDArray[np.int64]) -> NDArray[np.int64]:
            mixed: NDArray[np.int64] = row[first] * (_ONE - across) + row[second] * across
            return mixed

        def step(rows: Rows) -> Array:
            pieces = [None if piece is None else np.asarray(piece).reshape(size).astype(np.int64) for piece in rows[0]]
            made = []
            for upper, lower, down in g.rows.tolist():
                one, other = pieces[upper], pieces[lower]
                present = one if one is not None else other
                if present is not None:
                    one, other = (present if row is None else row for row in (one, other))
                    made.append(between(one) * (_ONE - down) + between(other) * down)
            sums = np.stack(made)
            rounded = np.sign(sums) * ((np.abs(sums) + _ONE**2 // 2) // _ONE**2)
            ordered = rounded if g.row_step >= g.column_step else rounded.transpose(1, 0, 2)
            outputs: Array = ordered.astype(np.int8)
            return outputs

        return step

    def kernel_call(self, view: NodeView) -> KernelCall:
        """One kernel for each type, with two tables."""
        if view["input"].type.dtype is DType.F32:
            return resize_bilinear_f32.call_of(view, self._centers)
        g = self.geometry(view)
        params = ResizeBilinearS8Params(
            rows=g.rows.astype(np.int32),
            row_count=len(g.rows),
            columns=g.columns.astype(np.int32),
            column_count=len(g.columns),
            channels=view.output.type.shape[3],
            row_step=g.row_step,
            column_step=g.column_step,
        )
        # Rows are read again for each row that a step makes: nothing of them may be written over.
        return KernelCall(
            "kibi_resize_bilinear_s8", params, inplace_distance_bytes=(view.output.type.elements // g.steps,)
        )


def _taps(places: NDArray[np.int64]) -> NDArray[np.int64]:
    """Returns `[places, 3]`: the input places before and after, and the weight of the second; both are the same where it is 0."""
    first = places // _ONE
    weights = places - _ONE * first
    return np.stack([first, first + (weights > 0), weights], axis=1)


register(ResizeBilinear)
