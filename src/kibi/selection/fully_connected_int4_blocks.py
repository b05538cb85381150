"""Fully connected layers with a filter of int4 from words for four elements, two of which are multiplied at once."""

from dataclasses import replace

from kibi.ir import KernelCall
from kibi.kernels.params.fully_connected import FullyConnectedInt4AccumulateParams, FullyConnectedInt4Params
from kibi.ops.sums.int4 import packed_int4_fours, unpacked_int4
from kibi.selection.variant import Goal, Variant


def pack(call: KernelCall) -> KernelCall:
    """Packs a call of `kibi_fully_connected_s8_int4`; any one fits."""
    return _packed(call, "kibi_fully_connected_s8_int4_blocks", call.params_as(FullyConnectedInt4Params))


def pack_accumulate(call: KernelCall) -> KernelCall:
    """Packs a call of `kibi_fully_connected_s8_int4_accumulate`; any one fits."""
    layer = call.params_as(FullyConnectedInt4AccumulateParams)
    return _packed(call, "kibi_fully_connected_s8_int4_blocks_accumulate", layer)


def _packed(
    call: KernelCall, kernel: str, layer: FullyConnectedInt4Params | FullyConnectedInt4AccumulateParams
) -> KernelCall:
    weights = unpacked_int4(layer.filter, (layer.output_channels, layer.pieces, layer.piece))
    return replace(call, kernel=kernel, params=layer.replaced(filter=packed_int4_fours(weights)))


_GOALS = frozenset(Goal)
FULLY_CONNECTED_INT4_BLOCKS = (
    Variant("kibi_fully_connected_s8_int4_blocks", "kibi_fully_connected_s8_int4", "armv7em", _GOALS, pack),
    Variant(
        "kibi_fully_connected_s8_int4_blocks_accumulate", "kibi_fully_connected_s8_int4_accumulate", "armv7em", _GOALS,
        pack_accumulate,
    ),
)  # fmt: skip
