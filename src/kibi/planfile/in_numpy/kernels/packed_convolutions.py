"""Convolutions whose constants are packed for certain processors: they are unpacked once, and computed as all others are."""

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from kibi.planfile.in_numpy.call import Call, Numbers
from kibi.planfile.in_numpy.products import Scaling, convolve, finish
from kibi.planfile.in_numpy.registry import kernel
from kibi.planfile.in_numpy.unpacking import (
    CONVOLUTION_BITS,
    Unpacked,
    first_channels,
    halves_of,
    of_codebook,
    of_int4,
    packed_pairs,
    pairs_of_channels,
    picked_channels,
    raised_bias,
    rounded_once,
    with_odd_channels,
)
from kibi.quant import wrap_s32

_LANES = 16
_INT4_BLOCKS = "kibi_conv2d_s8_int4_blocks"
_DEPTHWISE_BITS = 8
"""Of the fraction of outputs of depthwise layers that are rounded once."""
_BLOCK = 4
"""Channels of a block of depthwise convolutions."""


def _int4_bytes(words: NDArray[np.int32]) -> Numbers:
    """Weights of int4, [2 * pairs, N, 4], from [pairs, N] words: each byte has one of both channels."""
    halves = words[:, None, :, None] >> (np.array([[0], [4]]) + np.array([8, 0, 24, 16]))[None, :, None] & 15
    weights: Numbers = halves.astype(np.int64).reshape(-1, words.shape[1], 4) - 8
    return weights


def _rounded_twice(raised: Numbers, multipliers: Numbers) -> Scaling:
    """The scaling of channels whose 256-fold sums start so, with an inverted shift, of outputs that are rounded twice."""
    return Scaling(raised >> 8, multipliers, ~(raised & 31))


