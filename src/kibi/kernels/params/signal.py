"""Parameters of the kernels of the Signal operators: TFLM's front end for speech."""

from kibi.dtypes import Array, DType
from kibi.kernels.params.description import Params, array, number


class DelayParams(Params, kernels=("kibi_signal_delay_s16",)):
    """SignalDelay: each line, some samples later."""

    lines: int = number(DType.S32)
    size: int = number(DType.S32, "samples of a line")
    delay: int = number(DType.S32, "in samples")
    contract = """
        input: lines x size
        output: lines * size
        state: lines * delay of 2
    """


class EnergyParams(Params, kernels=("kibi_signal_energy_s16",)):
    """SignalEnergy: the sum of the squares of a complex number's parts, for a range of frequencies."""

    elements: int = number(DType.S32, "of the output")
    start: int = number(DType.S32, "first element that is computed; those before it are 0")
    end: int = number(DType.S32, "first element after those that are computed; from it on all are 0")
    contract = """
        require: 0 <= elements
        require: 0 <= start
        input: 1 x 2 * max(0, min(end, elements))
        output: elements
    """


class FilterBankLogParams(Params, kernels=("kibi_signal_filter_bank_log_u32",)):
    """SignalFilterBankLog: natural logarithms of shifted numbers, times a scale."""

    elements: int = number(DType.S32)
    correction_bits: int = number(DType.S32, "0 to 31: the input is shifted to the left")
    output_scale: int = number(DType.S32)
    curve: Array = array(DType.S16, "[129]: by how much log2(1 + k / 128) exceeds k / 128, with 16 fraction bits")
    contract = """
        require: 0 <= elements
        input: 1 x elements
        output: elements
    """


class SpectralSubtractionParams(Params, kernels=("kibi_signal_filter_bank_spectral_subtraction_u32",)):
    """SignalFilterBankSpectralSubtraction: a signal less an estimate of its noise, and the new estimate."""

    elements: int = number(DType.S32)
    clamps: int = number(DType.S32, "not 0: the estimate that is kept is at most the shifted signal")
    smoothing: int = number(DType.S32, "factor of the signal, for even channels")
    one_minus_smoothing: int = number(DType.S32, "factor of the last estimate, for even channels")
    alternate_smoothing: int = number(DType.S32, "factor of the signal, for odd channels")
    alternate_one_minus_smoothing: int = number(DType.S32, "factor of the last estimate, for odd channels")
    min_signal_remaining: int = number(DType.S32, "factor of the signal; the output is at least the product")
    smoothing_bits: int = number(DType.S32, "0 to 31: the signal is shifted to the left before it is multiplied")
    spectral_subtraction_bits: int = number(DType.S32, "0 to 63: products with the factors are shifted to the right")
    contract = """
        require: 0 <= elements
        input: 1 x elements
        output: elements of_bytes 4
        output: elements of_bytes 4
        state: elements of 4
    """


class FilterBankParams(Params, kernels=("kibi_signal_filter_bank_u32",)):
    """SignalFilterBank: sums of energies in bands, each of which shares one stretch of energies with the next band."""

    channels: int = number(DType.S32, "bands")
    weights: Array = array(DType.S16, "factors of the band that ends with a stretch")
    unweights: Array = array(DType.S16, "factors of the band that begins with a stretch, as many")
    frequency_starts: Array = array(DType.S16, "[channels + 1], the first energy of each stretch")
    weight_starts: Array = array(DType.S16, "[channels + 1], the first weight and unweight of each stretch")
    widths: Array = array(DType.S16, "[channels + 1], energies of each stretch")
    contract = """
        require: 1 <= channels
        require: 0 <= least(frequency_starts, 0, 1)
        require: 0 <= least(weight_starts, 0, 1)
        array weights: most_sum(weight_starts, widths)
        array unweights: most_sum(weight_starts, widths)
        input: 1 x most_sum(frequency_starts, widths)
        output: channels
    """


