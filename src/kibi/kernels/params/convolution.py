"""Parameters of the kernels of CONV_2D, DEPTHWISE_CONV_2D and TRANSPOSE_CONV."""

from types import MappingProxyType

from kibi.dtypes import Array, DType
from kibi.kernels.params.description import Params, array, number


class Conv2DLanesParams(Params, kernels=("kibi_conv2d_s8_lanes",)):
    """CONV_2D of s8, or FULLY_CONNECTED as one, sixteen channels at once in vectors of this machine."""

    filter: Array = array(DType.S8, "[channels / 16][elements / 2][16][2]")
    bias: Array = array(DType.S32, "[channels], which includes -input_zero_point * the sum of the channel's filter")
    multiplier: Array = array(DType.S32, "[channels], 0 … 2**31 - 1")
    left: Array = array(DType.S32, "[channels], 0 … 30: the sum is shifted to the left")
    right: Array = array(
        DType.S32, "[channels], 0 … 31: the product with the multiplier is shifted to the right, and rounded"
    )
    input_width: int = number(DType.S32)
    input_channels: int = number(DType.S32)
    input_zero_point: int = number(DType.S32, "-128 … 127")
    output_width: int = number(DType.S32)
    output_channels: int = number(DType.S32)
    output_zero_point: int = number(DType.S32)
    activation_min: int = number(DType.S32)
    activation_max: int = number(DType.S32)
    kernel_rows: int = number(DType.S32)
    kernel_width: int = number(DType.S32)
    stride: int = number(DType.S32, "across; the pointers to rows account for the stride of rows")
    dilation: int = number(DType.S32, "across")
    pad: int = number(DType.S32, "columns of padding before the first input column")
    contract = """
        require: 1 <= min(input_width, min(input_channels, min(output_width, min(output_channels, kernel_rows))))
        require: 1 <= min(kernel_width, min(stride, dilation))
        require: kernel_rows * kernel_width * input_channels <= 4096
        array filter: ceil(output_channels, 16) * 16 * ceil(kernel_rows * kernel_width * input_channels, 2) * 2
        array bias: ceil(output_channels, 16) * 16
        array multiplier: ceil(output_channels, 16) * 16 in 0 … 2**31 - 1
        array left: ceil(output_channels, 16) * 16 in 0 … 30
        array right: ceil(output_channels, 16) * 16 in 0 … 31
        require: 0 <= pad < 2**20
        require: (output_width - 1) * stride + (kernel_width - 1) * dilation < 2**30
        input: kernel_rows x input_width * input_channels
        output: output_width * output_channels
    """


class DepthwiseLanesParams(Params, kernels=("kibi_depthwise_conv2d_s8_lanes",)):
    """DEPTHWISE_CONV_2D of s8 with multiplier 1, sixteen channels at once in vectors of this machine."""

    filter: Array = array(DType.S8, "[channels / 16][kernel_rows][kernel_width][16]")
    bias: Array = array(DType.S32, "[channels], which includes -input_zero_point * the sum of the channel's filter")
    multiplier: Array = array(DType.S32, "[channels], 0 … 2**31 - 1")
    left: Array = array(DType.S32, "[channels], 0 … 30: the sum is shifted to the left")
    right: Array = array(
        DType.S32, "[channels], 0 … 31: the product with the multiplier is shifted to the right, and rounded"
    )
    input_width: int = number(DType.S32)
    channels: int = number(DType.S32)
    input_zero_point: int = number(DType.S32, "-128 … 127")
    output_width: int = number(DType.S32)
    output_zero_point: int = number(DType.S32)
    activation_min: int = number(DType.S32)
    activation_max: int = number(DType.S32)
    kernel_rows: int = number(DType.S32)
    kernel_width: int = number(DType.S32)
    stride: int = number(DType.S32, "across; the pointers to rows account for the stride of rows")
    dilation: int = number(DType.S32, "across")
    pad: int = number(DType.S32, "columns of padding before the first input column")
    contract = """
        require: 1 <= min(input_width, min(channels, min(output_width, kernel_rows)))
        require: 1 <= min(kernel_width, min(stride, dilation))
        array filter: ceil(channels, 16) * 16 * kernel_rows * kernel_width
        array bias: ceil(channels, 16) * 16
        array multiplier: ceil(channels, 16) * 16 in 0 … 2**31 - 1
        array left: ceil(channels, 16) * 16 in 0 … 30
        array right: ceil(channels, 16) * 16 in 0 … 31
        require: 0 <= pad < 2**20
        require: (output_width - 1) * stride + (kernel_width - 1) * dilation < 2**30
        input: kernel_rows x input_width * channels
        output: output_width * channels
    """


