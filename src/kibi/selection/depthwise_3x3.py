"""DEPTHWISE_CONV_2D with windows of three by three, four channels at a time."""

from kibi.ir import KernelCall
from kibi.kernels.params.depthwise_conv2d import Depthwise3x3Params
from kibi.kernels.params.needed_parts import needed_parts
from kibi.selection.depthwise_blocks import Depthwise, blocks_of, depthwise, one_tap, packed, two_taps
from kibi.selection.single_rounding import SingleRounding
from kibi.selection.variant import Goal, Variant

_FRACTION_BITS = 8
"""Of outputs that are rounded once: enough for scales below 2**-1, which sums of nine products have."""


def pack(call: KernelCall) -> KernelCall | None:
    """Packs weights column by column; returns None for other windows, for windows with a middle outside, or if `depthwise` does."""
    layer = depthwise(call)
    return None if layer is None or not _fits(layer) else _packed(layer, call, "kibi_depthwise_conv2d_s8_3x3")


def pack_relu(call: KernelCall) -> KernelCall | None:
    """The same where outputs below the zero point are cut off, and can be rounded once; else None."""
    layer = depthwise(call)
    once = layer.rounded_once(_FRACTION_BITS) if layer is not None and _fits(layer) else None
    if layer is None or once is None:
        return None
    return _packed(layer, call, "kibi_depthwise_conv2d_s8_3x3_relu", once)


def _fits(layer: Depthwise) -> bool:
    return layer.weights.shape[:2] == (3, 3) and layer.middles_are_inside()


def _packed(layer: Depthwise, call: KernelCall, kernel: str, once: SingleRounding | None = None) -> KernelCall:
    w = layer.weights[:, :, blocks_of(layer.params.channels)]
    words = [
        *(two_taps(w[0, 0], w[1, 0]), two_taps(w[2, 0], w[2, 1]), two_taps(w[0, 1], w[1, 1])),
        *(two_taps(w[0, 2], w[1, 2]), one_tap(w[2, 2])),
    ]
    params = Depthwise3x3Params(blocks=packed(layer, words, once), **layer.params.scalars_for(Depthwise3x3Params))
    distances = call.inplace_distance_bytes
    return KernelCall(kernel, params, inplace_distance_bytes=distances, features=needed_parts(params))


_GOALS = frozenset(Goal)
DEPTHWISE_3X3 = (
    Variant(
        "kibi_depthwise_conv2d_s8_3x3_relu",
        "kibi_depthwise_conv2d_s8",
        "armv7em",
        _GOALS,
        pack_relu,
        gives_way_to="kibi_depthwise_conv2d_s8_3x3",
    ),
    Variant("kibi_depthwise_conv2d_s8_3x3", "kibi_depthwise_conv2d_s8", "armv7em", _GOALS, pack),
    Variant("kibi_depthwise_conv2d_s8_3x3_relu", "kibi_depthwise_conv2d_s8", "riscv", _GOALS, pack_relu),
)