class FramerParams(Params, kernels=("kibi_signal_framer_s16",)):
    """SignalFramer: overlapping frames of lines of samples, some of which stay for the next inference."""

    lines: int = number(DType.S32)
    frames: int = number(DType.S32, "of each line")
    size: int = number(DType.S32, "of a frame")
    step: int = number(DType.S32, "samples from one frame to the next")
    kept: int = number(DType.S32, "the most samples of a line that stay; less than size")
    contract = """
        require: 1 <= step
        require: kept < size <= kept + step
        input: lines x frames * step
        output: lines * frames * size of_bytes 2
        output: 1 of_bytes 1
        state: lines * kept of 2
        state: 1 of 4
    """


class OverlapAddParams(
    Params,
    struct="kibi_signal_overlap_add_params",
    kernels=("kibi_signal_overlap_add_f32", "kibi_signal_overlap_add_s16"),
):
    """SignalOverlapAdd: sums of overlapping frames."""

    lines: int = number(DType.S32)
    frames: int = number(DType.S32, "of each line")
    size: int = number(DType.S32, "of a frame")
    step: int = number(DType.S32, "1 to size: elements from one frame to the next")
    contract = """
        require: 1 <= step
        require: step <= size
        input: lines * frames x size
        output: lines * frames * step
        [s16] state: lines * (size - step) of 2
        [f32] state: lines * (size - step) of 4
    """


class PcanParams(Params, kernels=("kibi_signal_pcan_u32",)):
    """SignalPCAN: each channel times a gain that follows from its noise, then compressed."""

    elements: int = number(DType.S32)
    snr_shift: int = number(DType.S32, "0 to 63: the product with the gain is shifted to the right")
    gain_lut: Array = array(DType.S16, "[125]")
    contract = """
        require: 0 <= elements
        input: 1 x elements
        input: 1 x elements
        output: elements
    """


class IrfftParams(Params):
    """The shared parameters of SignalIrfft: lines of real numbers, from their spectra."""

    lines: int = number(DType.S32)
    points: int = number(DType.S32, "n, half as many as real numbers; it has no prime factors but 2, 3 and 5")
    stage_count: int = number(DType.S32)
    stages: Array = array(DType.S32, "[stage_count][2]: the radix, and the points of each of its parts")
    contract = """
        require: 1 <= min(lines, points)
        require: 0 <= stage_count <= 31
        require: 2 <= least(stages, 0, 2)
        require: most(stages, 0, 2) <= 5
        require: 1 <= least(stages, 1, 2)
        require: most(stages, 1, 2) <= points
        require: highest(stages, 1, 2) < points
        [f32] array twiddles: 2 * points
        [s16] array twiddles: 2 * points in -32767 … 32767
        [s32] array twiddles: 2 * points in -2**31 + 1 … 2**31 - 1
        [f32] array half_turn: points // 2 * 2
        [s16] array half_turn: points // 2 * 2 in -32767 … 32767
        [s32] array half_turn: points // 2 * 2 in -2**31 + 1 … 2**31 - 1
        input: 1 x lines * 2 * (points + 1)
        output: lines * 2 * points
    """


class IrfftF32Params(IrfftParams, kernels=("kibi_signal_irfft_f32",)):
    """SignalIrfft of f32."""

    twiddles: Array = array(DType.F32, "[n][2]: roots of unity")
    half_turn: Array = array(
        DType.F32, "[n / 2][2]: roots of unity that lead from the real transform to the complex one"
    )


class IrfftS16Params(IrfftParams, kernels=("kibi_signal_irfft_s16",)):
    """SignalIrfft of s16."""

    twiddles: Array = array(DType.S16, "[n][2]: roots of unity")
    half_turn: Array = array(
        DType.S16, "[n / 2][2]: roots of unity that lead from the real transform to the complex one"
    )


