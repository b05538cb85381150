"""Parameters of the kernels of CONV_2D whose filters are packed: for certain windows and processors, as a codebook, as int4."""

from types import MappingProxyType

from kibi.dtypes import Array, DType
from kibi.kernels.params.description import Params, array, number
from kibi.kernels.params.geometry import NarrowWindowsParams

_REACHES_OUTSIDE = (
    "max(max(pad, dilation - 1), (output_width - 1) * stride - pad + (kernel_width - 1) * dilation - input_width + 1)"
)
"""Above 0 where windows reach outside, or are not in one piece."""
_NO_WORDS = (
    "max(max(max(kernel_width * input_channels - 4, 4 - kernel_width * input_channels), 1 - input_channels % 4), "
    "max(max(dilation - 1, pad * input_channels - 3), "
    "max((output_width - 1) * stride - pad - input_width + 1, 4 - input_width * input_channels)))"
)
"""Above 0 but where pixels are no whole words, and each row of a window is one, of which at least a byte is inside."""
_NO_THREE_ROWS = (
    "max(max(max(kernel_rows - 3, 3 - kernel_rows), max(4 - pixels, 5 - kernel_width * input_channels)), "
    "max(max(dilation - 1, stride - kernel_width), (kernel_width * input_channels + 3) % 4))"
)
"""Above 0 but where windows have three rows with one element besides whole words, in blocks of four pixels that touch."""


class Conv2D3x3x1Params(Params, kernels=("kibi_conv2d_s8_3x3x1",)):
    """CONV_2D of s8 with a window of three by three on one input channel."""

    channels: Array = array(
        DType.S32,
        "[output_channels][7]: a bias, which includes -input_zero_point * the sum of the channel's filter; five words "
        "with the nine weights, row after row, in pairs, the first of a pair in the lower half, and before the ninth, which is in "
        "an upper half, ~shift, where the shift is to the right by at least 1; the doubled multiplier minus 2**32, where the "
        "multiplier is 2**30 … 2**31 - 1",
        is_packed=True,
    )
    input_width: int = number(DType.S32)
    input_zero_point: int = number(DType.S32, "-128 … 127")
    output_width: int = number(DType.S32)
    output_channels: int = number(DType.S32)
    output_zero_point: int = number(DType.S32, "-128 … 127")
    activation_min: int = number(DType.S32, "-128 … 127")
    activation_max: int = number(DType.S32, "-128 … 127")
    stride: int = number(DType.S32, "across; the pointers to rows account for the stride of rows")
    pad: int = number(DType.S32, "columns of padding before the first input column")
    contract = """
        require: 1 <= min(input_width, min(output_width, min(output_channels, stride)))
        require: 0 <= pad
        require: (output_width - 1) * stride + pad < 2**30
        array channels: 7 * output_channels
        input: 3 x input_width
        output: output_width * output_channels
    """


