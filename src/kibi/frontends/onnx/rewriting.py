"""Operators that hold scales themselves (QOperator form) become operators between DequantizeLinear and QuantizeLinear (QDQ form).

Source: ONNX `docs/Operators.md`; of the domain com.microsoft, ONNX Runtime's `docs/ContribOperators.md`.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from kibi.dtypes import Array
from kibi.frontends.onnx.library import array_of, onnx_library

HIDDEN = "kibi"
"""The domain of operators whose shapes the library cannot infer; they are ONNX's own."""
SAME_SHAPE = frozenset(("GroupNormalization", "MeanVarianceNormalization"))
"""Operators whose output has the shape of their first input, which the library does not know."""
_MICROSOFT = "com.microsoft"
_OWN = ("", "ai.onnx")


def rewritten(model: Any) -> Any:
    """The model without operators that hold scales; where they cannot be taken apart, they stay as they are."""
    result = type(model)()
    result.CopyFrom(model)
    rewriter = _Rewriter(model)
    nodes = [each for node in model.graph.node for each in rewriter.nodes(node)]
    del result.graph.node[:]
    result.graph.node.extend(nodes)
    result.graph.initializer.extend(rewriter.constants)
    if any(node.domain == HIDDEN for node in nodes) and HIDDEN not in {each.domain for each in model.opset_import}:
        result.opset_import.append(onnx_library().helper.make_opsetid(HIDDEN, 1))
    return result


class _Rewriter:
    """Makes nodes and constants, and names for them."""

    def __init__(self, model: Any) -> None:
        self._onnx = onnx_library()
        self._arrays = {each.name: each for each in model.graph.initializer}
        for node in model.graph.node:
            if node.op_type == "Constant":
                self._arrays.update((node.output[0], each.t) for each in node.attribute if each.name == "value")
        self._names = {name for node in model.graph.node for name in (*node.input, *node.output)} | set(self._arrays)
        self._dynamic = frozenset(_dynamic(model.graph))
        self.constants: list[Any] = []

    def nodes(self, node: Any) -> Iterator[Any]:
        """What replaces a node; itself if nothing does."""
        rules = _RULES if node.domain in _OWN else _MICROSOFT_RULES if node.domain == _MICROSOFT else {}
        rule = rules.get(node.op_type)
        made = None if rule is None else rule(self, node)
        yield from [node] if made is None else made

    def array(self, name: str) -> Array | None:
        """The elements of a constant."""
        return array_of(self._arrays[name]) if name in self._arrays else None

    def fresh(self, near: str) -> str:
        """A name that nothing has."""
        name = f"{near}/real"
        while name in self._names:
            name += "_"
        self._names.add(name)
        return name

    def constant(self, near: str, data: Array) -> str:
        """The name of a new constant."""
        name = self.fresh(near)
        self.constants.append(self._onnx.numpy_helper.from_array(np.asarray(data), name))
        return name

    def node(self, op: str, inputs: list[str], output: str, **attributes: Any) -> Any:
        """A new node of ONNX's own."""
        return self._onnx.helper.make_node(op, inputs, [output], **attributes)

    def is_dynamic(self, name: str) -> bool:
        """True if a value is quantized while the model runs: it stays as real numbers instead."""
        return name in self._dynamic


_Rule = Callable[[_Rewriter, Any], "list[Any] | None"]


def _dynamic(graph: Any) -> Iterator[str]:
    """Yields outputs of DynamicQuantizeLinear that products of integers or DequantizeLinear alone take."""
    users: dict[str, list[Any]] = {}
    for node in graph.node:
        for name in node.input:
            users.setdefault(name, []).append(node)
    outputs = {output.name for output in graph.output}
    for node in graph.node:
        if node.op_type == "DynamicQuantizeLinear" and node.domain in _OWN and not outputs.intersection(node.output):
            takers = users.get(node.output[0], ())
            if all(each.op_type in _INTEGER_PRODUCTS and each.input[0] == node.output[0] for each in takers):
                yield node.output[0]


_INTEGER_PRODUCTS = ("ConvInteger", "DequantizeLinear", "MatMulInteger")


def _attributes(node: Any, *without: str) -> dict[str, Any]:
    helper = onnx_library().helper
    return {each.name: helper.get_attribute_value(each) for each in node.attribute if each.name not in without}


