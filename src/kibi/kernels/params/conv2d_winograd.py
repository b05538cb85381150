"""Parameters of the kernels of CONV_2D of s8 by Winograd's algorithm: of one output row, and of all, two at a time."""

from types import MappingProxyType

from kibi.dtypes import Array, DType
from kibi.kernels.params.description import Params, array, number


class Conv2DWinogradParams(Params, kernels=("kibi_conv2d_s8_winograd",)):
    """CONV_2D of s8 with a kernel three columns wide, by Winograd's F(2,3) in exact integers: two pixels from four products."""

    stream: Array = array(
        DType.S32,
        "what the kernel reads, in order, for each pair of channels: both biases, doubled; the sums a + b + c, then "
        "the differences a - b + c of the kernel's columns a, b, c; 2 * c; the scaling; 2 * a; and the scaling again. "
        "Weights are [kernel_rows][groups of four input channels][2][2] words, both channels' elements 0 and 2 of a "
        "group in the halves of two, then 1 and 3. The scaling is ~shift of both channels in the "
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
        "of two pixels each. 4: blocks of four tiles, and of three and two for the rest; 3: blocks of three, and of two where two "
        "or four are left; 2: blocks of two, where the number of tiles is even",
    )
    # No remainder is negative: `tiles` is at least 2.
    contract = """
        require: 1 <= min(input_width, min(input_channels, min(output_channels, kernel_rows)))
        require: 3 <= output_width
        require: tiles <= 4
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


class Conv2DRowPairsParams(Params, kernels=("kibi_conv2d_s8_row_pairs",)):
    """CONV_2D of s8 with a window of three by three, by Winograd's F(2x2, 3x3) in exact integers: four pixels from 16 products.

    One call makes all rows. Plan files make rows one by one: so the contract asks for a whole input at each pointer, of which it
    knows but one size.
    """

    stream: Array = array(
        DType.S32,
        "what the kernel reads, in order, for each pair of channels: both biases, times four, which include "
        "-input_zero_point * the sum of the channel's filter; ~shift of both channels in the two lowest bytes of a word, where "
        "shifts are to the right by at least 1; both multipliers; 16 planes of weights, each [groups of four input "
        "channels][2][2] words, both channels' elements 0 and 2 of a group in the halves of two, then 1 and 3. The window's rows "
        "a, b, c become a + b + c, a - b + c, 2 * c and 2 * a, and columns d, e, f of these d + e + f, d - e + f, f and d: the "
        "planes of the first one of columns come first. No sum of a bias and products reaches 2**31 in magnitude",
        is_packed=True,
    )
    input_width: int = number(DType.S32)
    input_channels: int = number(DType.S32, "a multiple of 4")
    output_width: int = number(DType.S32, "at least 8")
    output_channels: int = number(DType.S32, "a multiple of 2")
    input_zero_point: int = number(DType.S32, "-128 … 127")
    output_zero_point: int = number(DType.S32, "-128 … 127")
    activation_min: int = number(DType.S32, "-128 … 127")
    activation_max: int = number(DType.S32, "-128 … 127")
    input_rows: int = number(DType.S32)
    output_rows: int = number(DType.S32, "at least 2")
    pad_rows: int = number(DType.S32, "rows of padding before the first input row, 0 … 2")
    pad: int = number(DType.S32, "columns of padding before the first input column")
    contract = """
        require: 1 <= min(input_width, min(input_channels, min(output_channels, input_rows)))
        require: 8 <= output_width < 2**20
        require: 2 <= output_rows < 2**20
        require: 0 <= pad < output_width + 2
        require: input_channels == input_channels // 4 * 4
        require: output_channels == output_channels // 2 * 2
        array stream: output_channels // 2 * (16 * input_channels + 5)
        input: 3 x input_rows * input_width * input_channels
        output: output_rows * output_width * output_channels
        scratch: (8 * (output_width + 2) + 128) * input_channels aligned 4
    """