class Conv2DBlocksParams(
    NarrowWindowsParams,
    struct="kibi_conv2d_s8_blocks_params",
    kernels=("kibi_conv2d_s8_blocks", "kibi_conv2d_s8_int4_blocks"),
    pointers_first=True,
):
    """CONV_2D of s8 in blocks of two channels and two to four pixels."""

    stream: Array = array(
        DType.S32,
        "for each pair of channels: the numbers from which both sums start, [groups of four elements][2] words of weights, and "
        "both multipliers. A word has four weights in packed pairs, in the order in which kibi_packed_pairs_s8.h adds them up; "
        "zeros follow a window's last element, and fill the channel after an odd last one. Where the number of input channels "
        "is not a multiple of four, the whole fours of each of a window's rows come first, then the rests of all rows, side by "
        "side. Of int4, a group has one word for both channels, with each weight w as w + 8 in four bits: in the byte that it "
        "has in packed pairs, the first channel's in the lower half, the second one's in the upper half. A sum starts from 256 "
        "times the bias, which includes -input_zero_point * the sum of the channel's filter, minus 127 times the sum of the "
        "channel's second weights, plus ~shift, which is the lowest byte of every sum at the end. Shifts are to the right by at "
        "least 1, and no true sum reaches 2**23 in magnitude. Where outputs are rounded once, an addend is there in place of "
        "~shift, and factors in place of multipliers, as kibi_round_once wants them",
        is_packed=True,
    )
    padding: Array = array(
        DType.S8,
        "the input's zero point, once for each element of the most neighbouring columns of a window that are outside "
        "the input",
    )
    output_width: int = number(DType.S16, "at least 2")
    activation_min: int = number(DType.S16, "-128 … 127")
    pixels: int = number(
        DType.S16,
        "4: blocks of four pixels, and of three and two for the rest; 3: blocks of three, and of two for the rest; 2: "
        "blocks of two, where the output's width is even",
    )
    blocks: int = number(
        DType.S16,
        "whose windows are in scratch at once, at least 1; of one size, so that weights are read once for all",
    )
    rounds_once: int = number(DType.S16, "1: outputs are rounded once, with a fraction of 11 bits; 0: twice")
    # No remainder is negative: `pixels` is at least 2. `1 // dilation` is 1 where it is 1, and else 0.
    contract = """
        require: 2 <= output_width
        require: pixels <= 4
        require: 1 <= blocks
        require: output_width - output_width // 2 * 2 <= pixels - 2
        [!int4] array stream: ceil(output_channels, 2) * (ceil(kernel_rows * kernel_width * input_channels, 4) * 2 + 4)
        [int4] array stream: ceil(output_channels, 2) * (ceil(kernel_rows * kernel_width * input_channels, 4) + 4)
        array padding: max(1, 1 // dilation * max(pad, (output_width - 1) * stride - pad + kernel_width - \
            input_width)) * input_channels
        input: kernel_rows x input_width * input_channels
        scratch: pixels * ceil(kernel_rows * kernel_width * input_channels, 4) * 4 * (2 * blocks + min(1, input_channels - \
            input_channels // 4 * 4)) aligned 4
    """
    parts = MappingProxyType(
        {
            "KIBI_CONV2D_BLOCKS_SIDE_BY_SIDE": ("blocks <= 1",),
            "KIBI_CONV2D_BLOCKS_ROUNDED_ONCE": ("rounds_once <= 0",),
            "KIBI_CONV2D_BLOCKS_ROUNDED_TWICE": ("1 <= rounds_once",),
            "KIBI_CONV2D_BLOCKS_OF_CLAMPS": ("activation_min <= -128", "127 <= activation_max"),
            "KIBI_CONV2D_BLOCKS_OF_4": ("pixels <= 3",),
            "KIBI_CONV2D_BLOCKS_OF_3": ("(pixels - 2) * (4 - pixels + output_width - output_width // 4 * 4) <= 0",),
            "KIBI_CONV2D_BLOCKS_OF_2": (
                "3 <= pixels",
                "(4 - pixels) * (output_width - output_width // 3 * 3) <= 0",
                "(pixels - 3) * (output_width - output_width // 4 * 4) * (3 - output_width + output_width // 4 * 4) <= 0",
            ),
            "KIBI_CONV2D_BLOCKS_AT_EDGES": (f"min({_REACHES_OUTSIDE}, {_NO_WORDS}) <= 0",),
            "KIBI_CONV2D_BLOCKS_OF_BYTES": (
                f"min(input_channels % 4, min({_NO_WORDS}, max({_NO_THREE_ROWS}, output_width % 4))) <= 0",
            ),
            "KIBI_CONV2D_BLOCKS_OF_WORDS": (f"1 <= {_NO_WORDS}",),
            "KIBI_CONV2D_BLOCKS_OF_THREE_ROWS": (f"1 <= {_NO_THREE_ROWS}",),
            "KIBI_CONV2D_BLOCKS_OF_ODD_CHANNELS": ("output_channels == output_channels // 2 * 2",),
        }
    )


