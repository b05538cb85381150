"""Parameters of the kernels of CONV_2D of s16 whose filters are packed for certain processors."""

from types import MappingProxyType

from kibi.dtypes import Array, DType
from kibi.kernels.params.description import Params, array, number
from kibi.kernels.params.geometry import NarrowWindowsParams

_GROUPS = "ceil(kernel_rows * kernel_width * input_channels, 4)"
"""Of four elements in a window."""
_NOT_ALL_NUMBERS = "activation_min + 65535 - activation_max"
"""Above 0 where an activation leaves some numbers of 16 bits out."""
_NO_RELU = "max(activation_min, 0 - activation_min) + 32767 - activation_max"
"""Above 0 unless an activation leaves out the negative numbers of 16 bits alone."""


class Conv2DS16BlocksParams(NarrowWindowsParams, kernels=("kibi_conv2d_s16_blocks",), pointers_first=True):
    """CONV_2D of s16 elements and s8 weights in blocks of two channels and one to three pixels."""

    stream: Array = array(
        DType.S32,
        "for each pair of channels: both biases, [groups of four elements][2] words of weights, and both factors. A word has four "
        "weights of a channel, the first, the third, the second and the fourth in its bytes; or where weights have 16 bits, two, "
        "the first one in the lower half, and there are [pairs of elements][2] words. A window is runs of elements that "
        "touch: its rows, or where columns are spread, the rows of each column. All pairs of elements of all runs come first, "
        "then the last elements of runs of an odd number. Zeros fill up a window to whole fours, and the channel after an odd "
        "last one. Biases include -input zero point * the sum of the channel's filter; factors are the 15 bits of the multiplier "
        "that rule N26 leaves, times 2**(17 + shift). Shifts are to the right by 1 … 17, and all sums fit 32 bits",
        is_packed=True,
    )
    stride: int = number(DType.S16, "across; the pointers to rows account for the stride and the dilation of rows")
    pixels: int = number(
        DType.S16,
        "of a block: 3, and where two or four are left in a row, 2; or 2, and where one is left, 1; or 1",
    )
    weight_bits: int = number(DType.S16, "8; or 16, where blocks have 3 pixels")
    is_widened: int = number(
        DType.S16,
        "1: of 8 bits, where blocks have 3 pixels: the stream with weights of 16 bits is written after the windows, once a row",
    )
    contract = f"""
        require: 1 <= pixels <= 3
        require: (pixels - 1) * (2 - output_width) <= 0
        require: (weight_bits - 8) * (19 - weight_bits - pixels) == 0
        require: 0 <= is_widened <= 1
        require: is_widened * (weight_bits - 5 - pixels) == 0
        array stream: ceil(output_channels, 2) * ({_GROUPS} * weight_bits // 4 + 4)
        input: kernel_rows x input_width * input_channels or null
        scratch: 8 * (pixels * {_GROUPS} + 2 * is_widened * ceil(output_channels, 2) * (1 + {_GROUPS})) aligned 4
    """
    parts = MappingProxyType(
        {
            "KIBI_CONV2D_S16_BLOCKS_OF_3": ("pixels <= 2",),
            "KIBI_CONV2D_S16_BLOCKS_OF_2": ("(pixels - 1) * (3 - pixels + output_width - output_width // 3 * 3) <= 0",),
            "KIBI_CONV2D_S16_BLOCKS_OF_1": ("(3 - pixels) * (2 - pixels + output_width - output_width // 2 * 2) <= 0",),
            "KIBI_CONV2D_S16_BLOCKS_OF_NARROW_WEIGHTS": ("9 <= weight_bits + is_widened",),
            "KIBI_CONV2D_S16_BLOCKS_OF_WIDE_WEIGHTS": ("weight_bits + is_widened <= 8",),
            "KIBI_CONV2D_S16_BLOCKS_OF_WIDENED_WEIGHTS": ("is_widened <= 0",),
            "KIBI_CONV2D_S16_BLOCKS_AT_EDGES": (
                "pad <= 0",
                "(output_width - 1) * stride - pad + (kernel_width - 1) * dilation < input_width",
            ),
            "KIBI_CONV2D_S16_BLOCKS_OF_ALL_NUMBERS": (f"1 <= {_NOT_ALL_NUMBERS}",),
            "KIBI_CONV2D_S16_BLOCKS_OF_RELU": (f"1 <= {_NO_RELU}",),
            "KIBI_CONV2D_S16_BLOCKS_OF_RANGES": (f"({_NOT_ALL_NUMBERS}) * ({_NO_RELU}) <= 0",),
            "KIBI_CONV2D_S16_BLOCKS_OF_ODD_CHANNELS": ("output_channels == output_channels // 2 * 2",),
        }
    )


class Conv2DS163x3x1Params(Params, kernels=("kibi_conv2d_s16_3x3x1",)):
    """CONV_2D of s16 elements and s8 weights with a window of three by three on one input channel, by a stride of one."""

    channels: Array = array(
        DType.S32,
        "[output_channels][7]: a bias and a factor, as in kibi_conv2d_s16_blocks_params; five words of two weights, the first of "
        "each two in the lower half: the first two of each row, then the third ones of the first two rows, and that of the last "
        "row, whose upper half is 1 in the last channel, and else 0",
        is_packed=True,
    )
    input_width: int = number(DType.S16, "at least 3")
    output_width: int = number(DType.S16)
    output_channels: int = number(DType.S16)
    activation_min: int = number(DType.S16, "0 or -32768")
    activation_max: int = number(DType.S16, "32767")
    pad: int = number(
        DType.S16, "0 or 1: columns of padding before the first input column; after the last one at most 1"
    )
    contract = """
        require: 3 <= input_width
        require: 1 <= min(output_width, output_channels)
        require: 0 <= pad <= 1
        require: input_width + pad - 2 <= output_width
        require: output_width <= input_width + pad - 1
        require: activation_min * (activation_min + 32768) == 0
        require: activation_max == 32767
        array channels: 7 * output_channels
        input: 3 x input_width or null
        output: output_width * output_channels
    """
    parts = MappingProxyType(
        {
            "KIBI_CONV2D_S16_3X3X1_BY_FOURS": ("1 <= output_channels % 4",),
            "KIBI_CONV2D_S16_3X3X1_BY_ONES": ("output_channels == output_channels // 4 * 4",),
            "KIBI_CONV2D_S16_3X3X1_OF_ALL_NUMBERS": ("0 <= activation_min",),
            "KIBI_CONV2D_S16_3X3X1_OF_RELU": ("activation_min < 0",),
        }
    )