class Conv2DF32Params(Params, kernels=("kibi_conv2d_f32",)):
    """CONV_2D of f32, any geometry."""

    filter: Array = array(DType.F32, "[output_channels][kernel_rows][kernel_width][input_channels / groups]")
    bias: Array = array(DType.F32, "[output_channels]")
    input_width: int = number(DType.S32)
    input_channels: int = number(DType.S32)
    output_width: int = number(DType.S32)
    output_channels: int = number(DType.S32)
    groups: int = number(DType.S32, "divides both channel counts")
    kernel_rows: int = number(DType.S32)
    kernel_width: int = number(DType.S32)
    stride: int = number(DType.S32, "across; the pointers to rows account for the stride and the dilation of rows")
    dilation: int = number(DType.S32, "across")
    pad: int = number(DType.S32, "columns of padding before the first input column")
    activation_min: float = number(DType.F32)
    activation_max: float = number(DType.F32)
    contract = """
        require: 1 <= min(input_width, min(input_channels, min(output_width, min(output_channels, min(kernel_rows, \
            min(kernel_width, min(stride, dilation)))))))
        require: 0 <= pad
        require: (output_width - 1) * stride + (kernel_width - 1) * dilation + pad < 2**30
        require: 1 <= groups
        require: input_channels == input_channels // groups * groups
        require: output_channels == output_channels // groups * groups
        input: kernel_rows x input_width * input_channels or null
        output: output_width * output_channels
    """


class Conv2DS16Params(Params, kernels=("kibi_conv2d_s16",)):
    """CONV_2D of s16 elements and s8 weights, any geometry."""

    filter: Array = array(DType.S8, "[output_channels][kernel_rows][kernel_width][input_channels / groups]")
    bias: Array = array(DType.S64, "[output_channels], below 2**46 in magnitude")
    multiplier: Array = array(DType.S32, "[output_channels], 0 … 2**31 - 1")
    shift: Array = array(DType.S8, "[output_channels], -31 … 7 where is_wide, else -31 … 30")
    is_wide: int = number(
        DType.S32, "1: sums have 64 bits and are rounded once; 0: they have 32 bits and are rounded twice"
    )
    input_width: int = number(DType.S32)
    input_channels: int = number(DType.S32)
    output_width: int = number(DType.S32)
    output_channels: int = number(DType.S32)
    groups: int = number(DType.S32, "divides both channel counts")
    kernel_rows: int = number(DType.S32)
    kernel_width: int = number(DType.S32)
    stride: int = number(DType.S32, "across; the pointers to rows account for the stride and the dilation of rows")
    dilation: int = number(DType.S32, "across")
    pad: int = number(DType.S32, "columns of padding before the first input column")
    activation_min: int = number(DType.S32)
    activation_max: int = number(DType.S32)
    contract = """
        require: 1 <= min(input_width, min(input_channels, min(output_width, min(output_channels, min(kernel_rows, \
            min(kernel_width, min(stride, dilation)))))))
        require: 0 <= pad
        require: (output_width - 1) * stride + (kernel_width - 1) * dilation + pad < 2**30
        require: 1 <= groups
        require: input_channels == input_channels // groups * groups
        require: output_channels == output_channels // groups * groups
        require: 0 <= is_wide <= 1
        require: -31 <= least(shift, 0, 1)
        require: most(shift, 0, 1) <= 30 - 23 * is_wide
        input: kernel_rows x input_width * input_channels or null
        output: output_width * output_channels
    """