class Conv2DColumnsParams(Params, kernels=("kibi_conv2d_s8_columns",)):
    """CONV_2D of s8 with a kernel three columns wide, in blocks of pixels that share the columns they read."""

    stream: Array = array(
        DType.S32,
        "what the kernel reads, in order: for each pass over the kernel's rows and the input's channels, and in it "
        "for each pair of output channels: in the first pass the numbers from which both sums start; the weights of "
        "the pass, as [rows_at_once][groups of four of channels_at_once][3][2] words of four weights in packed pairs, in "
        "the order in which kibi_packed_pairs_s8.h adds them up; in the last pass both multipliers. Weights and multiplier are 0 "
        "for the channel after an odd last one. A sum starts from 256 times the bias, which includes -input_zero_point * the sum "
        "of the channel's filter, minus 127 times the sum of the channel's second weights, plus ~shift, which is the lowest byte "
        "of every sum at the end. Shifts are to the right by at least 1, and no true sum reaches 2**23 in magnitude",
        is_packed=True,
    )
    padding: Array = array(DType.S8, "the input's zero point, once for each input channel")
    input_width: int = number(DType.S32)
    input_channels: int = number(DType.S32, "a multiple of 4")
    output_width: int = number(DType.S32, "at least 2")
    output_channels: int = number(DType.S32)
    output_zero_point: int = number(DType.S32)
    activation_min: int = number(DType.S32, "-128 … 127")
    activation_max: int = number(DType.S32)
    kernel_rows: int = number(DType.S32)
    rows_at_once: int = number(DType.S32, "kernel rows in one pass: all, or 1")
    channels_at_once: int = number(
        DType.S32, "input channels in one pass: all, or, of one row, a multiple of 4 that divides them"
    )
    outputs_at_once: int = number(
        DType.S32,
        "output channels for which columns are widened once: all; or, of an even number and in several passes, another one; "
        "fewer come first where that is no divisor",
    )
    pad: int = number(DType.S32, "columns of padding before the first input column")
    pixels: int = number(
        DType.S32,
        "4: blocks of four pixels, and of three and two for the rest; 3: blocks of three pixels, and of two "
        "where one or two times two are left; 2: blocks of two, where the output's width is even",
    )
    blocks: int = number(
        DType.S32,
        "2: two neighbouring blocks of four pixels are computed at once, so that weights are read once for both; then all "
        "channels and rows are at once, columns have an even number of fours, at least four, and output channels are even in "
        "number; else 1",
    )
    stride: int = number(
        DType.S32,
        "across, 1, or 2 where all blocks have four pixels; the pointers to rows account for the stride of rows",
    )
    # No remainder is negative: `pixels` is at least 2. What is at once divides all, so no factor and no difference is negative, and
    # the scratch has room for one pass in any case.
    contract = """
        require: 1 <= min(input_width, min(input_channels, min(kernel_rows, min(rows_at_once, min(channels_at_once, blocks)))))
        require: 1 <= outputs_at_once <= output_channels
        require: 2 <= output_width
        require: pixels <= 4
        require: output_width - output_width // 2 * 2 <= pixels - 2
        require: 0 <= pad < 2**20
        require: output_width < 2**20
        require: 1 <= stride <= 2
        require: (stride - 1) * (4 - pixels + output_width - output_width // 4 * 4) <= 0
        require: input_channels == input_channels // channels_at_once * channels_at_once
        require: channels_at_once == channels_at_once // 4 * 4
        require: kernel_rows == kernel_rows // rows_at_once * rows_at_once
        require: (rows_at_once - 1) * (input_channels - channels_at_once) <= 0
        array stream: ceil(output_channels, 2) * (kernel_rows * input_channels // 4 * 6 + 4)
        array padding: input_channels
        input: kernel_rows x input_width * input_channels
        output: output_width * output_channels
        scratch: 2 * blocks * ((pixels - 1) * stride + 3) * rows_at_once * channels_at_once \
            + min(1, kernel_rows * input_channels - rows_at_once * channels_at_once) * 8 * max(3, pixels) \
            * ceil(outputs_at_once, 2) + pixels * (output_channels - outputs_at_once) aligned 4
    """
    parts = MappingProxyType(
        {
            "KIBI_CONV2D_COLUMNS_OF_4": ("pixels <= 3",),
            "KIBI_CONV2D_COLUMNS_TWO_APART": ("stride <= 1",),
            "KIBI_CONV2D_COLUMNS_SIDE_BY_SIDE": ("blocks == 1",),
            "KIBI_CONV2D_COLUMNS_IN_PASSES": ("kernel_rows * input_channels == rows_at_once * channels_at_once",),
            "KIBI_CONV2D_COLUMNS_OF_ODD_CHANNELS": ("output_channels == output_channels // 2 * 2",),
        }
    )


