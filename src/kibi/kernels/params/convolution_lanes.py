"""Parameters of the kernels of CONV_2D and DEPTHWISE_CONV_2D that compute sixteen channels at once in vectors of this machine."""

from kibi.dtypes import Array, DType
from kibi.kernels.params.description import Params, array, number


class _LanesParams(Params):
    """The windows of a row."""

    input_width: int = number(DType.S32)
    output_width: int = number(DType.S32)
    kernel_rows: int = number(DType.S32)
    kernel_width: int = number(DType.S32)
    stride: int = number(DType.S32, "across; the pointers to rows account for the stride and the dilation of rows")
    dilation: int = number(DType.S32, "across")
    pad: int = number(DType.S32, "columns of padding before the first input column")
    contract = """
        require: 1 <= min(input_width, min(output_width, min(kernel_rows, min(kernel_width, min(stride, dilation)))))
        require: 0 <= pad < 2**20
        require: (output_width - 1) * stride + (kernel_width - 1) * dilation < 2**30
        require: dilation <= 32768
    """


class _LanesS8Params(_LanesParams):
    """What a kernel of s8 has besides: how sums are scaled."""

    input_zero_point: int = number(DType.S32, "-128 … 127")
    output_zero_point: int = number(DType.S32)
    activation_min: int = number(DType.S32)
    activation_max: int = number(DType.S32)
    bias: Array = array(
        DType.S32, "[channels], which includes -(input_zero_point + 128) * the sum of the channel's filter"
    )
    multiplier: Array = array(DType.S32, "[channels], 0 … 2**31 - 1")
    left: Array = array(DType.S32, "[channels], 0 … 30: the sum is shifted to the left")
    right: Array = array(
        DType.S32, "[channels], 0 … 31: the product with the multiplier is shifted to the right, and rounded"
    )
    half: Array = array(
        DType.F32,
        "[channels], 0 … 1: added to the exact product of a sum and multiplier * 2**(-31 - right), away from zero, it leaves "
        "the output and a fraction; or 0 for all channels of a block: then both roundings are needed",
    )


class _LanesF32Params(_LanesParams):
    """What a kernel of f32 has besides."""

    activation_min: float = number(DType.F32)
    activation_max: float = number(DType.F32)
    bias: Array = array(DType.F32, "[channels]")


class Conv2DLanesParams(_LanesS8Params, kernels=("kibi_conv2d_s8_lanes",)):
    """CONV_2D of s8, or FULLY_CONNECTED as one, sixteen channels at once in vectors of this machine."""

    filter: Array = array(DType.S8, "[channels / 16][runs][elements of a run / 4][16][4]")
    input_channels: int = number(DType.S32)
    output_channels: int = number(DType.S32)
    contract = """
        require: 1 <= min(input_channels, output_channels)
        require: kernel_rows * ((kernel_width - 1) * dilation + 1) * input_channels <= 32768
        array filter: ceil(output_channels, 16) * 16 * kernel_rows * ( \
            1 // dilation * ceil(kernel_width * input_channels, 4) * 4 \
            + min(1, dilation - 1) * kernel_width * ceil(input_channels, 4) * 4)
        array bias: ceil(output_channels, 16) * 16
        array multiplier: ceil(output_channels, 16) * 16 in 0 … 2**31 - 1
        array left: ceil(output_channels, 16) * 16 in 0 … 30
        array right: ceil(output_channels, 16) * 16 in 0 … 31
        array half: ceil(output_channels, 16) * 16
        input: kernel_rows x input_width * input_channels
        output: output_width * output_channels
    """


class DepthwiseLanesParams(_LanesS8Params, kernels=("kibi_depthwise_conv2d_s8_lanes",)):
    """DEPTHWISE_CONV_2D of s8 with multiplier 1, sixteen channels at once in vectors of this machine."""

    filter: Array = array(DType.S8, "[channels / 16][kernel_rows / 4][kernel_width][16][4]")
    channels: int = number(DType.S32)
    contract = """
        require: 1 <= channels
        require: ceil(kernel_rows, 4) * 64 * ((kernel_width - 1) * dilation + 1) <= 32768
        array filter: ceil(channels, 16) * 16 * kernel_width * ceil(kernel_rows, 4) * 4
        array bias: ceil(channels, 16) * 16
        array multiplier: ceil(channels, 16) * 16 in 0 … 2**31 - 1
        array left: ceil(channels, 16) * 16 in 0 … 30
        array right: ceil(channels, 16) * 16 in 0 … 31
        array half: ceil(channels, 16) * 16
        input: kernel_rows x input_width * channels
        output: output_width * channels
    """


class Conv2DF32LanesParams(_LanesF32Params, kernels=("kibi_conv2d_f32_lanes",)):
    """CONV_2D of f32, or FULLY_CONNECTED as one, sixteen channels at once in vectors of this machine."""

    filter: Array = array(DType.F32, "[channels / 16][kernel_rows][kernel_width][input_channels][16], all finite")
    order: Array | None = array(
        DType.S32,
        "[output_channels]: the output's channel of each packed one; null where each is its own",
        default=None,
    )
    quiet: Array | None = array(
        DType.F32, "[output_channels]: what quiet channels are where the input is small; null without any", default=None
    )
    input_channels: int = number(DType.S32)
    output_channels: int = number(DType.S32)
    loud_channels: int = number(
        DType.S32, "packed channels before those that are quiet, a multiple of 16; 0 where none is quiet", default=0
    )
    limit: float = number(
        DType.F32, "of the input's elements in magnitude, up to which quiet ones are constants", default=0.0
    )
    contract = """
        require: 1 <= min(input_channels, output_channels)
        require: 0 <= loud_channels
        require: loud_channels <= output_channels
        array order: min(1, loud_channels) * output_channels in 0 … 2**31 - 1
        array quiet: min(1, loud_channels) * output_channels
        scratch: min(1, loud_channels) * output_width * output_channels * 4
        require: kernel_rows * ((kernel_width - 1) * dilation + 1) * input_channels <= 16384
        array filter: ceil(output_channels, 16) * 16 * kernel_rows * kernel_width * input_channels
        array bias: ceil(output_channels, 16) * 16
        input: kernel_rows x input_width * input_channels or null
        output: output_width * output_channels
    """


class DepthwiseF32LanesParams(_LanesF32Params, kernels=("kibi_depthwise_conv2d_f32_lanes",)):
    """DEPTHWISE_CONV_2D of f32 with multiplier 1, sixteen channels at once in vectors of this machine."""

    filter: Array = array(DType.F32, "[channels / 16][kernel_rows][kernel_width][16], all finite")
    channels: int = number(DType.S32)
    contract = """
        require: 1 <= channels
        require: kernel_rows * ((kernel_width - 1) * dilation + 1) * channels <= 16384
        array filter: ceil(channels, 16) * 16 * kernel_rows * kernel_width
        array bias: ceil(channels, 16) * 16
        input: kernel_rows x input_width * channels or null
        output: output_width * channels
    """
