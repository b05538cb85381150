"""CONV_2D and FULLY_CONNECTED in blocks of four channels and up to four pixels, for cores with vectors."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibi.ir import KernelCall
from kibi.kernels.params.conv2d import Conv2DS8Params
from kibi.kernels.params.fully_connected import FullyConnectedS8Params
from kibi.kernels.params.needed_parts import needed_parts
from kibi.kernels.params.vectors import Conv2DVectorsParams
from kibi.ops.overlap import least_distance
from kibi.selection.convolution_call import blocks_distance, blocks_scratch, dense, window_of
from kibi.selection.sums import MOST_SIZE, SimpleSums, channels_of, simple_sums
from kibi.selection.variant import Goal, Variant
from kibi.selection.vectors_rounding import rounded_once

_KERNEL = "kibi_conv2d_s8_vectors"
_FOUR = 4
"""Channels whose outputs are scaled at once."""
MOST_PIXELS = 3
"""Of a block whose outputs are rounded twice."""
_SHORT_PIXELS = 4
"""Of a block whose windows are one vector each, and whose outputs are rounded once."""
_FEW_BYTES, _ROOMY_BYTES = 512, 8192
"""The most scratch where the arena should be small and blocks of other kernels have none, and the most that is of use."""
_SHARE = 4
"""Of the rows that a window reads: then scratch has at most one part in so many of their bytes."""
_VECTOR = 16
"""Elements of a vector."""
_SHORT_BYTES = 256
"""Scratch for the windows of several blocks: so each takes fewer instructions around its products."""
_MOST_WINDOW = 1 << 15
"""Elements of a window stay below it."""
_ORDER = (0, 2, 1, 3)
"""In which biases of four channels are stored."""


def pack_convolution(call: KernelCall) -> KernelCall | None:
    """Weights as they are; None for groups, sums that are not simple, or too little scratch for a window."""
    call = dense(call)
    layer = call.params_as(Conv2DS8Params)
    pixels = _pixels(layer, call.scratch_bytes)
    if layer.groups > 1 or max(layer.scalars.values()) > MOST_SIZE or pixels == 0:
        return None
    step = _VECTOR if _is_filled(layer, pixels) else _elements(layer)
    constants = _constants(layer, step) if pixels <= MOST_PIXELS else _short_constants(layer)
    if constants is None:
        return None
    gathers = not _reads_in_place(layer)
    blocks = _blocks(layer, pixels, call.scratch_bytes)
    params = Conv2DVectorsParams(
        **constants,
        pixels=pixels,
        blocks=blocks,
        gathers=int(gathers),
        weight_step=step,
        input_zero_point=int(layer.padding[0]),
        **layer.scalars_for(Conv2DVectorsParams),
    )
    at_once = pixels * blocks
    sizes = [min(at_once, layer.output_width - x) for x in range(0, layer.output_width, at_once)]
    reads_first = gathers or pixels == _SHORT_PIXELS
    distance = blocks_distance(call, sizes) if reads_first else _distance(call, sizes)
    scratch_bytes = at_once * _elements(layer) if gathers else 0
    return KernelCall(_KERNEL, params, scratch_bytes, inplace_distance_bytes=(distance,), features=needed_parts(params))


def pack_fully_connected(call: KernelCall) -> KernelCall | None:
    """A convolution of one row by a window of one column; None for vectors in pieces, and for sums that are not simple."""
    layer = call.params_as(FullyConnectedS8Params)
    constants = _constants(layer, layer.depth)
    if (
        layer.pieces > 1
        or layer.vectors_per_row != layer.vectors
        or max(layer.scalars.values()) > MOST_SIZE
        or layer.depth >= _MOST_WINDOW
        or constants is None
    ):
        return None
    pixels = _most_pixels(layer.output_channels, layer.vectors)
    params = Conv2DVectorsParams(
        **constants, input_width=layer.vectors, input_channels=layer.piece, output_width=layer.vectors,
        output_channels=layer.output_channels, input_zero_point=0, output_zero_point=layer.output_zero_point,
        activation_min=layer.activation_min, activation_max=layer.activation_max, kernel_rows=1, kernel_width=1, stride=1,
        dilation=1, pad=0, pixels=pixels, blocks=1, gathers=0,
        weight_step=layer.depth,
    )  # fmt: skip
    last = _last_channel(layer.output_channels)
    reads = (
        (x * layer.piece, min(x + pixels, layer.vectors) * layer.output_channels - layer.output_channels + last)
        for x in range(0, layer.vectors, pixels)
    )
    distance = call.inplace_distance_bytes[0] if call.inplace_distance_bytes else None
    if distance is not None and distance < least_distance(reads):
        return None
    return KernelCall(
        _KERNEL, params, inplace_distance_bytes=call.inplace_distance_bytes, features=needed_parts(params)
    )


def _elements(layer: Conv2DS8Params) -> int:
    return layer.kernel_rows * layer.kernel_width * layer.input_channels


def _reads_in_place(layer: Conv2DS8Params) -> bool:
    """True if each window is a piece of one row, inside the input."""
    is_piece = layer.kernel_rows == 1 and (layer.dilation == 1 or layer.kernel_width == 1)
    end = (layer.output_width - 1) * layer.stride + layer.kernel_width
    return is_piece and layer.pad == 0 and end <= layer.input_width


def _most_pixels(channels: int, width: int) -> int:
    """Pixels of the largest block in a row; one where there are fewer than four channels."""
    return min(MOST_PIXELS, width) if channels >= _FOUR else 1


def _pixels(layer: Conv2DS8Params, most_bytes: int) -> int:
    """The pixels of the largest block whose windows fit the scratch; 0 if a single one does not."""
    most = _most_pixels(layer.output_channels, layer.output_width)
    size = _elements(layer)
    if size >= _MOST_WINDOW:
        return 0
    has_room = _reads_in_place(layer) or most_bytes >= _SHORT_PIXELS * size
    if has_room and most == MOST_PIXELS and _short_constants(layer) is not None:
        return _SHORT_PIXELS
    return most if _reads_in_place(layer) else min(most, most_bytes // size)


def _blocks(layer: Conv2DS8Params, pixels: int, most_bytes: int) -> int:
    """Blocks whose windows are copied at once: several where they are small."""
    if _reads_in_place(layer) or layer.output_channels % _FOUR:
        return 1
    room = min(most_bytes, _SHORT_BYTES) // (pixels * _elements(layer))
    return max(1, min(room, layer.output_width // pixels))


def _is_filled(layer: Conv2DS8Params, pixels: int) -> bool:
    """True if each channel's weights are filled up to a vector, by half at most, where all blocks of a row have most pixels."""
    are_alike = pixels == _SHORT_PIXELS or (pixels == MOST_PIXELS and layer.output_width % pixels == 0)
    return are_alike and _VECTOR // 2 <= _elements(layer) < _VECTOR