def _input(node: Any, place: int) -> str:
    return str(node.input[place]) if place < len(node.input) else ""


def _real(r: _Rewriter, made: list[Any], node: Any, place: int, axis: int = 1) -> str:
    """Dequantizes the operand at a place, whose scale and zero point follow it; returns the name of the real numbers."""
    name = r.fresh(node.input[place])
    operands = list(node.input[place : place + 3])
    made.append(r.node("DequantizeLinear", operands, name, axis=axis))
    return name


def _bias(r: _Rewriter, made: list[Any], name: str, scales: tuple[str, str], factor: float = 1.0) -> str | None:
    """Dequantizes a bias, whose scale is the product of those of its sums; None if they are computed."""
    if not name:
        return ""
    first, second = (r.array(each) for each in scales)
    if first is None or second is None:
        return None
    product = (np.asarray(first, np.float32) * np.asarray(second, np.float32) * np.float32(factor)).astype(np.float32)
    scale = r.constant(name, product.reshape(-1) if product.size > 1 else product.reshape(()))
    result = r.fresh(name)
    made.append(r.node("DequantizeLinear", [name, scale], result, axis=0))
    return result


def _quantized(r: _Rewriter, made: list[Any], node: Any, real: str, places: tuple[int, int]) -> list[Any]:
    made.append(r.node("QuantizeLinear", [real, *(_input(node, place) for place in places)], node.output[0]))
    return made


def _conv(r: _Rewriter, node: Any) -> list[Any] | None:
    made: list[Any] = []
    inputs = [_real(r, made, node, 0), _real(r, made, node, 3, axis=0)]
    bias = _bias(r, made, _input(node, 8), (node.input[1], node.input[4]))
    if bias is None:
        return None
    real = r.fresh(node.output[0])
    made.append(r.node("Conv", [*inputs, *([bias] if bias else [])], real, **_attributes(node)))
    return _quantized(r, made, node, real, (6, 7))


def _matmul(r: _Rewriter, node: Any) -> list[Any] | None:
    made: list[Any] = []
    inputs = [_real(r, made, node, 0), _real(r, made, node, 3)]
    real = r.fresh(node.output[0])
    made.append(r.node("MatMul", inputs, real))
    return _quantized(r, made, node, real, (6, 7))


def _gemm(r: _Rewriter, node: Any) -> list[Any] | None:
    attributes = _attributes(node)
    made: list[Any] = []
    inputs = [_real(r, made, node, 0), _real(r, made, node, 3, axis=0 if attributes.get("transB") else 1)]
    bias = _bias(r, made, _input(node, 6), (node.input[1], node.input[4]), attributes.get("alpha", 1.0))
    if bias is None:
        return None
    has_scale = bool(_input(node, 7))
    real = r.fresh(node.output[0]) if has_scale else node.output[0]
    made.append(r.node("Gemm", [*inputs, *([bias] if bias else [])], real, **attributes))
    return _quantized(r, made, node, real, (7, 8)) if has_scale else made


def _of_two(op: str) -> _Rule:
    def rule(r: _Rewriter, node: Any) -> list[Any] | None:
        made: list[Any] = []
        real = r.fresh(node.output[0])
        inputs = [_real(r, made, node, 0), _real(r, made, node, 3)]
        made.append(r.node(op, inputs, real))
        return _quantized(r, made, node, real, (6, 7))

    return rule


def _of_one(op: str, *without: str) -> _Rule:
    def rule(r: _Rewriter, node: Any) -> list[Any] | None:
        attributes = _attributes(node, *without)
        if attributes.pop("channels_last", 0):
            return None
        made: list[Any] = []
        real = r.fresh(node.output[0])
        made.append(r.node(op, [_real(r, made, node, 0)], real, **attributes))
        return _quantized(r, made, node, real, (3, 4))

    return rule


def _concat(r: _Rewriter, node: Any) -> list[Any] | None:
    made: list[Any] = []
    inputs = [_real(r, made, node, place) for place in range(2, len(node.input), 3)]
    real = r.fresh(node.output[0])
    made.append(r.node("Concat", inputs, real, **_attributes(node)))
    return _quantized(r, made, node, real, (0, 1))


