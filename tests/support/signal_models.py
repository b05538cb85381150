"""Drawn models of the Signal operators, to the ends of what TFLM computes without undefined behaviour."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from flatbuffers import flexbuffers

from kibi.dtypes import Array, DType
from kibi.frontends.tflite.builder import ModelBuilder
from tests.support.case import Case, drawn_shape
from tests.support.choices import Choices, flip, floats

_ELEMENT_TYPES = {DType.F32: 0, DType.S32: 2, DType.S16: 7}
"""The schema's numbers, as the option T has them."""


def integers(c: Choices, shape: Sequence[int], dtype: DType, bits: int = 64) -> Array:
    """Elements of all magnitudes of up to that many bits, or the ends of the range and what is next to them."""
    low, high = dtype.limits
    bits = min(bits, high.bit_length())
    rng = np.random.default_rng(c.integer(0, (1 << 32) - 1))
    style = c.one_of(("any", "small", "ends", "full"))
    if style == "ends":
        ends = [low if bits == high.bit_length() else 0, 0, 1, (1 << bits) - 2, (1 << bits) - 1]
        return np.array(ends, dtype.numpy)[rng.integers(0, len(ends), tuple(shape))]
    wide = rng.integers(0, 1 << 62, tuple(shape)).astype(np.uint64) << np.uint64(2)
    kept = np.uint64(64 - bits) + (rng.integers(0, bits, tuple(shape)) if style == "any" else 0) * np.uint64(1)
    values = wide >> kept.astype(np.uint64) if style != "small" else wide % np.uint64(min(1 << bits, 17))
    signs = rng.choice((-1, 1), tuple(shape)) if low else np.ones(tuple(shape), np.int64)
    return (values.astype(np.int64) * signs).astype(dtype.numpy)


_RUNS = 4
"""Inferences in a row of what has states."""


def signal(
    name: str, b: ModelBuilder, operands: Sequence[int], outputs: Sequence[int], inputs: Sequence[Array], **options: int
) -> Case:
    """The model of one operator; all its outputs are the model's."""
    b.operator(
        "CUSTOM", operands, outputs, custom_code=name, custom_options=bytes(flexbuffers.Dumps(options)),
    )  # fmt: skip
    return Case(name, b.finish(outputs), tuple(inputs))


def remembering(c: Choices, case: Case, dtype: DType) -> Case:
    """The case with more inferences."""
    shape = case.inputs[0].shape
    return replace(case, further=tuple((_samples(c, shape, dtype),) for _ in range(_RUNS - 1)))


def _samples(c: Choices, shape: Sequence[int], dtype: DType) -> Array:
    return floats(c, shape, 1e6) if dtype is DType.F32 else integers(c, shape, dtype)


def window(c: Choices) -> Case:
    """SignalWindow over one or several lines, each one or several windows long."""
    b, size = ModelBuilder(), c.integer(1, 40)
    shape = (*drawn_shape(c, c.integer(0, 3), 3), size * c.integer(1, 2))
    source = b.input(shape, DType.S16)
    weights = b.constant(integers(c, (size,), DType.S16))
    data = integers(c, shape, DType.S16)
    shift = c.one_of((12, 0, 15, c.integer(0, 31)))
    return signal("SignalWindow", b, [source, weights], [b.tensor(shape, DType.S16)], [data], shift=shift)


def fft_auto_scale(c: Choices) -> Case:
    """SignalFftAutoScale, also of the least number, whose magnitude wraps."""
    b, size = ModelBuilder(), c.integer(1, 60)
    source = b.input([size], DType.S16)
    outputs = [b.tensor([size], DType.S16), b.tensor([], DType.S32)]
    return signal("SignalFftAutoScale", b, [source], outputs, [integers(c, (size,), DType.S16, c.integer(1, 15))])


_LENGTHS = (512, 4, 6, 8, 10, 12, 16, 18, 20, 24, 30, 32, 40, 50, 60, 64, 90, 100, 120, 128, 150, 256)


