"""Windows of the output under which input pixels are spread, as seen by rows: the geometry of TRANSPOSE_CONV."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from kibi.dtypes import Array
from kibi.ir import NodeView, RowAccess, Rows
from kibi.ops.overlap import least_distance


@dataclass(frozen=True, slots=True)
class TransposedWindow:
    """The places of windows on the output, with `y` along its rows and `x` across; `y` and `x` of the input are those of pixels.

    Pixel `(iy, ix)` adds its product with weight `(ky, kx)` to output `(iy * stride_rows + ky - pad of rows, ix * stride_width +
    kx - pad)`. A step makes `rows_made` rows. From its row `j`, and row `r` of those that it reads, follows `ky = j + row_offset
    - r * stride_rows`.

    Attributes:
        steps: of all batches.
        access: the rows that a step reads.
        rows_made: rows that a step makes.
        row_count: input rows that a step reads.
        row_offset: as above.
        input_width, channels: of the input.
        output_width: of the output.
        kernel_rows, kernel_width, stride_rows, stride_width: of the window.
        pad: columns of the window of column 0 before the output.
        is_swapped: true if rows are along the width; the filter's axes are swapped then.
        is_apart: true if each pixel of the input is a row of its own, beside the rows of the output.
    """

    steps: int
    access: RowAccess
    rows_made: int
    row_count: int
    row_offset: int
    input_width: int
    channels: int
    output_width: int
    kernel_rows: int
    kernel_width: int
    stride_rows: int
    stride_width: int
    pad: int
    is_swapped: bool
    is_apart: bool

    @staticmethod
    def of(view: NodeView, stride: tuple[int, int], pads: tuple[int, int]) -> "TransposedWindow":
        """The geometry of a node with operands `input`, `filter` and `output` of rank 4.

        Args:
            view: the node.
            stride: height first.
            pads: how far the window of the first pixel begins before the output, height first.
        """
        batches, height, width, channels = view["input"].type.shape
        sizes, outs, kernel = (height, width), view.output.type.shape[1:3], view["filter"].type.shape[1:3]
        swapped = height == 1 and outs[0] == 1
        y, x = (1, 0) if swapped else (0, 1)
        apart = not swapped and height == 1 < width
        # A step of as many rows as the stride has meets the next rows of the input in the same way.
        is_by_row = not apart and view.output.type.rows == batches * outs[y] and outs[y] % stride[y] == 0
        if is_by_row:
            start = -((kernel[y] - 1 - pads[y]) // stride[y])
            count = (stride[y] - 1 + pads[y]) // stride[y] - start + 1
            inner = outs[y] // stride[y]
            access = RowAccess(sizes[y], inner, count, start=start)
            made, offset = stride[y], pads[y] - start * stride[y]
        else:
            inner, count, made, offset = 1, sizes[y], outs[y], pads[y]
            access = RowAccess.every(width if apart else sizes[y], 1)
        return TransposedWindow(
            batches * inner, access, made, count, offset, sizes[x], channels, outs[x], kernel[y], kernel[x], stride[y],
            stride[x], pads[x], swapped, apart,
        )  # fmt: skip

    def pixels(self, rows: Rows) -> Iterator[Array | None]:
        """The input rows of a step as `[input width, C]`; None for one outside."""
        if self.is_apart:
            yield np.stack([np.asarray(pixel).reshape(-1) for pixel in rows[0]])
            return
        for row in rows[0]:
            yield None if row is None else np.asarray(row).reshape(self.input_width, self.channels)

    def distance(self, output_channels: int) -> int:
        """Returns the distance in place, in elements: a pixel is read until its last channel is written."""
        reads = []
        for j in range(self.rows_made):
            for x in range(self.output_width):
                first = max(0, -((self.kernel_width - 1 - x - self.pad) // self.stride_width))
                place = 0 if self.is_apart else first * self.channels
                reads.append((place, (j * self.output_width + x + 1) * output_channels - 1))
        return least_distance(reads)

    def params(self, output_channels: int) -> dict[str, Any]:
        """The struct fields of the geometry, which all kernels share."""
        return {
            "input_width": self.input_width,
            "input_channels": self.channels,
            "output_width": self.output_width,
            "output_channels": output_channels,
            "rows_made": self.rows_made,
            "row_count": self.row_count,
            "row_offset": self.row_offset,
            "kernel_rows": self.kernel_rows,
            "kernel_width": self.kernel_width,
            "stride_rows": self.stride_rows,
            "stride": self.stride_width,
            "pad": self.pad,
            "pointer_step": int(self.is_apart),
            "column_step": 0 if self.is_apart else self.channels,
        }
