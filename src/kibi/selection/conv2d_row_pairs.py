"""CONV_2D with a window of three by three, two rows at a time by Winograd's F(2x2, 3x3), in exact integers: rule N21."""

import numpy as np
from numpy.typing import NDArray

from kibi.ir import KernelCall, NodeView
from kibi.kernels.params.conv2d import Conv2DS8Params
from kibi.kernels.params.conv2d_winograd import Conv2DRowPairsParams
from kibi.selection.conv2d_columns import is_three_wide, pairs, weights_and_sums
from kibi.selection.conv2d_winograd import element_words, scaling_words
from kibi.selection.convolution_call import inputs_of
from kibi.selection.sums import SimpleSums

KERNEL = "kibi_conv2d_s8_row_pairs"
_SUM_LIMIT = 1 << 30
"""True sums stay below it in magnitude: they are doubled."""
_ROWS, _COLUMNS = 2, 8
"""Of a block of four tiles."""
_MORE = 2
"""Columns of the input that a row needs besides its own, and rows likewise."""
_MOST_ELEMENT = 4 * 128
"""The magnitude of the sums and differences of four elements."""
_MOST_AGAIN = 1.25
"""So many pixels may be made for each that is wanted: those at the ends of rows and columns may be made twice."""


def row_pairs(view: NodeView, call: KernelCall) -> KernelCall | None:
    """Returns the call that makes all rows of a node; None where its kernel does not fit the layer.

    Args:
        view: the node.
        call: its general call.
    """
    layer, access = call.params_as(Conv2DS8Params), view.accesses[0]
    rows, width, depth = view.steps, layer.output_width, layer.input_channels
    is_plain = is_three_wide(layer) and layer.kernel_rows == access.count == 3 and layer.output_channels % 2 == 0
    is_plain &= layer.stride == 1
    is_plain &= (
        access.stride == access.dilation == access.parts == 1 and access.elements is None and not access.is_joined
    )
    is_plain &= access.output_rows == rows and 0 <= -access.start <= _MORE
    if not is_plain or rows < _ROWS or width < _COLUMNS:
        return None
    if access.start == 0 and rows + _MORE > access.rows:
        return None  # of the rows outside, the kernel gets those before the first one alone
    weights, sums = weights_and_sums(layer, _SUM_LIMIT, inputs_of(call))
    planes = _planes(weights)
    if sums is None or _may_overflow(planes, sums):
        return None
    params = Conv2DRowPairsParams(
        stream=_stream(planes, sums),
        input_zero_point=int(layer.padding[0]),
        input_rows=access.rows,
        output_rows=rows,
        pad_rows=-access.start,
        **layer.scalars_for(Conv2DRowPairsParams),
    )
    return KernelCall(
        KERNEL, params, 8 * (width + _MORE) * depth + 128 * depth,
        inplace_distance_bytes=(_distance(params),),
    )  # fmt: skip


def saves(params: Conv2DRowPairsParams) -> bool:
    """True if the kernel takes less time than one that makes two pixels of a row from 12 products: few pixels are made twice."""
    pixels = params.output_rows * params.output_width
    return made_blocks(params) * _ROWS * _COLUMNS <= _MOST_AGAIN * pixels


def made_blocks(params: Conv2DRowPairsParams) -> int:
    """Returns for how many blocks of tiles the kernel reads its constants."""
    return -(-params.output_rows // _ROWS) * -(-params.output_width // _COLUMNS)


def _planes(weights: NDArray[np.int8]) -> NDArray[np.int64]:
    """Weights `[O, 3, 3, C]` as `[O, 16, C]`: what rows become for each of what columns become."""
    rows = _transformed(weights.astype(np.int64).transpose(1, 2, 0, 3))  # [4 of rows, 3 columns, O, C]
    columns = _transformed(rows.transpose(1, 0, 2, 3))  # [4 of columns, 4 of rows, O, C]
    columns[2:] //= 2
    return columns.reshape(16, *columns.shape[2:]).transpose(1, 0, 2)


def _transformed(weights: NDArray[np.int64]) -> NDArray[np.int64]:
    """Weights `[3, …]` as `[4, …]`, doubled so that they stay integers."""
    a, b, c = weights
    return np.stack([a + b + c, a - b + c, 2 * c, 2 * a])


def _may_overflow(planes: NDArray[np.int64], sums: SimpleSums) -> bool:
    """True if sums of products may leave 32 bits before they are halved."""
    most = _MOST_ELEMENT * np.abs(planes[:, : len(planes[0]) // 2]).sum(axis=(1, 2)) + 4 * np.abs(
        sums.bias.astype(np.int64)
    )
    return bool((most >= 1 << 31).any())


def _stream(planes: NDArray[np.int64], sums: SimpleSums) -> NDArray[np.int32]:
    """Biases, the scaling's constants and weights in the order of reading."""
    parts = [4 * pairs(sums.bias), scaling_words(sums), *(element_words(plane) for plane in planes.transpose(1, 0, 2))]
    return np.hstack(parts).astype(np.int32).reshape(-1)


def _distance(params: Conv2DRowPairsParams) -> int:
    """How far below its input the output must begin: two rows are written after four of the input were read."""
    read, made = params.input_width * params.input_channels, params.output_width * params.output_channels
    starts = [min(y, params.output_rows - _ROWS) for y in range(0, params.output_rows, _ROWS)]
    written = ((start + _ROWS) * made for start in starts)
    kept = (max(0, start - params.pad_rows) * read for start in starts[1:])
    return max(0, max((most - least for most, least in zip(written, kept, strict=False)), default=0))
