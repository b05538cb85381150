"""The factors by which a model of integers holds channels, beside its float32 model: those of equalization, read from the weights.

Equalization multiplies the channels of a tensor with factors that the next layer's weights take back. Element by element, such a
tensor differs from the float32 model's without being wrong.
"""

from collections.abc import Mapping

import numpy as np

from kibi.dtypes import DType
from kibi.ir import Graph, Node, Tensor
from kibi.quantization.calibration import Values
from kibi.quantization.equalization import INPUT_AXES, KEEPERS, OUTPUT_AXES, spread

_DEVIATIONS = 6.0
"""The standard deviations above which rounding of the weights does not explain a factor."""
_LEAST_CHANGE = 0.02
"""A factor nearer to 1 changes no figure that is shown."""
_MOST_REST = 1.0
"""The mean square of what factors leave of the weights, in steps; that of rounding is a twelfth."""
_KEEP = frozenset((*KEEPERS, "QUANTIZE"))


def channel_factors(graph: Graph, reference: Graph, partners: Mapping[int, int]) -> dict[int, Values]:
    """The factors of the channels of tensors, `[C]`, by the tensor in the model of integers; those without any are left out.

    The weights of a layer are compared with those of its partner. Where each output channel is that of the float32 model by a
    factor, which rounding to integers does not explain, its tensor has these factors, and what only moves its elements has them,
    too.

    Args:
        graph: the model of integers, whose weights are not compressed.
        reference: the float32 model.
        partners: tensors of the first model, and their partners in the second.
    """
    makers = {node.outputs[0]: node for node in reference.nodes if node.outputs}
    found: dict[int, Values] = {}
    for node in graph.nodes:
        source = _source(graph, node)
        if source is None or not node.outputs:
            continue
        (output, *_), given = node.outputs, found.get(source)
        if node.op.name in OUTPUT_AXES:
            maker = makers.get(partners.get(output, -1))
            made = (
                None if maker is None else _of_weights(node, _weights(graph, node), _weights(reference, maker), given)
            )
        else:
            made = _kept(node, given, graph.tensors[output])
        if made is not None:
            found[output] = made
    return found


def _source(graph: Graph, node: Node) -> int | None:
    """The first input that is no constant."""
    return next((index for index in node.inputs if index is not None and not graph.tensors[index].is_constant), None)


def _kept(node: Node, given: Values | None, output: Tensor) -> Values | None:
    """The factors of what an operator makes that computes no weighted sums; None: it has none."""
    size = output.type.shape[-1] if output.type.shape else 1
    if given is None or node.op.name not in _KEEP or size % len(given):
        return None
    return spread(given, size)


def _weights(graph: Graph, node: Node) -> Tensor | None:
    """The weights of a layer: its first constant of more than one axis."""
    constants = (graph.tensors[index] for index in node.inputs if index is not None)
    return next((each for each in constants if each.is_constant and len(each.type.shape) > 1), None)


def _of_weights(node: Node, ours: Tensor | None, theirs: Tensor | None, given: Values | None) -> Values | None:
    """The factors of a layer's output; None where rounding explains the weights, or no factor does.

    Args:
        node: the layer.
        ours: its weights.
        theirs: those of its partner.
        given: the factors of its input; None: it has none.
    """
    if ours is None or theirs is None or ours.data is None or theirs.data is None or ours.type.quantization is None:
        return None
    if ours.type.dtype not in (DType.S8, DType.U8) or theirs.type.dtype is not DType.F32:
        return None
    if ours.data.shape != theirs.data.shape or (
        given is not None and ours.data.shape[INPUT_AXES[node.op.name]] % len(given)
    ):
        return None
    axis, scale = OUTPUT_AXES[node.op.name], ours.type.quantization
    along = [1] * ours.data.ndim
    along[scale.axis] = -1
    steps, zeros = (np.asarray(each, np.float64).reshape(along) for each in (scale.scales, scale.zero_points))
    stored = (ours.data.astype(np.float64) - zeros) * steps
    base = theirs.data.astype(np.float64) / _input_factors(node, given, theirs.data.shape)
    rows, bases, widths = (
        np.moveaxis(np.broadcast_to(each, stored.shape), axis, 0).reshape(stored.shape[axis], -1)
        for each in (stored, base, steps)
    )
    energy = (bases**2).sum(axis=1)
    is_used = energy > 0
    factors = np.ones(len(rows))
    factors[is_used] = (rows * bases).sum(axis=1)[is_used] / energy[is_used]
    rest = np.mean(((rows - factors[:, np.newaxis] * bases) / widths) ** 2)
    deviation = widths[:, 0] / np.sqrt(12 * np.where(is_used, energy, 1.0))
    is_other = is_used & (np.abs(factors - 1) > np.maximum(_DEVIATIONS * deviation, _LEAST_CHANGE))
    return factors if is_other.any() and rest <= _MOST_REST and (factors > 0).all() else None


def _input_factors(node: Node, given: Values | None, shape: tuple[int, ...]) -> Values:
    """What the weights of a layer take back, in a shape that divides them."""
    if given is None:
        return np.ones(1)
    axis = INPUT_AXES[node.op.name]
    size = shape[axis]
    whole = np.repeat(given, size // len(given)) if node.op.name == "DEPTHWISE_CONV_2D" else spread(given, size)
    along = [1] * len(shape)
    along[axis] = -1
    return whole.reshape(along)
