"""Parameters of kernels that compute each output element from one element of each of two inputs, or of several."""

from kibi.dtypes import Array, DType
from kibi.kernels.params.description import Params, array, number


class PairParams(
    Params,
    kernels=(
        "kibi_floor_div_f32",
        "kibi_floor_div_s32",
        "kibi_floor_mod_f32",
        "kibi_floor_mod_s32",
        "kibi_logical_and_bool",
        "kibi_logical_or_bool",
        "kibi_maximum_f32",
        "kibi_maximum_s16",
        "kibi_maximum_s32",
        "kibi_maximum_s64",
        "kibi_maximum_s8",
        "kibi_minimum_f32",
        "kibi_minimum_s16",
        "kibi_minimum_s32",
        "kibi_minimum_s64",
        "kibi_minimum_s8",
        "kibi_prelu_f32",
        "kibi_squared_difference_f32",
        "kibi_squared_difference_s32",
    ),
):
    """Two inputs that broadcast, without further parameters: how their pieces meet an output row."""

    pieces: int = number(DType.S32, "parts of an output row: 1, or its columns")
    elements: int = number(DType.S32, "of a piece of the output")
    rows1: int = number(DType.S32, "pointers of input 1: 1, or one for each piece")
    row_step1: int = number(DType.S32, "pointers from one piece to the next: 0 or 1")
    piece_step1: int = number(DType.S32, "elements from one piece to the next")
    step1: int = number(DType.S32, "elements from one element to the next: 0 or 1")
    row_step2: int = number(DType.S32)
    piece_step2: int = number(DType.S32)
    step2: int = number(DType.S32)


class AddLanesParams(Params, kernels=("kibi_add_s8_lanes",)):
    """ADD of s8 rows of one shape, sixteen elements side by side."""

    elements: int = number(DType.S32, "of the output, and of each input")
    activation_min: int = number(DType.S32)
    activation_max: int = number(DType.S32)
    zero_point1: int = number(DType.S32)
    multiplier1: int = number(DType.S32, "0 … 2**31 - 1, as all multipliers here")
    shift1: int = number(DType.S32, "-31 … 0, as all shifts here")
    zero_point2: int = number(DType.S32)
    multiplier2: int = number(DType.S32)
    shift2: int = number(DType.S32)
    output_zero_point: int = number(DType.S32)
    output_multiplier: int = number(DType.S32)
    output_shift: int = number(DType.S32)


class ClampedPairF32Params(
    PairParams,
    kernels=(
        "kibi_add_f32",
        "kibi_div_f32",
        "kibi_mul_f32",
        "kibi_sub_f32",
    ),
):
    """Arithmetic on two f32 inputs that broadcast, with a fused activation."""

    activation_min: float = number(DType.F32)
    activation_max: float = number(DType.F32, "the upper bound wins")


class AddNF32Params(Params, kernels=("kibi_add_n_f32",)):
    """ADD_N of f32."""

    inputs: int = number(DType.S32)
    elements: int = number(DType.S32, "of a row")


class AddNS8Params(Params, kernels=("kibi_add_n_s8",)):
    """ADD_N of s8."""

    inputs: int = number(DType.S32, "1 to 32")
    elements: int = number(DType.S32, "of a row")
    zero_point: int = number(DType.S32, "of the inputs")
    output_multiplier: int = number(DType.S32, "0 … 2**31 - 1")
    output_shift: int = number(DType.S32, "-31 … 0")
    output_zero_point: int = number(DType.S32)


class ScaledSumParams(
    PairParams,
    kernels=(
        "kibi_add_s16",
        "kibi_add_s8",
        "kibi_sub_s16",
        "kibi_sub_s8",
    ),
):
    """ADD and SUB of quantized inputs that broadcast: each input is scaled to a common scale, the sum to the output's."""

    activation_min: int = number(DType.S32)
    activation_max: int = number(DType.S32)
    zero_point1: int = number(DType.S32)
    multiplier1: int = number(DType.S32, "0 … 2**31 - 1, as all multipliers here")
    shift1: int = number(DType.S32, "-31 … 0, as all shifts here")
    zero_point2: int = number(DType.S32)
    multiplier2: int = number(DType.S32)
    shift2: int = number(DType.S32)
    output_zero_point: int = number(DType.S32)
    output_multiplier: int = number(DType.S32)
    output_shift: int = number(DType.S32)


