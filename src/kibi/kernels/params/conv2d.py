"""Parameters of the kernels of CONV_2D whose filters are as in the model."""

from kibi.dtypes import Array, DType
from kibi.kernels.params.description import Params, array, number


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
