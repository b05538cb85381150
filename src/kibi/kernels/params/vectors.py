"""Parameters of the kernels of CONV_2D and DEPTHWISE_CONV_2D for cores with vectors."""

from types import MappingProxyType

from kibi.dtypes import Array, DType
from kibi.kernels.params.description import Params, array, number
from kibi.kernels.params.geometry import Narrow3x3Params, NarrowWindowsParams

_REST = "(output_width - output_width // pixels * pixels)"
"""Pixels after whole blocks."""
_NOT_16 = "max(weight_step - 16, 16 - weight_step)"
"""0 where windows are one vector."""


class Conv2DVectorsParams(NarrowWindowsParams, kernels=("kibi_conv2d_s8_vectors",), pointers_first=True):
    """CONV_2D of s8, and FULLY_CONNECTED as one, in blocks of four channels and up to four pixels."""

    filter: Array = array(
        DType.S8,
        "[output_channels][weight_step]; zeros follow a window's weights, and are those of channels up to four, where there are "
        "fewer",
    )
    scales: Array = array(
        DType.S32,
        "[fours of channels][9]: the biases of channels 0, 2, 1 and 3, which include -input_zero_point * the sum of the channel's "
        "filter; four multipliers, 0 … 2**31 - 1; four shifts, a byte each, the lowest one first, to the right by 1 … 31. Where "
        "the number of channels is not a multiple of four, the last four have some of those before them, too. No sum overflows. "
        "For blocks of four pixels [output_channels][2]: addends and factors of kibi_four_pixels_s8.h",
        is_packed=True,
    )
    input_zero_point: int = number(DType.S16)
    pixels: int = number(
        DType.S16,
        "of a block: at most 3, and 1 where there are fewer than four channels; 4 where outputs are rounded once: then the zero "
        "point is -128, outputs are cut to int8, weight_step is 16, and the number of channels is a multiple of four",
    )
    gathers: int = number(
        DType.S16, "1: windows are copied to scratch; 0: they are pieces of a row, inside the input, and are read there"
    )
    blocks: int = number(
        DType.S16,
        "whose windows are copied at once; 1 where they are not, and where the number of channels is no multiple of four",
    )
    weight_step: int = number(
        DType.S16,
        "from a channel's weights to the next one's: the elements of a window, or 16, where they are fewer, and rows are whole "
        "blocks of three pixels",
    )
    # Where windows are not copied, all that makes them more than a piece of a row is multiplied by 1.
    contract = """
        require: 1 <= blocks
        require: 1 <= pixels <= 4
        require: pixels // 4 * (output_channels % 4 + 16 - weight_step) <= 0
        require: pixels // 4 * (weight_step - 16) <= 0
        require: (pixels - 1) * (4 - output_channels) <= 0
        require: 0 <= gathers <= 1
        require: (1 - gathers) * max(pad + kernel_rows - 1 + (dilation - 1) * (kernel_width - 1), \
            (output_width - 1) * stride + kernel_width - input_width) <= 0
        require: kernel_rows * kernel_width * input_channels <= weight_step
        array filter: max(4, output_channels) * weight_step
        array scales: (9 - pixels // 4) * ceil(output_channels, 4)
        input: kernel_rows x input_width * input_channels
        scratch: gathers * blocks * pixels * kernel_rows * kernel_width * input_channels
    """
    parts = MappingProxyType(
        {
            "KIBI_VECTOR_PIXELS_OF_1": ("2 <= pixels", f"1 <= max(({_REST} - 1) * ({_REST} - 1), pixels - 3)"),
            "KIBI_VECTOR_PIXELS_OF_2": (
                "1 <= (pixels - 2) * (pixels - 2)",
                f"1 <= max(({_REST} - 2) * ({_REST} - 2), pixels - 3)",
            ),
            "KIBI_VECTOR_PIXELS_OF_3": (f"min(pixels - 2, {_NOT_16}) <= 0",),
            "KIBI_VECTOR_PIXELS_OF_SHORT": (f"1 <= max((pixels - 3) * (pixels - 3), {_NOT_16})",),
            "KIBI_VECTOR_PIXELS_OF_4": ("pixels <= 3",),
            "KIBI_VECTOR_PIXELS_OF_FEWER": ("4 <= pixels",),
            "KIBI_VECTOR_PIXELS_OF_EXCESS": (f"min({_NOT_16}, kernel_rows * kernel_width * input_channels % 16) <= 0",),
        }
    )


_END = "((output_width - 1) * stride - pad + kernel_width)"
"""Where the last window of a row ends."""