def _renamed(r: _Rewriter, node: Any) -> list[Any] | None:
    result = type(node)()
    result.CopyFrom(node)
    result.domain = ""
    if node.op_type == "DequantizeLinear" and r.is_dynamic(node.input[0]):
        return [r.node("Identity", [node.input[0]], node.output[0])]
    return [result]


def _dequantize(r: _Rewriter, node: Any) -> list[Any] | None:
    return _renamed(r, node) if r.is_dynamic(node.input[0]) else None


def _integer_product(op: str) -> _Rule:
    """A product of integers less their zero points: of floats, which are exact up to sums of 24 bits."""

    def rule(r: _Rewriter, node: Any) -> list[Any] | None:
        kinds = onnx_library().TensorProto.FLOAT, onnx_library().TensorProto.INT32
        made: list[Any] = []
        inputs = []
        for place in (0, 1):
            real = r.fresh(node.input[place])
            made.append(r.node("Cast", [node.input[place]], real, to=kinds[0]))
            zero_point = _input(node, place + 2)
            if zero_point and not r.is_dynamic(node.input[place]):
                zero_point = _along(r, zero_point, node.input[place], op, place)
                if not zero_point:
                    return None
                zero, moved = r.fresh(zero_point), r.fresh(real)
                made.append(r.node("Cast", [zero_point], zero, to=kinds[0]))
                made.append(r.node("Sub", [real, zero], moved))
                real = moved
            inputs.append(real)
        is_dynamic = r.is_dynamic(node.input[0])
        result = node.output[0] if is_dynamic else r.fresh(node.output[0])
        made.append(r.node(op, inputs, result, **_attributes(node)))
        if not is_dynamic:
            made.append(r.node("Cast", [result], node.output[0], to=kinds[1]))
        return made

    return rule


def _along(r: _Rewriter, zero_point: str, operand: str, op: str, place: int) -> str:
    """The name of zero points in a shape that broadcasts: of the rows of the first operand, of filters; empty if unknown."""
    data, weights = r.array(zero_point), r.array(operand)
    if data is None or data.size == 1 or (op == "MatMul" and place == 1) or data.ndim > 1:
        return zero_point
    rank = 2 if op == "MatMul" else 0 if weights is None else weights.ndim
    return r.constant(zero_point, data.reshape(-1, *[1] * (rank - 1))) if rank else ""


def _unquantized(r: _Rewriter, node: Any) -> list[Any] | None:
    """DynamicQuantizeLinear: the numbers stay real, with scale 1 and zero point 0."""
    if not r.is_dynamic(node.output[0]):
        return None
    scale, zero_point = (
        r.constant(node.output[1], np.array(1, np.float32)),
        r.constant(node.output[2], np.array(0, np.uint8)),
    )
    pairs = zip((node.input[0], scale, zero_point), node.output, strict=True)
    return [r.node("Identity", [source], output) for source, output in pairs]


def _hidden(r: _Rewriter, node: Any) -> list[Any] | None:
    del r
    result = type(node)()
    result.CopyFrom(node)
    result.domain = HIDDEN
    return [result]


_RULES: Mapping[str, _Rule] = {
    "ConvInteger": _integer_product("Conv"),
    "DequantizeLinear": _dequantize,
    "DynamicQuantizeLinear": _unquantized,
    "MatMulInteger": _integer_product("MatMul"),
    "MeanVarianceNormalization": _hidden,
    "QLinearConv": _conv,
    "QLinearMatMul": _matmul,
}
_MICROSOFT_RULES: Mapping[str, _Rule] = {
    "DequantizeLinear": _renamed,
    "QGemm": _gemm,
    "QLinearAdd": _of_two("Add"),
    "QLinearAveragePool": _of_one("AveragePool"),
    "QLinearConcat": _concat,
    "QLinearGlobalAveragePool": _of_one("GlobalAveragePool"),
    "QLinearLeakyRelu": _of_one("LeakyRelu"),
    "QLinearMul": _of_two("Mul"),
    "QLinearSigmoid": _of_one("Sigmoid"),
    "QLinearSoftmax": _of_one("Softmax", "opset"),
    "QuantizeLinear": _renamed,
}
REWRITTEN: tuple[tuple[str, str], ...] = (
    *(("", name) for name in _RULES if name not in ("DequantizeLinear", "MeanVarianceNormalization")),
    *((_MICROSOFT, name) for name in _MICROSOFT_RULES),
)
"""Domain and name of the operators that become others."""