class Conv2DPiecesParams(NarrowWindowsParams, kernels=("kibi_conv2d_s8_pieces",), pointers_first=True):
    """CONV_2D of s8 in blocks of two channels and two pixels, whose windows are multiplied piece by piece."""

    filter: Array = array(
        DType.S32,
        "of piece after piece: [pairs of channels][groups of four elements][2]: each word has four weights in packed pairs, "
        "in the order in which kibi_packed_pairs_s8.h adds them up; zeros fill the channel after an odd last one",
        is_packed=True,
    )
    channels: Array = array(
        DType.S32,
        "[pairs of channels][4]: the numbers from which both sums start, and both multipliers or factors, as in "
        "kibi_conv2d_s8_blocks_params",
        is_packed=True,
    )
    padding: Array = array(DType.S8, "the input's zero point, once for each input channel")
    input_channels: int = number(DType.S16, "a multiple of 4")
    activation_min: int = number(DType.S16, "-128 … 127")
    elements_at_once: int = number(DType.S16, "elements of a window in a piece, a multiple of 4")
    pairs_at_once: int = number(DType.S16, "pairs of channels whose sums are kept")
    rounds_once: int = number(DType.S16, "1: outputs are rounded once, with a fraction of 11 bits; 0: twice")
    contract = """
        require: 1 <= min(elements_at_once, pairs_at_once)
        require: input_channels == input_channels // 4 * 4
        require: elements_at_once == elements_at_once // 4 * 4
        array filter: ceil(output_channels, 2) * kernel_rows * kernel_width * input_channels // 2
        array channels: 4 * ceil(output_channels, 2)
        array padding: input_channels
        input: kernel_rows x input_width * input_channels
        scratch: 16 * pairs_at_once + 4 * elements_at_once aligned 4
    """
    parts = MappingProxyType(
        {
            "KIBI_CONV2D_PIECES_ROUNDED_ONCE": ("rounds_once <= 0",),
            "KIBI_CONV2D_PIECES_ROUNDED_TWICE": ("1 <= rounds_once",),
            "KIBI_CONV2D_PIECES_OF_CLAMPS": ("activation_min <= -128", "127 <= activation_max"),
        }
    )


