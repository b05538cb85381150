"""Fully connected layers whose weights stay coded in flash, and are decoded as they are used. Only on request."""

from typing import Any

import numpy as np

from kibi.ir import KernelCall
from kibi.kernels.params.fully_connected import (
    FullyConnectedRiceAccumulateParams,
    FullyConnectedRiceParams,
    FullyConnectedS8AccumulateParams,
    FullyConnectedS8Params,
)
from kibi.ops.overlap import least_distance
from kibi.selection.rice import RiceCodes, encode
from kibi.selection.variant import Goal, Variant

_PLACE_BYTES = 4
"""Of scratch, for the place in the codes from one step to the next."""


def pack(call: KernelCall) -> KernelCall:
    """Packs a call of `kibi_fully_connected_s8`: any layer can be coded, at whatever it costs."""
    given = call.params_as(FullyConnectedS8Params)
    codes = encode(given.filter.reshape(given.output_channels, given.depth))
    params = FullyConnectedRiceParams(**_coded(given, codes), **given.scalars_for(FullyConnectedRiceParams))
    # A vector is read once more for each channel.
    last = given.output_channels - 1
    reads = ((vector * given.depth, vector * given.output_channels + last) for vector in range(given.vectors))
    declared = call.inplace_distance_bytes
    distance = None if not declared or declared[0] is None else least_distance(reads)
    return KernelCall(FULLY_CONNECTED_RICE.kernel, params, inplace_distance_bytes=(distance,))


def pack_accumulate(call: KernelCall) -> KernelCall | None:
    """Packs a call of `kibi_fully_connected_s8_accumulate` for one vector; returns None for several."""
    given = call.params_as(FullyConnectedS8AccumulateParams)
    if given.vectors > 1:
        return None
    codes = encode(given.filter.reshape(given.output_channels, -1), given.pieces)
    numbers = given.scalars_for(FullyConnectedRiceAccumulateParams)
    params = FullyConnectedRiceAccumulateParams(**_coded(given, codes), **numbers)
    scratch_bytes = 4 * given.output_channels + _PLACE_BYTES
    return KernelCall(
        RICE_ACCUMULATE.kernel,
        params,
        scratch_bytes,
        takes_step=True,
        inplace_distance_bytes=call.inplace_distance_bytes,
    )


def _coded(given: FullyConnectedS8Params | FullyConnectedS8AccumulateParams, codes: RiceCodes) -> dict[str, Any]:
    """The fields of weights and scales: scales that all channels share are stored once."""
    scaling = np.stack([given.multiplier.astype(np.int64), given.shift.astype(np.int64)])
    is_shared = bool((scaling == scaling[:, :1]).all())
    count = 1 if is_shared else given.output_channels
    return {
        "weights": codes.stream.view(np.int8), "codings": codes.codings.view(np.int8), "bias": given.bias,
        "multiplier": given.multiplier[:count], "shift": given.shift[:count], "weights_bytes": len(codes.stream),
        "scale_step": int(not is_shared),
    }  # fmt: skip


def _scratch_bytes(call: KernelCall, goal: Goal) -> int:
    del goal
    return call.scratch_bytes + _PLACE_BYTES


FULLY_CONNECTED_RICE = Variant(
    "kibi_fully_connected_s8_rice", "kibi_fully_connected_s8", "portable", frozenset(), pack, on_request=True
)
RICE_ACCUMULATE = Variant(
    "kibi_fully_connected_s8_rice_accumulate", "kibi_fully_connected_s8_accumulate", "portable", frozenset(),
    pack_accumulate, scratch_bytes=_scratch_bytes, on_request=True,
)  # fmt: skip