def rfft(c: Choices) -> Case:
    """SignalRfft of any length and type, with zeros behind the samples or without."""
    b, length, dtype = ModelBuilder(), c.one_of(_LENGTHS), c.one_of((DType.S16, DType.S32, DType.F32))
    outer, used = drawn_shape(c, c.integer(0, 2), 3), c.one_of((length, c.integer(1, length)))
    source = b.input((*outer, used), dtype)
    output = b.tensor((*outer, length + 2), dtype)
    data = _samples(c, (*outer, used), dtype)
    return signal("SignalRfft", b, [source], [output], [data], T=_ELEMENT_TYPES[dtype], fft_length=length)


def irfft(c: Choices) -> Case:
    """SignalIrfft of any length and type."""
    b, length, dtype = ModelBuilder(), c.one_of(_LENGTHS), c.one_of((DType.S16, DType.S32, DType.F32))
    outer = drawn_shape(c, c.integer(0, 2), 3)
    source = b.input((*outer, length + 2), dtype)
    output = b.tensor((*outer, length), dtype)
    data = _samples(c, (*outer, length + 2), dtype)
    return signal("SignalIrfft", b, [source], [output], [data], T=_ELEMENT_TYPES[dtype], fft_length=length)


def energy(c: Choices) -> Case:
    """SignalEnergy of all frequencies: TFLM leaves the others as they lie in memory."""
    b, size = ModelBuilder(), c.integer(1, 40)
    source, output = b.input([2 * size], DType.S16), b.tensor([size], DType.U32)
    data = integers(c, (2 * size,), DType.S16)
    return signal("SignalEnergy", b, [source], [output], [data], start_index=0, end_index=size)


def filter_bank(c: Choices) -> Case:
    """SignalFilterBank of any stretches."""
    b, channels, size, weights = ModelBuilder(), c.integer(1, 12), c.integer(1, 50), c.integer(1, 60)
    widths = [c.integer(0, min(size, weights)) for _ in range(channels + 1)]
    starts = ([c.integer(0, most - width) for width in widths] for most in (size, weights))
    source = b.input([size], DType.U32)
    operands = [source, *(b.constant(integers(c, (weights,), DType.S16)) for _ in range(2))]
    operands += [b.constant(np.array(places, np.int16)) for places in (*starts, widths)]
    output, data = b.tensor([channels], DType.U64), integers(c, (size,), DType.U32)
    return signal("SignalFilterBank", b, operands, [output], [data], num_channels=channels)


def filter_bank_square_root(c: Choices) -> Case:
    """SignalFilterBankSquareRoot, also next to squares, with shifts of less than 32 bits."""
    b, size = ModelBuilder(), c.integer(1, 40)
    data = integers(c, (size,), DType.U64)
    if flip(c):
        roots = integers(c, (size,), DType.U32).astype(np.uint64)
        data = roots * roots + integers(c, (size,), DType.U32).astype(np.uint64) % (roots + np.uint64(2))
    operands = [b.input([size], DType.U64), b.input([], DType.S32)]
    bits = np.array(c.one_of((0, c.integer(0, 15), c.integer(0, 31))), np.int32)
    output = b.tensor([size], DType.U32)
    return signal("SignalFilterBankSquareRoot", b, operands, [output], [data, bits])


def filter_bank_log(c: Choices) -> Case:
    """SignalFilterBankLog of any scale."""
    b, size = ModelBuilder(), c.integer(1, 60)
    source, output = b.input([size], DType.U32), b.tensor([size], DType.S16)
    scale = c.one_of((64, 1600, c.integer(0, 1 << 17), c.integer(-(1 << 31), (1 << 31) - 1)))
    bits = c.one_of((0, 3, c.integer(0, 31)))
    data = integers(c, (size,), DType.U32)
    return signal("SignalFilterBankLog", b, [source], [output], [data], input_correction_bits=bits, output_scale=scale)


def pcan(c: Choices) -> Case:
    """SignalPCAN of any table."""
    b, size = ModelBuilder(), c.integer(1, 60)
    operands = [b.input([size], DType.U32), b.input([size], DType.U32), b.constant(integers(c, (125,), DType.S16))]
    data = [integers(c, (size,), DType.U32) for _ in range(2)]
    shift = c.one_of((6, 0, c.integer(0, 63)))
    return signal("SignalPCAN", b, operands, [b.tensor([size], DType.U32)], data, snr_shift=shift)


