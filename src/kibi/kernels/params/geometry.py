"""The geometry that kernels of several families share: windows of a row, and vectors of a step."""

from kibi.dtypes import DType
from kibi.kernels.params.description import Params, number


class NarrowWindowsParams(Params):
    """The windows of a row of CONV_2D, in numbers of 16 bits, and where its outputs are cut."""

    input_width: int = number(DType.S16)
    input_channels: int = number(DType.S16)
    output_width: int = number(DType.S16)
    output_channels: int = number(DType.S16)
    output_zero_point: int = number(DType.S16)
    activation_min: int = number(DType.S16)
    activation_max: int = number(DType.S16)
    kernel_rows: int = number(DType.S16)
    kernel_width: int = number(DType.S16)
    stride: int = number(DType.S16, "across; the pointers to rows account for the stride of rows")
    dilation: int = number(DType.S16, "across")
    pad: int = number(DType.S16, "columns of padding before the first input column")
    contract = """
        require: 1 <= min(input_width, min(input_channels, min(output_width, min(output_channels, min(kernel_rows, \
            min(kernel_width, min(stride, dilation)))))))
        require: 0 <= pad
        output: output_width * output_channels
    """


class Narrow3x3Params(Params):
    """The windows of three by three of a row of DEPTHWISE_CONV_2D of s8 with multiplier 1, in numbers of 16 bits."""

    input_width: int = number(DType.S16)
    channels: int = number(DType.S16, "of the input, at least 4")
    input_zero_point: int = number(DType.S16, "-128 … 127")
    output_width: int = number(DType.S16)
    output_zero_point: int = number(DType.S16, "-128 … 127")
    activation_min: int = number(DType.S16, "-128 … 127")
    activation_max: int = number(DType.S16, "-128 … 127")
    stride: int = number(DType.S16, "across; the pointers to rows account for the stride of rows")
    dilation: int = number(DType.S16, "across")
    pad: int = number(DType.S16, "columns of padding before the first input column")
    contract = """
        require: 1 <= min(input_width, min(output_width, min(stride, dilation)))
        require: 4 <= channels
        require: 0 <= pad
        input: 3 x input_width * channels
    """


class VectorsParams(Params):
    """The vectors that FULLY_CONNECTED of s8 multiplies with its filter in a step, and where its outputs are cut."""

    piece: int = number(DType.S32, "neighbouring elements of an input vector that are read at once")
    pieces: int = number(DType.S32, "pieces of a vector")
    vectors: int = number(DType.S32, "input vectors, and output vectors, of a step")
    vectors_per_row: int = number(DType.S32, "more than 1 only where pieces is 1; divides vectors")
    output_channels: int = number(DType.S32)
    output_zero_point: int = number(DType.S32)
    activation_min: int = number(DType.S32)
    activation_max: int = number(DType.S32)
    contract = """
        require: 1 <= min(piece, min(pieces, min(output_channels, min(vectors, vectors_per_row))))
        require: (vectors_per_row - 1) * (pieces - 1) <= 0
        require: vectors == vectors // vectors_per_row * vectors_per_row
        input: vectors // vectors_per_row * pieces x vectors_per_row * piece
        output: vectors * output_channels
    """
