"""Fully connected layers after a ReLU: without the products, and the weights, of elements that are zero. Rule N54."""

import numpy as np
from numpy.typing import NDArray

from kibi.ir import KernelCall
from kibi.kernels.params.fully_connected import FullyConnectedS8Params
from kibi.kernels.params.fully_connected_packed import FullyConnectedNonzeroParams
from kibi.ops.overlap import least_distance
from kibi.selection.fully_connected_blocks import LEAST_WEIGHTS_BY_ZEROS, Vectors, bounded_layer, scales_of, vectors_of
from kibi.selection.variant import Goal, Variant

_KERNEL = "kibi_fully_connected_s8_nonzero"

_BLOCK = 8
"""Output channels whose sums are made at once."""
_RAISED = 128
"""What weights are higher by than they are, so that they have no sign; also what elements are raised by, so that zero is 0."""


def pack(call: KernelCall) -> KernelCall | None:
    """Packs a call of `kibi_fully_connected_s8`; returns None if few elements are zero, or if sums or shifts are out of range."""
    given = call.params_as(FullyConnectedS8Params)
    channels, depth = given.output_channels, given.depth
    if not call.is_often_least or call.scratch_bytes < _scratch_bytes(given):
        return None
    if channels % _BLOCK or channels * depth < LEAST_WEIGHTS_BY_ZEROS:
        return None
    layer = bounded_layer(given, vectors_of(call))
    if layer is None:
        return None
    scales = scales_of(layer)
    # The elements of a vector are all read before its first channel is written.
    reads = ((vector * depth, vector * channels) for vector in range(layer.vectors))
    declared = call.inplace_distance_bytes
    distance = None if not declared or declared[0] is None else least_distance(reads)
    params = FullyConnectedNonzeroParams(
        filter=_filter(layer),
        scales=scales,
        scale_step=12 if len(scales) > 3 else 0,
        piece=given.piece,
        pieces=given.pieces,
        vectors=given.vectors,
        row_elements=given.vectors_per_row * given.piece,
        output_channels=channels,
        rounding=2 * given.output_zero_point + 1,
        clamps=int((given.activation_min, given.activation_max) != (-128, 127)),
        activation_min=given.activation_min,
        activation_max=given.activation_max,
    )
    return KernelCall(_KERNEL, params, _scratch_bytes(given), inplace_distance_bytes=(distance,))


def _scratch_bytes(given: FullyConnectedS8Params) -> int:
    """Words for the elements; before them, room for two bytes of each, and two of the first one, which reach into these words."""
    return 4 * (-(-(given.depth + 2) // 4) + -(-given.depth // 4))


def _filter(layer: Vectors) -> NDArray[np.int64]:
    """Returns `[numbers]`: for each block of channels, what its four sums start from, then the weights of each element."""
    weights = layer.weights.reshape(-1, _BLOCK, layer.weights[0].size)
    raised = (weights + _RAISED).astype(np.uint8).transpose(0, 2, 1)
    each = np.ascontiguousarray(raised).view("<i8").reshape(len(weights), -1)
    bias = layer.bias.reshape(-1, _BLOCK // 4, 4) - _RAISED * weights.sum(axis=2).reshape(-1, _BLOCK // 4, 4)
    first = (bias << np.array([0, 8, 16, 24])).sum(axis=2)
    second = bias[:, :, 2] + (bias[:, :, 1] << 24)
    sums = np.stack([first, second], axis=2).reshape(len(weights), -1)
    return np.concatenate([sums, each], axis=1).reshape(-1).astype(np.int64)


def _scratch(call: KernelCall, goal: Goal) -> int:
    """Bytes of scratch, for speed, or where no arena grows by it: one that has the model's ends has room for all three."""
    given = call.params_as(FullyConnectedS8Params)
    scratch_bytes = _scratch_bytes(given)
    ends_bytes = given.vectors * (given.depth + given.output_channels)
    return scratch_bytes if goal is Goal.SPEED or ends_bytes + scratch_bytes <= call.least_arena_bytes else 0


FULLY_CONNECTED_NONZERO = Variant(
    _KERNEL,
    "kibi_fully_connected_s8",
    "armv7em",
    frozenset({Goal.SPEED, Goal.BALANCED}),
    pack,
    scratch_bytes=_scratch,
    is_frugal=False,
)
