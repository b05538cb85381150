"""Joins nodes that are one operator in a `.tflite` file: pure passes over the graph."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from kibi.dtypes import Array
from kibi.frontends.onnx.graph import Node, Numbers, OnnxGraph, Value

_FLOATS = frozenset(("FLOAT", "FLOAT16", "BFLOAT16", "DOUBLE"))
_WITH_ACTIVATION = frozenset(("Add", "AveragePool", "Conv", "ConvTranspose", "Div", "Gemm", "MaxPool", "Mul", "Sub"))
_ACTIVATIONS: Mapping[tuple[float, float], str] = {
    (0.0, float("inf")): "RELU",
    (0.0, 6.0): "RELU6",
    (-1.0, 1.0): "RELU_N1_TO_1",
}
_WIDEST = float(np.finfo(np.float32).max)


@dataclass(frozen=True, slots=True)
class _Joined:
    """What replaces two nodes.

    Attributes:
        node: makes what the second one made.
        values: constants that are new.
    """

    node: Node
    values: Mapping[str, Value] = field(default_factory=dict)


_Rule = Callable[[OnnxGraph, Node, Node], _Joined | None]


def fused(graph: OnnxGraph) -> OnnxGraph:
    """The graph with fewer nodes, which compute the same up to the rounding of floats."""
    graph = _without_copies(graph)
    for rule in (_padding, _scaling, _bias, _swish, _activation, _saturation):
        graph = _joined(graph, rule)
    graph = _with_hard_swishes(graph)
    return graph.with_nodes(tuple(_with_fused_graphs(node) for node in graph.nodes))


def _with_fused_graphs(node: Node) -> Node:
    """A node whose own graphs have fewer nodes, too."""
    graphs = {name: fused(each) for name, each in node.attributes.items() if isinstance(each, OnnxGraph)}
    return replace(node, attributes={**node.attributes, **graphs}) if graphs else node


def limits(graph: OnnxGraph, node: Node) -> tuple[float, float] | None:
    """The range to which a Relu or Clip limits its input; None for other nodes, or where the range is computed."""
    if node.domain or not node.inputs:
        return None
    if node.op == "Relu":
        return 0.0, float("inf")
    if node.op != "Clip":
        return None
    found = []
    for place, default in ((1, -float("inf")), (2, float("inf"))):
        name = node.input(place)
        data = graph.data(name)
        if name and (data is None or data.size != 1):
            return None
        found.append(default if data is None else float(data.reshape(-1)[0]))
    low, high = found
    return (-float("inf") if low <= -_WIDEST else low), (float("inf") if high >= _WIDEST else high)


def _without_copies(graph: OnnxGraph) -> OnnxGraph:
    """The graph without nodes that copy, except for those that make its outputs."""
    names: dict[str, str] = {}
    kept: list[Node] = []
    for node in graph.nodes:
        inputs = tuple(names.get(name, name) for name in node.inputs)
        if _copies(graph, node) and node.outputs[0] not in graph.outputs:
            names[node.outputs[0]] = inputs[0]
        else:
            kept.append(replace(node, inputs=inputs))
    return graph.with_nodes(tuple(kept))


def _copies(graph: OnnxGraph, node: Node) -> bool:
    if node.domain or any(node.outputs[1:]):
        return False
    if node.op in ("Identity", "Dropout"):
        training = graph.data(node.input(2))
        return node.op == "Identity" or not node.input(2) or (training is not None and not training.any())
    is_cast = node.op in ("Cast", "CastLike")
    return is_cast and graph.values[node.inputs[0]].kind == graph.values[node.outputs[0]].kind


def _joined(graph: OnnxGraph, rule: _Rule) -> OnnxGraph:
    """The graph after a rule was tried on each node and the only node that takes what it makes."""
    consumers = graph.consumers()
    makers: dict[str, Node] = {}
    kept: dict[str, Node] = {}
    values: dict[str, Value] = {}
    for node in graph.nodes:
        for name in node.inputs:
            before = makers.get(name)
            if before is None or len(consumers[name]) != 1 or name in graph.outputs or any(before.outputs[1:]):
                continue
            result = rule(graph.with_nodes(graph.nodes, values), before, node)
            if result is not None:
                del kept[name], makers[name]
                values.update(result.values)
                node = result.node  # noqa: PLW2901 - the rest of the walk sees what replaced it
                break
        key = next((name for name in node.outputs if name), "")
        kept[key] = node
        makers.update({name: node for name in node.outputs[:1] if name})
    return graph.with_nodes(tuple(kept.values()), values)


def _constant(graph: OnnxGraph, near: str, role: str, data: Array) -> Value:
    name = f"{near}/{role}"
    while name in graph.values:
        name += "_"
    return Value(name, tuple(data.shape), "FLOAT", data, is_constant=True)


def _padding(graph: OnnxGraph, before: Node, node: Node) -> _Joined | None:
    """A Pad with zeros, into the paddings of a convolution."""
    if before.op != "Pad" or node.op != "Conv" or before.domain or node.domain or before.outputs[0] != node.inputs[0]:
        return None
    pads, value = graph.data(before.input(1)), graph.data(before.input(2))
    is_zero = (not before.input(2) or (value is not None and not value.any())) and before.text(
        "mode", "constant"
    ) == "constant"
    if pads is None or before.input(3) or not is_zero or node.text("auto_pad", "NOTSET") not in ("NOTSET", "VALID"):
        return None
    rank = len(pads) // 2
    starts, ends = pads[:rank], pads[rank:]
    if (pads < 0).any() or starts[:2].any() or ends[:2].any():
        return None
    own = node.integers("pads", (0,) * (2 * (rank - 2)))
    total = tuple(int(a) + b for a, b in zip((*starts[2:], *ends[2:]), own, strict=True))
    attributes = {key: each for key, each in node.attributes.items() if key != "auto_pad"} | {"pads": total}
    return _Joined(replace(node, inputs=(before.inputs[0], *node.inputs[1:]), attributes=attributes))


def _scaling(graph: OnnxGraph, before: Node, node: Node) -> _Joined | None:
    """A factor and a sum for each channel, of floats, into the weights and the bias of a convolution."""
    if before.op not in ("Conv", "ConvTranspose") or before.domain or node.domain or before.activation != "NONE":
        return None
    weights, bias = graph.data(before.inputs[1]), graph.data(before.input(2))
    if weights is None or (bias is None and before.input(2)) or graph.values[before.outputs[0]].kind not in _FLOATS:
        return None
    groups = before.integer("group", 1)
    channels = weights.shape[0] if before.op == "Conv" else weights.shape[1] * groups
    found = _affine(graph, before, node, channels, weights.ndim)
    if found is None:
        return None
    factor, shift = found
    if before.op == "Conv":
        new = weights.astype(np.float64) * factor.reshape(-1, *[1] * (weights.ndim - 1))
    else:
        along = factor.reshape(groups, 1, channels // groups, *[1] * (weights.ndim - 2))
        new = (weights.reshape(groups, -1, *weights.shape[1:]).astype(np.float64) * along).reshape(weights.shape)
    total = (0.0 if bias is None else bias.astype(np.float64)) * factor + shift
    made = (
        _constant(graph, before.outputs[0], "weights", new.astype(np.float32)),
        _constant(graph, before.outputs[0], "bias", total.astype(np.float32)),
    )
    inputs = (before.inputs[0], *(each.name for each in made))
    return _Joined(replace(before, inputs=inputs, outputs=node.outputs[:1]), {each.name: each for each in made})


def _affine(graph: OnnxGraph, before: Node, node: Node, channels: int, rank: int) -> tuple[Numbers, Numbers] | None:
    """What a node multiplies each channel `[C]` with, and what it adds then; None if it does something else."""
    ones, zeros = np.ones(channels), np.zeros(channels)
    if node.op == "BatchNormalization":
        parts = [graph.data(name) for name in node.inputs[1:5]]
        if any(part is None for part in parts) or node.integer("training_mode", 0) or any(node.outputs[1:]):
            return None
        scale, shift, mean, variance = (np.asarray(part, np.float64) for part in parts)
        factor = scale / np.sqrt(variance + node.real("epsilon", 1e-5))
        return factor, shift - mean * factor
    if node.op not in ("Add", "Sub", "Mul", "Div"):
        return None
    place = node.inputs.index(before.outputs[0])
    number = _along_channels(graph.data(node.inputs[1 - place]), channels, rank)
    if number is None or node.inputs[0] == node.inputs[1]:
        return None
    if node.op == "Mul":
        return number, zeros
    if node.op == "Div":
        return None if place or not number.all() else (1 / number, zeros)
    if node.op == "Sub":
        return (-ones, number) if place else (ones, -number)
    return ones, number


def _along_channels(data: Numbers | None, channels: int, rank: int) -> Numbers | None:
    """A constant that is the same in each channel, `[C]`; None for others."""
    if data is None or data.ndim > rank:
        return None
    shape = (1,) * (rank - data.ndim) + data.shape
    if any(size != 1 for axis, size in enumerate(shape) if axis != 1) or shape[1] not in (1, channels):
        return None
    numbers: Numbers = np.broadcast_to(data.astype(np.float64).reshape(-1), (channels,))
    return numbers


def _bias(graph: OnnxGraph, before: Node, node: Node) -> _Joined | None:
    """An Add of a vector after a MatMul with constant weights."""
    if before.op != "MatMul" or node.op != "Add" or before.domain or node.domain:
        return None
    weights = graph.data(before.inputs[1])
    other = node.inputs[1 - node.inputs.index(before.outputs[0])]
    bias = graph.data(other)
    is_layer = weights is not None and weights.ndim == 2 and bias is not None and bias.shape == weights.shape[1:]
    if not is_layer or len(before.inputs) != 2 or graph.values[before.inputs[0]].kind not in _FLOATS:
        return None
    return _Joined(replace(before, inputs=(*before.inputs, other), outputs=node.outputs))


def _swish(graph: OnnxGraph, before: Node, node: Node) -> _Joined | None:
    """`x * HardSigmoid(x)` as HardSwish."""
    if (
        before.op != "HardSigmoid"
        or node.op != "Mul"
        or sorted(node.inputs) != sorted((*before.inputs, *before.outputs))
    ):
        return None
    alpha, beta = before.real("alpha", 0.2), before.real("beta", 0.5)
    if abs(alpha - 1 / 6) > 1e-6 or beta != 0.5 or graph.values[before.inputs[0]].kind not in _FLOATS:
        return None
    return _Joined(Node("HardSwish", "", before.inputs, node.outputs, {}, node.name))


def _with_hard_swishes(graph: OnnxGraph) -> OnnxGraph:
    """The graph with a HardSwish for `x * Clip(x + 3, 0, 6) / 6`, whichever is divided."""
    producers, consumers = graph.producers(), graph.consumers()
    replaced: dict[str, Node] = {}
    dropped: set[str] = set()
    for node in graph.nodes:
        chain = _hard_swish(graph, producers, node)
        inner = [each.outputs[0] for each in chain[1:]]
        if chain and all(len(consumers[name]) == 1 and name not in graph.outputs for name in inner):
            source = next(name for name in chain[-1].inputs if not graph.values[name].is_constant)
            replaced[node.outputs[0]] = Node("HardSwish", "", (source,), node.outputs, {}, node.name)
            dropped.update(inner)
    nodes = (replaced.get(next(iter(node.outputs), ""), node) for node in graph.nodes)
    return graph.with_nodes(tuple(node for node in nodes if not dropped.intersection(node.outputs)))


def _hard_swish(graph: OnnxGraph, producers: Mapping[str, Node], node: Node) -> tuple[Node, ...]:
    """The nodes of a HardSwish that ends with a node, from the last to the sum; none if it does not."""
    third = _divided(graph, producers, node, 6.0)
    if third is not None:  # x * clipped, then divided
        total, source = _product(graph, producers, third)
        return (node, third, total) if total is not None and source in total.inputs else ()
    if node.op != "Mul" or node.domain:
        return ()
    for place in (0, 1):  # clipped and divided, then times x
        part = producers.get(node.inputs[place])
        total = None if part is None else _divided(graph, producers, part, 6.0)
        if (
            part is not None
            and total is not None
            and _is_clipped_sum(graph, total)
            and node.inputs[1 - place] in total.inputs
        ):
            return node, part, total
    return ()


def _divided(graph: OnnxGraph, producers: Mapping[str, Node], node: Node, number: float) -> Node | None:
    """What makes the value that a node divides by a number; None if it does something else."""
    if node.op not in ("Div", "Mul") or node.domain or node.activation != "NONE":
        return None
    wanted = number if node.op == "Div" else 1 / number
    for place in (1,) if node.op == "Div" else (0, 1):
        data = graph.data(node.inputs[place])
        if data is not None and data.size == 1 and abs(float(data.reshape(-1)[0]) - wanted) < 1e-6:
            return producers.get(node.inputs[1 - place])
    return None


def _product(graph: OnnxGraph, producers: Mapping[str, Node], node: Node) -> tuple[Node | None, str]:
    """The clipped sum that a node multiplies with a value, and that value."""
    if node.op == "Mul" and not node.domain and node.activation == "NONE":
        for place in (0, 1):
            total = producers.get(node.inputs[place])
            if total is not None and _is_clipped_sum(graph, total):
                return total, node.inputs[1 - place]
    return None, ""


def _is_clipped_sum(graph: OnnxGraph, node: Node) -> bool:
    """True for `Clip(x + 3, 0, 6)`, after activations were joined."""
    if node.op != "Add" or node.domain or node.activation != "RELU6":
        return False
    numbers = [data for data in map(graph.data, node.inputs) if data is not None]
    return len(numbers) == 1 and numbers[0].size == 1 and float(numbers[0].reshape(-1)[0]) == 3.0


def _activation(graph: OnnxGraph, before: Node, node: Node) -> _Joined | None:
    """A Relu, or a Clip to a range that the schema has, after an operator that can do it."""
    is_layer = before.op == "MatMul" and graph.values[before.inputs[1]].is_constant
    if before.domain or before.activation != "NONE" or not (before.op in _WITH_ACTIVATION or is_layer):
        return None
    bounds = limits(graph, node)
    if bounds is None or bounds not in _ACTIVATIONS or node.inputs[0] != before.outputs[0]:
        return None
    if graph.values[before.outputs[0]].kind not in _FLOATS:
        return None
    return _Joined(replace(before, outputs=node.outputs, activation=_ACTIVATIONS[bounds]))


def _saturation(graph: OnnxGraph, before: Node, node: Node) -> _Joined | None:
    """A Relu or Clip before a QuantizeLinear that represents no number outside of its range, up to half a step."""
    bounds = limits(graph, before)
    if bounds is None or node.op != "QuantizeLinear" or node.domain or node.inputs[0] != before.outputs[0]:
        return None
    scale, zero_point = graph.data(node.input(1)), graph.data(node.input(2))
    kind: np.dtype[Any] = np.dtype(np.uint8) if zero_point is None else zero_point.dtype
    if scale is None or scale.size != 1 or kind.kind not in "iu":
        return None
    step, zero = float(scale.reshape(-1)[0]), 0 if zero_point is None else int(zero_point.reshape(-1)[0])
    low, high = ((limit - zero) * step for limit in (np.iinfo(kind).min, np.iinfo(kind).max))
    if bounds[0] >= low + step / 2 or bounds[1] <= high - step / 2:
        return None
    return _Joined(replace(node, inputs=(before.inputs[0], *node.inputs[1:])))
