"""Parameters of the kernels of DEPTHWISE_CONV_2D."""

from types import MappingProxyType

from kibi.dtypes import Array, DType
from kibi.kernels.params.description import Params, array, number
from kibi.kernels.params.geometry import Narrow3x3Params

_BLOCKS = (
    "{0}[blocks of four {1}][{2}]; the header of {3} describes a block. Where the number of {1} is not a multiple of four, the "
    "last block has the last four, some of which the block before it has, too"
)
_OF_MULTIPLIER_1 = "the kernel for multiplier 1"
_COLUMN_WORDS = "8 + kernel_width * (kernel_rows // 2 * 4 + (kernel_rows - kernel_rows // 2 * 2) * 2)"


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


class _DepthwiseS16BlocksParams(Params):
    """DEPTHWISE_CONV_2D of s16 elements and s8 weights with any window, four channels at a time."""

    blocks: Array = array(DType.S32, _BLOCKS.format("", "channels", "words", "the kernel"), is_packed=True)
    input_width: int = number(DType.S16)
    channels: int = number(DType.S16, "of the input, at least 4")
    output_width: int = number(DType.S16)
    activation_min: int = number(DType.S16)
    activation_max: int = number(DType.S16)
    kernel_rows: int = number(DType.S16)
    kernel_width: int = number(DType.S16)
    stride: int = number(DType.S16, "across; the pointers to rows account for the stride and the dilation of rows")
    dilation: int = number(DType.S16, "across")
    pad: int = number(DType.S16, "columns of padding before the first input column")
    contract = """
        require: 1 <= min(input_width, min(output_width, min(kernel_rows, min(kernel_width, min(stride, dilation)))))
        require: 4 <= channels
        require: 0 <= pad
        input: kernel_rows x input_width * channels or null
    """


class DepthwiseS16BlocksParams(_DepthwiseS16BlocksParams, kernels=("kibi_depthwise_conv2d_s16_blocks",)):
    """DEPTHWISE_CONV_2D of s16 elements and s8 weights with multiplier 1 and any window, four channels at a time."""

    contract = """
        array blocks: ceil(channels, 4) * (8 + kernel_rows * kernel_width)
        output: output_width * channels
    """


class _DepthwiseS8Params(Params):
    """What both kernels of any window have that compute one channel after another."""

    filter: Array = array(DType.S8, "[kernel_rows][kernel_width][channels]")
    bias: Array = array(DType.S32, "[channels], which includes -input_zero_point * the sum of the channel's filter")
    multiplier: Array = array(DType.S32, "[channels], 0 … 2**31 - 1")
    shift: Array = array(DType.S8, "[channels], -31 … 30")
    input_width: int = number(DType.S32)
    channels: int = number(DType.S32, "of the input")
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
    """


class DepthwiseS8Params(_DepthwiseS8Params, kernels=("kibi_depthwise_conv2d_s8",)):
    """DEPTHWISE_CONV_2D of s8 with multiplier 1."""

    contract = "output: output_width * channels"


class _Depthwise3x3Params(Narrow3x3Params, pointers_first=True):
    """What kernels have for a window of three by three, four channels at a time."""

    blocks: Array = array(DType.S32, _BLOCKS.format("", "channels", "26", "the kernel"), is_packed=True)
    pad: int = number(
        DType.S16, "columns of padding before the first input column; the middle of every window is inside the input"
    )
    contract = """
        require: pad <= dilation
        require: (output_width - 1) * stride - pad + dilation < input_width
    """
    parts = MappingProxyType(
        {
            "KIBI_DEPTHWISE_3X3_OF_ODD_CHANNELS": ("channels == channels // 4 * 4",),
            "KIBI_DEPTHWISE_3X3_OF_CLAMPS": ("activation_min <= -128", "127 <= activation_max"),
        }
    )


class Depthwise3x3Params(
    _Depthwise3x3Params,
    struct="kibi_depthwise_conv2d_s8_3x3_params",
    kernels=("kibi_depthwise_conv2d_s8_3x3", "kibi_depthwise_conv2d_s8_3x3_relu"),
):
    """DEPTHWISE_CONV_2D of s8 with multiplier 1 and a window of three by three, four channels at a time."""

    contract = """
        array blocks: 26 * ceil(channels, 4)
        output: output_width * channels
    """


class _DepthwiseColumnsParams(Params):
    """What kernels have for any window, four channels at a time."""

    blocks: Array = array(DType.S32, _BLOCKS.format("", "channels", "words", "the kernel"), is_packed=True)
    input_width: int = number(DType.S16)
    channels: int = number(DType.S16, "of the input, at least 4")
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
        input: kernel_rows x input_width * channels
    """


