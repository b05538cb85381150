"""Parameters of the kernels that compute each output element from one input element."""

from kibi.dtypes import Array, DType
from kibi.kernels.params.description import Params, array, number


class ElementsParams(
    Params,
    struct="kibi_elements_params",
    kernels=(
        "kibi_abs_f32",
        "kibi_cast_f32_s16",
        "kibi_cast_f32_s32",
        "kibi_cast_f32_s8",
        "kibi_cast_f32_u32",
        "kibi_cast_s16_f32",
        "kibi_cast_s16_s32",
        "kibi_cast_s16_s8",
        "kibi_cast_s16_u32",
        "kibi_cast_s32_f32",
        "kibi_cast_s32_s16",
        "kibi_cast_s32_s8",
        "kibi_cast_s32_u32",
        "kibi_cast_s8_f32",
        "kibi_cast_s8_s16",
        "kibi_cast_s8_s32",
        "kibi_cast_s8_u32",
        "kibi_cast_u32_f32",
        "kibi_cast_u32_s16",
        "kibi_cast_u32_s32",
        "kibi_cast_u32_s8",
        "kibi_cast_u8_f32",
        "kibi_cast_u8_s16",
        "kibi_cast_u8_s32",
        "kibi_cast_u8_s8",
        "kibi_cast_u8_u32",
        "kibi_ceil_f32",
        "kibi_cos_f32",
        "kibi_elu_f32",
        "kibi_exp_f32_each",
        "kibi_floor_f32",
        "kibi_hard_swish_f32",
        "kibi_log_f32",
        "kibi_logical_not_bool",
        "kibi_logistic_f32",
        "kibi_neg_f32",
        "kibi_relu6_f32",
        "kibi_relu_f32",
        "kibi_round_f32",
        "kibi_rsqrt_f32",
        "kibi_signal_fft_auto_scale_bits_s16",
        "kibi_signal_fft_auto_scale_s16",
        "kibi_signal_filter_bank_square_root_u64",
        "kibi_sin_f32",
        "kibi_sqrt_f32",
        "kibi_square_f32",
        "kibi_tanh_f32",
    ),
):
    """The parameters of kernels without scales: float functions such as ABS and EXP, CAST, LOGICAL_NOT and others.

    The kernels that need more have classes that derive from this one.
    """

    elements: int = number(DType.S32, "of a row")
    contract = """
        [!_u64 !any_bool] input: 1 x elements
        [!_u64 !any_bool !scale_bits] output: elements
        [scale_bits] output: 1
        [_u64] input: 1 x elements of_bytes 8
        [_u64] input: 1 x 1 of_bytes 4
        [_u64] output: 4 * elements
    """


class AbsS16Params(ElementsParams, kernels=("kibi_abs_s16",)):
    """ABS of s16: magnitudes, brought to the output's scale."""

    is_scaled: int = number(DType.S32, "0 where the scales are equal, or there are none; else 1")
    multiplier: int = number(DType.S32, "0 … 2**31 - 1")
    shift: int = number(DType.S32, "-31 … 30; negative is to the right")


class CastAnyBoolParams(ElementsParams, kernels=("kibi_cast_any_bool",)):
    """CAST of any type to bool: whether an element is not 0."""

    bytes: int = number(DType.S32, "of an input element: 1, 2 or 4")
    is_float: int = number(DType.S32, "1 where input elements are floats, of which -0 is a zero, too; else 0")
    contract = """
        require: 0 <= is_float <= 1
        require: 1 + 3 * is_float <= bytes
        require: bytes <= 8
        input: 1 x elements * bytes
        output: elements
    """


class QuantizeF32Params(
    ElementsParams,
    struct="kibi_quantize_f32_params",
    kernels=(
        "kibi_dequantize_s16_f32",
        "kibi_dequantize_s8_f32",
        "kibi_dequantize_u8_f32",
        "kibi_quantize_f32_s16",
        "kibi_quantize_f32_s8",
    ),
):
    """QUANTIZE from f32, and DEQUANTIZE: elements are brought to a scale, or from it."""

    scale: float = number(DType.F32, "positive")
    zero_point: int = number(DType.S32)


class LeakyReluF32Params(ElementsParams, kernels=("kibi_leaky_relu_f32",)):
    """LEAKY_RELU of f32: elements above 0, and the products of others with alpha."""

    alpha: float = number(DType.F32)


class LeakyReluS16Params(ElementsParams, kernels=("kibi_leaky_relu_s16",)):
    """LEAKY_RELU of s16: elements above and below 0 are brought to the output's scale by different factors."""

    zero_point: int = number(DType.S32)
    output_zero_point: int = number(DType.S32)
    multiplier: int = number(DType.S32, "of inputs that are not negative: 0 … 2**31 - 1")
    shift: int = number(DType.S32, "-31 … 30; negative is to the right")
    alpha_multiplier: int = number(DType.S32, "of negative inputs: 0 … 2**31 - 1")
    alpha_shift: int = number(DType.S32, "-31 … 30")
    alpha_sign: int = number(DType.S32, "1 or -1: the sign of the slope below 0, whose magnitude the factor has")


class SigmoidS16Params(
    ElementsParams,
    struct="kibi_sigmoid_s16_params",
    kernels=(
        "kibi_logistic_s16",
        "kibi_tanh_s16",
    ),
):
    """LOGISTIC and TANH of s16: interpolation in a table that the kernels have."""

    factor: int = number(
        DType.S32,
        "0 … 2**31 - 1; factor and shift bring inputs to units of 1/12288; a product beyond 32 bits wraps",
    )
    right_shift: int = number(DType.S32, "0 … 31; 0 where the factor is above 32767")


class TableParams(Params, kernels=("kibi_table_s8",)):
    """Any function from s8 to s8: outputs are read from a table."""

    table: Array = array(DType.S8, "[256], the outputs for -128 … 127")
    elements: int = number(DType.S32, "of a row")
    contract = """
        input: 1 x elements
        output: elements
    """


class RequantizeParams(
    ElementsParams,
    struct="kibi_requantize_params",
    kernels=(
        "kibi_quantize_s16_s16",
        "kibi_quantize_s16_s32",
        "kibi_quantize_s16_s8",
        "kibi_quantize_s32_s16",
        "kibi_quantize_s32_s8",
        "kibi_quantize_s8_s16",
        "kibi_quantize_s8_s32",
        "kibi_quantize_s8_u8",
        "kibi_quantize_u8_s8",
    ),
):
    """QUANTIZE between integers: elements are brought from one scale to another."""

    zero_point: int = number(DType.S32)
    output_zero_point: int = number(DType.S32)
    multiplier: int = number(DType.S32, "0 … 2**31 - 1")
    shift: int = number(DType.S32, "-31 … 30; negative is to the right")


class Relu6S16Params(ElementsParams, kernels=("kibi_relu6_s16",)):
    """RELU6 of s16: elements are cut to 0 … 6, and keep their scale."""

    zero_point: int = number(DType.S32)
    six: int = number(DType.S32, "the element that represents 6")


class ScaleParams(
    ElementsParams,
    struct="kibi_scale_params",
    kernels=(
        "kibi_relu_s16",
        "kibi_rsqrt_s16",
    ),
):
    """RELU and RSQRT of s16: the function's results, brought to the output's scale."""

    multiplier: int = number(DType.S32, "0 … 2**31 - 1")
    shift: int = number(DType.S32, "-31 … 30; negative is to the right")
