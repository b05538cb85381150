"""Parameters of the kernels that reduce elements along axes, or add them up along an axis."""

from kibi.dtypes import DType
from kibi.kernels.params.description import Params, number


class ReductionParams(
    Params,
    struct="kibi_reduction_params",
    kernels=(
        "kibi_reduce_all_bool",
        "kibi_sum_f32",
    ),
):
    """The ways of the input rows' elements to their output elements: all that REDUCE_ALL, and SUM of f32, need.

    The kernels of other reductions need more: their classes derive from this one.
    """

    size1: int = number(DType.S32, "rows of one part of the batch")
    size2: int = number(DType.S32, "turns of the outer loop inside a row")
    size3: int = number(DType.S32, "turns of the inner loop inside a row")
    step0: int = number(
        DType.S32,
        "how far the output index moves from part to part of the batch: 0 along reduced axes",
    )
    step1: int = number(DType.S32, "the same from row to row")
    step2: int = number(DType.S32, "the same in each turn of the outer loop")
    step3: int = number(DType.S32, "the same in each turn of the inner loop")
    steps: int = number(DType.S32, "rows of the input")
    output_elements: int = number(DType.S32)
    contract = """
        require: 1 <= size1
        require: 1 <= size2
        require: 1 <= size3
        require: 0 <= step0
        require: 0 <= step1
        require: 0 <= step2
        require: 0 <= step3
        require: node_steps == steps
        require: (steps - 1) // size1 * step0 + (size1 - 1) * step1 + (size2 - 1) * step2 + (size3 - 1) * step3 < \
            output_elements
        input: 1 x size2 * size3
        output: output_elements
        scratch: output_elements * output_bytes aligned output_bytes
    """


class AxisParams(Params):
    """The axis along which elements are searched or added up: a step works on pieces [outer][size][inner]."""

    outer: int = number(DType.S32, "product of the sizes before the axis, in one step")
    size: int = number(DType.S32, "elements along the axis")
    inner: int = number(DType.S32, "product of the sizes after the axis")
    row_elements: int = number(DType.S32, "elements at each pointer")
    contract = """
        require: 1 <= min(outer, min(size, min(inner, row_elements)))
        require: outer * size * inner <= pointers * row_elements
        input: pointers x row_elements
    """


class ArgExtremeParams(
    AxisParams,
    struct="kibi_arg_extreme_params",
    kernels=(
        "kibi_arg_extreme_f32",
        "kibi_arg_extreme_s8",
    ),
):
    """ARG_MAX and ARG_MIN: the place of the first extreme along the axis."""

    is_max: int = number(DType.S32, "1: the largest, 0: the smallest")
    contract = """
        output: outer * inner
    """


class CumsumParams(AxisParams, kernels=("kibi_cumsum_f32",)):
    """CUMSUM of f32: for each element the sum of all elements up to it along the axis."""

    is_exclusive: int = number(DType.S32, "1: an element is not part of its own sum")
    is_reversed: int = number(DType.S32, "1: sums begin at the axis's end")
    contract = """
        output: outer * size * inner
    """


class CumsumS8Params(CumsumParams, kernels=("kibi_cumsum_s8",)):
    """CUMSUM of s8: the same sums, brought to the output's scale."""

    zero_point: int = number(DType.S32, "of the input")
    output_multiplier: int = number(DType.S32, "0 … 2**31 - 1")
    output_shift: int = number(DType.S32, "-31 … 0")
    output_zero_point: int = number(DType.S32)
    contract = """
        require: -128 <= zero_point <= 127
    """


class MeanF32Params(ReductionParams, kernels=("kibi_mean_f32",)):
    """MEAN of f32: sums, divided by the number of their elements."""

    count: float = number(DType.F32, "elements of each mean")


class MeanParams(
    ReductionParams,
    struct="kibi_mean_params",
    kernels=(
        "kibi_mean_s16",
        "kibi_mean_s8",
    ),
):
    """MEAN and SUM of s8 and s16: sums, brought to the output's scale by a factor that includes the division of a mean."""

    start: int = number(DType.S32, "of each sum: -(input zero point * elements of each mean), in 32 bits that wrap")
    output_zero_point: int = number(DType.S32)
    multiplier: int = number(DType.S32, "0 … 2**31 - 1; includes the division of a mean")
    shift: int = number(DType.S32, "-31 … 30")
    contract = """
        scratch: 4 * output_elements aligned 4
    """


class ReduceExtremeParams(
    ReductionParams,
    struct="kibi_reduce_extreme_params",
    kernels=(
        "kibi_reduce_extreme_f32",
        "kibi_reduce_extreme_s8",
    ),
):
    """REDUCE_MAX and REDUCE_MIN."""

    is_max: int = number(DType.S32, "1: the largest, 0: the smallest")
