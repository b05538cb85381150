"""Equalizes the channels of tensors: those of very different ranges get similar ones. The outputs of the model stay what they are.

The weights of the layer that makes a channel are multiplied with a positive factor, and those of the next layer that has some are
divided by it. Operators between both must keep factors, as ReLU and pooling do. One scale then suits all channels of a tensor.

Source of the idea: Nagel et al., Data-Free Quantization Through Weight Equalization and Bias Correction, 2019. Here, the ranges of
channels are those of the data. Of ReLU6, only channels are widened that the data do not drive to 6.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from kibi.dtypes import Array
from kibi.quantization.calibration import Values
from kibi.quantization.layer import Layer
from kibi.quantization.network import Network
from kibi.quantization.quantizing import Changes, Model
from kibi.quantization.rules import RULES

OUTPUT_AXES = {"CONV_2D": 0, "DEPTHWISE_CONV_2D": 3, "FULLY_CONNECTED": 0, "TRANSPOSE_CONV": 0}
"""The axis of the output channels in the weights."""
INPUT_AXES = {"CONV_2D": 3, "DEPTHWISE_CONV_2D": 3, "FULLY_CONNECTED": 1, "TRANSPOSE_CONV": 3}
"""The axis of the input channels in the weights."""
KEEPERS = ("AVERAGE_POOL_2D", "MAX_POOL_2D", "MEAN", "PAD", "RELU", "RESHAPE", "SQUEEZE")
"""Operators that multiply their output with what their input is multiplied with, channel by channel."""
_LIMITS = {"NONE": np.inf, "RELU": np.inf, "RELU6": 6.0}
"""The fused activations that keep factors, and the value above which they do not."""
_NEAR = 0.999
_MOST_FACTOR = 2.0**10
_SWEEPS = 2


@dataclass(frozen=True, slots=True)
class Pair:
    """Two layers with weights, and the tensors between them.

    Attributes:
        first, second: the layers.
        tensors: from the output of the first to the input of the second.
        limit: the value up to which the activation of the first keeps factors.
    """

    first: Layer
    second: Layer
    tensors: tuple[int, ...]
    limit: float


def pairs_of(network: Network) -> Iterator[Pair]:
    """Yields the pairs of layers that can be equalized, in order."""
    for layer in network.layers:
        limit = _limit(network, layer)
        if layer.name not in OUTPUT_AXES or limit is None or not _is_alone(network, layer):
            continue
        tensors, following = [layer.outputs[0]], _only_user(network, layer.outputs[0])
        while following is not None and _keeps(network, following):
            tensors.append(following.outputs[0])
            following = _only_user(network, following.outputs[0])
        if following is None or following.name not in INPUT_AXES or not _is_alone(network, following):
            continue
        if following.inputs[RULES[following.name].source] == tensors[-1] and _fits(network, tensors, following):
            yield Pair(layer, following, tuple(tensors), limit)


def equalized(model: Model, part: float) -> Changes:
    """The changes of a model whose channels are equalized.

    Args:
        model: the quantized model.
        part: how much of the differences between channels goes from the tensor to the next weights: 1 all, so that all channels of
            the tensor have one range; 1/2 half. Before a depthwise convolution, whose channels have scales of their own, it is 1.
    """
    network, changes = model.network, model.changes
    weights, factors = dict(changes.weights), dict(changes.factors)
    pairs = list(pairs_of(network))
    for _ in range(_SWEEPS):
        for pair in pairs:
            found = _factors(model, pair, weights, factors, part)
            _apply(network, pair, found, weights)
            for index in pair.tensors:
                whole = spread(found, network.graph.tensors[index].type.shape[-1])
                factors[index] = factors.get(index, np.ones(len(whole))) * whole
    return replace(changes, weights=weights, factors=factors)


def _factors(
    model: Model, pair: Pair, weights: Mapping[int, Array], factors: Mapping[int, Values], part: float
) -> Values:
    """The factors of the channels of the tensor between two layers, `[C]`."""
    first = pair.tensors[0]
    channels = model.seen[first]
    if first in factors:
        channels = channels.times(factors[first])
    spans = np.maximum(np.abs(channels.lows), np.abs(channels.highs))
    following = _input_spans(model.network, pair.second, weights, len(spans))
    share = 1.0 if pair.second.name == "DEPTHWISE_CONV_2D" else part
    is_used = (spans > 0) & (following > 0)
    found = np.ones(len(spans))
    found[is_used] = spans[is_used] ** -share * following[is_used] ** (1 - share)
    if not is_used.any():
        return found
    # The widest channel keeps its range, so that the range of the tensor stays what the data showed.
    found[is_used] *= spans.max() / (found * spans)[is_used].max()
    found = np.clip(found, 1 / _MOST_FACTOR, _MOST_FACTOR)
    if np.isfinite(pair.limit):
        found[channels.highs >= _NEAR * pair.limit] = 1.0
        found = np.minimum(found, np.where(channels.highs > 0, pair.limit / np.maximum(channels.highs, 1e-30), found))
        if first in factors:  # what was cut at the limit once stays as it was
            found[model.seen[first].highs >= _NEAR * pair.limit] = 1.0
    found[~is_used] = 1.0
    return found


def _input_spans(network: Network, layer: Layer, weights: Mapping[int, Array], channels: int) -> Values:
    """The largest weight for each input channel, `[C]`."""
    values = _weights_of(network, layer, weights)
    axis = INPUT_AXES[layer.name]
    largest = np.abs(values.astype(np.float64)).max(axis=tuple(each for each in range(values.ndim) if each != axis))
    if layer.name == "DEPTHWISE_CONV_2D":
        return np.asarray(largest.reshape(channels, -1).max(axis=1))
    return np.asarray(largest.reshape(-1, channels).max(axis=0))


def _apply(network: Network, pair: Pair, factors: Values, weights: dict[int, Array]) -> None:
    """Multiplies the weights and the bias of the first layer, and divides the weights of the second."""
    first, second = pair.first, pair.second
    for place, axis in ((_weights_place(first), OUTPUT_AXES[first.name]), (_bias_place(first), 0)):
        index = first.inputs[place] if place < len(first.inputs) else -1
        data = weights.get(index, network.constant(index))
        if index >= 0 and data is not None:
            weights[index] = _scaled(data, factors, axis)
    index, axis = second.inputs[_weights_place(second)], INPUT_AXES[second.name]
    values = _weights_of(network, second, weights)
    if second.name == "DEPTHWISE_CONV_2D":
        whole = np.repeat(factors, values.shape[axis] // len(factors))
    else:
        whole = spread(factors, values.shape[axis])
    weights[index] = _scaled(values, 1 / whole, axis)


def _scaled(values: Array, factors: Values, axis: int) -> Array:
    along = [1] * values.ndim
    along[axis] = -1
    return np.asarray(values.astype(np.float64) * factors.reshape(along), np.float32)


def spread(factors: Values, size: int) -> Values:
    """The factors of a flat tensor, whose last axis holds the channels of each pixel one after another."""
    return np.tile(factors, size // len(factors))


def _weights_place(layer: Layer) -> int:
    rule = RULES[layer.name].weights
    return 0 if rule is None else rule.place


def _bias_place(layer: Layer) -> int:
    rule = RULES[layer.name].weights
    return 0 if rule is None else rule.bias


def _weights_of(network: Network, layer: Layer, weights: Mapping[int, Array]) -> Array:
    index = layer.inputs[_weights_place(layer)]
    return np.asarray(weights.get(index, network.constant(index)))


def _limit(network: Network, layer: Layer) -> float | None:
    """The value up to which a layer's activation keeps factors; None: it does not."""
    view = network.views.get(layer.index)
    activation = getattr(getattr(view and view.op, "activation", None), "name", "NONE")
    return _LIMITS.get(activation)