class ClampedPairS32Params(
    PairParams,
    kernels=(
        "kibi_add_s32",
        "kibi_div_s32",
        "kibi_mul_s32",
        "kibi_sub_s32",
    ),
):
    """Arithmetic on two s32 inputs that broadcast, with a fused activation; it wraps."""

    activation_min: int = number(DType.S32)
    activation_max: int = number(DType.S32)


class AddLinearParams(Params, kernels=("kibi_add_s8_linear",)):
    """ADD of s8 rows of one shape as one linear function, rounded once: rule N22."""

    factor1: int = number(DType.S32)
    factor2: int = number(DType.S32)
    start: int = number(DType.S32)
    elements: int = number(DType.S32, "at least 1")


class CompareParams(
    PairParams,
    kernels=(
        "kibi_compare_bool",
        "kibi_compare_f32",
        "kibi_compare_s32",
        "kibi_compare_s64",
    ),
):
    """Comparisons of inputs that broadcast and have no scale."""

    relation: int = number(DType.S32, "what makes an output 1: 1 less, 2 equal, 4 greater, 8 none of these, added up")


class CompareS8Params(PairParams, kernels=("kibi_compare_s8",)):
    """Comparisons of s8 inputs that broadcast: each is scaled to a common scale."""

    relation: int = number(DType.S32, "what makes an output 1: 1 less, 2 equal, 4 greater, 8 none of these, added up")
    zero_point1: int = number(DType.S32)
    multiplier1: int = number(DType.S32, "0 … 2**31 - 1")
    shift1: int = number(DType.S32, "-31 … 0")
    zero_point2: int = number(DType.S32)
    multiplier2: int = number(DType.S32)
    shift2: int = number(DType.S32)


class DivS8Params(PairParams, kernels=("kibi_div_s8",)):
    """DIV of s8 inputs that broadcast."""

    activation_min: int = number(DType.S32)
    activation_max: int = number(DType.S32)
    zero_point1: int = number(DType.S32)
    zero_point2: int = number(DType.S32)
    output_zero_point: int = number(DType.S32)
    output_multiplier: int = number(DType.S32, "0 … 2**31 - 1")
    output_shift: int = number(DType.S32, "-31 … 30")
    reciprocals: Array = array(
        DType.S32,
        "[256], of 0 … 255, each with its leading bit at 2**31; that of 0 is not used",
    )


class MulS16Params(PairParams, kernels=("kibi_mul_s16",)):
    """MUL of s16 inputs that broadcast; zero points are 0."""

    activation_min: int = number(DType.S32)
    activation_max: int = number(DType.S32)
    output_multiplier: int = number(DType.S32, "0 … 2**31 - 1")
    output_shift: int = number(DType.S32, "-31 … 30; negative is to the right")


class MulS8Params(PairParams, kernels=("kibi_mul_s8",)):
    """MUL of s8 inputs that broadcast."""

    activation_min: int = number(DType.S32)
    activation_max: int = number(DType.S32)
    zero_point1: int = number(DType.S32)
    zero_point2: int = number(DType.S32)
    output_zero_point: int = number(DType.S32)
    output_multiplier: int = number(DType.S32, "0 … 2**31 - 1")
    output_shift: int = number(DType.S32, "-31 … 30")


class PreluParams(
    PairParams,
    kernels=(
        "kibi_prelu_s16",
        "kibi_prelu_s8",
    ),
):
    """PRELU of quantized inputs: slopes broadcast."""

    zero_point1: int = number(DType.S32)
    zero_point2: int = number(DType.S32)
    multiplier1: int = number(DType.S32, "of inputs that are not negative: 0 … 2**31 - 1")
    shift1: int = number(DType.S32, "-31 … 30; negative is to the right")
    multiplier2: int = number(DType.S32, "of products of input and slope")
    shift2: int = number(DType.S32)
    output_zero_point: int = number(DType.S32)


class ScaledDifferenceParams(
    PairParams,
    kernels=(
        "kibi_squared_difference_s16",
        "kibi_squared_difference_s8",
    ),
):
    """SQUARED_DIFFERENCE of quantized inputs that broadcast."""

    zero_point1: int = number(DType.S32)
    multiplier1: int = number(DType.S32, "0 … 2**31 - 1, as all multipliers here")
    shift1: int = number(DType.S32, "-31 … 0")
    zero_point2: int = number(DType.S32)
    multiplier2: int = number(DType.S32)
    shift2: int = number(DType.S32)
    output_zero_point: int = number(DType.S32)
    output_multiplier: int = number(DType.S32)
    output_shift: int = number(DType.S32, "-31 … 30")