class DepthwiseColumnsParams(_DepthwiseColumnsParams, kernels=("kibi_depthwise_conv2d_s8_columns",)):
    """DEPTHWISE_CONV_2D of s8 with multiplier 1 and any window, four channels at a time."""

    contract = f"""
        array blocks: ceil(channels, 4) * ({_COLUMN_WORDS})
        output: output_width * channels
    """


class _MultipliedParams(Params):
    """What the kernels for a multiplier above 1 have besides."""

    depth_multiplier: int = number(DType.S16, "output channels that read an input channel")
    pixels: int = number(DType.S16, "neighbouring pixels that are computed at once")
    contract = """
        require: 1 <= min(depth_multiplier, pixels)
        require: pixels <= output_width
        output: output_width * channels * depth_multiplier
        scratch: pixels * channels
    """


class DepthwiseMultipliedParams(
    _DepthwiseS8Params, _MultipliedParams, kernels=("kibi_depthwise_conv2d_s8_multiplied",)
):
    """DEPTHWISE_CONV_2D of s8 with a multiplier above 1, by the kernel for multiplier 1."""

    filter: Array = array(DType.S8, "[depth_multiplier][kernel_rows][kernel_width][channels]")
    bias: Array = array(
        DType.S32, "[depth_multiplier][channels], which includes -input_zero_point * the sum of the channel's filter"
    )
    multiplier: Array = array(DType.S32, "[depth_multiplier][channels], 0 … 2**31 - 1")
    shift: Array = array(DType.S8, "[depth_multiplier][channels], -31 … 30")
    depth_multiplier: int = number(DType.S32, "output channels that read an input channel")
    pixels: int = number(DType.S32, "neighbouring pixels that are computed at once")


class DepthwiseF32MultipliedParams(DepthwiseF32Params, kernels=("kibi_depthwise_conv2d_f32_multiplied",)):
    """DEPTHWISE_CONV_2D of f32 with a multiplier above 1, by the kernel for multiplier 1."""

    filter: Array = array(DType.F32, "[depth_multiplier][kernel_rows][kernel_width][input_channels]")
    bias: Array = array(DType.F32, "[depth_multiplier][input_channels]")
    pixels: int = number(DType.S32, "neighbouring pixels that are computed at once")
    contract = """
        require: 1 <= pixels
        require: pixels <= output_width
        scratch: 4 * pixels * input_channels aligned 4
    """


class DepthwiseS16BlocksMultipliedParams(
    _DepthwiseS16BlocksParams, kernels=("kibi_depthwise_conv2d_s16_blocks_multiplied",)
):
    """DEPTHWISE_CONV_2D of s16 with a multiplier above 1 and any window, four input channels at a time."""

    blocks: Array = array(
        DType.S32, _BLOCKS.format("[depth_multiplier]", "input channels", "words", _OF_MULTIPLIER_1), is_packed=True
    )
    depth_multiplier: int = number(DType.S16, "output channels that read an input channel")
    pixels: int = number(DType.S16, "neighbouring pixels that are computed at once")
    contract = """
        require: 1 <= min(depth_multiplier, pixels)
        require: pixels <= output_width
        array blocks: depth_multiplier * ceil(channels, 4) * (8 + kernel_rows * kernel_width)
        output: output_width * channels * depth_multiplier
        scratch: 2 * pixels * channels aligned 2
    """


class Depthwise3x3MultipliedParams(
    _Depthwise3x3Params, _MultipliedParams, kernels=("kibi_depthwise_conv2d_s8_3x3_multiplied",)
):
    """DEPTHWISE_CONV_2D of s8 with a multiplier above 1 and a window of three by three, four channels at a time."""

    blocks: Array = array(
        DType.S32, _BLOCKS.format("[depth_multiplier]", "input channels", "26", _OF_MULTIPLIER_1), is_packed=True
    )
    contract = "array blocks: depth_multiplier * 26 * ceil(channels, 4)"


class DepthwiseColumnsMultipliedParams(
    _DepthwiseColumnsParams, _MultipliedParams, kernels=("kibi_depthwise_conv2d_s8_columns_multiplied",)
):
    """DEPTHWISE_CONV_2D of s8 with a multiplier above 1 and any window, four channels at a time."""

    blocks: Array = array(
        DType.S32, _BLOCKS.format("[depth_multiplier]", "input channels", "words", _OF_MULTIPLIER_1), is_packed=True
    )
    contract = f"""
        require: (output_width - 1) * stride < 2**15
        array blocks: depth_multiplier * ceil(channels, 4) * ({_COLUMN_WORDS})
    """
