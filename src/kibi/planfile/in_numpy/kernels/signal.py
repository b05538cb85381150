"""The Signal operators: TFLM's front end for speech."""

from dataclasses import dataclass

import numpy as np

from kibi.dtypes import Array, DType
from kibi.ops.signal.fft import RealTransform
from kibi.ops.signal.fft_auto_scale import free_bits
from kibi.ops.signal.filter_bank_log import SignalFilterBankLog
from kibi.ops.signal.filter_bank_spectral_subtraction import SignalFilterBankSpectralSubtraction
from kibi.ops.signal.filter_bank_square_root import root
from kibi.ops.signal.overlap_add import sum_of
from kibi.ops.signal.pcan import SignalPCAN
from kibi.planfile.in_numpy.call import Call, types_of
from kibi.planfile.in_numpy.registry import kernel

_KINDS = ("s16", "s32", "f32")


@kernel("kibi_signal_delay_s16")
def delay(call: Call) -> None:
    """SignalDelay: what was there, then what comes."""
    p = call.numbers
    lines = np.stack([call.row(number, p.size, "<i2") for number in range(p.lines)])
    kept = call.state(0, p.lines * p.delay, "<i2").reshape(p.lines, p.delay)
    both = np.concatenate([kept, lines], axis=1)
    kept[:] = both[:, p.size :]
    call.write(both[:, : p.size])


@kernel("kibi_signal_energy_s16")
def energy(call: Call) -> None:
    """SignalEnergy: sums of squares of a range of frequencies."""
    p = call.numbers
    end = max(0, min(p.end, p.elements))
    pairs = call.row(0, 2 * end, "<i2").astype(np.int64).reshape(-1, 2)
    made = np.zeros(p.elements, np.uint32)
    made[p.start : end] = (pairs**2).sum(axis=1)[p.start :]
    call.write(made)


@kernel("kibi_signal_fft_auto_scale_s16", "kibi_signal_fft_auto_scale_bits_s16")
def auto_scale(call: Call) -> None:
    """SignalFftAutoScale: samples as large as 16 bits allow, or the bits by which they grow."""
    data = call.row(0, call.numbers.elements, "<i2").astype(np.int64)
    bits = free_bits(data)
    call.write(np.array([bits], np.int32) if "_bits_" in call.kernel else (data << bits).astype(np.int16))


@kernel("kibi_signal_filter_bank_u32")
def filter_bank(call: Call) -> None:
    """SignalFilterBank: sums modulo 2**64 of energies in bands that overlap."""
    p = call.numbers
    names = ("frequency_starts", "weight_starts", "widths")
    places = np.stack([call.array(name, p.channels + 1) for name in names], axis=1).tolist()
    energies = call.row(0, max(0, *(start + width for start, _, width in places)), "<u4").astype(np.uint64)
    count = max(0, *(start + width for _, start, width in places))
    weights, unweights = (call.array(name, count).astype(np.int64).view(np.uint64) for name in ("weights", "unweights"))
    sums = np.zeros((2, p.channels + 2), np.uint64)
    for channel, (frequency, weight, width) in enumerate(places):
        used, factors = slice(frequency, frequency + max(0, width)), slice(weight, weight + max(0, width))
        sums[0, channel] = (weights[factors] * energies[used]).sum(dtype=np.uint64)
        sums[1, channel + 1] = (unweights[factors] * energies[used]).sum(dtype=np.uint64)
    call.write(sums.sum(axis=0, dtype=np.uint64)[1:-1])


@kernel("kibi_signal_filter_bank_log_u32")
def filter_bank_log(call: Call) -> None:
    """SignalFilterBankLog: rule N45."""
    p = call.numbers
    operator = SignalFilterBankLog(input_correction_bits=p.correction_bits, output_scale=p.output_scale)
    call.write(operator.logarithms(call.row(0, p.elements, "<u4")))


@kernel("kibi_signal_filter_bank_spectral_subtraction_u32")
def spectral_subtraction(call: Call) -> None:
    """SignalFilterBankSpectralSubtraction: rule N47."""
    p = call.numbers
    operator = SignalFilterBankSpectralSubtraction(
        alternate_one_minus_smoothing=p.alternate_one_minus_smoothing,
        alternate_smoothing=p.alternate_smoothing,
        clamping=bool(p.clamps),
        min_signal_remaining=p.min_signal_remaining,
        num_channels=p.elements,
        one_minus_smoothing=p.one_minus_smoothing,
        smoothing=p.smoothing,
        smoothing_bits=p.smoothing_bits,
        spectral_subtraction_bits=p.spectral_subtraction_bits,
    )
    noise = call.state(0, p.elements, "<u4")
    made, estimate = operator.subtracted(call.row(0, p.elements, "<u4"), noise)
    noise[:] = estimate
    call.write(made)
    call.write(estimate, 1)


@kernel("kibi_signal_filter_bank_square_root_u64")
def filter_bank_square_root(call: Call) -> None:
    """SignalFilterBankSquareRoot: rule N44."""
    bits = int(call.row(1, 1, "<i4")[0]) & 31
    values = call.row(0, call.numbers.elements, "<u8").tolist()
    call.write(np.array([root(value) >> bits for value in values], np.uint32))


