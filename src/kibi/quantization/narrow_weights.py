"""Which operators can have weights of int4, and with how many scales."""

from collections.abc import Mapping

from kibi.quantization.layer import Layer
from kibi.quantization.network import Network
from kibi.quantization.rules import RULES

MOST_INT8, MOST_INT4 = 127, 7
"""The largest element of weights, which are symmetric: the least is its negative."""
_HAS_CHANNEL_SCALES: Mapping[str, bool] = {"CONV_2D": True, "FULLY_CONNECTED": False}
"""The operators whose weights of int4 stay int4 in flash; True: each output channel has a scale.

Source: TFLM refuses several scales in `micro/kernels/fully_connected_common.cc`.
"""


def int4_axis(layer: Layer) -> int | None:
    """The axis of the channels that have a scale each, of an operator with weights of int4; None: one scale for all."""
    weights = RULES[layer.name].weights
    return weights.axis if weights is not None and _HAS_CHANNEL_SCALES[layer.name] else None


def int4_refusal(network: Network, layer: Layer) -> str:
    """Why an operator cannot have weights of int4; empty if it can."""
    rule = RULES.get(layer.name)
    if layer.name not in _HAS_CHANNEL_SCALES or rule is None or rule.weights is None:
        return f"only {' and '.join(_HAS_CHANNEL_SCALES)} have weights that stay int4 in flash"
    weights = network.constant(layer.inputs[rule.weights.place])
    if weights is None:
        return "its weights are computed while the model runs"
    channels = network.graph.tensors[layer.inputs[rule.source]].type.shape[-1:]
    if layer.name == "CONV_2D" and weights.shape[-1:] != channels:
        return "its channels are in groups, and such weights are int8 in flash"
    return ""
