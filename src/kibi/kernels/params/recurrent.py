"""Parameters of the kernels of layers that remember: UNIDIRECTIONAL_SEQUENCE_LSTM and SVDF."""

from collections.abc import Mapping
from types import MappingProxyType

from kibi.dtypes import Array, DType
from kibi.kernels.params.description import Params, array, number

_TANGENT = """
        require: 0 <= tanh_multiplier
        require: max(-cell_min, cell_max) * tanh_multiplier + 2**14 <= 2**31 - 1
"""
"""What holds of the numbers that scale a cell for its tangent."""


class _LstmParams(Params):
    """The vectors of UNIDIRECTIONAL_SEQUENCE_LSTM."""

    batches: int = number(DType.S32)
    times: int = number(DType.S32, "vectors of a batch in this call")
    depth: int = number(DType.S32, "elements of an input vector")
    units: int = number(DType.S32)
    contract = """
        require: 1 <= min(batches, min(times, min(depth, units)))
        input: batches * times x depth
        output: batches * times * units
    """


class LstmF32Params(_LstmParams, kernels=("kibi_lstm_f32",), pointers_first=True):
    """UNIDIRECTIONAL_SEQUENCE_LSTM of f32."""

    input_to_input: Array = array(DType.F32, "[units][depth]")
    input_to_forget: Array = array(DType.F32, "[units][depth]")
    input_to_cell: Array = array(DType.F32, "[units][depth]")
    input_to_output: Array = array(DType.F32, "[units][depth]")
    recurrent_to_input: Array = array(DType.F32, "[units][units]")
    recurrent_to_forget: Array = array(DType.F32, "[units][units]")
    recurrent_to_cell: Array = array(DType.F32, "[units][units]")
    recurrent_to_output: Array = array(DType.F32, "[units][units]")
    input_bias: Array = array(DType.F32, "[4][units], of the gates input, forget, cell and output")
    cell_min: float = number(DType.F32, "the cell is clamped to cell_min … cell_max")
    cell_max: float = number(DType.F32)
    contract = """
        state: batches * units of 4
        state: batches * units of 4
    """


class _LstmIntegerParams(_LstmParams):
    """UNIDIRECTIONAL_SEQUENCE_LSTM with weights of s8."""

    input_to_input: Array = array(DType.S8, "[units][depth]")
    input_to_forget: Array = array(DType.S8, "[units][depth]")
    input_to_cell: Array = array(DType.S8, "[units][depth]")
    input_to_output: Array = array(DType.S8, "[units][depth]")
    recurrent_to_input: Array = array(DType.S8, "[units][units]")
    recurrent_to_forget: Array = array(DType.S8, "[units][units]")
    recurrent_to_cell: Array = array(DType.S8, "[units][units]")
    recurrent_to_output: Array = array(DType.S8, "[units][units]")
    forget_multiplier: int = number(DType.S32, "scales the products of the forget gate and the cell")
    forget_shift: int = number(DType.S32)
    update_multiplier: int = number(DType.S32, "scales the products of the input gate and the cell gate")
    update_shift: int = number(DType.S32)
    output_multiplier: int = number(DType.S32, "scales the products of the output gate and the cell's tangent")
    output_shift: int = number(DType.S32)
    contract = """
        require: 0 <= forget_multiplier
        require: -31 <= forget_shift <= 30
        require: 0 <= update_multiplier
        require: -31 <= update_shift <= 30
        require: 0 <= output_multiplier
        require: -31 <= output_shift <= 30
    """


class LstmS16Params(_LstmIntegerParams, kernels=("kibi_lstm_s16",), pointers_first=True):
    """UNIDIRECTIONAL_SEQUENCE_LSTM of s16, with cells of s16 and weights of s8."""

    input_bias: Array = array(DType.S64, "[4][units], of the gates input, forget, cell and output")
    input_multiplier: Array = array(DType.S32, "[4], 0 … 2**31 - 1")
    input_shift: Array = array(DType.S8, "[4], -31 … 7")
    recurrent_multiplier: Array = array(DType.S32, "[4], 0 … 2**31 - 1")
    recurrent_shift: Array = array(DType.S8, "[4], -31 … 7")
    cell_min: int = number(DType.S32, "the cell is clamped to cell_min … cell_max")
    cell_max: int = number(DType.S32)
    tanh_multiplier: int = number(
        DType.S32, "a cell is multiplied by it for its tangent; the product is below 2**31 in magnitude"
    )
    tanh_shift: int = number(DType.S32, "0 … 15: the product is shifted to the right")
    contract = f"""
        require: -32768 <= cell_min <= cell_max <= 32767
        {_TANGENT}
        state: batches * units of 2
        state: batches * units of 2
    """


