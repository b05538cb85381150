"""Parameters of the kernels of TRANSPOSE_CONV."""

from kibi.dtypes import Array, DType
from kibi.kernels.params.description import Params, array, number


class _WindowsParams(Params):
    """The windows that the pixels of input rows have in output rows."""

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


class TransposeConvF32Params(_WindowsParams, kernels=("kibi_transpose_conv_f32",), pointers_first=True):
    """TRANSPOSE_CONV of f32."""

    filter: Array = array(DType.F32, "[output_channels][kernel_rows][kernel_width][input_channels]")
    bias: Array = array(DType.F32, "[output_channels]")
    activation_min: float = number(DType.F32)
    activation_max: float = number(DType.F32)


class TransposeConvS16Params(_WindowsParams, kernels=("kibi_transpose_conv_s16",), pointers_first=True):
    """TRANSPOSE_CONV of s16 elements and s8 weights."""

    filter: Array = array(DType.S8, "[output_channels][kernel_rows][kernel_width][input_channels]")
    bias: Array = array(DType.S64, "[output_channels], below 2**46 in magnitude")
    multiplier: Array = array(DType.S32, "[output_channels], 0 … 2**31 - 1")
    shift: Array = array(DType.S8, "[output_channels], -31 … 7")
    activation_min: int = number(DType.S32)
    activation_max: int = number(DType.S32)


class TransposeConvS8Params(_WindowsParams, kernels=("kibi_transpose_conv_s8",), pointers_first=True):
    """TRANSPOSE_CONV of s8."""

    filter: Array = array(DType.S8, "[output_channels][kernel_rows][kernel_width][input_channels]")
    bias: Array = array(DType.S32, "[output_channels]")
    multiplier: Array = array(DType.S32, "[output_channels], 0 … 2**31 - 1")
    shift: Array = array(DType.S8, "[output_channels], -31 … 30")
    input_zero_point: int = number(DType.S32)
    output_zero_point: int = number(DType.S32)
    activation_min: int = number(DType.S32)
    activation_max: int = number(DType.S32)
    contract = "require: -128 <= input_zero_point <= 127"
