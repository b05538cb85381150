"""Fully connected layers, and convolutions to rows of one pixel, eight output channels at once from packed weights."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from kibi.dtypes import Array
from kibi.ir import KernelCall
from kibi.kernels.params.conv2d import Conv2DS8Params
from kibi.kernels.params.fully_connected import FullyConnectedS8Params
from kibi.kernels.params.fully_connected_packed import FullyConnectedBlocksParams
from kibi.ops.overlap import least_distance
from kibi.quant import wrap_s32
from kibi.selection.packed_pairs import SUM_LIMIT, fit_words, packed_pairs, starts, words
from kibi.selection.single_rounding import SingleRounding, single_rounding
from kibi.selection.sums import SimpleSums, channels_of, simple_sums
from kibi.selection.variant import Goal, Variant

_KERNEL = "kibi_fully_connected_s8_blocks"

LEAST_WEIGHTS_BY_ZEROS = 8192
"""Of a layer that is worth the code that leaves out the products of zeros."""

_BLOCK = 8
"""Output channels whose sums are made at once."""
_EIGHTS = "KIBI_FULLY_CONNECTED_S8_BLOCKS_OF_EIGHTS"
"""The part of the kernel that scales them in their registers."""
_FRACTION_BITS = 11
"""Of outputs that are rounded once."""
_LEAST_SCALED = 24
"""Output channels for which that part is worth its flash: it saves two instructions each."""


@dataclass(frozen=True, slots=True, eq=False)
class Vectors:
    """The layer that the kernel computes.

    Attributes:
        weights: `[O, pieces, piece]`.
        bias, multiplier, shift: `[O]`, as the general kernels have them.
        vectors: number of vectors in a call.
        vectors_per_row: of these.
    """

    weights: NDArray[np.int64]
    bias: NDArray[np.int64]
    multiplier: NDArray[np.int64]
    shift: NDArray[np.int64]
    vectors: int = 1
    vectors_per_row: int = 1


def pack_fully_connected(call: KernelCall) -> KernelCall | None:
    """Packs a call of `kibi_fully_connected_s8`; returns None if sums or shifts are out of range."""
    return _packed(call, call.params_as(FullyConnectedS8Params), vectors_of(call))


def pack_convolution(call: KernelCall) -> KernelCall | None:
    """Packs a call of `kibi_conv2d_s8` with rows of one pixel and a window of neighbouring columns; returns None for others."""
    read = vectors_of_window(call)
    return None if read is None else _packed(call, call.params_as(Conv2DS8Params), read)


def vectors_of(call: KernelCall) -> Vectors:
    """Returns the layer of a call of `kibi_fully_connected_s8`."""
    given = call.params_as(FullyConnectedS8Params)
    weights = _wide(given.filter).reshape(given.output_channels, given.pieces, given.piece)
    scaling = (_wide(given.bias), _wide(given.multiplier), _wide(given.shift))
    return Vectors(weights, *scaling, given.vectors, given.vectors_per_row)


def vectors_of_window(call: KernelCall) -> Vectors | None:
    """Returns the layer of a call of `kibi_conv2d_s8` with rows of one pixel; None for others, or where columns are apart."""
    given = call.params_as(Conv2DS8Params)
    if given.output_width > 1 or given.groups > 1:
        return None
    columns = np.arange(given.kernel_width) * given.dilation - given.pad
    inside = (columns >= 0) & (columns < given.input_width)
    read = columns[inside]
    if not np.array_equal(read, np.arange(max(1, len(read)))):
        return None
    shape = (given.output_channels, given.kernel_rows, given.kernel_width)
    weights = _wide(given.filter).reshape(*shape, -1)
    # Columns outside hold the input's zero point, which the bias takes away again.
    outside = weights[:, :, ~inside].sum(axis=(1, 2, 3)) * _wide(given.padding)[0]
    bias = wrap_s32(_wide(given.bias) + outside)
    pieces = weights[:, :, inside].reshape(*shape[:2], -1)
    return Vectors(pieces, bias, _wide(given.multiplier), _wide(given.shift))


FULLY_CONNECTED_BLOCKS = (
    # It takes less flash than the general one, too.
    Variant(_KERNEL, "kibi_fully_connected_s8", "armv7em", frozenset(Goal), pack_fully_connected),
    Variant(_KERNEL, "kibi_conv2d_s8", "armv7em", frozenset(Goal), pack_convolution),
)


def bounded_layer(given: Conv2DS8Params | FullyConnectedS8Params, read: Vectors) -> Vectors | None:
    """Returns the layer that is read from a call, with small sums that are all shifted to the right; None where some cannot be."""
    read = _with_constants(given, read)
    layer = read if _is_bounded(read) else _simplified(read)
    return None if layer is None or layer.shift.max() >= 0 else layer


def scales_of(layer: Vectors) -> NDArray[np.int32]:
    """Returns `[words]`: for each two channels, both exponents in one word and the multipliers; only one pair if all are equal."""
    return _scaled(layer.multiplier, ~layer.shift)


def _wide(values: Array) -> NDArray[np.int64]:
    return values.astype(np.int64)


def _packed(call: KernelCall, given: Conv2DS8Params | FullyConnectedS8Params, read: Vectors) -> KernelCall | None:
    channels, pieces, piece = read.weights.shape
    layer = bounded_layer(given, read)
    if layer is None:
        return None
    fours = np.pad(layer.weights, ((0, 0), (0, 0), (0, -piece % 4))).reshape(channels, -1)
    packed = packed_pairs(fours)
    if not fit_words(packed):
        return None
    # A vector is read again for each block of eight. The channels after the last block read it once, before any is written.
    last = (channels - 1) // _BLOCK * _BLOCK
    reads = ((vector * pieces * piece, vector * channels + last) for vector in range(layer.vectors))
    distance = call.inplace_distance_bytes[0] if call.inplace_distance_bytes else None
    if distance is not None and distance < least_distance(reads):
        return None
    once = _rounded_once(given, layer)
    first = starts(layer.bias, packed)
    if once is not None:
        first = wrap_s32(first.astype(np.int64) + once.addend).astype(np.int32)
    scales = scales_of(layer) if once is None else _factors(once)
    params = FullyConnectedBlocksParams(
        filter=_filter(first, words(packed)),
        scales=scales,
        scale_step=12 if len(scales) > 3 else 0,
        piece=piece,
        pieces=pieces,
        vectors=layer.vectors,
        row_elements=layer.vectors_per_row * piece,
        output_channels=channels,
        rounding=2 * given.output_zero_point + 1,
        clamps=int((given.activation_min, given.activation_max) != (-128, 127)),
        activation_min=given.activation_min,
        activation_max=given.activation_max,
        rounds_once=int(once is not None),
    )
    rounded = f"KIBI_FULLY_CONNECTED_S8_BLOCKS_ROUNDED_{'TWICE' if once is None else 'ONCE'}"
    return KernelCall(
        _KERNEL,
        params,
        inplace_distance_bytes=call.inplace_distance_bytes,
        features=frozenset({rounded, _EIGHTS} if channels >= _LEAST_SCALED else {rounded}),
        least_features=frozenset({rounded}),
    )


def _rounded_once(given: Conv2DS8Params | FullyConnectedS8Params, layer: Vectors) -> SingleRounding | None:
    """Constants for outputs that are rounded once; None where there are none, or where only other ones have one scale for all."""
    weights = layer.weights.reshape(len(layer.weights), -1).astype(np.int8)
    sums = SimpleSums(layer.bias.astype(np.int32), layer.multiplier.astype(np.int32), layer.shift.astype(np.int8))
    zero_point, low, high = given.output_zero_point, given.activation_min, given.activation_max
    found = single_rounding(weights, sums, zero_point, low, high, bits=_FRACTION_BITS)
    if found is None or (len(_factors(found)) > len(scales_of(layer))):
        return None
    return found


def _with_constants(given: Conv2DS8Params | FullyConnectedS8Params, read: Vectors) -> Vectors:
    """The layer that is read from a call, as `Channels.with_constants` says."""
    found = channels_of(given, read.weights.reshape(len(read.weights), -1), read.bias, limit=SUM_LIMIT)
    weights = found.weights.reshape(read.weights.shape)
    return replace(
        read,
        weights=_wide(weights),
        bias=_wide(found.bias),
        multiplier=_wide(found.multiplier),
        shift=_wide(found.shift),
    )


def _is_bounded(layer: Vectors) -> bool:
    """True if no inputs drive a sum out of its range."""
    weights = layer.weights.reshape(len(layer.weights), -1)
    ends = np.stack([-128 * weights, 127 * weights])
    most = layer.bias + ends.max(axis=0).sum(axis=1)
    least = layer.bias + ends.min(axis=0).sum(axis=1)
    return bool(least.min() > -SUM_LIMIT and most.max() < SUM_LIMIT)


def _simplified(layer: Vectors) -> Vectors | None:
    """The same with small sums for channels without weights; None where others are out of range."""
    weights = layer.weights.reshape(len(layer.weights), -1).astype(np.int8)
    scaling = (layer.bias.astype(np.int32), layer.multiplier.astype(np.int32), layer.shift.astype(np.int8))
    sums = simple_sums(weights, *scaling)
    if sums is None:
        return None
    bias, multiplier, shift = (each.astype(np.int64) for each in (sums.bias, sums.multiplier, sums.shift))
    simplified = replace(layer, bias=bias, multiplier=multiplier, shift=shift)
    return simplified if _is_bounded(simplified) else None


def _filter(first: NDArray[np.int32], weights: NDArray[np.int32]) -> NDArray[np.int32]:
    """Returns `[words]`: for each block of channels, the initial values of the sums, then the weights `[fours, channels]`.

    Args:
        first: `[O]`, the initial values of the sums.
        weights: `[O, fours]`.
    """
    channels = np.pad(np.concatenate([first[:, None], weights], axis=1), ((0, len(first) % 2), (0, 0)))
    eights = len(first) // _BLOCK * _BLOCK
    blocks = [channels[o : o + _BLOCK] for o in range(0, eights, _BLOCK)]
    blocks += [channels[o : o + 2] for o in range(eights, len(channels), 2)]
    return np.concatenate([block.T.reshape(-1) for block in blocks])


def _factors(once: SingleRounding) -> NDArray[np.int32]:
    """The same of outputs that are rounded once: factors in place of multipliers, without exponents."""
    return _scaled(once.factor.astype(np.int64), np.zeros(len(once.factor), np.int64))


def _scaled(multipliers: NDArray[np.int64], exponents: NDArray[np.int64]) -> NDArray[np.int32]:
    each = np.stack([multipliers, exponents])
    if (each == each[:, :1]).all():
        each = each[:, [0, 0]]
    multiplier, exponent = np.pad(each, ((0, 0), (0, each.shape[1] % 2))).reshape(2, -1, 2)
    both = exponent[:, :1] + (exponent[:, 1:] << 8)
    return np.concatenate([both, multiplier], axis=1).reshape(-1).astype(np.int32)
