"""How often a kernel reads its constants in a row step."""

from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from types import MappingProxyType
from typing import Any, TypeAlias

from kibi.ir import KernelCall
from kibi.kernels.params import Params
from kibi.kernels.params.conv2d_packed import Conv2DBlocksParams, Conv2DColumnsParams, Conv2DPiecesParams
from kibi.kernels.params.conv2d_s16_packed import Conv2DS16BlocksParams
from kibi.kernels.params.conv2d_winograd import Conv2DRowPairsParams, Conv2DWinogradParams
from kibi.kernels.params.halves import Conv2DHalvesParams
from kibi.kernels.params.vectors import Conv2DVectorsParams
from kibi.ops.windows.convolution_blocks import block_sizes
from kibi.selection.conv2d_row_pairs import made_blocks
from kibi.selection.conv2d_s16_blocks import blocks_of

_Count: TypeAlias = Callable[[Any], int]
_PIXELS_OF_PIECES = 2
"""Pixels of a block whose windows are multiplied piece by piece."""
_PASS_BYTES = 2_000
"""A pass takes 2,500 to 3,000 cycles at five wait states; a byte of constants takes 1.2."""


def times_read(call: KernelCall) -> int:
    """Returns how often a kernel reads all its constants in a row step, or in its one call for all rows; at least 1.

    Kernels that compute a row block by block read them for each block, or for as many blocks as are computed side by side.
    """
    return _COUNTS.get(type(call.params), _once)(call.params)


def read_bytes(call: KernelCall) -> int:
    """Returns the bytes of constants that a kernel reads in a row step, or in its one call for all rows.

    Where it computes a part of a row in several passes, each more than one counts as bytes that take as long to read.
    """
    passes = 1
    if isinstance(call.params, Conv2DColumnsParams):
        passes = _passes(call.params)
    return times_read(call) * (call.constant_bytes + (passes - 1) * _PASS_BYTES)


def _passes(params: Conv2DColumnsParams) -> int:
    """In each pass, columns of the inputs are widened again, or sums that were kept are taken up."""
    of_inputs = params.kernel_rows * params.input_channels // (params.rows_at_once * params.channels_at_once)
    return of_inputs * -(-params.output_channels // params.outputs_at_once)


def _once(params: object) -> int:
    del params
    return 1


def _of_blocks(params: Conv2DBlocksParams) -> int:
    return _groups(block_sizes(params.output_width, params.pixels), params.blocks)


def _of_columns(params: Conv2DColumnsParams) -> int:
    sizes = block_sizes(params.output_width, params.pixels)
    return len(sizes) - (sizes.count(4) // 2 if params.blocks > 1 else 0)


def _of_winograd(params: Conv2DWinogradParams) -> int:
    return len(block_sizes((params.output_width + 1) // 2, params.tiles))


def _of_pieces(params: Conv2DPiecesParams) -> int:
    return -(-params.output_width // _PIXELS_OF_PIECES)


def _of_pixels(params: Conv2DHalvesParams | Conv2DVectorsParams) -> int:
    return -(-params.output_width // params.pixels)


def _of_s16_blocks(params: Conv2DS16BlocksParams) -> int:
    return 1 if params.is_widened else len(blocks_of(params))


def _groups(sizes: Sequence[int], at_once: int) -> int:
    """Groups of neighbouring blocks of one size, each of at most so many blocks."""
    return sum(-(-len(list(group)) // at_once) for _, group in groupby(sizes))


_COUNTS: Mapping[type[Params | None], _Count] = MappingProxyType(
    {
        Conv2DBlocksParams: _of_blocks,
        Conv2DColumnsParams: _of_columns,
        Conv2DHalvesParams: _of_pixels,
        Conv2DPiecesParams: _of_pieces,
        Conv2DS16BlocksParams: _of_s16_blocks,
        Conv2DVectorsParams: _of_pixels,
        Conv2DWinogradParams: _of_winograd,
        Conv2DRowPairsParams: made_blocks,
    }
)
