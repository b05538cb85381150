"""Computes what depends on constants alone, with ONNX's own reference, and makes frozen data of what is left."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from kibi.dtypes import Array
from kibi.errors import ModelError, Problem
from kibi.frontends.onnx import budget
from kibi.frontends.onnx.bodies import Names, graphs_of, size, taken
from kibi.frontends.onnx.budget import Budget
from kibi.frontends.onnx.flow import Bodies, Flow, Known, control_count, is_control
from kibi.frontends.onnx.graph import Node, OnnxGraph, Value
from kibi.frontends.onnx.library import array_of, onnx_library, type_name
from kibi.frontends.onnx.loading import inferred, opset, prepared
from kibi.frontends.onnx.problems import grouped, unsupported
from kibi.frontends.onnx.rewriting import HIDDEN

_MOST_ELEMENTS = 1 << 26
"""So many elements may be computed beyond eight times those in the file."""
_MOST_TIMES = 8
_MOST_AXES = 8
_MOST_ROUNDS, _MOST_CONTROL_ROUNDS = 16, 64
"""Rounds until nothing changes, and further ones for nodes that run graphs, whose results others of them take."""
_RANDOM = frozenset(
    ("Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike")
)
# The reader looks through them to the integers that are stored.
_KEPT = frozenset(("DequantizeLinear",))
_MOVES = frozenset(("Identity", "Transpose", "Reshape", "Squeeze", "Unsqueeze", "Flatten"))
_GROWS = frozenset(("ConstantOfShape", "Expand", "EyeLike", "Loop", "OneHot", "Pad", "Range", "Resize", "Scan", "Tile"))


def folded(model: Any, path: str, claimed: frozenset[tuple[str, str]]) -> OnnxGraph:
    """The graph of a model, in which no node depends on constants alone.

    Args:
        model: the `ModelProto`, whose inputs have complete shapes.
        path: of its file, for errors.
        claimed: domain and name of the operators that are converted.

    Raises:
        ModelError: shapes contradict each other, or depend on what is computed, or on operators that are not supported.
    """
    elements = _MOST_ELEMENTS + _MOST_TIMES * sum(math.prod(each.dims) for each in model.graph.initializer)
    return _folded(model, path, claimed, Budget(path, elements, budget.MOST_NODES))


def _folded(model: Any, path: str, claimed: frozenset[tuple[str, str]], left: Budget) -> OnnxGraph:
    """The graph of a model, or of a graph within a node of one."""

    def fold(body: Any) -> OnnxGraph:
        left.need_nodes(size(body.graph))
        return _folded(prepared(body, path, claimed), path, claimed, left)

    flow = Flow(path, fold, left)
    before = -1
    for _ in range(_MOST_ROUNDS + min(control_count(model.graph), _MOST_CONTROL_ROUNDS)):
        model = inferred(model, path, flow.types)
        folding, known = _Folding(model, left), len(flow.types)
        folding.apply()
        is_settled = len(model.graph.node) == before
        before = len(model.graph.node)
        if control_count(model.graph) and folding.replace(flow):
            model, before = prepared(model, path, claimed), -1
        elif is_settled:
            folding.read(flow)
            if len(flow.types) == known:
                break
    return _frozen(model, path, claimed, flow.bodies)


class _Folding:
    """One walk over the nodes of a model, which it changes."""

    def __init__(self, model: Any, left: Budget) -> None:
        self._onnx = onnx_library()
        self._model = model
        self._left = left
        self._constants = {each.name: each for each in model.graph.initializer}
        self._arrays: dict[str, Array] = {}
        self._meanings: dict[str, Array] = {}  # of constants after DequantizeLinear
        self._shapes = dict(_shapes(model.graph))

    def apply(self) -> None:
        graph = self._model.graph
        kept = [node for node in graph.node if not self._folds(node)]
        self._become(kept)

    def replace(self, flow: Flow) -> bool:
        """Replaces nodes that run graphs, where that is bounded; true if there were some."""
        graph, known = self._model.graph, self._known()
        names = Names(graph)
        kept: list[Any] = []
        is_changed = False
        for node in graph.node:
            made = flow.replacement(node, known, names) if is_control(node) else None
            kept += [node] if made is None else made.nodes
            if made is not None:
                is_changed = True
                self._constants |= {each.name: each for each in made.constants}
        if is_changed:
            self._become(kept)
        return is_changed

    def read(self, flow: Flow) -> None:
        """Reads the graphs of nodes that stay."""
        known = self._known()
        for node in self._model.graph.node:
            if is_control(node):
                flow.read(self._model, node, known)

    def _known(self) -> Known:
        graph, helper = self._model.graph, self._onnx.helper
        values = (*graph.value_info, *graph.output, *graph.input)
        types = {each.name: each for each in values if _shape(each) is not None}
        constants = self._constants.items()
        types |= {name: helper.make_tensor_value_info(name, each.data_type, each.dims) for name, each in constants}
        meanings = {node.output[0]: node for node in graph.node if node.output and node.output[0] in self._meanings}
        return Known(types, self._array, self._constants.get, meanings)

    def _become(self, kept: list[Any]) -> None:
        """Gives the graph other nodes, and the constants that they take."""
        graph = self._model.graph
        del graph.node[:]
        graph.node.extend(kept)
        used = {name for node in kept for name in node.input} | {output.name for output in graph.output}
        used |= {name for node in kept for inner in graphs_of(node) for name in taken(inner)}
        constants = [each for each in self._constants.values() if each.name in used]
        del graph.initializer[:]
        graph.initializer.extend(constants)
        inputs = [each for each in graph.input if each.name not in self._constants]
        del graph.input[:]
        graph.input.extend(inputs)

    def _array(self, name: str) -> Array | None:
        if name not in self._arrays and name in self._constants:
            self._arrays[name] = array_of(self._constants[name])
        return self._arrays.get(name)

    def _folds(self, node: Any) -> bool:
        """True if the outputs of a node are constants from here on."""
        if node.op_type in ("Shape", "Size") and not node.domain:
            results = self._of_shape(node)
            if results is not None:
                return self._keep(node, results)
        if (
            node.op_type in _RANDOM
            or node.domain not in ("", "ai.onnx")
            or any(a.HasField("g") for a in node.attribute)
        ):
            return False
        arrays = [self._meaning(name, node) if name else None for name in node.input]
        if any(array is None and name for array, name in zip(arrays, node.input, strict=True)):
            return False
        if not self._is_bounded(node, [array.size for array in arrays if array is not None]):
            return False
        results = self._evaluated(node, arrays)
        if results is None:
            return False
        if node.op_type in _KEPT and not _is_real_only(node, arrays):
            self._meanings[node.output[0]] = results[0]
            return False
        return self._keep(node, results)

    def _meaning(self, name: str, node: Any) -> Array | None:
        array = self._array(name)
        return self._meanings.get(name) if array is None and node.op_type not in _MOVES else array

    def _of_shape(self, node: Any) -> list[Array] | None:
        shape = self._shapes.get(node.input[0])
        if shape is None:
            return None
        if node.op_type == "Size":
            return [np.array(math.prod(shape), np.int64)]
        attributes = {each.name: each.i for each in node.attribute}
        return [np.array(shape[attributes.get("start", 0) : attributes.get("end", len(shape))], np.int64)]

    def _is_bounded(self, node: Any, sizes: list[int]) -> bool:
        """True if the results are certainly within what may be computed, of which they are taken.

        Args:
            node: whose results are asked for.
            sizes: how many elements its inputs have. Where the results' shapes are not known, they have at most the product,
                for each axis once more: that is so for all operators but those that grow by what an input or attribute says.
        """
        shapes = [self._shapes.get(name) for name in node.output if name]
        if all(shape is not None for shape in shapes):
            return self._left.take(sum(math.prod(shape) for shape in shapes if shape is not None))
        return node.op_type not in _GROWS and self._left.take(_MOST_AXES * math.prod(map(float, sizes)))

    def _evaluated(self, node: Any, arrays: list[Array | None]) -> list[Array] | None:
        """What ONNX's reference computes; None if it cannot."""
        from onnx.reference import ReferenceEvaluator  # noqa: PLC0415 - an extra: imported where it is used

        helper = self._onnx.helper
        names = list(dict.fromkeys(name for name in node.input if name))
        values = [self._onnx.ValueInfoProto(name=name) for name in names]
        results = [self._onnx.ValueInfoProto(name=name) for name in node.output if name]
        graph = helper.make_graph([node], "one", values, results)
        model = helper.make_model(graph, opset_imports=self._model.opset_import)
        feeds = {name: array for name, array in zip(node.input, arrays, strict=True) if name}
        try:
            with np.errstate(all="ignore"):
                found = ReferenceEvaluator(model).run(None, feeds)
        except Exception:  # noqa: BLE001 - the reference raises whatever NumPy does; the node stays, and is reported if need be
            return None
        arrays_found = [np.asarray(each) for each in found]
        return arrays_found if all(isinstance(each, np.ndarray | np.generic) for each in found) else None

    def _keep(self, node: Any, results: list[Array]) -> bool:
        for name, array in zip([each for each in node.output if each], results, strict=True):
            if array.dtype.kind in "OUS":
                return False
            self._arrays[name] = array
            self._constants[name] = self._onnx.numpy_helper.from_array(
                np.ascontiguousarray(array).reshape(array.shape), name
            )
            self._shapes[name] = array.shape
        return True


