"""Fully connected layers, and convolutions to rows of one pixel, eight output channels at once from packed weights."""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from kibi.ir import KernelCall, Param
from kibi.ops.overlap import least_distance
from kibi.quant import wrap_s32
from kibi.selection.halves import SUM_LIMIT, fit_words, halves, starts, words
from kibi.selection.sums import simple_sums
from kibi.selection.variant import Goal, Variant

_KERNEL = "kibi_fully_connected_s8_blocks"

_BLOCK = 8
"""Output channels whose sums are made at once."""


@dataclass(frozen=True, slots=True, eq=False)
class _Layer:
    """What the kernel computes.

    Attributes:
        weights: `[O, pieces, piece]`.
        bias, multiplier, shift: `[O]`, as the general kernels have them.
        vectors: of a call.
        vectors_per_row: of these.
    """

    weights: NDArray[np.int64]
    bias: NDArray[np.int64]
    multiplier: NDArray[np.int64]
    shift: NDArray[np.int64]
    vectors: int = 1
    vectors_per_row: int = 1


def pack_fully_connected(call: KernelCall) -> KernelCall | None:
    """From a call of `kibi_fully_connected_s8`; None where sums or shifts are out of range."""
    arrays, sizes = _values(call)
    weights = arrays["filter"].reshape(sizes["output_channels"], sizes["pieces"], sizes["piece"])
    scaling = (arrays["bias"], arrays["multiplier"], arrays["shift"])
    return _packed(call, sizes, _Layer(weights, *scaling, sizes["vectors"], sizes["vectors_per_row"]))


def pack_convolution(call: KernelCall) -> KernelCall | None:
    """From a call of `kibi_conv2d_s8` for rows of one pixel under a window whose columns are neighbours; else None."""
    arrays, sizes = _values(call)
    if sizes["output_width"] > 1 or sizes["groups"] > 1:
        return None
    columns = np.arange(sizes["kernel_width"]) * sizes["dilation"] - sizes["pad"]
    inside = (columns >= 0) & (columns < sizes["input_width"])
    read = columns[inside]
    if not np.array_equal(read, np.arange(max(1, len(read)))):
        return None
    shape = (sizes["output_channels"], sizes["kernel_rows"], sizes["kernel_width"])
    weights = arrays["filter"].reshape(*shape, -1)
    # Columns outside hold the input's zero point, which the bias takes away again.
    outside = weights[:, :, ~inside].sum(axis=(1, 2, 3)) * arrays["padding"][0]
    bias = wrap_s32(arrays["bias"] + outside)
    pieces = weights[:, :, inside].reshape(*shape[:2], -1)
    return _packed(call, sizes, _Layer(pieces, bias, arrays["multiplier"], arrays["shift"]))


FULLY_CONNECTED_BLOCKS = (
    # It takes less flash than the general one, too.
    Variant(_KERNEL, "kibi_fully_connected_s8", "armv7em", frozenset(Goal), pack_fully_connected),
    Variant(_KERNEL, "kibi_conv2d_s8", "armv7em", frozenset({Goal.SPEED, Goal.BALANCED}), pack_convolution),
)


def _values(call: KernelCall) -> tuple[dict[str, NDArray[np.int64]], dict[str, int]]:
    """The call's arrays and its integers."""
    arrays = {param.name: param.value.astype(np.int64) for param in call.params if isinstance(param.value, np.ndarray)}
    return arrays, {param.name: param.value for param in call.params if isinstance(param.value, int)}


def _packed(call: KernelCall, sizes: dict[str, int], given: _Layer) -> KernelCall | None:
    channels, pieces, piece = given.weights.shape
    layer = given if _is_bounded(given) else _simplified(given)
    fours = np.pad(given.weights, ((0, 0), (0, 0), (0, -piece % 4))).reshape(channels, -1)
    packed = halves(fours)
    if layer is None or layer.shift.max() >= 0 or not fit_words(packed):
        return None
    # A vector is read again for each block of eight; those behind the last one, together, before any of them is written.
    last = (channels - 1) // _BLOCK * _BLOCK
    reads = ((vector * pieces * piece, vector * channels + last) for vector in range(layer.vectors))
    distance = call.overlap_bytes[0] if call.overlap_bytes else None
    if distance is not None and distance < least_distance(reads):
        return None
    scales = _scales(layer)
    low, high = sizes["activation_min"], sizes["activation_max"]
    params = (
        Param("filter", _filter(starts(layer.bias, packed), words(packed))),
        Param("scales", scales),
        Param("scale_step", 12 if len(scales) > 3 else 0),
        Param("piece", piece),
        Param("pieces", pieces),
        Param("vectors", layer.vectors),
        Param("row_elements", layer.vectors_per_row * piece),
        Param("output_channels", channels),
        Param("rounding", 2 * sizes["output_zero_point"] + 1),
        Param("clamps", int((low, high) != (-128, 127))),
        Param("activation_min", low),
        Param("activation_max", high),
    )
    return KernelCall(_KERNEL, params, overlap_bytes=call.overlap_bytes)


def _is_bounded(layer: _Layer) -> bool:
    """Whether no inputs drive a sum out of its range."""
    weights = layer.weights.reshape(len(layer.weights), -1)
    ends = np.stack([-128 * weights, 127 * weights])
    most = layer.bias + ends.max(axis=0).sum(axis=1)
    least = layer.bias + ends.min(axis=0).sum(axis=1)
    return bool(least.min() > -SUM_LIMIT and most.max() < SUM_LIMIT)


def _simplified(layer: _Layer) -> _Layer | None:
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
    """Of each block of channels what their sums begin with, then the weights `[fours, channels]`; `[words]`.

    Args:
        first: `[O]`, what the sums begin with.
        weights: `[O, fours]`.
    """
    channels = np.pad(np.concatenate([first[:, None], weights], axis=1), ((0, len(first) % 2), (0, 0)))
    eights = len(first) // _BLOCK * _BLOCK
    blocks = [channels[o : o + _BLOCK] for o in range(0, eights, _BLOCK)]
    blocks += [channels[o : o + 2] for o in range(eights, len(channels), 2)]
    return np.concatenate([block.T.reshape(-1) for block in blocks])


def _scales(layer: _Layer) -> NDArray[np.int32]:
    """Of each two channels both exponents in one word and the multipliers, or of the first two for all; `[words]`."""
    each = np.stack([layer.multiplier, ~layer.shift])
    if (each == each[:, :1]).all():
        each = each[:, [0, 0]]
    multiplier, exponent = np.pad(each, ((0, 0), (0, each.shape[1] % 2))).reshape(2, -1, 2)
    exponents = exponent[:, :1] + (exponent[:, 1:] << 8)
    return np.concatenate([exponents, multiplier], axis=1).reshape(-1).astype(np.int32)