class LstmS8Params(_LstmIntegerParams, kernels=("kibi_lstm_s8",), pointers_first=True):
    """UNIDIRECTIONAL_SEQUENCE_LSTM of s8, with cells of s16."""

    input_bias: Array = array(
        DType.S32,
        "[4][units], of the gates input, forget, cell and output, which includes -zero point of the input * the sum "
        "of the weights",
    )
    recurrent_bias: Array = array(DType.S32, "[4][units], -zero point of the hidden state * the sum of the weights")
    input_multiplier: Array = array(DType.S32, "[4], 0 … 2**31 - 1")
    input_shift: Array = array(DType.S8, "[4], -31 … 30")
    recurrent_multiplier: Array = array(DType.S32, "[4], 0 … 2**31 - 1")
    recurrent_shift: Array = array(DType.S8, "[4], -31 … 30")
    output_zero_point: int = number(DType.S32)
    cell_min: int = number(DType.S32, "the cell is clamped to cell_min … cell_max")
    cell_max: int = number(DType.S32)
    tanh_multiplier: int = number(
        DType.S32, "a cell is multiplied by it for its tangent; the product is below 2**31 in magnitude"
    )
    tanh_shift: int = number(DType.S32, "0 … 15: the product is shifted to the right")
    contract = f"""
        require: -32768 <= output_zero_point <= 32767
        require: -32768 <= cell_min <= 32767
        require: -32768 <= cell_max <= 32767
        require: cell_min <= cell_max
        {_TANGENT}
        state: batches * units of 1
        state: batches * units of 2
    """


class LstmS8BlocksParams(_LstmParams, kernels=("kibi_lstm_s8_blocks",), pointers_first=True):
    """UNIDIRECTIONAL_SEQUENCE_LSTM of s8 with the four gates of a unit in one block."""

    weights: Array = array(
        DType.S32,
        "blocks of units; the kernel's header describes a block",
        is_packed=True,
    )
    scales: Array = array(
        DType.S32,
        "[2][4][4], of the input, then of the hidden state; of the gates input, forget, cell and output: the multiplier, "
        "0 … 2**31 - 1; what is added; what of it is taken away from a negative sum, as a mask; and what is shifted out, "
        "1 … 30",
        is_packed=True,
    )
    update_multiplier: int = number(DType.S32, "0 … 2**31 - 1: scales the products of the input gate and the cell gate")
    update_rounding: int = number(DType.S32, "2**(update_shift - 1)")
    update_shift: int = number(DType.S32, "1 … 30: to the right")
    cell_min: int = number(DType.S32, "-32768 … 32767: the cell is clamped to cell_min … cell_max")
    cell_max: int = number(DType.S32, "-32768 … 32767")
    tanh_multiplier: int = number(
        DType.S32, "a cell is multiplied by it for its tangent; the product is below 2**31 in magnitude"
    )
    tanh_rounding: int = number(DType.S32, "half of 2**tanh_shift, 0 where that is 1")
    tanh_shift: int = number(DType.S32, "0 … 15: the product is shifted to the right")
    output_multiplier: int = number(
        DType.S32, "0 … 2**31 - 1: scales the products of the output gate and the cell's tangent"
    )
    output_rounding: int = number(DType.S32, "2**(output_shift - 1) + 2**output_shift * the zero point")
    output_shift: int = number(DType.S32, "1 … 30: to the right")
    contract = f"""
        require: 0 <= update_rounding <= 2**29
        require: cell_min <= cell_max
        {_TANGENT}
        require: 0 <= tanh_rounding <= 2**14
        require: -2**30 <= output_rounding <= 2**30
        array weights: units * 4 * (2 + ceil(depth, 4) + ceil(units, 4))
        array scales: 32
        state: batches * units of 1
        state: batches * units of 2
    """


class _SvdfParams(Params):
    """The vectors of SVDF."""

    batches: int = number(DType.S32)
    depth: int = number(DType.S32, "elements of an input vector")
    units: int = number(DType.S32)
    contract = """
        require: 1 <= min(batches, min(depth, units))
        input: 1 x batches * depth
        output: batches * units
    """


class _SvdfFiltersParams(_SvdfParams):
    """SVDF with any number of filters for each unit."""

    filters_per_unit: int = number(DType.S32)
    memory: int = number(DType.S32, "results of each filter that are kept: the newest ones")
    contract = """
        require: 1 <= min(filters_per_unit, memory)
        array weights_feature: units * filters_per_unit * depth
        array weights_time: units * filters_per_unit * memory
    """


class SvdfF32Params(_SvdfFiltersParams, kernels=("kibi_svdf_f32",), pointers_first=True):
    """SVDF of f32."""

    weights_feature: Array = array(DType.F32, "[filters][depth]")
    weights_time: Array = array(DType.F32, "[filters][memory]")
    bias: Array = array(DType.F32, "[units]")
    has_activation: int = number(DType.S32, "0: outputs are the sums, and the kernel does not read the fields below")
    activation_min: float = number(DType.F32)
    activation_max: float = number(DType.F32)
    activation_of_nan: float = number(DType.F32, "the output where the sum is a NaN")
    contract = """
        state: batches * units * filters_per_unit * memory of 4
    """