def _is_real_only(node: Any, arrays: list[Array | None]) -> bool:
    """True for a DequantizeLinear whose integers have no form in a `.tflite` file: scales of blocks, or floats of 8 bits."""
    is_blocked = any(each.name == "block_size" and each.i for each in node.attribute)
    return is_blocked or (arrays[0] is not None and "float" in arrays[0].dtype.name)


def _shapes(graph: Any) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Yields the names and shapes of values that are completely known."""
    for value in (*graph.value_info, *graph.output, *graph.input):
        shape = _shape(value)
        if shape is not None:
            yield value.name, shape
    for tensor in graph.initializer:
        yield tensor.name, tuple(tensor.dims)


def _shape(value: Any) -> tuple[int, ...] | None:
    """The shape of a value, if it is a tensor whose shape is completely known."""
    kind = value.type.tensor_type
    if not value.type.HasField("tensor_type") or not kind.HasField("shape"):
        return None
    sizes = kind.shape.dim
    return tuple(size.dim_value for size in sizes) if all(size.HasField("dim_value") for size in sizes) else None


def _frozen(
    model: Any, path: str, claimed: frozenset[tuple[str, str]], bodies: Mapping[tuple[str, ...], Bodies]
) -> OnnxGraph:
    values: dict[str, Value] = {}
    for each in (*model.graph.input, *model.graph.value_info, *model.graph.output):
        shape = _shape(each)
        if shape is not None:
            values[each.name] = Value(each.name, shape, type_name(each.type.tensor_type.elem_type))
    for tensor in model.graph.initializer:
        data = array_of(tensor)
        kind = type_name(tensor.data_type)
        values[tensor.name] = Value(tensor.name, tuple(data.shape), kind, data, is_constant=True)
    nodes = tuple(_node(node, bodies) for node in model.graph.node)
    unknown = [(node, name) for node in nodes for name in node.outputs if name and name not in values]
    for node in nodes:
        if node.op == "DequantizeLinear" and all(
            name in values and values[name].is_constant for name in node.inputs if name
        ):
            values[node.outputs[0]] = replace(values[node.outputs[0]], is_constant=True)
    graph = OnnxGraph(
        nodes,
        values,
        tuple(each.name for each in model.graph.input),
        tuple(each.name for each in model.graph.output),
        opset(model),
    )
    if unknown:
        missing = [(node, unsupported()) for node in nodes if (node.domain, node.op) not in claimed]
        open_shapes = _open([(node, name) for node, name in unknown if (node.domain, node.op) in claimed])
        raise ModelError(path, [*grouped(missing), *open_shapes])
    return graph


def _node(node: Any, bodies: Mapping[tuple[str, ...], Bodies]) -> Node:
    onnx = onnx_library()
    attributes: dict[str, Any] = {}
    if (inner := bodies.get(tuple(node.output))) is not None:
        inputs = (*node.input, *("",) * (2 - len(node.input))) if node.op_type == "Loop" else tuple(node.input)
        return Node(node.op_type, "", (*inputs, *inner.captures), tuple(node.output), inner.attributes(), node.name)
    for each in node.attribute:
        value = onnx.helper.get_attribute_value(each)
        attributes[each.name] = array_of(value) if isinstance(value, onnx.TensorProto) else value
    domain = "" if node.domain in ("ai.onnx", HIDDEN) else node.domain
    return Node(node.op_type, domain, tuple(node.input), tuple(node.output), attributes, node.name)


def _open(unknown: list[tuple[Node, str]]) -> list[Problem]:
    """One problem for each operator after which shapes are not known."""
    lost = {name for _, name in unknown}
    first: dict[str, list[str]] = {}
    for node, name in unknown:
        if not lost.intersection(node.inputs):
            first.setdefault(node.title, []).append(name)
    return [
        Problem(
            f"the shape of {len(names)} of its outputs is not known ({title}: {', '.join(names[:5])})",
            "Fix the sizes when you export: Kibi needs to know them before the model runs",
        )
        for title, names in first.items()
    ]