class Conv2DCodebookParams(Params, kernels=("kibi_conv2d_s8_codebook",)):
    """CONV_2D of s8 with a filter of indices into tables."""

    indices: Array = array(
        DType.S8,
        "of [output_channels][kernel_rows][kernel_width][input_channels] values, packed as kibi_codebook_s8.h says",
    )
    tables: Array = array(DType.S8, "the values of each channel, or those that all channels share")
    bias: Array = array(
        DType.S32, "[output_channels], which includes -input_zero_point * the sum of the channel's filter"
    )
    multiplier: Array = array(DType.S32, "[output_channels], 0 … 2**31 - 1")
    shift: Array = array(DType.S8, "[output_channels], -31 … 30")
    padding: Array = array(
        DType.S8,
        "the input's zero point, once for each element of the most neighbouring columns of a window that are outside "
        "the input",
    )
    bits: int = number(DType.S32, "bits of an index, 1 … 7")
    values: int = number(DType.S32, "values from one channel's table to the next; 0: all channels share one table")
    at_once: int = number(DType.S32, "output channels whose filters are decoded together")
    input_width: int = number(DType.S32)
    input_channels: int = number(DType.S32)
    output_width: int = number(DType.S32)
    output_channels: int = number(DType.S32)
    output_zero_point: int = number(DType.S32)
    activation_min: int = number(DType.S32)
    activation_max: int = number(DType.S32)
    uses_im2col: int = number(
        DType.S32, "1: the kernel copies windows into scratch, two at a time; 0: it reads them in place"
    )
    kernel_rows: int = number(DType.S32)
    kernel_width: int = number(DType.S32)
    stride: int = number(DType.S32, "across; the pointers to rows account for the stride of rows")
    dilation: int = number(DType.S32, "across")
    pad: int = number(DType.S32, "columns of padding before the first input column")
    contract = """
        require: 1 <= min(input_width, min(input_channels, min(output_width, min(output_channels, min(kernel_rows, \
            min(kernel_width, min(stride, min(dilation, at_once))))))))
        require: 0 <= pad
        require: (output_width - 1) * stride + (kernel_width - 1) * dilation + pad < 2**30
        require: 0 <= uses_im2col <= 1
        require: 0 <= values
        array indices: ceil(kernel_rows * kernel_width * input_channels * output_channels * bits, 8)
        array tables: (output_channels - 1) * values + power(bits)
        array padding: max(1, 1 // dilation * max(pad, (output_width - 1) * stride - pad + kernel_width - \
            input_width)) * input_channels
        input: kernel_rows x input_width * input_channels
        output: output_width * output_channels
        scratch: kernel_rows * kernel_width * input_channels * (at_once + uses_im2col * min(2, output_width)) + \
            at_once * output_width
    """


class Conv2DInt4Params(Params, kernels=("kibi_conv2d_s8_int4",)):
    """CONV_2D of s8 with a filter of int4."""

    filter: Array = array(
        DType.S32,
        "[blocks of four channels][words for kernel_rows * kernel_width * input_channels elements], as kibi_int4_s8.h says",
        is_packed=True,
    )
    bias: Array = array(
        DType.S32, "[output_channels], which includes -input_zero_point * the sum of the channel's filter"
    )
    multiplier: Array = array(DType.S32, "[output_channels], 0 … 2**31 - 1")
    shift: Array = array(DType.S8, "[output_channels], -31 … 30")
    input_width: int = number(DType.S32)
    input_channels: int = number(DType.S32)
    input_zero_point: int = number(DType.S32, "-128 … 127")
    output_width: int = number(DType.S32)
    output_channels: int = number(DType.S32)
    output_zero_point: int = number(DType.S32)
    activation_min: int = number(DType.S32)
    activation_max: int = number(DType.S32)
    gathers: int = number(
        DType.S32,
        "1: the kernel copies each window into scratch; 0: windows are inside of the input, each in one piece, and it reads them "
        "in place",
    )
    kernel_rows: int = number(DType.S32)
    kernel_width: int = number(DType.S32)
    stride: int = number(DType.S32, "across; the pointers to rows account for the stride of rows")
    dilation: int = number(DType.S32, "across")
    pad: int = number(DType.S32, "columns of padding before the first input column")
    # No factor is negative: sizes are at least 1, and `gathers` is 0 or 1.
    contract = """
        require: 1 <= min(input_width, min(input_channels, min(output_width, min(output_channels, min(kernel_rows, \
            min(kernel_width, min(stride, dilation)))))))
        require: 0 <= pad
        require: (output_width - 1) * stride + (kernel_width - 1) * dilation + pad < 2**30
        require: 0 <= gathers <= 1
        require: (1 - gathers) * (kernel_rows - 1 + (kernel_width - 1) * (dilation - 1) + pad) <= 0
        require: (1 - gathers) * ((output_width - 1) * stride + kernel_width) <= input_width
        array filter: ceil(output_channels, 4) * ceil(kernel_rows * kernel_width * input_channels, 2)
        input: kernel_rows x input_width * input_channels
        output: output_width * output_channels
        scratch: gathers * kernel_rows * kernel_width * input_channels
    """