class Conv2DS8Params(Params, kernels=("kibi_conv2d_s8",)):
    """CONV_2D of s8, any geometry; also DEPTHWISE_CONV_2D with a multiplier above 1."""

    filter: Array = array(DType.S8, "[output_channels][kernel_rows][kernel_width][input_channels / groups]")
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
    input_width: int = number(DType.S32)
    input_channels: int = number(DType.S32)
    output_width: int = number(DType.S32)
    output_channels: int = number(DType.S32)
    output_zero_point: int = number(DType.S32)
    activation_min: int = number(DType.S32)
    activation_max: int = number(DType.S32)
    groups: int = number(DType.S32, "divides both channel counts")
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
            min(kernel_width, min(stride, dilation)))))))
        require: 0 <= pad
        require: (output_width - 1) * stride + (kernel_width - 1) * dilation + pad < 2**30
        require: 1 <= groups
        require: input_channels == input_channels // groups * groups
        require: output_channels == output_channels // groups * groups
        require: 0 <= uses_im2col <= 1
        array padding: max(1, 1 // dilation * max(pad, (output_width - 1) * stride - pad + kernel_width - \
            input_width)) * (input_channels // groups)
        input: kernel_rows x input_width * input_channels
        output: output_width * output_channels
        scratch: kernel_rows * kernel_width * (input_channels // groups) * uses_im2col * min(2, output_width)
    """


class Conv2D3x3x1Params(Params, kernels=("kibi_conv2d_s8_3x3x1",)):
    """CONV_2D of s8 with a window of three by three on one input channel."""

    channels: Array = array(
        DType.S32,
        "[output_channels][8]: a bias, which includes -input_zero_point * the sum of the channel's filter; five words "
        "with the nine weights, row after row, in pairs, the first of a pair in the lower half; the doubled "
        "multiplier minus 2**32, where the multiplier is 2**30 … 2**31 - 1; ~shift, where the shift is to the right "
        "by at least 1",
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
        array channels: 8 * output_channels
        input: 3 x input_width
        output: output_width * output_channels
    """


class Conv2DBlocksParams(Params, kernels=("kibi_conv2d_s8_blocks",)):
    """CONV_2D of s8 in blocks of two channels and two to four pixels."""

    filter: Array = array(
        DType.S32,
        "[pairs of channels][groups of four elements][2]: each word has four weights in packed pairs, in the order in which "
        "kibi_packed_pairs_s8.h adds them up; zeros follow a window's last element, and fill the channel after an odd last "
        "one. Where the number of input channels is not a multiple of four, the whole fours of each of a window's "
        "rows come first, then the rests of all rows, side by side",
        is_packed=True,
    )
    channels: Array = array(
        DType.S32,
        "[pairs of channels][5]: the numbers from which both sums start, both multipliers, and ~shift of both in the "
        "two lowest bytes. A sum starts from 256 times the bias, which includes -input_zero_point * the sum of the "
        "channel's filter, minus 127 times the sum of the channel's second weights. Shifts are to the right by at "
        "least 1, and no true sum reaches 2**23 in magnitude",
        is_packed=True,
    )
    padding: Array = array(
        DType.S8,
        "the input's zero point, once for each element of the most neighbouring columns of a window that are outside "
        "the input",
    )
    input_width: int = number(DType.S16)
    input_channels: int = number(DType.S16)
    output_width: int = number(DType.S16, "at least 2")
    output_channels: int = number(DType.S16)
    output_zero_point: int = number(DType.S16)
    activation_min: int = number(DType.S16, "-128 … 127")
    activation_max: int = number(DType.S16)
    kernel_rows: int = number(DType.S16)
    kernel_width: int = number(DType.S16)
    stride: int = number(DType.S16, "across; the pointers to rows account for the stride of rows")
    dilation: int = number(DType.S16, "across")
    pad: int = number(DType.S16, "columns of padding before the first input column")
    pixels: int = number(
        DType.S16,
        "4: blocks of four pixels, and of three and two for the rest; 3: blocks of three, and of two for the rest; 2: "
        "blocks of two, where the output's width is even",
    )
    # No remainder is negative: `pixels` is at least 2. `1 // dilation` is 1 where it is 1, and else 0.
    contract = """
        require: 1 <= min(input_width, min(input_channels, min(output_width, min(output_channels, min(kernel_rows, \
            min(kernel_width, min(stride, dilation)))))))
        require: 2 <= output_width
        require: pixels <= 4
        require: output_width - output_width // 2 * 2 <= pixels - 2
        require: 0 <= pad
        array filter: ceil(output_channels, 2) * ceil(kernel_rows * kernel_width * input_channels, 4) * 2
        array channels: 5 * ceil(output_channels, 2)
        array padding: max(1, 1 // dilation * max(pad, (output_width - 1) * stride - pad + kernel_width - \
            input_width)) * input_channels
        input: kernel_rows x input_width * input_channels
        output: output_width * output_channels
        scratch: pixels * ceil(kernel_rows * kernel_width * input_channels, 4) * 4 * (2 + min(1, input_channels - \
            input_channels // 4 * 4)) aligned 4
    """
    parts = MappingProxyType(
        {
            "KIBI_CONV2D_BLOCKS_OF_4": ("pixels <= 3",),
            "KIBI_CONV2D_BLOCKS_OF_3": ("(pixels - 2) * (4 - pixels + output_width - output_width // 4 * 4) <= 0",),
            "KIBI_CONV2D_BLOCKS_OF_2": (
                "3 <= pixels",
                "(4 - pixels) * (output_width - output_width // 3 * 3) <= 0",
                "(pixels - 3) * (output_width - output_width // 4 * 4) * (3 - output_width + output_width // 4 * 4) <= 0",
            ),
            "KIBI_CONV2D_BLOCKS_AT_EDGES": (
                "max(pad, dilation - 1) <= 0",
                "(output_width - 1) * stride - pad + (kernel_width - 1) * dilation < input_width",
            ),
            "KIBI_CONV2D_BLOCKS_OF_BYTES": ("input_channels == input_channels // 4 * 4",),
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
        "the order in which kibi_packed_pairs_s8.h adds them up; in the last pass ~shift of both in the two lowest bytes, "
        "and both multipliers. Everything is 0 for the channel after an odd last one. A sum starts from 256 times the "
        "bias, which includes -input_zero_point * the sum of the channel's filter, minus 127 times the sum of the "
        "channel's second weights. Shifts are to the right by at least 1, and no true sum reaches 2**23 in magnitude",
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
    pad: int = number(DType.S32, "columns of padding before the first input column")
    pixels: int = number(
        DType.S32,
        "3: blocks of three pixels, and of two where one or two times two are left; 2: blocks of two, where the "
        "output's width is even",
    )
    # No remainder is negative: `pixels` is at least 2. What is at once divides all, so no factor and no difference is negative, and
    # the scratch has room for one pass in any case.
    contract = """
        require: 1 <= min(input_width, min(input_channels, min(output_channels, min(kernel_rows, min(rows_at_once, \
            channels_at_once)))))
        require: 2 <= output_width
        require: pixels <= 3
        require: output_width - output_width // 2 * 2 <= pixels - 2
        require: 0 <= pad < 2**20
        require: output_width < 2**20
        require: input_channels == input_channels // channels_at_once * channels_at_once
        require: channels_at_once == channels_at_once // 4 * 4
        require: kernel_rows == kernel_rows // rows_at_once * rows_at_once
        require: (rows_at_once - 1) * (input_channels - channels_at_once) <= 0
        array stream: ceil(output_channels, 2) * (kernel_rows * input_channels // 4 * 6 + 5)
        array padding: input_channels
        input: kernel_rows x input_width * input_channels
        output: output_width * output_channels
        scratch: 2 * (pixels + 2) * rows_at_once * channels_at_once \
            + min(1, kernel_rows * input_channels - rows_at_once * channels_at_once) * 24 * ceil(output_channels, 2) aligned 4
    """
    parts = MappingProxyType({"KIBI_CONV2D_COLUMNS_OF_ODD_CHANNELS": ("output_channels == output_channels // 2 * 2",)})


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


class Conv2DWinogradParams(Params, kernels=("kibi_conv2d_s8_winograd",)):
    """CONV_2D of s8 with a kernel three columns wide, by Winograd's F(2,3) in exact integers: two pixels from four products."""

    stream: Array = array(
        DType.S32,
        "what the kernel reads, in order, for each pair of channels: both biases, doubled; the sums a + b + c, then "
        "the differences a - b + c of the kernel's columns a, b, c; 2 * c; the scaling; 2 * a; and the scaling again. "
        "Weights are [kernel_rows][groups of four input channels][2][2] words, with the elements 0 and 2 of a group "
        "in the halves of the first, 1 and 3 in those of the second. The scaling is ~shift of both channels in the "
        "two lowest bytes of a word, and both multipliers. Everything is 0 for the channel after an odd last one. The "
        "bias includes -input_zero_point * the sum of the channel's filter. Shifts are to the right by at least 1, "
        "and no sum reaches 2**30 in magnitude",
        is_packed=True,
    )
    padding: Array = array(DType.S8, "the input's zero point, once for each input channel")
    input_width: int = number(DType.S32)
    input_channels: int = number(DType.S32, "a multiple of 4")
    output_width: int = number(DType.S32, "at least 3")
    output_channels: int = number(DType.S32)
    output_zero_point: int = number(DType.S32)
    activation_min: int = number(DType.S32, "-128 … 127")
    activation_max: int = number(DType.S32)
    kernel_rows: int = number(DType.S32)
    pad: int = number(DType.S32, "columns of padding before the first input column")
    tiles: int = number(
        DType.S32,
        "3: blocks of three tiles of two pixels, and of two tiles where two or four are left; 2: blocks of two tiles, "
        "where the number of tiles is even",
    )
    # No remainder is negative: `tiles` is at least 2.
    contract = """
        require: 1 <= min(input_width, min(input_channels, min(output_channels, kernel_rows)))
        require: 3 <= output_width
        require: tiles <= 3
        require: ceil(output_width, 2) - ceil(output_width, 2) // 2 * 2 <= tiles - 2
        require: 0 <= pad < 2**20
        require: output_width < 2**20
        require: input_channels == input_channels // 4 * 4
        array stream: ceil(output_channels, 2) * (kernel_rows * input_channels * 4 + 8)
        array padding: input_channels
        input: kernel_rows x input_width * input_channels
        output: output_width * output_channels
        scratch: 8 * tiles * kernel_rows * input_channels aligned 4
    """
    parts = MappingProxyType({"KIBI_CONV2D_WINOGRAD_OF_ODD_CHANNELS": ("output_channels == output_channels // 2 * 2",)})


class DepthwiseF32Params(Params, kernels=("kibi_depthwise_conv2d_f32",)):
    """DEPTHWISE_CONV_2D of f32."""

    filter: Array = array(DType.F32, "[kernel_rows][kernel_width][input_channels * depth_multiplier]")
    bias: Array = array(DType.F32, "[input_channels * depth_multiplier]")
    input_width: int = number(DType.S32)
    input_channels: int = number(DType.S32)
    depth_multiplier: int = number(DType.S32, "output channels that read an input channel")
    output_width: int = number(DType.S32)
    kernel_rows: int = number(DType.S32)
    kernel_width: int = number(DType.S32)
    stride: int = number(DType.S32, "across; the pointers to rows account for the stride and the dilation of rows")
    dilation: int = number(DType.S32, "across")
    pad: int = number(DType.S32, "columns of padding before the first input column")
    activation_min: float = number(DType.F32)
    activation_max: float = number(DType.F32)
    contract = """
        require: 1 <= min(input_width, min(input_channels, min(depth_multiplier, min(output_width, min(kernel_rows, \
            min(kernel_width, min(stride, dilation)))))))
        require: 0 <= pad
        require: (output_width - 1) * stride + (kernel_width - 1) * dilation + pad < 2**30
        input: kernel_rows x input_width * input_channels or null
        output: output_width * input_channels * depth_multiplier
    """


class DepthwiseS16Params(Params, kernels=("kibi_depthwise_conv2d_s16",)):
    """DEPTHWISE_CONV_2D of s16 elements and s8 weights."""

    filter: Array = array(DType.S8, "[kernel_rows][kernel_width][input_channels * depth_multiplier]")
    bias: Array = array(DType.S64, "[input_channels * depth_multiplier], below 2**46 in magnitude")
    multiplier: Array = array(DType.S32, "[input_channels * depth_multiplier], 0 … 2**31 - 1")
    shift: Array = array(DType.S8, "[input_channels * depth_multiplier], -31 … 7 where is_wide, else -31 … 30")
    is_wide: int = number(
        DType.S32, "1: sums have 64 bits and are rounded once; 0: they have 32 bits and are rounded twice"
    )
    input_width: int = number(DType.S32)
    input_channels: int = number(DType.S32)
    depth_multiplier: int = number(DType.S32, "output channels that read an input channel")
    output_width: int = number(DType.S32)
    kernel_rows: int = number(DType.S32)
    kernel_width: int = number(DType.S32)
    stride: int = number(DType.S32, "across; the pointers to rows account for the stride and the dilation of rows")
    dilation: int = number(DType.S32, "across")
    pad: int = number(DType.S32, "columns of padding before the first input column")
    activation_min: int = number(DType.S32)
    activation_max: int = number(DType.S32)
    contract = """
        require: 1 <= min(input_width, min(input_channels, min(depth_multiplier, min(output_width, min(kernel_rows, \
            min(kernel_width, min(stride, dilation)))))))
        require: 0 <= pad
        require: (output_width - 1) * stride + (kernel_width - 1) * dilation + pad < 2**30
        require: 0 <= is_wide <= 1
        require: -31 <= least(shift, 0, 1)
        require: most(shift, 0, 1) <= 30 - 23 * is_wide
        input: kernel_rows x input_width * input_channels or null
        output: output_width * input_channels * depth_multiplier
    """


class DepthwiseS8Params(Params, kernels=("kibi_depthwise_conv2d_s8",)):
    """DEPTHWISE_CONV_2D of s8 with multiplier 1."""

    filter: Array = array(DType.S8, "[kernel_rows][kernel_width][channels]")
    bias: Array = array(DType.S32, "[channels], which includes -input_zero_point * the sum of the channel's filter")
    multiplier: Array = array(DType.S32, "[channels], 0 … 2**31 - 1")
    shift: Array = array(DType.S8, "[channels], -31 … 30")
    input_width: int = number(DType.S32)
    channels: int = number(DType.S32)
    input_zero_point: int = number(DType.S32, "-128 … 127")
    output_width: int = number(DType.S32)
    output_zero_point: int = number(DType.S32)
    activation_min: int = number(DType.S32)
    activation_max: int = number(DType.S32)
    kernel_rows: int = number(DType.S32)
    kernel_width: int = number(DType.S32)
    stride: int = number(DType.S32, "across; the pointers to rows account for the stride of rows")
    dilation: int = number(DType.S32, "across")
    pad: int = number(DType.S32, "columns of padding before the first input column")
    contract = """
        require: 1 <= min(input_width, min(channels, min(output_width, min(kernel_rows, min(kernel_width, min(stride, \
            dilation))))))
        require: 0 <= pad
        require: (output_width - 1) * stride + (kernel_width - 1) * dilation + pad < 2**30
        input: kernel_rows x input_width * channels
        output: output_width * channels
    """


class Depthwise3x3Params(
    Params,
    struct="kibi_depthwise_conv2d_s8_3x3_params",
    kernels=("kibi_depthwise_conv2d_s8_3x3", "kibi_depthwise_conv2d_s8_3x3_relu"),
):
    """DEPTHWISE_CONV_2D of s8 with multiplier 1 and a window of three by three, four channels at a time."""

    blocks: Array = array(
        DType.S32,
        "[blocks of four channels][30]; the kernel's header describes a block. Where the number of channels is not a "
        "multiple of four, the last block has the last four, some of which the block before it has, too",
        is_packed=True,
    )
    input_width: int = number(DType.S16)
    channels: int = number(DType.S16, "at least 4")
    input_zero_point: int = number(DType.S16, "-128 … 127")
    output_width: int = number(DType.S16)
    output_zero_point: int = number(DType.S16, "-128 … 127")
    activation_min: int = number(DType.S16, "-128 … 127")
    activation_max: int = number(DType.S16, "-128 … 127")
    stride: int = number(DType.S16, "across; the pointers to rows account for the stride of rows")
    dilation: int = number(DType.S16, "across")
    pad: int = number(
        DType.S16, "columns of padding before the first input column; the middle of every window is inside the input"
    )
    contract = """
        require: 1 <= min(input_width, min(output_width, min(stride, dilation)))
        require: 4 <= channels
        require: 0 <= pad <= dilation
        require: (output_width - 1) * stride - pad + dilation < input_width
        array blocks: 30 * ceil(channels, 4)
        input: 3 x input_width * channels
        output: output_width * channels
    """


class DepthwiseColumnsParams(Params, kernels=("kibi_depthwise_conv2d_s8_columns",)):
    """DEPTHWISE_CONV_2D of s8 with multiplier 1 and any window, four channels at a time."""

    blocks: Array = array(
        DType.S32,
        "[blocks of four channels][words]; the kernel's header describes a block. Where the number of channels is not "
        "a multiple of four, the last block has the last four, some of which the block before it has, too",
        is_packed=True,
    )
    input_width: int = number(DType.S16)
    channels: int = number(DType.S16, "at least 4")
    input_zero_point: int = number(DType.S16, "-128 … 127")
    output_width: int = number(DType.S16)
    output_zero_point: int = number(DType.S16, "-128 … 127")
    activation_min: int = number(DType.S16, "-128 … 127")
    activation_max: int = number(DType.S16, "-128 … 127")
    kernel_rows: int = number(DType.S16)
    kernel_width: int = number(DType.S16)
    stride: int = number(DType.S16, "across; the pointers to rows account for the stride of rows")
    dilation: int = number(DType.S16, "across")
    pad: int = number(DType.S16, "columns of padding before the first input column")
    contract = """
        require: 1 <= min(input_width, min(channels, min(output_width, min(kernel_rows, min(kernel_width, min(stride, \
            dilation))))))
        require: 4 <= channels
        require: 0 <= pad
        array blocks: ceil(channels, 4) * (12 + kernel_width * (kernel_rows // 2 * 4 + (kernel_rows - kernel_rows // \
            2 * 2) * 2))
        input: kernel_rows x input_width * channels
        output: output_width * channels
    """


class TransposeConvF32Params(Params, kernels=("kibi_transpose_conv_f32",)):
    """TRANSPOSE_CONV of f32."""

    filter: Array = array(DType.F32, "[output_channels][kernel_rows][kernel_width][input_channels]")
    bias: Array = array(DType.F32, "[output_channels]")
    input_width: int = number(DType.S32)
    input_channels: int = number(DType.S32)
    output_width: int = number(DType.S32)
    output_channels: int = number(DType.S32)
    rows_made: int = number(DType.S32, "output rows that a step makes")
    row_count: int = number(DType.S32, "input rows that a step reads")
    row_offset: int = number(DType.S32, "row r meets output row j under kernel row j + row_offset - r * stride_rows")
    kernel_rows: int = number(DType.S32)
    kernel_width: int = number(DType.S32)
    stride_rows: int = number(DType.S32)
    stride: int = number(DType.S32, "across: column ix meets output column x under kernel column x + pad - ix * stride")
    pad: int = number(DType.S32, "columns of the first pixel's window before the output")
    pointer_step: int = number(DType.S32, "pointers from a column to the next: 0, or 1 where each column has its own")
    column_step: int = number(DType.S32, "elements from a column to the next after the same pointer")
    activation_min: float = number(DType.F32)
    activation_max: float = number(DType.F32)
    contract = """
        require: 1 <= min(input_width, min(input_channels, min(output_width, min(output_channels, min(rows_made, \
            min(row_count, min(kernel_rows, min(kernel_width, min(stride_rows, stride)))))))))
        require: 0 <= pad < 2**20
        require: output_width < 2**20
        require: -2**20 <= row_offset < 2**20
        require: 0 <= pointer_step <= 1
        require: 0 <= column_step
        require: row_count * stride_rows < 2**24
        require: row_count + (input_width - 1) * pointer_step <= pointers
        input: pointers x (input_width - 1) * column_step + input_channels or null
        output: rows_made * output_width * output_channels
    """


class TransposeConvS16Params(Params, kernels=("kibi_transpose_conv_s16",)):
    """TRANSPOSE_CONV of s16 elements and s8 weights."""

    filter: Array = array(DType.S8, "[output_channels][kernel_rows][kernel_width][input_channels]")
    bias: Array = array(DType.S64, "[output_channels], below 2**46 in magnitude")
    multiplier: Array = array(DType.S32, "[output_channels], 0 … 2**31 - 1")
    shift: Array = array(DType.S8, "[output_channels], -31 … 7")
    input_width: int = number(DType.S32)
    input_channels: int = number(DType.S32)
    output_width: int = number(DType.S32)
    output_channels: int = number(DType.S32)
    rows_made: int = number(DType.S32, "output rows that a step makes")
    row_count: int = number(DType.S32, "input rows that a step reads")
    row_offset: int = number(DType.S32, "row r meets output row j under kernel row j + row_offset - r * stride_rows")
    kernel_rows: int = number(DType.S32)
    kernel_width: int = number(DType.S32)
    stride_rows: int = number(DType.S32)
    stride: int = number(DType.S32, "across: column ix meets output column x under kernel column x + pad - ix * stride")
    pad: int = number(DType.S32, "columns of the first pixel's window before the output")
    pointer_step: int = number(DType.S32, "pointers from a column to the next: 0, or 1 where each column has its own")
    column_step: int = number(DType.S32, "elements from a column to the next after the same pointer")
    activation_min: int = number(DType.S32)
    activation_max: int = number(DType.S32)
    contract = """
        require: 1 <= min(input_width, min(input_channels, min(output_width, min(output_channels, min(rows_made, \
            min(row_count, min(kernel_rows, min(kernel_width, min(stride_rows, stride)))))))))
        require: 0 <= pad < 2**20
        require: output_width < 2**20
        require: -2**20 <= row_offset < 2**20
        require: 0 <= pointer_step <= 1
        require: 0 <= column_step
        require: row_count * stride_rows < 2**24
        require: row_count + (input_width - 1) * pointer_step <= pointers
        input: pointers x (input_width - 1) * column_step + input_channels or null
        output: rows_made * output_width * output_channels
    """


class TransposeConvS8Params(Params, kernels=("kibi_transpose_conv_s8",)):
    """TRANSPOSE_CONV of s8."""

    filter: Array = array(DType.S8, "[output_channels][kernel_rows][kernel_width][input_channels]")
    bias: Array = array(DType.S32, "[output_channels]")
    multiplier: Array = array(DType.S32, "[output_channels], 0 … 2**31 - 1")
    shift: Array = array(DType.S8, "[output_channels], -31 … 30")
    input_width: int = number(DType.S32)
    input_channels: int = number(DType.S32)
    output_width: int = number(DType.S32)
    output_channels: int = number(DType.S32)
    rows_made: int = number(DType.S32, "output rows that a step makes")
    row_count: int = number(DType.S32, "input rows that a step reads")
    row_offset: int = number(DType.S32, "row r meets output row j under kernel row j + row_offset - r * stride_rows")
    kernel_rows: int = number(DType.S32)
    kernel_width: int = number(DType.S32)
    stride_rows: int = number(DType.S32)
    stride: int = number(DType.S32, "across: column ix meets output column x under kernel column x + pad - ix * stride")
    pad: int = number(DType.S32, "columns of the first pixel's window before the output")
    pointer_step: int = number(DType.S32, "pointers from a column to the next: 0, or 1 where each column has its own")
    column_step: int = number(DType.S32, "elements from a column to the next after the same pointer")
    input_zero_point: int = number(DType.S32)
    output_zero_point: int = number(DType.S32)
    activation_min: int = number(DType.S32)
    activation_max: int = number(DType.S32)
    contract = """
        require: 1 <= min(input_width, min(input_channels, min(output_width, min(output_channels, min(rows_made, \
            min(row_count, min(kernel_rows, min(kernel_width, min(stride_rows, stride)))))))))
        require: -128 <= input_zero_point <= 127
        require: 0 <= pad < 2**20
        require: output_width < 2**20
        require: -2**20 <= row_offset < 2**20
        require: 0 <= pointer_step <= 1
        require: 0 <= column_step
        require: row_count * stride_rows < 2**24
        require: row_count + (input_width - 1) * pointer_step <= pointers
        input: pointers x (input_width - 1) * column_step + input_channels or null
        output: rows_made * output_width * output_channels
    """