def _is_alone(network: Network, layer: Layer) -> bool:
    """True if the constants of a layer with weights are read by it alone."""
    indices = [
        layer.inputs[place] for place in (_weights_place(layer), _bias_place(layer)) if place < len(layer.inputs)
    ]
    used = [index for index in indices if index >= 0]
    return all(network.constant(index) is not None and len(network.users[index]) == 1 for index in used)


def _only_user(network: Network, index: int) -> Layer | None:
    users = network.users.get(index, ())
    return users[0] if len(users) == 1 and index not in network.outputs else None


def _keeps(network: Network, layer: Layer) -> bool:
    """True if an operator keeps the factors of channels, which stay the last axis or become parts of it."""
    if layer.name not in KEEPERS or len(layer.outputs) != 1 or not network.is_real(layer.outputs[0]):
        return False
    if _limit(network, layer) != np.inf:
        return False
    before, after = (network.graph.tensors[index].type.shape for index in (layer.inputs[0], layer.outputs[0]))
    if not before or not after or after[-1] % before[-1]:
        return False
    if layer.name in ("RESHAPE", "SQUEEZE"):
        return True
    is_untouched = after[-1] == before[-1]
    if layer.name == "MEAN":
        axes = network.constant(layer.inputs[1])
        return (
            is_untouched
            and axes is not None
            and len(before) - 1 not in [int(axis) % len(before) for axis in axes.reshape(-1)]
        )
    return is_untouched


def _fits(network: Network, tensors: list[int], second: Layer) -> bool:
    """True if the channels between two layers are those of the second one's weights."""
    channels = network.graph.tensors[tensors[0]].type.shape[-1]
    last = network.graph.tensors[tensors[-1]].type.shape[-1]
    depth = _weights_of(network, second, {}).shape[INPUT_AXES[second.name]]
    if second.name == "FULLY_CONNECTED":
        return depth % channels == 0 and last in {depth, channels}
    return last == channels and (depth == channels or second.name == "DEPTHWISE_CONV_2D")