class _WindowsParams(Params):
    """The windows of a row of CONV_2D that are read where they are, in blocks of four channels and one or three pixels."""

    input_width: int = number(DType.S16)
    input_channels: int = number(DType.S16)
    output_width: int = number(DType.S16)
    output_channels: int = number(DType.S16)
    kernel_rows: int = number(DType.S16)
    kernel_width: int = number(DType.S16)
    stride: int = number(DType.S16, "across; the pointers to rows account for the stride and the dilation of rows")
    pad: int = number(DType.S16, "columns of padding before the first input column, fewer than kernel_width")
    contract = f"""
        require: 1 <= min(input_width, min(input_channels, min(output_width, min(output_channels, min(kernel_rows, stride)))))
        require: 0 <= pad < kernel_width
        require: {_END} < input_width + kernel_width
        array filter: ceil(output_channels, 4) * 4 * kernel_rows * kernel_width * input_channels
        input: kernel_rows x input_width * input_channels or null
        output: output_width * output_channels
    """


_OF_3 = ("output_width <= 2",)
_OF_1 = ("pad <= 0", "output_width == output_width // 3 * 3", f"{_END} <= input_width")
"""When no block has so many pixels."""


class Conv2DF32VectorsParams(_WindowsParams, kernels=("kibi_conv2d_f32_vectors",), pointers_first=True):
    """CONV_2D of f32, and FULLY_CONNECTED as one, in blocks of four channels and one or three pixels."""

    filter: Array = array(
        DType.F32,
        "[output_channels / 4][kernel_rows][kernel_width][input_channels][4]; zeros are the weights of channels after the last one",
    )
    bias: Array = array(DType.F32, "[output_channels, and zeros up to a multiple of 4]")
    activation_min: float = number(DType.F32)
    activation_max: float = number(DType.F32)
    contract = """
        array bias: ceil(output_channels, 4) * 4
    """
    parts = MappingProxyType(
        {
            "KIBI_VECTOR_PIXELS_F32_OF_3": _OF_3,
            "KIBI_VECTOR_PIXELS_F32_OF_1": _OF_1,
            "KIBI_VECTOR_PIXELS_F32_OF_RESTS": (
                "kernel_width * input_channels == kernel_width * input_channels // 4 * 4",
                "pad * input_channels == pad * input_channels // 4 * 4",
                f"max(0, {_END} - input_width) * (input_channels - input_channels // 4 * 4) <= 0",
            ),
        }
    )


class Conv2DS16VectorsParams(_WindowsParams, kernels=("kibi_conv2d_s16_vectors",), pointers_first=True):
    """CONV_2D of s16 elements and s8 weights, and FULLY_CONNECTED as one, in the same blocks."""

    filter: Array = array(
        DType.S8,
        "[output_channels, and zeros up to a multiple of 4][kernel_rows][kernel_width][input_channels]",
    )
    scales: Array = array(
        DType.S32,
        "[output_channels / 4][8]: the biases of channels 0, 2, 1 and 3, and four factors, which are those of "
        "kibi_conv2d_s16_blocks_params; zeros after the last channel. All sums fit 32 bits",
    )
    activation_min: int = number(DType.S16)
    activation_max: int = number(DType.S16)
    contract = """
        array scales: ceil(output_channels, 4) * 8
    """
    parts = MappingProxyType({"KIBI_VECTOR_PIXELS_S16_OF_3": _OF_3, "KIBI_VECTOR_PIXELS_S16_OF_1": _OF_1})


class DepthwiseVectorsParams(Narrow3x3Params, kernels=("kibi_depthwise_conv2d_s8_vectors",), pointers_first=True):
    """DEPTHWISE_CONV_2D of s8 with multiplier 1 and a window of three by three, sixteen channels at a time."""

    blocks: Array = array(
        DType.S32,
        "[blocks of sixteen channels][72, or 68 if outputs are rounded once]: what kibi_vector_taps_s8.h says of a block. "
        "Zeros are the constants of channels after "
        "the last one; where pixels are computed together, the block has the channels of all. Where the number of channels is no "
        "multiple of 4, the last block has the last sixteen channels, or, where there are fewer, the last four",
        is_packed=True,
    )
    together: int = number(
        DType.S16, "neighbouring pixels whose channels are those of one block: more than 1 only where the stride is 1"
    )
    rounds_once: int = number(
        DType.S16, "1: blocks have addends and factors; then the zero point is -128, and outputs are cut to int8"
    )
    contract = """
        require: 1 <= together
        require: 0 <= rounds_once <= 1
        require: (together - 1) * (stride - 1) <= 0
        require: (together - 1) * (together * channels - 16) <= 0
        require: (output_width - 1) * stride + 2 * dilation < 2**15
        array blocks: (72 - 4 * rounds_once) * (ceil(channels, 16) + min(1, channels % 4) * (1 - min(1, channels // 16)))
        output: output_width * channels
    """
    parts = MappingProxyType(
        {
            "KIBI_VECTOR_TAPS_ROUNDED_AWAY": ("output_zero_point <= activation_min",),
            "KIBI_VECTOR_TAPS_OF_CLAMPS": ("activation_min <= -128", "127 <= activation_max"),
            "KIBI_VECTOR_TAPS_ONCE": ("rounds_once <= 0",),
            "KIBI_VECTOR_TAPS_TWICE": ("1 <= rounds_once",),
        }
    )
