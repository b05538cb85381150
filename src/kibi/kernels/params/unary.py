"""Parameters of kernels that compute each output element from one input element."""

from kibi.dtypes import Array, DType
from kibi.kernels.params.description import Params, array, number


class ElementsParams(
    Params,
    kernels=(
        "kibi_abs_f32",
        "kibi_cast_f32_f32",
        "kibi_cast_f32_s16",
        "kibi_cast_f32_s32",
        "kibi_cast_f32_s8",
        "kibi_cast_f32_u32",
        "kibi_cast_s16_f32",
        "kibi_cast_s16_s16",
        "kibi_cast_s16_s32",
        "kibi_cast_s16_s8",
        "kibi_cast_s16_u32",
        "kibi_cast_s32_f32",
        "kibi_cast_s32_s16",
        "kibi_cast_s32_s32",
        "kibi_cast_s32_s8",
        "kibi_cast_s32_u32",
        "kibi_cast_s8_f32",
        "kibi_cast_s8_s16",
        "kibi_cast_s8_s32",
        "kibi_cast_s8_s8",
        "kibi_cast_s8_u32",
        "kibi_cast_u32_f32",
        "kibi_cast_u32_s16",
        "kibi_cast_u32_s32",
        "kibi_cast_u32_s8",
        "kibi_cast_u32_u32",
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
    """A function of each element without constants, or a copy with a change of type."""

    elements: int = number(DType.S32, "of a row")


class AbsS16Params(Params, kernels=("kibi_abs_s16",)):
    """ABS of s16, scaled where scales differ."""

    elements: int = number(DType.S32)
    is_scaled: int = number(DType.S32, "0 where the scales are equal, or there are none")
    multiplier: int = number(DType.S32, "0 … 2**31 - 1")
    shift: int = number(DType.S32, "-31 … 30; negative is to the right")


class CastAnyBoolParams(Params, kernels=("kibi_cast_any_bool",)):
    """CAST of any type to bool."""

    elements: int = number(DType.S32)
    bytes: int = number(DType.S32, "of an input element: 1, 2 or 4")
    is_float: int = number(DType.S32, "whether input elements are floats, of which -0 is a zero, too")


class QuantizeF32Params(
    Params,
    kernels=(
        "kibi_dequantize_s16_f32",
        "kibi_dequantize_s8_f32",
        "kibi_dequantize_u8_f32",
        "kibi_quantize_f32_s16",
        "kibi_quantize_f32_s8",
    ),
):
    """QUANTIZE from f32, and DEQUANTIZE to f32."""

    elements: int = number(DType.S32)
    scale: float = number(DType.F32, "positive")
    zero_point: int = number(DType.S32)


class LeakyReluF32Params(Params, kernels=("kibi_leaky_relu_f32",)):
    """LEAKY_RELU of f32."""

    elements: int = number(DType.S32)
    alpha: float = number(DType.F32)


class LeakyReluS16Params(Params, kernels=("kibi_leaky_relu_s16",)):
    """LEAKY_RELU of s16."""

    elements: int = number(DType.S32)
    zero_point: int = number(DType.S32)
    output_zero_point: int = number(DType.S32)
    multiplier: int = number(DType.S32, "of inputs that are not negative: 0 … 2**31 - 1")
    shift: int = number(DType.S32, "-31 … 30; negative is to the right")
    alpha_multiplier: int = number(DType.S32, "of those that are")
    alpha_shift: int = number(DType.S32)
    alpha_sign: int = number(DType.S32, "1 or -1")


class SigmoidS16Params(
    Params,
    kernels=(
        "kibi_logistic_s16",
        "kibi_tanh_s16",
    ),
):
    """LOGISTIC and TANH of s16."""

    elements: int = number(DType.S32)
    factor: int = number(
        DType.S32,
        "0 … 2**31 - 1; with the shift, to units of 1/12288; a product beyond 32 bits wraps",
    )
    right_shift: int = number(DType.S32, "0 … 31; 0 where the factor is above 32767")


class TableParams(Params, kernels=("kibi_lookup_s8",)):
    """Any function of s8, by a table of its 256 answers."""

    table: Array = array(DType.S8, "[256], the outputs for -128 … 127")
    elements: int = number(DType.S32)


class RequantizeParams(
    Params,
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
    """QUANTIZE from one integer type to another, or to another scale."""

    elements: int = number(DType.S32)
    zero_point: int = number(DType.S32, "above -2**31")
    output_zero_point: int = number(DType.S32)
    multiplier: int = number(DType.S32, "0 … 2**31 - 1")
    shift: int = number(DType.S32, "-31 … 30; negative is to the right")


class Relu6S16Params(Params, kernels=("kibi_relu6_s16",)):
    """RELU6 of s16."""

    elements: int = number(DType.S32)
    zero_point: int = number(DType.S32)
    six: int = number(DType.S32, "in the scale")


class ScaleParams(
    Params,
    kernels=(
        "kibi_relu_s16",
        "kibi_rsqrt_s16",
    ),
):
    """RELU and RSQRT of s16: a factor and nothing else."""

    elements: int = number(DType.S32)
    multiplier: int = number(DType.S32, "0 … 2**31 - 1")
    shift: int = number(DType.S32, "-31 … 30; negative is to the right")
