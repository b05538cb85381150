"""Parameters of kernels that pool windows of an image."""

from kibi.dtypes import DType
from kibi.kernels.params.description import Params, number


class PoolF32Params(
    Params,
    kernels=(
        "kibi_average_pool2d_f32",
        "kibi_l2_pool2d_f32",
        "kibi_max_pool2d_f32",
    ),
):
    """Pooling of f32, an output row at a time."""

    input_width: int = number(DType.S32)
    channels: int = number(DType.S32)
    output_width: int = number(DType.S32)
    kernel_rows: int = number(DType.S32)
    kernel_width: int = number(DType.S32)
    stride: int = number(DType.S32, "across; the rows' stride is in the pointers")
    pad: int = number(DType.S32, "before the first column")
    activation_min: float = number(DType.F32)
    activation_max: float = number(DType.F32)


class PoolF32AccumulateParams(
    Params,
    kernels=(
        "kibi_average_pool2d_f32_accumulate",
        "kibi_max_pool2d_f32_accumulate",
    ),
):
    """Pooling of f32 to one output row, an input row at a time."""

    input_width: int = number(DType.S32)
    channels: int = number(DType.S32)
    output_width: int = number(DType.S32)
    steps: int = number(DType.S32, "input rows under the windows, padding not counted")
    kernel_width: int = number(DType.S32)
    stride: int = number(DType.S32, "across")
    pad: int = number(DType.S32, "before the first column")
    activation_min: float = number(DType.F32)
    activation_max: float = number(DType.F32)


class PoolParams(
    Params,
    kernels=(
        "kibi_average_pool2d_s16",
        "kibi_average_pool2d_s8",
        "kibi_max_pool2d_s16",
        "kibi_max_pool2d_s8",
    ),
):
    """Pooling of s8 and s16, an output row at a time."""

    input_width: int = number(DType.S32)
    channels: int = number(DType.S32)
    output_width: int = number(DType.S32)
    kernel_rows: int = number(DType.S32)
    kernel_width: int = number(DType.S32, "at most 65535 elements under a window")
    stride: int = number(DType.S32, "across; the rows' stride is in the pointers")
    pad: int = number(DType.S32, "before the first column")
    activation_min: int = number(DType.S32)
    activation_max: int = number(DType.S32)


class PoolAccumulateParams(
    Params,
    kernels=(
        "kibi_average_pool2d_s16_accumulate",
        "kibi_average_pool2d_s8_accumulate",
        "kibi_max_pool2d_s16_accumulate",
        "kibi_max_pool2d_s8_accumulate",
    ),
):
    """Pooling of s8 and s16 to one output row, an input row at a time."""

    input_width: int = number(DType.S32)
    channels: int = number(DType.S32)
    output_width: int = number(DType.S32)
    steps: int = number(DType.S32, "input rows under the windows, padding not counted")
    kernel_width: int = number(DType.S32, "at most 65535 elements under a window")
    stride: int = number(DType.S32, "across")
    pad: int = number(DType.S32, "before the first column")
    activation_min: int = number(DType.S32)
    activation_max: int = number(DType.S32)