@kernel("kibi_signal_framer_s16")
def framer(call: Call) -> None:
    """SignalFramer: frames that overlap; one that is not complete is 0."""
    p = call.numbers
    available = call.state(1, 1, "<i4")
    first = min(max(int(available[0]), 0), p.kept)
    made = np.zeros((p.lines, p.frames, p.size), np.int16)
    is_valid = True
    for number in range(p.lines):
        kept = call.state(0, p.lines * p.kept, "<i2")[number * p.kept : (number + 1) * p.kept]
        data = np.concatenate([kept[:first], call.row(number, p.frames * p.step, "<i2")])
        for frame in range(p.frames):
            is_complete = len(data) - p.step * (p.frames - 1 - frame) >= p.size
            if is_complete:
                made[number, frame], data = data[: p.size], data[p.step :]
            is_valid = is_valid and is_complete
        data = data[: p.kept]
        kept[: len(data)] = data
        available[0] = len(data)
    call.write(made)
    call.write(np.array([is_valid], np.uint8), 1)


@kernel("kibi_signal_overlap_add_s16", "kibi_signal_overlap_add_f32")
def overlap_add(call: Call) -> None:
    """SignalOverlapAdd: frame after frame."""
    p, (kind, _) = call.numbers, types_of(call.kernel)
    rows = [call.row(number, p.size, kind.numpy.str) for number in range(p.lines * p.frames)]
    frames = np.stack(rows).reshape(p.lines, p.frames, p.size)
    kept = call.state(0, p.lines * (p.size - p.step), kind.numpy.str).reshape(p.lines, p.size - p.step)
    made = np.zeros((p.lines, p.frames, p.step), kind.numpy)
    for frame in range(p.frames):
        total = sum_of(np.pad(kept, ((0, 0), (0, p.step))), frames[:, frame])
        made[:, frame], kept[:] = total[:, : p.step], total[:, p.step :]
    call.write(made)


@kernel("kibi_signal_pcan_u32")
def pcan(call: Call) -> None:
    """SignalPCAN: rule N46."""
    p = call.numbers
    data, noise = (call.row(number, p.elements, "<u4").astype(np.int64) for number in range(2))
    call.write(SignalPCAN(snr_shift=p.snr_shift).compressed(data, noise, call.array("gain_lut", 125).astype(np.int64)))


@dataclass(frozen=True)
class _Transform(RealTransform):
    """A transform whose roots of unity are those of the file.

    Attributes:
        roots, half_roots: as `twiddles` and `half_turn`.
    """

    roots: Array
    half_roots: Array

    @property
    def twiddles(self) -> Array:
        """The roots of unity `[points, 2]`."""
        return self.roots

    @property
    def half_turn(self) -> Array:
        """The factors that make real spectra of complex ones `[points / 2, 2]`."""
        return self.half_roots


def _transform(call: Call, *, is_inverse: bool) -> RealTransform:
    p, (kind, _) = call.numbers, types_of(call.kernel)
    roots, half_roots = call.array("twiddles", p.points, 2), call.array("half_turn", p.points // 2, 2)
    return _Transform(kind, p.points, is_inverse, roots, half_roots)


@kernel(*(f"kibi_signal_rfft_{kind}" for kind in _KINDS))
def rfft(call: Call) -> None:
    """SignalRfft: rules N41 and N42."""
    p, (kind, _) = call.numbers, types_of(call.kernel)
    lines = call.row(0, p.lines * p.input_elements, kind.numpy.str).reshape(p.lines, p.input_elements)
    call.write(_transform(call, is_inverse=False).forward(lines[:, : 2 * p.points]))


@kernel(*(f"kibi_signal_irfft_{kind}" for kind in _KINDS))
def irfft(call: Call) -> None:
    """SignalIrfft: the same rules; floats are divided at the end."""
    p, (kind, _) = call.numbers, types_of(call.kernel)
    lines = call.row(0, p.lines * 2 * (p.points + 1), kind.numpy.str).reshape(p.lines, p.points + 1, 2)
    made = _transform(call, is_inverse=True).backward(np.array(lines))
    call.write(np.divide(made, np.float32(2 * p.points)) if kind is DType.F32 else made)


@kernel("kibi_signal_stacker_s16")
def stacker(call: Call) -> None:
    """SignalStacker: neighbouring frames side by side; a stack that is not complete is 0."""
    p = call.numbers
    frame = call.row(0, p.channels, "<i2")
    kept, available = call.state(0, p.kept * p.channels, "<i2"), call.state(1, 1, "<i4")
    count = min(int(available[0]), p.kept)
    data = np.concatenate([*([frame] * p.left if count < 0 else [kept[: count * p.channels]]), frame])
    is_valid = data.size == (p.kept + 1) * p.channels
    call.write(data if is_valid else np.zeros((p.kept + 1) * p.channels, np.int16))
    call.write(np.array([is_valid], np.uint8), 1)
    data = data[p.step * p.channels :] if is_valid else data
    kept[: data.size] = data
    available[0] = data.size // p.channels


@kernel("kibi_signal_window_s16")
def window(call: Call) -> None:
    """SignalWindow: samples times the weights of a window, shifted to the right."""
    p = call.numbers
    samples = call.row(0, p.elements, "<i2").astype(np.int64).reshape(-1, p.size)
    found = samples * call.array("weights", p.size).astype(np.int64) >> p.shift_bits
    call.write(np.clip(found, *DType.S16.limits).astype(np.int16))
