"""Convolutions of all rows at once: the weights are taken out of their sums and differences, and computed as any others."""

import numpy as np

from kibi.planfile.in_numpy.call import Call, Numbers
from kibi.planfile.in_numpy.products import Scaling, finish, products
from kibi.planfile.in_numpy.registry import kernel
from kibi.planfile.in_numpy.unpacking import Unpacked, halves_of, pairs_of_channels

_SIDE = 3


def _unpacked(call: Call) -> Unpacked:
    """Weights `[O, 3, 3, C]` and scaling."""
    p = call.numbers
    pairs, depth = p.output_channels // 2, p.input_channels
    stream = call.array("stream", pairs, 5 + 16 * depth)
    words = stream[:, 5:].reshape(pairs, 4, 4, depth // 4, 2, 2)  # [pair, columns, rows, group, odd, channel]
    planes = halves_of(words).transpose(1, 2, 0, 5, 3, 6, 4).reshape(4, 4, 2 * pairs, depth)
    columns = _untransformed(
        np.stack([planes[0], planes[1], 2 * planes[2], 2 * planes[3]])
    )  # [column, 4 of rows, O, C]
    rows = _untransformed(columns.swapaxes(0, 1))  # [row, column, O, C]
    bias = np.trunc(stream[:, :2].reshape(-1) / 4).astype(np.int64)
    return rows.transpose(2, 0, 1, 3), Scaling(bias, *pairs_of_channels(stream[:, 2:5]))


def _untransformed(values: Numbers) -> Numbers:
    """Three out of a + b + c, a - b + c, 2 * c and 2 * a."""
    first, last = (np.trunc(each / 2).astype(np.int64) for each in (values[3], values[2]))
    return np.stack([first, values[0] - first - last, last])


@kernel("kibi_conv2d_s8_row_pairs")
def row_pairs(call: Call) -> None:
    """CONV_2D with a window of three by three: all rows, from the first one that is inside."""
    p = call.numbers
    weights, scaling = call.once(lambda: _unpacked(call))
    rows, width, depth = p.output_rows, p.output_width, p.input_channels
    data = call.row(p.pad_rows, p.input_rows * p.input_width * depth, "i1").reshape(p.input_rows, p.input_width, depth)
    size = (max(rows + 2, p.pad_rows + p.input_rows), max(width + 2, p.pad + p.input_width), depth)
    image = np.full(size, p.input_zero_point, np.int64)
    image[p.pad_rows : p.pad_rows + p.input_rows, p.pad : p.pad + p.input_width] = data
    places = ((ky, kx) for ky in range(_SIDE) for kx in range(_SIDE))
    seen = np.stack([image[ky : ky + rows, kx : kx + width] for ky, kx in places], axis=2)
    matrix = weights.reshape(p.output_channels, -1).T
    finish(call, products(seen.reshape(1, rows * width, -1), matrix[None])[0], scaling)
