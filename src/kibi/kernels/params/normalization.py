"""Parameters of the kernels of SOFTMAX, LOG_SOFTMAX and L2_NORMALIZATION: each vector of a row is normalized for itself."""

from kibi.dtypes import Array, DType
from kibi.kernels.params.description import Params, array, number


class VectorsParams(
    Params,
    struct="kibi_vectors_params",
    kernels=(
        "kibi_l2_normalization_f32",
        "kibi_log_softmax_f32",
    ),
):
    """LOG_SOFTMAX and L2_NORMALIZATION of f32."""

    vectors: int = number(DType.S32, "of a row")
    depth: int = number(DType.S32, "elements of a vector, 1 or more")
    contract = """
        require: 1 <= vectors
        require: 1 <= depth
        input: 1 x vectors * depth
        output: vectors * depth
    """


class L2NormalizationS8Params(Params, kernels=("kibi_l2_normalization_s8",)):
    """L2_NORMALIZATION of s8: vectors, divided by their lengths."""

    vectors: int = number(DType.S32, "of a row")
    depth: int = number(DType.S32, "elements of a vector, 1 … 33025")
    zero_point: int = number(DType.S32)
    contract = """
        require: -128 <= zero_point <= 127
        require: 1 <= vectors
        input: 1 x vectors * depth
        output: vectors * depth
    """


class LogSoftmaxS8Params(Params, kernels=("kibi_log_softmax_s8",)):
    """LOG_SOFTMAX of s8: exponentials are read from a table; the logarithm of their sum is computed."""

    vectors: int = number(DType.S32, "of a row")
    depth: int = number(DType.S32, "elements of a vector, 1 … 2048")
    exponentials: Array = array(
        DType.S32,
        "[differences], exp of the scaled differences 0, -1, … as Q0.31; that of others counts as 0",
    )
    differences: int = number(DType.S32, "1 … 256")
    multiplier: int = number(DType.S32, "brings differences to Q5.26: 2**30 … 2**31 - 1")
    shift: int = number(DType.S32, "1 … 30")
    inverse_multiplier: int = number(DType.S32, "brings them back: 2**30 … 2**31 - 1")
    inverse_shift: int = number(DType.S32, "-31 … 0")
    least_difference: int = number(DType.S32, "differences up to this one, below 0, give -128")
    contract = """
        array exponentials: differences in 0 … 2**31 - 1
        require: 4096 <= first(exponentials)
        require: 1 <= vectors
        input: 1 x vectors * depth
        output: vectors * depth
    """


class SoftmaxF32Params(Params, kernels=("kibi_softmax_f32",)):
    """SOFTMAX of f32."""

    beta: float = number(DType.F32, "factor of the inputs")
    vectors: int = number(DType.S32, "of a row")
    depth: int = number(DType.S32, "elements of a vector, 1 or more")
    contract = """
        require: 1 <= vectors
        require: 1 <= depth
        input: 1 x vectors * depth
        output: vectors * depth
    """


class SoftmaxS16Params(Params, kernels=("kibi_softmax_s16",)):
    """SOFTMAX of s16: exponentials and the reciprocal of their sum are interpolated in tables."""

    exponentials: Array = array(DType.S16, "[513], exp(10 * k / 512 - 10) in units of 2**-15")
    reciprocals: Array = array(DType.S16, "[513], 1 / (1 + k / 512) in units of 2**-15")
    multiplier: int = number(DType.S32, "brings differences to units of 10/65535: 0 … 2**31 - 1")
    shift: int = number(DType.S32, "-31 … 30; negative is to the right")
    vectors: int = number(DType.S32, "of a row")
    depth: int = number(DType.S32, "elements of a vector, 1 … 65536")
    contract = """
        array exponentials: 513 in 1 … 32767
        require: 1 <= vectors
        input: 1 x vectors * depth
        output: vectors * depth
    """


class SoftmaxS8Params(
    Params,
    struct="kibi_softmax_s8_params",
    kernels=(
        "kibi_softmax_s8",
        "kibi_softmax_s8_s16",
    ),
):
    """SOFTMAX of s8: exponentials are read from a table."""

    exponentials: Array = array(
        DType.S32,
        "[differences], exp of the scaled differences 0, -1, … as Q0.31; that of others counts as 0",
    )
    differences: int = number(DType.S32, "1 … 256")
    vectors: int = number(DType.S32, "of a row")
    depth: int = number(DType.S32, "elements of a vector, 1 … 2048")
    contract = """
        require: 1 <= vectors
        require: 4096 <= first(exponentials)
        array exponentials: differences in 0 … 2**31 - 1
        input: 1 x vectors * depth
        output: vectors * depth
    """
