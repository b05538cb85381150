"""Parameters of the kernels of AVERAGE_POOL_2D, MAX_POOL_2D and L2_POOL_2D."""

from kibi.dtypes import DType
from kibi.kernels.params.description import Params, number


class PoolingParams(Params):
    """The shared parameters of poolings."""

    input_width: int = number(DType.S32)
    channels: int = number(DType.S32)
    output_width: int = number(DType.S32)


class _WindowsParams(PoolingParams):
    """One output row from all input rows of its windows. `_ColumnsParams` comes after it."""

    kernel_rows: int = number(DType.S32, "rows of a window")
    contract = """
        require: kernel_rows * kernel_width <= 65535
        input: kernel_rows x input_width * channels or some null
        output: output_width * channels
    """


class _StepsParams(PoolingParams):
    """A single output row: one input row at each step. `_ColumnsParams` comes after it."""

    steps: int = number(DType.S32, "input rows that the windows cover, without padding")
    contract = """
        require: steps * kernel_width <= 65535
        require: node_steps == steps
        input: 1 x input_width * channels
        output: output_width * channels
    """


class _ColumnsParams(Params):
    """The columns of windows."""

    kernel_width: int = number(DType.S32, "columns of a window, which covers at most 65535 elements")
    stride: int = number(DType.S32, "columns from window to window; the rows' stride is in the pointers")
    pad: int = number(DType.S32, "columns of padding before the first column")
    contract = """
        require: 1 <= input_width
        require: 1 <= channels
        require: 1 <= output_width
        require: 1 <= kernel_width
        require: 1 <= stride
        require: 0 <= pad < kernel_width
        require: (output_width - 1) * stride - pad < input_width
    """


class PoolF32Params(
    _WindowsParams,
    _ColumnsParams,
    struct="kibi_pool_f32_params",
    kernels=(
        "kibi_average_pool2d_f32",
        "kibi_l2_pool2d_f32",
        "kibi_max_pool2d_f32",
    ),
):
    """Pooling of f32: one output row from all input rows of its windows."""

    activation_min: float = number(DType.F32)
    activation_max: float = number(DType.F32)


class PoolF32AccumulateParams(
    _StepsParams,
    _ColumnsParams,
    struct="kibi_pool_f32_accumulate_params",
    kernels=(
        "kibi_average_pool2d_f32_accumulate",
        "kibi_max_pool2d_f32_accumulate",
    ),
):
    """Pooling of f32 to a single output row: one input row at each step."""

    activation_min: float = number(DType.F32)
    activation_max: float = number(DType.F32)
    contract = "scratch: 4 * output_width * channels aligned 4"


class PoolParams(
    _WindowsParams,
    _ColumnsParams,
    struct="kibi_pool_params",
    kernels=(
        "kibi_average_pool2d_s16",
        "kibi_average_pool2d_s8",
        "kibi_max_pool2d_s16",
        "kibi_max_pool2d_s8",
    ),
):
    """Pooling of s8 and s16: one output row from all input rows of its windows."""

    activation_min: int = number(DType.S32)
    activation_max: int = number(DType.S32)


class PoolAccumulateParams(
    _StepsParams,
    _ColumnsParams,
    struct="kibi_pool_accumulate_params",
    kernels=(
        "kibi_average_pool2d_s16_accumulate",
        "kibi_average_pool2d_s8_accumulate",
        "kibi_average_pool2d_s8_accumulate_small",
        "kibi_max_pool2d_s16_accumulate",
        "kibi_max_pool2d_s8_accumulate",
    ),
):
    """Pooling of s8 and s16 to a single output row: one input row at each step."""

    activation_min: int = number(DType.S32)
    activation_max: int = number(DType.S32)
    contract = """
        [small] require: steps * kernel_width <= 256
        [average !small] scratch: 4 * output_width * channels aligned 4
        [small] scratch: 2 * output_width * channels aligned 2
        [max] scratch: output_bytes * output_width * channels aligned output_bytes
    """
