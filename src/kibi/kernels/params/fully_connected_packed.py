"""Parameters of the kernels of FULLY_CONNECTED of s8 whose weights are packed in blocks of channels."""

from types import MappingProxyType

from kibi.dtypes import Array, DType
from kibi.kernels.params.description import Params, array, number

_FILTER = "blocks of channels, with what their sums start from; the kernel's header describes a block"


class ChannelBlocksParams(Params):
    """The vectors that are multiplied with blocks of channels, and how their sums become outputs."""

    filter: Array = array(DType.S32, _FILTER, is_packed=True)
    scales: Array = array(
        DType.S32,
        "for two channels: a word with ~shift of both in its two lowest bytes, each 0 … 30, where shifts are to the "
        "right by at least 1; and both multipliers, 0 … 2**31 - 1; then those of the next two channels, or the same three "
        "words are those of all",
        is_packed=True,
    )
    scale_step: int = number(
        DType.S32,
        "bytes from the words of two channels to those of the next two: 12, or 0 where all channels share them",
    )
    piece: int = number(DType.S32, "neighbouring elements of an input vector")
    pieces: int = number(DType.S32, "pieces of a vector")
    vectors: int = number(DType.S32, "input vectors, and output vectors, of a step")
    row_elements: int = number(
        DType.S32, "elements that follow one another in memory: more than piece only where pieces is 1"
    )
    output_channels: int = number(DType.S32)
    rounding: int = number(DType.S32, "twice the output's zero point, plus 1")
    clamps: int = number(
        DType.S32, "0: outputs are clamped to the range of int8 alone; 1: to activation_min … activation_max"
    )
    activation_min: int = number(DType.S32)
    activation_max: int = number(DType.S32)
    # A multiple is not negative. The rest of `row_elements // piece` is 0, so no factor of the product is negative.
    contract = """
        require: 1 <= min(piece, min(pieces, min(vectors, min(row_elements, output_channels))))
        require: row_elements == row_elements // piece * piece
        require: (row_elements - piece) * (pieces - 1) <= 0
        require: vectors * piece == vectors * piece // row_elements * row_elements
        require: scale_step <= 12
        require: scale_step == scale_step // 12 * 12
        array scales: 3 + (ceil(output_channels, 2) - 1) * scale_step // 4
        input: vectors * piece // row_elements * pieces x row_elements
        output: vectors * output_channels
    """


class FullyConnectedBlocksParams(ChannelBlocksParams, kernels=("kibi_fully_connected_s8_blocks",)):
    """FULLY_CONNECTED of s8, or CONV_2D to rows of one pixel, in blocks of up to eight channels."""

    rounds_once: int = number(
        DType.S32,
        "1: outputs are rounded once, with a fraction of 11 bits, and instead of multipliers scales has factors as "
        "kibi_round_once wants them; 0: twice",
    )
    contract = """
        array filter: ceil(output_channels, 2) * 2 * (1 + pieces * ceil(piece, 4))
    """
    parts = MappingProxyType(
        {
            "KIBI_FULLY_CONNECTED_S8_BLOCKS_ROUNDED_ONCE": ("rounds_once <= 0",),
            "KIBI_FULLY_CONNECTED_S8_BLOCKS_ROUNDED_TWICE": ("1 <= rounds_once",),
        }
    )


class FullyConnectedNonzeroParams(ChannelBlocksParams, kernels=("kibi_fully_connected_s8_nonzero",)):
    """FULLY_CONNECTED of s8 without the products of elements that are zero, in blocks of eight channels."""

    time_depends_on_elements = True
    # Of 64 bits, so that no element's weights are in two reads of a flash.
    filter: Array = array(DType.S64, _FILTER, is_packed=True)
    output_channels: int = number(DType.S32, "a multiple of 8")
    contract = """
        require: output_channels == output_channels // 8 * 8
        array filter: output_channels // 8 * (4 + pieces * piece)
        scratch: 4 * (ceil(pieces * piece + 2, 4) + ceil(pieces * piece, 4)) aligned 4
    """
