"""Fully connected layers whose weights stay coded in flash, and are decoded as they are used. Only on request."""

import numpy as np

from kibi.ir import KernelCall
from kibi.kernels.params.fully_connected import FullyConnectedRiceParams, FullyConnectedS8Params
from kibi.ops.overlap import least_distance
from kibi.selection.rice import encode
from kibi.selection.variant import Variant

_KERNEL = "kibi_fully_connected_s8_rice"


def pack(call: KernelCall) -> KernelCall:
    """Packs a call of `kibi_fully_connected_s8`: any layer can be coded, at whatever it costs."""
    given = call.params_as(FullyConnectedS8Params)
    codes = encode(given.filter.reshape(given.output_channels, given.depth))
    scaling = np.stack([given.multiplier.astype(np.int64), given.shift.astype(np.int64)])
    is_shared = bool((scaling == scaling[:, :1]).all())
    count = 1 if is_shared else given.output_channels
    params = FullyConnectedRiceParams(
        weights=codes.stream.view(np.int8),
        codings=codes.codings.view(np.int8),
        bias=given.bias,
        multiplier=given.multiplier[:count],
        shift=given.shift[:count],
        weights_bytes=len(codes.stream),
        scale_step=int(not is_shared),
        piece=given.piece,
        pieces=given.pieces,
        vectors=given.vectors,
        vectors_per_row=given.vectors_per_row,
        output_channels=given.output_channels,
        output_zero_point=given.output_zero_point,
        activation_min=given.activation_min,
        activation_max=given.activation_max,
    )
    # A vector is read once more for each channel.
    last = given.output_channels - 1
    reads = ((vector * given.depth, vector * given.output_channels + last) for vector in range(given.vectors))
    declared = call.inplace_distance_bytes
    distance = None if not declared or declared[0] is None else least_distance(reads)
    return KernelCall(_KERNEL, params, inplace_distance_bytes=(distance,))


FULLY_CONNECTED_RICE = Variant(_KERNEL, "kibi_fully_connected_s8", "portable", frozenset(), pack, on_request=True)