def spectral_subtraction(c: Choices) -> Case:
    """SignalFilterBankSpectralSubtraction of usual factors, or any."""
    b, size, small = ModelBuilder(), c.integer(1, 40), flip(c)
    names = (
        *("alternate_one_minus_smoothing", "alternate_smoothing", "min_signal_remaining"),
        *("one_minus_smoothing", "smoothing"),
    )
    most = (1 << 14) if small else (1 << 31) - 1
    options = {name: c.integer(0 if small else -most, most) for name in names}
    options |= {"clamping": flip(c), "num_channels": size, "smoothing_bits": c.one_of((10, c.integer(0, 31)))}
    options["spectral_subtraction_bits"] = c.one_of((14, c.integer(0, 63)))
    source, outputs = b.input([size], DType.U32), [b.tensor([size], DType.U32) for _ in range(2)]
    data = integers(c, (size,), DType.U32)
    made = signal("SignalFilterBankSpectralSubtraction", b, [source], outputs, [data], **options)
    return remembering(c, made, DType.U32)


def delay(c: Choices) -> Case:
    """SignalDelay by less than a line, or more."""
    b, shape = ModelBuilder(), (*drawn_shape(c, c.integer(0, 2), 3), c.integer(1, 20))
    source, output = b.input(shape, DType.S16), b.tensor(shape, DType.S16)
    length = c.one_of((0, 1, shape[-1], c.integer(0, 45)))
    made = signal("SignalDelay", b, [source], [output], [integers(c, shape, DType.S16)], delay_length=length)
    return remembering(c, made, DType.S16)


def framer(c: Choices) -> Case:
    """SignalFramer; all frames are complete, because TFLM leaves others as they lie in memory."""
    b, step = ModelBuilder(), c.integer(1, 12)
    size, prefill = c.one_of(((step + c.integer(0, 30), True), (c.integer(1, step), False)))
    outer, frames = drawn_shape(c, c.integer(0, 2), 3), c.integer(1, 4)
    shape = (*outer, frames * step)
    source = b.input(shape, DType.S16)
    outputs = [b.tensor((*outer, frames, size), DType.S16), b.tensor([], DType.BOOL)]
    data = integers(c, shape, DType.S16)
    made = signal("SignalFramer", b, [source], outputs, [data], frame_size=size, frame_step=step, prefill=prefill)
    return remembering(c, made, DType.S16)


def stacker(c: Choices) -> Case:
    """SignalStacker; all stacks are complete, because TFLM leaves others as they lie in memory."""
    b, channels, left = ModelBuilder(), c.integer(1, 12), c.integer(0, 4)
    source = b.input([channels], DType.S16)
    outputs = [b.tensor([(left + 1) * channels], DType.S16), b.tensor([], DType.BOOL)]
    options = {"num_channels": channels, "stacker_left_context": left, "stacker_right_context": 0}
    data = integers(c, (channels,), DType.S16)
    made = signal("SignalStacker", b, [source], outputs, [data], **options, stacker_step=1)
    return remembering(c, made, DType.S16)


def overlap_add(c: Choices) -> Case:
    """SignalOverlapAdd of any step."""
    b, dtype, size = ModelBuilder(), c.one_of((DType.S16, DType.F32)), c.integer(1, 20)
    outer, frames, step = drawn_shape(c, c.integer(0, 2), 3), c.integer(1, 4), c.integer(1, size)
    shape = (*outer, frames, size)
    source, output = b.input(shape, dtype), b.tensor((*outer, frames * step), dtype)
    data = _samples(c, shape, dtype)
    made = signal("SignalOverlapAdd", b, [source], [output], [data], T=_ELEMENT_TYPES[dtype], frame_step=step)
    return remembering(c, made, dtype)


SIGNAL_MODELS: Mapping[str, Callable[[Choices], Case]] = {
    "SignalDelay": delay,
    "SignalEnergy": energy,
    "SignalFftAutoScale": fft_auto_scale,
    "SignalFilterBank": filter_bank,
    "SignalFilterBankLog": filter_bank_log,
    "SignalFilterBankSpectralSubtraction": spectral_subtraction,
    "SignalFilterBankSquareRoot": filter_bank_square_root,
    "SignalFramer": framer,
    "SignalIrfft": irfft,
    "SignalOverlapAdd": overlap_add,
    "SignalPCAN": pcan,
    "SignalRfft": rfft,
    "SignalStacker": stacker,
    "SignalWindow": window,
}
"""How models of each operator are drawn."""