def _short_constants(layer: Conv2DS8Params) -> dict[str, Any] | None:
    """The weights, each channel's filled up to a vector by half at most, addends and factors; None if outputs are rounded twice."""
    elements = _elements(layer)
    if not _VECTOR // 2 <= elements <= _VECTOR or layer.output_channels % _FOUR:
        return None
    channels = channels_of(layer, layer.filter.reshape(layer.output_channels, -1))
    sums = simple_sums(channels.weights, channels.bias, channels.multiplier, channels.shift)
    once = None if sums is None else rounded_once(layer, channels.weights, sums)
    if once is None:
        return None
    weights = np.pad(channels.weights, ((0, 0), (0, _VECTOR - elements))).astype(np.int8)
    factors = np.stack([once.addend, once.factor], axis=1).astype(np.int32)
    return {"filter": np.ascontiguousarray(weights).reshape(-1), "scales": np.ascontiguousarray(factors).reshape(-1)}


def _constants(layer: Conv2DS8Params | FullyConnectedS8Params, step: int) -> dict[str, Any] | None:
    """The weights, each channel's filled up to `step`, and the scales of fours of channels; None where sums are not simple."""
    channels = channels_of(layer, layer.filter.reshape(layer.output_channels, -1))
    sums = simple_sums(channels.weights, channels.bias, channels.multiplier, channels.shift)
    if sums is None:
        return None
    missing = max(0, _FOUR - layer.output_channels)
    weights = np.pad(channels.weights, ((0, missing), (0, step - channels.weights.shape[1]))).astype(np.int8)
    return {"filter": np.ascontiguousarray(weights).reshape(-1), "scales": _scales(sums, layer.output_channels)}


def _scales(sums: SimpleSums, channels: int) -> NDArray[np.int32]:
    """Returns `[words]`: of each four channels biases, multipliers and shifts."""
    first = np.arange(0, channels, _FOUR)
    first[-1] = max(0, channels - _FOUR)
    fours = np.minimum(first[:, None] + np.arange(_FOUR), channels - 1)
    shifts = np.ascontiguousarray(sums.shift[fours].astype(np.int8)).view("<i4").reshape(-1, 1)
    found = np.concatenate([sums.bias[fours][:, _ORDER], sums.multiplier[fours], shifts], axis=1)
    return found.astype(np.int32).reshape(-1)


def _last_channel(channels: int) -> int:
    """The channels that are written before the last four are computed, of a pixel."""
    return channels - _FOUR if channels % _FOUR == 0 else channels // _FOUR * _FOUR


def _distance(call: KernelCall, blocks: list[int]) -> int:
    """The least distance in place where windows are read again for each four channels."""
    window, channels = window_of(call), call.params_as(Conv2DS8Params).output_channels
    reads, first = [], 0
    for pixels in blocks:
        written = (first + pixels - 1) * channels + _last_channel(channels)
        reads += [(x * window.stride_width * window.channels, written) for x in range(first, first + pixels)]
        first += pixels
    return least_distance(reads)


def scratch(call: KernelCall, goal: Goal) -> int:
    """The bytes of scratch for the windows of a block, or of fewer pixels; 0 where it would be more than other kernels take."""
    call = dense(call)
    layer = call.params_as(Conv2DS8Params)
    if layer.groups > 1 or _reads_in_place(layer):
        return 0
    room = _ROOMY_BYTES if goal is Goal.SPEED else _room(call, layer, goal)
    pixels = _pixels(layer, room)
    return _elements(layer) * pixels * _blocks(layer, pixels, room) if pixels else 0


def _room(call: KernelCall, layer: Conv2DS8Params, goal: Goal) -> int:
    """The most scratch where the arena should be small: what other kernels take, of which those for single pixels take none."""
    few = blocks_scratch(call, goal)
    if layer.output_width == 1:
        return few
    row_bytes = layer.kernel_rows * layer.input_width * layer.input_channels
    return max(few, min(_FEW_BYTES, row_bytes // _SHARE))


CONV2D_VECTORS = Variant(_KERNEL, "kibi_conv2d_s8", "helium", frozenset(Goal), pack_convolution, scratch_bytes=scratch)
FULLY_CONNECTED_VECTORS = Variant(_KERNEL, "kibi_fully_connected_s8", "helium", frozenset(Goal), pack_fully_connected)
