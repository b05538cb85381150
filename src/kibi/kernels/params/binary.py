"""Parameters of the kernels that compute each output element from one element of each of several inputs."""

from kibi.dtypes import Array, DType
from kibi.kernels.params.description import Params, array, number


class PairParams(
    Params,
    struct="kibi_pair_params",
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
    """The broadcast of two inputs to an output row: all that FLOOR_DIV, MAXIMUM, LOGICAL_AND and others need.

    The kernels of other operators need more: their classes derive from this one.
    """

    pieces: int = number(DType.S32, "parts of an output row: 1, or its columns")
    elements: int = number(DType.S32, "of a piece of the output")
    rows1: int = number(DType.S32, "pointers of input 1: 1, or one for each piece")
    row_step1: int = number(DType.S32, "of input 1: pointers from one piece to the next, 0 or 1")
    piece_step1: int = number(DType.S32, "elements from one piece to the next")
    step1: int = number(DType.S32, "elements from one element to the next, 0 or 1")
    row_step2: int = number(DType.S32, "the same of input 2")
    piece_step2: int = number(DType.S32)
    step2: int = number(DType.S32)
    contract = """
        require: 1 <= pieces
        require: 1 <= elements
        require: 0 <= row_step1 <= 1
        require: 0 <= row_step2 <= 1
        require: 0 <= piece_step1
        require: 0 <= piece_step2
        require: 0 <= step1 <= 1
        require: 0 <= step2 <= 1
        require: (pieces - 1) * row_step1 < rows1
        require: (pieces - 1) * row_step2 < pointers - rows1
        [!prelu_s16] input: rows1 x (pieces - 1) * piece_step1 + (elements - 1) * step1 + 1
        [prelu_s16] input: rows1 x (pieces - 1) * piece_step1 + (elements - 1) * step1 + 1 of_bytes 2
        input: pointers - rows1 x (pieces - 1) * piece_step2 + (elements - 1) * step2 + 1
        [!prelu_s16] output: pieces * elements
        [prelu_s16] output: pieces * elements of_bytes 2
    """


class AddLanesParams(Params, kernels=("kibi_add_s8_lanes",)):
    """ADD of two rows of s8 of the same shape, sixteen elements at a time."""

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
    contract = """
        require: 1 <= elements
        require: 128 * output_bytes - 256 <= zero_point1 <= 127 * (2 - output_bytes)
        require: 128 * output_bytes - 256 <= zero_point2 <= 127 * (2 - output_bytes)
        require: 0 <= multiplier2
        require: -31 <= shift2 <= 0
        require: 0 <= output_multiplier
        require: -31 <= output_shift <= 0
        require: -128 <= output_zero_point <= 127
        input: 1 x elements
        input: 1 x elements
        output: elements
    """


class ClampedPairParams(
    PairParams,
    struct="kibi_clamped_pair_params",
    kernels=(
        "kibi_add_s32",
        "kibi_div_s32",
        "kibi_mul_s32",
        "kibi_sub_s32",
    ),
):
    """ADD, DIV, MUL and SUB of s32: results are cut to the activation's range.

    The classes of quantized types derive from this one.
    """

    activation_min: int = number(DType.S32)
    activation_max: int = number(DType.S32)


class AddF32LanesParams(Params, kernels=("kibi_add_f32_lanes",)):
    """ADD of two rows of f32 of the same shape, sixteen elements at a time."""

    elements: int = number(DType.S32, "of the output, and of each input")
    activation_min: float = number(DType.F32)
    activation_max: float = number(DType.F32, "applied after the minimum")
    contract = """
        require: 1 <= elements
        input: 1 x elements
        input: 1 x elements
        output: elements
    """


class ClampedPairF32Params(
    PairParams,
    struct="kibi_clamped_pair_f32_params",
    kernels=(
        "kibi_add_f32",
        "kibi_div_f32",
        "kibi_mul_f32",
        "kibi_sub_f32",
    ),
):
    """ADD, DIV, MUL and SUB of f32: results are cut to the activation's range."""

    activation_min: float = number(DType.F32)
    activation_max: float = number(DType.F32, "applied after the minimum")


class AddNF32Params(Params, kernels=("kibi_add_n_f32",)):
    """ADD_N of f32: rows of several inputs, added up element by element."""

    inputs: int = number(DType.S32)
    elements: int = number(DType.S32, "of a row")
    contract = """
        require: 1 <= inputs
        inputs: inputs of 1 x elements
        output: elements
    """


class AddNS8Params(Params, kernels=("kibi_add_n_s8",)):
    """ADD_N of s8: rows of several inputs, added up element by element and brought to the output's scale."""

    inputs: int = number(DType.S32, "1 to 32")
    elements: int = number(DType.S32, "of a row")
    zero_point: int = number(DType.S32, "of the inputs")
    output_multiplier: int = number(DType.S32, "0 … 2**31 - 1")
    output_shift: int = number(DType.S32, "-31 … 0")
    output_zero_point: int = number(DType.S32)
    contract = """
        require: 1 <= inputs
        require: -128 <= zero_point <= 127
        inputs: inputs of 1 x elements
        output: elements
    """


class ScaledSumParams(
    ClampedPairParams,
    struct="kibi_scaled_sum_params",
    kernels=(
        "kibi_add_s16",
        "kibi_add_s8",
        "kibi_sub_s16",
        "kibi_sub_s8",
    ),
):
    """ADD and SUB of s8 and s16: both inputs are brought to one scale, and the result to the output's scale."""

    zero_point1: int = number(DType.S32)
    multiplier1: int = number(DType.S32, "0 … 2**31 - 1, as all multipliers here")
    shift1: int = number(DType.S32, "-31 … 0, as all shifts here")
    zero_point2: int = number(DType.S32)
    multiplier2: int = number(DType.S32)
    shift2: int = number(DType.S32)
    output_zero_point: int = number(DType.S32)
    output_multiplier: int = number(DType.S32)
    output_shift: int = number(DType.S32)
    contract = """
        require: 128 * output_bytes - 256 <= zero_point1 <= 127 * (2 - output_bytes)
        require: 128 * output_bytes - 256 <= zero_point2 <= 127 * (2 - output_bytes)
        require: 0 <= multiplier2
        require: -31 <= shift2 <= 0
        require: 0 <= output_multiplier
        require: -31 <= output_shift <= 0
        require: -32768 <= output_zero_point <= 32767
    """


class AddLinearParams(Params, kernels=("kibi_add_s8_linear",)):
    """ADD and SUB of two rows of s8 of the same shape where one rounding is enough.

    An output is `floor(a * factor1 / 2**8) + floor(b * factor2 / 2**8) + start`, shifted to the right by 20 and cut to s8.
    """

    factor1: int = number(DType.S32)
    factor2: int = number(DType.S32, "below 0 where the second input is subtracted")
    start: int = number(DType.S32)
    elements: int = number(DType.S32, "at least 1")
    contract = """
        require: 1 <= elements
        require: 0 <= factor1
        require: -2**31 + 1 <= factor2
        require: factor1 // 2 + max(factor2, 0 - factor2) // 2 + start + 2 <= 2**31 - 1
        require: -2**31 <= start - factor1 // 2 - max(factor2, 0 - factor2) // 2 - 2
        input: 1 x elements
        input: 1 x elements
        output: elements
    """


class AddLinearScalarParams(Params, kernels=("kibi_add_s8_linear_scalar",)):
    """The same of a row and a single element."""

    factor1: int = number(DType.S32)
    factor2: int = number(DType.S32, "below 0 where the second input is subtracted")
    start: int = number(DType.S32)
    elements: int = number(DType.S32, "at least 1")
    is_first: int = number(DType.S32, "1: the first input is the single element; 0: the second one is")
    contract = """
        require: 1 <= elements
        require: 0 <= is_first <= 1
        require: 0 <= factor1
        require: -2**31 + 1 <= factor2
        require: factor1 // 2 + max(factor2, 0 - factor2) // 2 + start + 2 <= 2**31 - 1
        require: -2**31 <= start - factor1 // 2 - max(factor2, 0 - factor2) // 2 - 2
        input: 1 x 1 + (1 - is_first) * (elements - 1)
        input: 1 x 1 + is_first * (elements - 1)
        output: elements
    """


class CompareParams(
    PairParams,
    struct="kibi_compare_params",
    kernels=(
        "kibi_compare_bool",
        "kibi_compare_f32",
        "kibi_compare_s32",
        "kibi_compare_s64",
    ),
):
    """EQUAL, NOT_EQUAL, GREATER, GREATER_EQUAL, LESS and LESS_EQUAL of elements as they are stored."""

    relation: int = number(DType.S32, "what makes an output 1: 1 less, 2 equal, 4 greater, 8 none of these, added up")


class CompareS8Params(PairParams, kernels=("kibi_compare_s8",)):
    """EQUAL, NOT_EQUAL, GREATER, GREATER_EQUAL, LESS and LESS_EQUAL of s8: both inputs are brought to one scale first."""

    relation: int = number(DType.S32, "what makes an output 1: 1 less, 2 equal, 4 greater, 8 none of these, added up")
    zero_point1: int = number(DType.S32)
    multiplier1: int = number(DType.S32, "0 … 2**31 - 1")
    shift1: int = number(DType.S32, "-31 … 0")
    zero_point2: int = number(DType.S32)
    multiplier2: int = number(DType.S32)
    shift2: int = number(DType.S32)
    contract = """
        require: -128 <= zero_point1 <= 127
        require: -128 <= zero_point2 <= 127
        require: 0 <= multiplier2
        require: -31 <= shift2 <= 0
    """


class DivS8Params(ClampedPairParams, kernels=("kibi_div_s8",)):
    """DIV of s8: the dividend times the reciprocal of the divisor, brought to the output's scale."""

    zero_point1: int = number(DType.S32)
    zero_point2: int = number(DType.S32)
    output_zero_point: int = number(DType.S32)
    output_multiplier: int = number(DType.S32, "0 … 2**31 - 1")
    output_shift: int = number(DType.S32, "-31 … 30")
    reciprocals: Array = array(
        DType.S32,
        "[256], of 0 … 255, each with its leading bit at 2**31; that of 0 is not used",
    )
    contract = """
        require: -128 <= zero_point1 <= 127
        require: -128 <= zero_point2 <= 127
        require: -128 <= output_zero_point <= 127
        array reciprocals: 256 in 0 … 2**31 - 1
    """


class MulS16Params(ClampedPairParams, kernels=("kibi_mul_s16",)):
    """MUL of s16, whose zero points are 0: products, brought to the output's scale."""

    output_multiplier: int = number(DType.S32, "0 … 2**31 - 1")
    output_shift: int = number(DType.S32, "-31 … 30; negative is to the right")


class MulS8Params(ClampedPairParams, kernels=("kibi_mul_s8",)):
    """MUL of s8: products, brought to the output's scale."""

    zero_point1: int = number(DType.S32)
    zero_point2: int = number(DType.S32)
    output_zero_point: int = number(DType.S32)
    output_multiplier: int = number(DType.S32, "0 … 2**31 - 1")
    output_shift: int = number(DType.S32, "-31 … 30")
    contract = """
        require: -128 <= zero_point1 <= 127
        require: -128 <= zero_point2 <= 127
    """


class PreluParams(
    PairParams,
    struct="kibi_prelu_params",
    kernels=(
        "kibi_prelu_s16",
        "kibi_prelu_s8",
    ),
):
    """PRELU of s8 and s16: input 1 where it is not negative, else its product with the slope, input 2."""

    zero_point1: int = number(DType.S32)
    zero_point2: int = number(DType.S32)
    multiplier1: int = number(DType.S32, "of inputs that are not negative: 0 … 2**31 - 1")
    shift1: int = number(DType.S32, "-31 … 30; negative is to the right")
    multiplier2: int = number(DType.S32, "of products of input and slope")
    shift2: int = number(DType.S32)
    output_zero_point: int = number(DType.S32)
    contract = """
        require: 128 * output_bytes - 256 <= zero_point1 <= 127 * (2 - output_bytes)
        require: 128 * output_bytes - 256 <= zero_point2 <= 127 * (2 - output_bytes)
        require: 0 <= multiplier2
        require: -31 <= shift2 <= 30
    """


class ScaledDifferenceParams(
    PairParams,
    struct="kibi_scaled_difference_params",
    kernels=(
        "kibi_squared_difference_s16",
        "kibi_squared_difference_s8",
    ),
):
    """SQUARED_DIFFERENCE of s8 and s16: both inputs are brought to one scale, the square to the output's scale."""

    zero_point1: int = number(DType.S32)
    multiplier1: int = number(DType.S32, "0 … 2**31 - 1, as all multipliers here")
    shift1: int = number(DType.S32, "-31 … 0")
    zero_point2: int = number(DType.S32)
    multiplier2: int = number(DType.S32)
    shift2: int = number(DType.S32)
    output_zero_point: int = number(DType.S32)
    output_multiplier: int = number(DType.S32)
    output_shift: int = number(DType.S32, "-31 … 30")
    contract = """
        require: 128 * output_bytes - 256 <= zero_point1 <= 127 * (2 - output_bytes)
        require: 128 * output_bytes - 256 <= zero_point2 <= 127 * (2 - output_bytes)
        require: 0 <= multiplier2
        require: -31 <= shift2 <= 0
        require: 0 <= output_multiplier
    """
