"""DEPTHWISE_CONV_2D with any window, four channels at a time."""

from kibi.ir import KernelCall
from kibi.kernels.params.depthwise_conv2d import DepthwiseColumnsParams
from kibi.selection.depthwise_blocks import blocks_of, depthwise, one_tap, packed, two_taps
from kibi.selection.variant import Goal, Variant


def pack(call: KernelCall) -> KernelCall | None:
    """Weights column by column, in pairs of rows; None as `depthwise` says."""
    layer = depthwise(call)
    if layer is None:
        return None
    rows, columns, channels = layer.weights.shape
    weights = layer.weights[:, :, blocks_of(channels)]
    words = []
    for column in range(columns):
        words += [two_taps(weights[row, column], weights[row + 1, column]) for row in range(0, rows - 1, 2)]
        words += [one_tap(weights[-1, column])] * (rows % 2)
    params = DepthwiseColumnsParams(blocks=packed(layer, words), **layer.params.scalars_for(DepthwiseColumnsParams))
    return KernelCall("kibi_depthwise_conv2d_s8_columns", params, inplace_distance_bytes=call.inplace_distance_bytes)


DEPTHWISE_COLUMNS = Variant(
    "kibi_depthwise_conv2d_s8_columns",
    "kibi_depthwise_conv2d_s8",
    "armv7em",
    frozenset(Goal),
    pack,
)
