"""Parameters of fast kernels that leave some channels, which they cannot compute, to a general rule."""

from kibi.dtypes import Array, DType
from kibi.kernels.params.contract_text import lines_of
from kibi.kernels.params.conv2d_packed import (
    Conv2D3x3x1Params,
    Conv2DBlocksParams,
    Conv2DColumnsParams,
    Conv2DPiecesParams,
)
from kibi.kernels.params.conv2d_winograd import Conv2DWinogradParams
from kibi.kernels.params.depthwise_conv2d import Depthwise3x3Params, DepthwiseColumnsParams
from kibi.kernels.params.description import Params, array, number
from kibi.kernels.params.fully_connected_packed import FullyConnectedBlocksParams

_COUNT = "channels that the fast kernel's other constants do not describe, at least 1"


class OddChannelsParams(Params):
    """Channels that a fast kernel leaves to a general rule."""

    odd_count: int = number(DType.S32, _COUNT)
    odd_filter: Array = array(DType.S8, "[odd_count][elements of a window]")
    odd_numbers: Array = array(DType.S32, "[odd_count]: the numbers of the channels")
    odd_bias: Array = array(
        DType.S32, "[odd_count], which includes -input_zero_point * the sum of the channel's filter"
    )
    odd_multiplier: Array = array(DType.S32, "[odd_count], 0 … 2**31 - 1")
    odd_shift: Array = array(DType.S8, "[odd_count], -31 … 30")


def _contract(fast: type[Params], channels: str, made: str, window: str) -> str:
    """Returns the lines after those of the fast kernel.

    Args:
        fast: the parameters of that kernel.
        channels: all output channels.
        made: outputs of one channel, which are kept in scratch before the kernel's own.
        window: elements that a channel reads.
    """
    scratch = [
        line.removeprefix("scratch:").removesuffix(" aligned 4")
        for line in lines_of(fast, fast.kernels[0])
        if line.startswith("scratch:")
    ]
    return f"""
        require: 1 <= odd_count
        array odd_filter: odd_count * {window}
        require: 0 <= least(odd_numbers, 0, 1)
        require: most(odd_numbers, 0, 1) <= {channels} - 1
        scratch: {" + ".join([f"4 * ceil(odd_count * {made}, 4)", *scratch])}{" aligned 4" if scratch else ""}
    """


class Conv2DBlocksOddParams(Conv2DBlocksParams, OddChannelsParams, kernels=("kibi_conv2d_s8_blocks_odd",)):
    """`Conv2DBlocksParams` but for some channels."""

    odd_count: int = number(DType.S16, _COUNT)
    odd_filter: Array = array(DType.S8, "[odd_count][kernel_rows][kernel_width][input_channels]")
    contract = _contract(
        Conv2DBlocksParams, "output_channels", "output_width", "kernel_rows * kernel_width * input_channels"
    )


class Conv2DPiecesOddParams(Conv2DPiecesParams, OddChannelsParams, kernels=("kibi_conv2d_s8_pieces_odd",)):
    """`Conv2DPiecesParams` but for some channels."""

    odd_count: int = number(DType.S16, _COUNT)
    odd_filter: Array = array(DType.S8, "[odd_count][kernel_rows][kernel_width][input_channels]")
    contract = _contract(
        Conv2DPiecesParams, "output_channels", "output_width", "kernel_rows * kernel_width * input_channels"
    )


class Conv2DColumnsOddParams(Conv2DColumnsParams, OddChannelsParams, kernels=("kibi_conv2d_s8_columns_odd",)):
    """`Conv2DColumnsParams` but for some channels."""

    odd_filter: Array = array(DType.S8, "[odd_count][kernel_rows][3][input_channels]")
    contract = _contract(Conv2DColumnsParams, "output_channels", "output_width", "kernel_rows * 3 * input_channels")


class Conv2DWinogradOddParams(Conv2DWinogradParams, OddChannelsParams, kernels=("kibi_conv2d_s8_winograd_odd",)):
    """`Conv2DWinogradParams` but for some channels."""

    odd_filter: Array = array(DType.S8, "[odd_count][kernel_rows][3][input_channels]")
    contract = _contract(Conv2DWinogradParams, "output_channels", "output_width", "kernel_rows * 3 * input_channels")


class Conv2D3x3x1OddParams(Conv2D3x3x1Params, OddChannelsParams, kernels=("kibi_conv2d_s8_3x3x1_odd",)):
    """`Conv2D3x3x1Params` but for some channels."""

    odd_filter: Array = array(DType.S8, "[odd_count][3][3]")
    contract = _contract(Conv2D3x3x1Params, "output_channels", "output_width", "9")


class Depthwise3x3OddParams(
    Depthwise3x3Params,
    OddChannelsParams,
    struct="kibi_depthwise_conv2d_s8_3x3_odd_params",
    kernels=("kibi_depthwise_conv2d_s8_3x3_odd", "kibi_depthwise_conv2d_s8_3x3_relu_odd"),
):
    """`Depthwise3x3Params` but for some channels."""

    odd_count: int = number(DType.S16, _COUNT)
    odd_filter: Array = array(DType.S8, "[odd_count][3][3]")
    contract = _contract(Depthwise3x3Params, "channels", "output_width", "9")


class DepthwiseColumnsOddParams(
    DepthwiseColumnsParams, OddChannelsParams, kernels=("kibi_depthwise_conv2d_s8_columns_odd",)
):
    """`DepthwiseColumnsParams` but for some channels."""

    odd_count: int = number(DType.S16, _COUNT)
    odd_filter: Array = array(DType.S8, "[odd_count][kernel_rows][kernel_width]")
    contract = _contract(DepthwiseColumnsParams, "channels", "output_width", "kernel_rows * kernel_width")


class FullyConnectedBlocksOddParams(
    FullyConnectedBlocksParams, OddChannelsParams, kernels=("kibi_fully_connected_s8_blocks_odd",)
):
    """`FullyConnectedBlocksParams` but for some channels."""

    odd_filter: Array = array(DType.S8, "[odd_count][pieces][piece]")
    contract = _contract(FullyConnectedBlocksParams, "output_channels", "vectors", "pieces * piece")