class SvdfS8Params(_SvdfFiltersParams, kernels=("kibi_svdf_s8",), pointers_first=True):
    """SVDF of s8 with a state of s8."""

    weights_feature: Array = array(DType.S8, "[filters][depth]")
    feature_bias: Array = array(DType.S32, "[filters], -input zero point * the sum of the filter's weights")
    weights_time: Array = array(DType.S8, "[filters][memory]")
    bias: Array = array(DType.S32, "[units]")
    state_zero_point: int = number(DType.S32)
    feature_multiplier: int = number(DType.S32, "0 … 2**31 - 1")
    feature_shift: int = number(DType.S32, "-31 … 30")
    output_multiplier: int = number(DType.S32, "0 … 2**31 - 1")
    output_shift: int = number(DType.S32, "-31 … 30")
    output_zero_point: int = number(DType.S32)
    contract = """
        require: -128 <= state_zero_point <= 127
        array feature_bias: units * filters_per_unit
        state: batches * units * filters_per_unit * memory of 1
    """


class _SvdfBlocksParams(_SvdfParams):
    """SVDF of s8 with one filter a unit, in blocks of four units."""

    weights: Array = array(
        DType.S32,
        "blocks of units; the kernel's header describes a block",
        is_packed=True,
    )
    batches: int = number(DType.S32)
    depth: int = number(DType.S32, "elements of an input vector")
    units: int = number(DType.S32, "a multiple of 4")
    memory: int = number(
        DType.S32, "results of each filter that are kept, the newest ones: a multiple of 4, at least 8"
    )
    paired_blocks: int = number(DType.S32, "of packed pairs; the others have a weight in each byte")
    contract = """
        require: 0 <= paired_blocks <= units // 4
        require: 8 <= memory
        require: units == units // 4 * 4
        require: memory == memory // 4 * 4
    """


def _parts(kernel: str) -> Mapping[str, tuple[str, ...]]:
    """The parts of a kernel of blocks."""
    return MappingProxyType(
        {
            f"KIBI_{kernel}_OF_PAIRS": ("paired_blocks <= 0",),
            f"KIBI_{kernel}_OF_BYTES": ("units // 4 <= paired_blocks",),
            f"KIBI_{kernel}_OF_LONG_MEMORIES": ("memory <= 8",),
        }
    )


class SvdfS8BlocksParams(_SvdfBlocksParams, kernels=("kibi_svdf_s8_blocks",), pointers_first=True):
    """SVDF of s8 with a state of s8 and one filter a unit, in blocks of four units."""

    state_zero_point: int = number(DType.S32, "-128 … 127")
    result_factor: int = number(DType.S32, "0 … 2**31 - 1: rule N55, of results, with 12 bits of a fraction")
    result_switch: int = number(DType.S32, "0 … 4096")
    output_factor: int = number(DType.S32, "0 … 2**31 - 1: the same of outputs, with 8 bits of a fraction")
    output_switch: int = number(DType.S32, "-32768 … 32767: 0 … 31, plus 256 times the output's zero point")
    contract = """
        array weights: units * (2 + ceil(depth, 4) + memory // 4) + units // 4
        state: batches * units * memory // 4 of 4
    """
    parts = _parts("SVDF_S8_BLOCKS")


class SvdfS8S16BlocksParams(_SvdfBlocksParams, kernels=("kibi_svdf_s8_s16_blocks",), pointers_first=True):
    """SVDF of s8 with a state of s16 and one filter a unit, in blocks of four units."""

    result_multiplier: int = number(DType.S32, "0 … 2**31 - 1")
    result_shift: int = number(DType.S32, "-31 … 6")
    output_multiplier: int = number(DType.S32, "2**30 … 2**31 - 1")
    output_shift: int = number(DType.S32, "-31 … -1")
    output_zero_point: int = number(DType.S32, "-128 … 127")
    contract = """
        array weights: units * (2 + ceil(depth, 4) + memory // 2) + units // 4
        state: batches * units * memory // 2 of 4
    """
    parts = MappingProxyType(
        {
            **_parts("SVDF_S8_S16_BLOCKS"),
            "KIBI_SVDF_S8_S16_BLOCKS_TO_THE_RIGHT": ("0 <= result_shift",),
            "KIBI_SVDF_S8_S16_BLOCKS_TO_THE_LEFT": ("result_shift <= -1",),
        }
    )


class SvdfS8S16Params(_SvdfFiltersParams, kernels=("kibi_svdf_s8_s16",), pointers_first=True):
    """SVDF of s8 with a state, and weights over time, of s16."""

    weights_feature: Array = array(DType.S8, "[filters][depth]")
    feature_bias: Array = array(DType.S32, "[filters], -input zero point * the sum of the filter's weights")
    weights_time: Array = array(DType.S16, "[filters][memory]")
    bias: Array = array(DType.S32, "[units]")
    feature_multiplier: int = number(DType.S32, "0 … 2**31 - 1")
    feature_shift: int = number(DType.S32, "-31 … 30")
    output_multiplier: int = number(DType.S32, "0 … 2**31 - 1")
    output_shift: int = number(DType.S32, "-31 … 30")
    output_zero_point: int = number(DType.S32)
    contract = """
        array feature_bias: units * filters_per_unit
        state: batches * units * filters_per_unit * memory of 2
    """
