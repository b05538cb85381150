"""Layers of s8 whose constants are packed for cores with vectors: they are unpacked once, and computed as all others are."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kibi.planfile.in_numpy.call import Call, Numbers
from kibi.planfile.in_numpy.products import Scaling, convolve, finish
from kibi.planfile.in_numpy.registry import kernel
from kibi.quant import wrap_s32

_FOUR, _LANES, _TAPS = 4, 16, 9
_BIASES, _WEIGHTS = 16, 36
"""Words of a block."""
_ONCE_BITS = 43
"""Of the fraction of a product that is rounded once."""


@dataclass(frozen=True, slots=True)
class _Once:
    """Addends and factors of channels whose outputs are rounded once, to the nearest."""

    addend: Numbers
    factor: Numbers


def _finish(call: Call, sums: Numbers, scaling: Scaling | _Once) -> None:
    """Makes outputs of sums, [..., O], and writes them."""
    if isinstance(scaling, Scaling):
        finish(call, sums, scaling)
        return
    raised = wrap_s32((sums.astype(np.int64) << 8) + scaling.addend)
    rounded = (raised * scaling.factor + (1 << _ONCE_BITS - 1)) >> _ONCE_BITS
    call.write(np.clip(rounded, -128, 127).astype(np.int8))


def _first_places(channels: int, blocks: int, size: int) -> NDArray[np.int64]:
    """Where each channel is in blocks of a size, for the first time; the last block may have the last channels."""
    place = np.arange(channels)
    last = channels - size
    return np.where(place < (blocks - 1) * size, place, place - last + (blocks - 1) * size if last >= 0 else place)


def _of_pixels(call: Call) -> tuple[Numbers, Scaling | _Once]:
    """Weights as they are, and scales of fours of channels: the biases of channels 0, 2, 1 and 3 come first."""
    p = call.numbers
    fours = -(-p.output_channels // _FOUR)
    shape = (p.output_channels, p.kernel_rows, p.kernel_width, p.input_channels)
    size = p.kernel_rows * p.kernel_width * p.input_channels
    filters = call.array("filter", max(_FOUR, p.output_channels), p.weight_step)
    weights = filters[: p.output_channels, :size].astype(np.int64).reshape(shape)
    if p.pixels == _FOUR:
        addend, factor = call.array("scales", p.output_channels, 2).astype(np.int64).T
        return weights, _Once(addend, factor)
    scales = call.array("scales", fours, 9)
    shifts = np.ascontiguousarray(scales[:, 8:]).view(np.int8)
    parts = (scales[:, [0, 2, 1, 3]], scales[:, 4:8], shifts)
    places = _first_places(p.output_channels, fours, _FOUR)
    return weights, Scaling(*(part.reshape(-1)[places].astype(np.int64) for part in parts))


def _of_taps(call: Call) -> tuple[Numbers, Scaling | _Once]:
    """Blocks of sixteen channels; biases and scales of each fourth one are side by side."""
    p = call.numbers
    has_four = p.channels % _FOUR != 0 and p.channels < _LANES
    count = -(-p.channels // _LANES) + has_four
    words = _FOUR if p.rounds_once else _FOUR + 1
    blocks = call.array("blocks", count, _BIASES + _WEIGHTS + _FOUR * words)
    bias, taps, scales = np.split(blocks, [_BIASES, _BIASES + _WEIGHTS], axis=1)
    scales = scales.reshape(count, _FOUR, words)
    parts = [bias.reshape(count, _FOUR, _FOUR), scales[:, :, :_FOUR]]
    if not p.rounds_once:
        parts.append(np.ascontiguousarray(scales[:, :, _FOUR:]).view(np.int8).reshape(count, _FOUR, _FOUR))
    weights = (
        np.ascontiguousarray(taps).view(np.int8).reshape(count, _TAPS, _LANES).transpose(0, 2, 1).reshape(-1, 3, 3)
    )
    if has_four:
        place = np.arange(p.channels)
        whole = p.channels // _FOUR * _FOUR
        places = np.where(place < whole, place, place - (p.channels - _FOUR) + _LANES)
    else:
        is_whole = p.channels % _FOUR == 0
        places = np.arange(p.channels) if is_whole else _first_places(p.channels, count, _LANES)
    found = [part.transpose(0, 2, 1).reshape(-1)[places].astype(np.int64) for part in parts]
    return weights[places].astype(np.int64)[..., None], _Once(*found) if p.rounds_once else Scaling(*found)


@kernel("kibi_conv2d_s8_vectors")
def convolution(call: Call) -> None:
    """CONV_2D, and FULLY_CONNECTED as one."""
    weights, scaling = call.once(lambda: _of_pixels(call))
    _finish(call, convolve(call, weights, 1, call.numbers.input_zero_point), scaling)


@kernel("kibi_depthwise_conv2d_s8_vectors")
def depthwise(call: Call) -> None:
    """DEPTHWISE_CONV_2D three by three."""
    weights, scaling = call.once(lambda: _of_taps(call))
    _finish(call, convolve(call, weights, call.numbers.channels, call.numbers.input_zero_point), scaling)
