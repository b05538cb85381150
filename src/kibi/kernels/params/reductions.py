"""Parameters of kernels that reduce axes, an input row at a time."""

from kibi.dtypes import DType
from kibi.kernels.params.description import Params, number


class ReductionParams(
    Params,
    kernels=(
        "kibi_reduce_all_bool",
        "kibi_sum_f32",
    ),
):
    """A reduction without constants: four nested loops lead through an input row."""

    size1: int = number(DType.S32, "rows of one part of the batch")
    size2: int = number(DType.S32, "loops inside a row")
    size3: int = number(DType.S32)
    step0: int = number(
        DType.S32,
        "how far the output index moves from part to part of the batch; 0 along reduced axes",
    )
    step1: int = number(DType.S32, "from row to row")
    step2: int = number(DType.S32, "in each loop")
    step3: int = number(DType.S32)
    steps: int = number(DType.S32, "rows of the input")
    output_elements: int = number(DType.S32)


class ArgExtremeParams(
    Params,
    kernels=(
        "kibi_arg_extreme_f32",
        "kibi_arg_extreme_s8",
    ),
):
    """ARG_MAX and ARG_MIN."""

    outer: int = number(DType.S32, "elements before the axis")
    size: int = number(DType.S32, "elements along it")
    inner: int = number(DType.S32, "elements after it")
    row_elements: int = number(DType.S32)
    is_max: int = number(DType.S32, "1: the largest, 0: the smallest")


class CumsumParams(Params, kernels=("kibi_cumsum_f32",)):
    """CUMSUM of f32."""

    outer: int = number(DType.S32, "elements before the axis")
    size: int = number(DType.S32, "elements along it")
    inner: int = number(DType.S32, "elements after it")
    row_elements: int = number(DType.S32)
    is_exclusive: int = number(DType.S32, "1: an element is not part of its own sum")
    is_reversed: int = number(DType.S32, "1: sums begin at the axis's end")


class CumsumS8Params(Params, kernels=("kibi_cumsum_s8",)):
    """CUMSUM of s8."""

    outer: int = number(DType.S32, "elements before the axis")
    size: int = number(DType.S32, "elements along it")
    inner: int = number(DType.S32, "elements after it")
    row_elements: int = number(DType.S32)
    is_exclusive: int = number(DType.S32, "1: an element is not part of its own sum")
    is_reversed: int = number(DType.S32, "1: sums begin at the axis's end")
    zero_point: int = number(DType.S32, "of the input")
    output_multiplier: int = number(DType.S32, "0 … 2**31 - 1")
    output_shift: int = number(DType.S32, "-31 … 0")
    output_zero_point: int = number(DType.S32)


class MeanF32Params(ReductionParams, kernels=("kibi_mean_f32",)):
    """MEAN of f32."""

    count: float = number(DType.F32, "elements of each mean")


class MeanParams(
    ReductionParams,
    kernels=(
        "kibi_mean_s16",
        "kibi_mean_s8",
    ),
):
    """MEAN and SUM of s8 and s16."""

    start: int = number(DType.S32, "of each sum: -(input zero point * elements of each mean), in 32 bits that wrap")
    output_zero_point: int = number(DType.S32)
    multiplier: int = number(DType.S32, "0 … 2**31 - 1, with the division in it")
    shift: int = number(DType.S32, "-31 … 30")


class ReduceExtremeParams(
    ReductionParams,
    kernels=(
        "kibi_reduce_extreme_f32",
        "kibi_reduce_extreme_s8",
    ),
):
    """REDUCE_MAX and REDUCE_MIN."""

    is_max: int = number(DType.S32, "1: the largest, 0: the smallest")