class IrfftS32Params(IrfftParams, kernels=("kibi_signal_irfft_s32",)):
    """SignalIrfft of s32."""

    twiddles: Array = array(DType.S32, "[n][2]: roots of unity")
    half_turn: Array = array(
        DType.S32, "[n / 2][2]: roots of unity that lead from the real transform to the complex one"
    )


class RfftParams(Params):
    """The shared parameters of SignalRfft: spectra of lines of real numbers."""

    lines: int = number(DType.S32)
    input_elements: int = number(DType.S32, "at most 2 * points; what is missing is 0")
    points: int = number(DType.S32, "n, half as many as real numbers; it has no prime factors but 2, 3 and 5")
    stage_count: int = number(DType.S32)
    stages: Array = array(DType.S32, "[stage_count][2]: the radix, and the points of each of its parts")
    contract = """
        require: 1 <= min(lines, points)
        require: 0 <= stage_count <= 31
        require: 2 <= least(stages, 0, 2)
        require: most(stages, 0, 2) <= 5
        require: 1 <= least(stages, 1, 2)
        require: most(stages, 1, 2) <= points
        require: highest(stages, 1, 2) < points
        [f32] array twiddles: 2 * points
        [s16] array twiddles: 2 * points in -32767 … 32767
        [s32] array twiddles: 2 * points in -2**31 + 1 … 2**31 - 1
        [f32] array half_turn: points // 2 * 2
        [s16] array half_turn: points // 2 * 2 in -32767 … 32767
        [s32] array half_turn: points // 2 * 2 in -2**31 + 1 … 2**31 - 1
        require: 0 <= input_elements
        input: 1 x lines * input_elements
        output: lines * 2 * (points + 1)
    """


class RfftF32Params(RfftParams, kernels=("kibi_signal_rfft_f32",)):
    """SignalRfft of f32."""

    twiddles: Array = array(DType.F32, "[n][2]: roots of unity")
    half_turn: Array = array(
        DType.F32, "[n / 2][2]: roots of unity that lead from the complex transform to the real one"
    )


class RfftS16Params(RfftParams, kernels=("kibi_signal_rfft_s16",)):
    """SignalRfft of s16."""

    twiddles: Array = array(DType.S16, "[n][2]: roots of unity")
    half_turn: Array = array(
        DType.S16, "[n / 2][2]: roots of unity that lead from the complex transform to the real one"
    )


class RfftS32Params(RfftParams, kernels=("kibi_signal_rfft_s32",)):
    """SignalRfft of s32."""

    twiddles: Array = array(DType.S32, "[n][2]: roots of unity")
    half_turn: Array = array(
        DType.S32, "[n / 2][2]: roots of unity that lead from the complex transform to the real one"
    )


class StackerParams(Params, kernels=("kibi_signal_stacker_s16",)):
    """SignalStacker: stacks of neighbouring frames, some of which stay for the next inference."""

    channels: int = number(DType.S32, "of a frame")
    left: int = number(DType.S32, "copies of the first frame that come before it")
    kept: int = number(DType.S32, "the most frames that stay; one less than a stack has")
    step: int = number(DType.S32, "frames from one stack to the next; 1 to kept + 1")
    contract = """
        require: 1 <= channels
        require: 0 <= left
        require: left <= kept
        require: 1 <= step
        require: step <= kept + 1
        input: 1 x channels
        output: (kept + 1) * channels of_bytes 2
        output: 1 of_bytes 1
        state: kept * channels of 2
        state: 1 of 4
    """


class WindowParams(Params, kernels=("kibi_signal_window_s16",)):
    """SignalWindow: samples times the weights of a window, shifted to the right."""

    elements: int = number(DType.S32, "of a row")
    size: int = number(DType.S32, "of the window; divides elements")
    shift_bits: int = number(DType.S32, "0 to 31")
    weights: Array = array(DType.S16, "[size]")
    contract = """
        require: 1 <= size
        require: 0 <= elements
        require: elements == elements // size * size
        input: 1 x elements
        output: elements
    """