def _of_lanes(call: Call) -> Unpacked:
    """Sixteen channels side by side, four elements of each; runs of elements are those of a row, or of a column."""
    p = call.numbers
    runs, size = (1, p.kernel_width * p.input_channels) if p.dilation == 1 else (p.kernel_width, p.input_channels)
    blocks, rows, quads = -(-p.output_channels // _LANES), p.kernel_rows * runs, -(-size // 4)
    found = call.array("filter", blocks, rows, quads, _LANES, 4).transpose(0, 3, 1, 2, 4)
    weights = found.reshape(blocks * _LANES, rows, 4 * quads)[: p.output_channels, :, :size]
    weights = weights.reshape(-1, p.kernel_rows, p.kernel_width, p.input_channels)
    return weights, _scaling_of_lanes(call, weights)


def _of_depthwise_lanes(call: Call) -> Unpacked:
    p = call.numbers
    quads = -(-p.kernel_rows // 4)
    found = call.array("filter", -(-p.channels // _LANES), quads, p.kernel_width, _LANES, 4).transpose(0, 3, 1, 4, 2)
    weights = found.reshape(-1, 4 * quads, p.kernel_width, 1)[: p.channels, : p.kernel_rows]
    return weights, _scaling_of_lanes(call, weights)


def _scaling_of_lanes(call: Call, weights: Numbers) -> Scaling:
    """Shifts to the left and to the right, of which one is 0; biases for inputs to which 128 was added."""
    channels = len(weights)
    bias, multiplier, left, right = (call.array(name, channels) for name in ("bias", "multiplier", "left", "right"))
    true_bias = bias + 128 * weights.reshape(channels, -1).sum(axis=1, dtype=np.int64)
    return Scaling(wrap_s32(true_bias), multiplier, left.astype(np.int64) - right)


def _of_single(call: Call) -> Unpacked:
    """Nine weights of each channel in five words, and the shift before the last of them."""
    words = call.array("channels", call.numbers.output_channels, 7)
    halves = halves_of(words[:, 1:6]).reshape(-1, 10)
    weights = np.delete(halves, 8, axis=1).reshape(-1, 3, 3, 1)
    return weights, Scaling(words[:, 0], _doubled(words[:, 6]), ~(words[:, 5] & 31))


def _doubled(words: NDArray[np.int32]) -> Numbers:
    """Multipliers that were doubled."""
    return words.view(np.uint32).astype(np.int64) >> 1


def _of_blocks(call: Call) -> Unpacked:
    """Pairs of channels, whose outputs are rounded once or twice."""
    weights, raised, factors = _in_fours(call)
    if not call.numbers.rounds_once:
        return weights, _rounded_twice(raised, factors)
    return weights, rounded_once(raised, factors, CONVOLUTION_BITS)


def _in_fours(call: Call) -> tuple[Numbers, Numbers, Numbers]:
    """Weights, what 256-fold sums start from, and multipliers or factors of each channel.

    Pairs of channels, four elements at a time; rests of a window's rows come after whole fours of all of them.
    """
    p = call.numbers
    run = p.kernel_width * p.input_channels
    size = p.kernel_rows * run
    pairs, fours = -(-p.output_channels // 2), -(-size // 4)
    is_int4 = call.kernel == _INT4_BLOCKS
    weighing, channels = _of_pairs(call, pairs, fours * (1 if is_int4 else 2))
    words = weighing.reshape(pairs, fours, -1).transpose(0, 2, 1).reshape(-1, fours)
    found = _int4_bytes(words) if is_int4 else packed_pairs(words)
    whole = run if p.input_channels % 4 == 0 else run // 4 * 4
    places = np.arange(size).reshape(p.kernel_rows, run)
    order = np.concatenate([places[:, :whole].reshape(-1), places[:, whole:].reshape(-1)])
    weights = np.empty((2 * pairs, size), np.int64)
    weights[:, order] = found.reshape(2 * pairs, -1)[:, :size]
    raised = raised_bias(channels[:, :2].reshape(-1), found)
    shape = (-1, p.kernel_rows, p.kernel_width, p.input_channels)
    count = p.output_channels
    return weights.reshape(shape)[:count], raised[:count], channels[:, 2:].reshape(-1)[:count]


def _of_pairs(call: Call, pairs: int, words: int) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """The weights of pairs of channels, [pairs, words], and what their sums start from, with their factors, [pairs, 4]."""
    if call.kernel.startswith("kibi_conv2d_s8_pieces"):
        at_once, filter_ = call.numbers.elements_at_once // 2, call.array("filter", pairs * words)
        ends = [(first * pairs, min(words, first + at_once) * pairs) for first in range(0, words, at_once)]
        parts = [filter_[first:end].reshape(pairs, -1) for first, end in ends]
        return np.concatenate(parts, axis=1), call.array("channels", pairs, 4)
    stream = call.array("stream", pairs, words + 4)
    return stream[:, 2:-2], stream[:, [0, 1, -2, -1]]


def _of_pairs_in_halves(call: Call) -> Unpacked:
    """Pairs of channels, whose weights of an element are side by side, in whole groups of four elements."""
    p = call.numbers
    size = p.kernel_rows * p.kernel_width * p.input_channels
    channels, elements = p.output_channels + p.output_channels % 2, size + -size % 4
    found = call.array("filter", channels // 2, elements, 2).transpose(0, 2, 1).reshape(channels, elements)
    weights = found[: p.output_channels, :size].astype(np.int64)
    shape = (p.output_channels, p.kernel_rows, p.kernel_width, p.input_channels)
    return weights.reshape(shape), Scaling.of(call, p.output_channels)


def _of_columns(call: Call) -> Unpacked:
    """Passes over rows and input channels, each with some weights of all pairs of channels.

    In the first pass, a pair starts from the two numbers before its weights. In the last pass, its multipliers come after these.
    """
    p = call.numbers
    pairs, passes = (
        -(-p.output_channels // 2),
        p.kernel_rows * p.input_channels // (p.rows_at_once * p.channels_at_once),
    )
    each = p.rows_at_once * p.channels_at_once // 4 * 6
    stream = call.array("stream", pairs * (passes * each + 4))
    weights = np.empty((pairs, 2, p.kernel_rows, 3, p.input_channels), np.int64)
    starts = multipliers = np.empty((0, 0), np.int32)
    place = 0
    for number in range(passes):
        ky, c = divmod(number * p.rows_at_once * p.channels_at_once, p.input_channels)
        start_words, end_words = 2 * (number == 0), 2 * (number == passes - 1)
        part = stream[place : place + pairs * (start_words + each + end_words)].reshape(pairs, -1)
        place += part.size
        starts = part[:, :start_words] if start_words else starts
        multipliers = part[:, start_words + each :] if end_words else multipliers
        words = part[:, start_words : start_words + each].reshape(pairs, p.rows_at_once, p.channels_at_once // 4, 3, 2)
        fours = packed_pairs(words).transpose(0, 4, 1, 3, 2, 5)
        rows, channels = slice(ky, ky + p.rows_at_once), slice(c, c + p.channels_at_once)
        weights[:, :, rows, :, channels] = fours.reshape(pairs, 2, p.rows_at_once, 3, p.channels_at_once)
    found = weights.reshape(2 * pairs, p.kernel_rows, 3, p.input_channels)
    raised = raised_bias(starts.reshape(-1), found.reshape(2 * pairs, -1, 4))
    scaling = _rounded_twice(raised, multipliers.reshape(-1))
    return found[: p.output_channels], first_channels(scaling, p.output_channels)


def _of_winograd(call: Call) -> Unpacked:
    """Sums and differences of the kernel's columns, which lead back to them."""
    p = call.numbers
    pairs, size = -(-p.output_channels // 2), p.kernel_rows * p.input_channels
    stream = call.array("stream", pairs, 4 * size + 8)
    ends = (2, 2 + 2 * size, 5 + 3 * size)
    sums, last, first = (_quarters(stream[:, end : end + size]) for end in ends)
    first, last = np.trunc(first / 2).astype(np.int64), np.trunc(last / 2).astype(np.int64)
    columns = np.stack([first, sums - first - last, last], axis=2)
    weights = columns.reshape(2 * pairs, p.kernel_rows, p.input_channels, 3).transpose(0, 1, 3, 2)
    bias = np.trunc(stream[:, :2].reshape(-1) / 2).astype(np.int64)
    scaling = Scaling(bias, *pairs_of_channels(stream[:, 2 + 4 * size + 3 :]))
    return weights[: p.output_channels], first_channels(scaling, p.output_channels)


def _quarters(words: NDArray[np.int32]) -> Numbers:
    """Weights of pairs of channels, [2 * pairs, elements]: 0 and 2 of four in a word of each channel, then 1 and 3."""
    halves = halves_of(words.reshape(len(words), -1, 2, 2))
    return halves.transpose(0, 3, 1, 4, 2).reshape(2 * len(words), -1)


def _of_three_by_three(call: Call) -> Unpacked:
    """Blocks of four channels, whose weights are in the halves of 18 words."""
    channels = call.numbers.channels
    blocks = call.array("blocks", -(-channels // _BLOCK), 26)
    weights, scaling = _three_by_three(blocks, channels)
    if "relu" not in call.kernel:
        return weights, scaling
    starts = blocks[:, :_BLOCK].reshape(-1)[_places_of_four(channels)]
    return weights, rounded_once(starts.astype(np.int64), scaling.multiplier, _DEPTHWISE_BITS)


def _three_by_three(blocks: NDArray[np.int32], channels: int) -> Unpacked:
    """The same of the blocks."""
    left, mixed, middle, right = (blocks[:, first : first + _BLOCK] for first in (4, 8, 12, 16))
    last = halves_of(blocks[:, 20:22]).transpose(0, 2, 1).reshape(-1, _BLOCK)
    thirds = halves_of(mixed)
    taps = [
        *(halves_of(left)[..., row] for row in range(2)), thirds[..., 0],
        *(halves_of(middle)[..., row] for row in range(2)), thirds[..., 1],
        *(halves_of(right)[..., row] for row in range(2)), last,
    ]  # fmt: skip
    weights = np.stack(taps, axis=-1).reshape(-1, _BLOCK, 3, 3).transpose(0, 1, 3, 2)
    return _of_four(weights, blocks, channels)


def _by_input_channel(weights: Numbers, scaling: Scaling, multiplier: int) -> Unpacked:
    """Weights [multiplier * C, …] and their scaling, of which all first output channels come first, as [C * multiplier, …]."""
    order = np.arange(len(weights)).reshape(multiplier, -1).T.reshape(-1)
    return weights[order], picked_channels(scaling, order)


def _of_multiplied(call: Call) -> Unpacked:
    """The weights for the first output channel of each input channel, then for the second one, and so on."""
    p = call.numbers
    outputs = p.depth_multiplier * p.channels
    found = call.array("filter", p.depth_multiplier, p.kernel_rows, p.kernel_width, p.channels)
    weights = found.transpose(0, 3, 1, 2).reshape(outputs, p.kernel_rows, p.kernel_width, 1)
    return _by_input_channel(weights, Scaling.of(call, outputs), p.depth_multiplier)


def _of_three_by_three_multiplied(call: Call) -> Unpacked:
    """The same in blocks of four channels."""
    p = call.numbers
    blocks = call.array("blocks", p.depth_multiplier, -(-p.channels // _BLOCK), 26)
    return _joined([_three_by_three(each, p.channels) for each in blocks])


def _of_depthwise_columns_multiplied(call: Call) -> Unpacked:
    """The same of any window."""
    p = call.numbers
    words = _depthwise_column_words(p.kernel_rows, p.kernel_width)
    blocks = call.array("blocks", p.depth_multiplier, -(-p.channels // _BLOCK), words)
    return _joined([_depthwise_columns(each, p.channels, (p.kernel_rows, p.kernel_width)) for each in blocks])


def _joined(passes: Sequence[Unpacked]) -> Unpacked:
    """All output channels, of the passes of a multiplied layer."""
    weights = np.concatenate([each for each, _ in passes])
    scaling = Scaling(
        *(np.concatenate([getattr(each, name) for _, each in passes]) for name in ("bias", "multiplier", "shift"))
    )
    return _by_input_channel(weights, scaling, len(passes))


def _depthwise_column_words(rows: int, width: int) -> int:
    """Words of a block of four channels of any window."""
    return 2 * _BLOCK + width * (rows // 2 * _BLOCK + rows % 2 * _BLOCK // 2)


def _of_depthwise_columns(call: Call) -> Unpacked:
    """The same of any window: column after column, two rows at a time, and an odd last one."""
    p = call.numbers
    words = _depthwise_column_words(p.kernel_rows, p.kernel_width)
    blocks = call.array("blocks", -(-p.channels // _BLOCK), words)
    return _depthwise_columns(blocks, p.channels, (p.kernel_rows, p.kernel_width))


def _depthwise_columns(blocks: NDArray[np.int32], channels: int, kernel: tuple[int, int]) -> Unpacked:
    """Channels of blocks; the window has so many rows and columns."""
    pairs, is_odd, width = kernel[0] // 2, kernel[0] % 2, kernel[1]
    columns = blocks[:, _BLOCK:-_BLOCK].reshape(-1, width, 4 * pairs + 2 * is_odd)
    both = halves_of(columns[..., : 4 * pairs].reshape(len(blocks), width, pairs, _BLOCK))
    rows = [both.transpose(0, 3, 2, 4, 1).reshape(len(blocks), _BLOCK, 2 * pairs, width)]
    if is_odd:
        last = halves_of(columns[..., 4 * pairs :]).transpose(0, 1, 3, 2).reshape(-1, width, _BLOCK)
        rows.append(last.transpose(0, 2, 1)[:, :, None])
    return _of_four(np.concatenate(rows, axis=2), blocks, channels)


def _places_of_four(channels: int) -> NDArray[np.int64]:
    """Where each channel is in blocks, for the first time."""
    firsts = np.minimum(np.arange(0, channels, _BLOCK), channels - _BLOCK)
    places = (firsts[:, None] + np.arange(_BLOCK)).reshape(-1)
    return np.unique(places, return_index=True)[1]


def _of_four(weights: Numbers, blocks: NDArray[np.int32], channels: int) -> Unpacked:
    """Channels of blocks, 256 times their weights as [blocks, 4, kernel_rows, kernel_width].

    The last block has the last four channels, some of them once more.
    """
    picked = _places_of_four(channels)
    starts = blocks[:, :_BLOCK].astype(np.int64)
    parts = (starts >> 8, blocks[:, -_BLOCK:], ~(starts & 31))
    each = weights.reshape(-1, *weights.shape[2:])[picked] >> 8
    return each[..., None], Scaling(*(part.reshape(-1)[picked] for part in parts))


def _of_s16_blocks(call: Call) -> tuple[Numbers, Numbers]:
    """Weights [O, kernel_rows, kernel_width, channels], and biases and factors [2, O]: pairs of runs, then the rest of these."""
    p = call.numbers
    window = (p.kernel_rows, p.kernel_width, p.input_channels)
    pairs, size = -(-p.output_channels // 2), int(np.prod(window))
    is_wide = p.weight_bits == 16
    words = call.array("stream", pairs, -(-size // 4) * (1 + is_wide) + 2, 2)
    packed = np.ascontiguousarray(words[:, 1:-1].transpose(0, 2, 1)).reshape(2 * pairs, -1)
    found = packed.view("<i2") if is_wide else packed.view(np.int8).reshape(2 * pairs, -1, 4)[..., [0, 2, 1, 3]]
    ordered = found.reshape(2 * pairs, -1)[: p.output_channels, :size]
    places = np.arange(size).reshape(window)
    runs = places.transpose(1, 0, 2).reshape(-1, window[2]) if p.dilation > 1 else places.reshape(window[0], -1)
    whole = runs.shape[1] // 2 * 2
    weights = np.zeros(ordered.shape, np.int64)
    weights[:, np.append(runs[:, :whole], runs[:, whole:])] = ordered
    constants = words[:, [0, -1]].transpose(1, 0, 2).reshape(2, -1)[:, : p.output_channels]
    return weights.reshape(-1, *window), constants.astype(np.int64)


def _of_s16_vectors(call: Call) -> tuple[Numbers, Numbers]:
    """Weights [O, kernel_rows, kernel_width, channels], and biases and factors [2, O] in fours."""
    p = call.numbers
    fours = -(-p.output_channels // 4)
    weights = call.array("filter", 4 * fours, p.kernel_rows, p.kernel_width, p.input_channels)
    scales = call.array("scales", fours, 2, 4)
    constants = np.stack([scales[:, 0, [0, 2, 1, 3]], scales[:, 1]]).reshape(2, -1)[:, : p.output_channels]
    return weights[: p.output_channels].astype(np.int64), constants.astype(np.int64)


def _of_s16_single(call: Call) -> tuple[Numbers, Numbers]:
    """Weights [O, 3, 3, 1], and biases and factors [2, O]."""
    words = call.array("channels", call.numbers.output_channels, 7)
    halves = np.ascontiguousarray(words[:, 2:]).view("<i2").astype(np.int64)
    weights = halves[:, [0, 1, 6, 2, 3, 7, 4, 5, 8]]
    return weights.reshape(-1, 3, 3, 1), words[:, :2].T.astype(np.int64)


_CONVOLUTIONS: dict[str, Callable[[Call], Unpacked]] = {
    "kibi_conv2d_s8_3x3x1": _of_single,
    "kibi_conv2d_s8_blocks": _of_blocks,
    "kibi_conv2d_s8_codebook": of_codebook,
    "kibi_conv2d_s8_columns": _of_columns,
    "kibi_conv2d_s8_halves": _of_pairs_in_halves,
    "kibi_conv2d_s8_int4": of_int4,
    _INT4_BLOCKS: _of_blocks,
    "kibi_conv2d_s8_lanes": _of_lanes,
    "kibi_conv2d_s8_pieces": _of_blocks,
    "kibi_conv2d_s8_winograd": _of_winograd,
    "kibi_depthwise_conv2d_s8_3x3": _of_three_by_three,
    "kibi_depthwise_conv2d_s8_3x3_multiplied": _of_three_by_three_multiplied,
    "kibi_depthwise_conv2d_s8_3x3_relu": _of_three_by_three,
    "kibi_depthwise_conv2d_s8_columns": _of_depthwise_columns,
    "kibi_depthwise_conv2d_s8_columns_multiplied": _of_depthwise_columns_multiplied,
    "kibi_depthwise_conv2d_s8_lanes": _of_depthwise_lanes,
    "kibi_depthwise_conv2d_s8_multiplied": _of_multiplied,
}
_WITH_ODD = (
    "kibi_conv2d_s8_3x3x1", "kibi_conv2d_s8_blocks", "kibi_conv2d_s8_columns", "kibi_conv2d_s8_pieces",
    "kibi_conv2d_s8_winograd", "kibi_depthwise_conv2d_s8_3x3", "kibi_depthwise_conv2d_s8_3x3_relu",
    "kibi_depthwise_conv2d_s8_columns",
)  # fmt: skip
_CONVOLUTIONS |= {f"{each}_odd": partial(with_odd_channels, fast=_CONVOLUTIONS[each]) for each in _WITH_ODD}


@kernel(*_CONVOLUTIONS)
def convolution(call: Call) -> None:
    """CONV_2D and DEPTHWISE_CONV_2D."""
    p = call.numbers
    weights, scaling = call.once(lambda: _CONVOLUTIONS[call.kernel](call))
    groups = (p.channels if hasattr(p, "channels") else p.input_channels) if "depthwise" in call.kernel else 1
    fill = int(call.array("padding", 1)[0]) if "padding" in call.pointers else p.input_zero_point
    finish(call, convolve(call, weights, groups, fill), scaling)


def _of_s16_depthwise(call: Call) -> tuple[Numbers, Numbers]:
    """Weights [channels, kernel_rows, kernel_width, 1], and biases and factors [2, channels]."""
    p = call.numbers
    words = 2 * _BLOCK + p.kernel_rows * p.kernel_width
    return _s16_depthwise(call.array("blocks", -(-p.channels // _BLOCK), words), p.channels, p.kernel_rows)


def _s16_depthwise(blocks: NDArray[np.int32], channels: int, rows: int) -> tuple[Numbers, Numbers]:
    """The same of blocks [fours, words]."""
    picked = _places_of_four(channels)
    bytes_of = np.ascontiguousarray(blocks[:, _BLOCK:-_BLOCK]).view(np.int8).reshape(len(blocks), rows, -1, _BLOCK)
    weights = bytes_of.transpose(0, 3, 1, 2).reshape(-1, *bytes_of.shape[1:3], 1)[picked].astype(np.int64)
    constants = np.stack([blocks[:, :_BLOCK], blocks[:, -_BLOCK:]]).reshape(2, -1)[:, picked]
    return weights, constants.astype(np.int64)


def _of_s16_depthwise_multiplied(call: Call) -> tuple[Numbers, Numbers]:
    """The same of the first output channel of each input channel, then of the second one, and so on."""
    p = call.numbers
    words = 2 * _BLOCK + p.kernel_rows * p.kernel_width
    blocks = call.array("blocks", p.depth_multiplier, -(-p.channels // _BLOCK), words)
    passes = [_s16_depthwise(each, p.channels, p.kernel_rows) for each in blocks]
    weights = np.stack([each for each, _ in passes], axis=1)
    constants = np.stack([each for _, each in passes], axis=2)
    return weights.reshape(-1, *weights.shape[2:]), constants.reshape(2, -1)


_OF_S16 = {
    "kibi_conv2d_s16_3x3x1": _of_s16_single,
    "kibi_conv2d_s16_blocks": _of_s16_blocks,
    "kibi_conv2d_s16_vectors": _of_s16_vectors,
    "kibi_depthwise_conv2d_s16_blocks": _of_s16_depthwise,
    "kibi_depthwise_conv2d_s16_blocks_multiplied": _of_s16_depthwise_multiplied,
}


@kernel(*_OF_S16)
def convolution_of_s16(call: Call) -> None:
    """CONV_2D and DEPTHWISE_CONV_2D of s16: the high half of each sum times its factor, rounded half up."""
    p = call.numbers
    weights, constants = call.once(lambda: _OF_S16[call.kernel](call))
    whole = convolve(call, weights, getattr(p, "channels", 1), 0).astype(np.int64) + constants[0]
    scaled = ((whole * constants[1] + (1 << 31)) >> 32) + getattr(p, "output_zero_point", 0)
    call.write(np.clip(scaled, p.activation_min, p.activation_max).astype(np.int16))
