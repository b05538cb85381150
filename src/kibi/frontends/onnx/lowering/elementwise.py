"""Elementwise operators of two or more inputs, which broadcast."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from kibi.dtypes import DType
from kibi.frontends.onnx.draft import Quantization, Tensor
from kibi.frontends.onnx.emitter import Emitter
from kibi.frontends.onnx.graph import Node
from kibi.frontends.onnx.lowering.entry import Lowering
from kibi.frontends.onnx.problems import Unsupported
from kibi.frontends.onnx.real import Real
from kibi.frontends.onnx.targets import INTEGERS, are_integers, requantized, target, with_scale

_ACTIVE = frozenset(("ADD", "SUB", "MUL", "DIV"))
_WIDENED = frozenset((DType.S8, DType.S16, DType.U8, DType.U32))
_LARGEST_POWER = 16


def operands(e: Emitter, node: Node, names: Sequence[str]) -> tuple[list[Tensor], tuple[int, ...]]:
    """The inputs, all with their axes in one order, and that order."""
    rank = max(len(e.shape(name)) for name in names)
    rank = max(rank, len(e.shape(node.outputs[0])))
    order = e.order_of(names, rank)
    return [e.aligned(name, order) for name in names], order


def combined(
    e: Emitter, operator: str, tensors: Sequence[Tensor], goal: Quantization | None = None, activation: str = "NONE"
) -> Tensor:
    """One operation of two tensors of one type. Small integers without a scale are computed in s32, and wrap."""
    first, second = tensors
    shape = e.broadcast_shape(tensors)
    options = {"fused_activation_function": activation} if operator in _ACTIVE else {}
    if goal is None and first.dtype is DType.U8:
        raise Unsupported("elements of u8 without a scale are not supported", "Use float32, int32 or int8, or quantize")
    if goal is None and first.dtype in _WIDENED:
        wide = [e.add("CAST", [each], each.shape, DType.S32) for each in tensors]
        return e.add("CAST", [e.add(operator, wide, shape, DType.S32)], shape, first.dtype)
    return e.add(operator, [first, second], shape, first.dtype, goal, **options)


def _arithmetic(operator: str, types: Sequence[DType] = INTEGERS) -> Callable[[Emitter, Node], None]:
    """ADD and its kin: of two inputs, or one after another of more."""

    def convert(e: Emitter, node: Node) -> None:
        tensors, order = operands(e, node, node.inputs)
        goal = target(e, node.outputs[0])
        name, tensors = _with_scaled_number(e, operator, tensors, goal)
        if len(tensors) != 2 or not are_integers(tensors, goal, types if name == operator else INTEGERS):
            tensors, goal = [e.dequantized(each) for each in tensors], None
        if len(tensors) == 1:
            e.give(node.outputs[0], tensors[0], order)
            return
        result = tensors[0]
        for each in tensors[1:]:
            result = combined(e, name, [result, each], goal, node.activation)
        e.give(node.outputs[0], result, order)

    return convert


def _with_scaled_number(
    e: Emitter, operator: str, tensors: list[Tensor], goal: Quantization | None
) -> tuple[str, list[Tensor]]:
    """The operator and its inputs; a number without a scale beside integers gets one in which it is exact up to float32.

    A division by a number becomes a product with its reciprocal, which has kernels for more types.
    """
    if goal is None or len(tensors) != 2 or goal.dtype not in INTEGERS:
        return operator, tensors
    places = [place for place, each in enumerate(tensors) if each.data is not None and each.quantization is None]
    if len(places) != 1 or tensors[1 - places[0]].quantization is None or tensors[places[0]].data is None:
        return operator, tensors
    (place,) = places
    number = np.asarray(tensors[place].data)
    value = float(number.reshape(-1)[0]) if number.size == 1 else 0.0
    if number.size != 1 or not np.isfinite(value) or (operator == "DIV" and (place == 0 or value == 0)):
        return operator, tensors
    name, value = ("MUL", 1 / value) if operator == "DIV" else (operator, value)
    return name, [
        scaled_number(e, value, number.shape, goal) if at == place else each for at, each in enumerate(tensors)
    ]


def scaled_number(e: Emitter, value: float, shape: tuple[int, ...], goal: Quantization) -> Tensor:
    """A constant with the type of a goal, and a scale in which it is the largest integer."""
    most = goal.dtype.limits[1]
    integers = np.full(shape, int(np.sign(value)) * most, goal.dtype.numpy)
    return e.constant(integers, with_scale(goal, abs(value) / most if value else 1.0, 0))


def _extreme(operator: str) -> Callable[[Emitter, Node], None]:
    """MAXIMUM and MINIMUM: they compare stored integers, so all have one scale."""

    def convert(e: Emitter, node: Node) -> None:
        tensors, order = operands(e, node, node.inputs)
        goal = target(e, node.outputs[0])
        if goal is not None and are_integers(tensors, goal):
            tensors = [requantized(e, each, goal) for each in tensors]
        else:
            tensors, goal = [e.dequantized(each) for each in tensors], None
        result = tensors[0]
        for each in tensors[1:]:
            result = combined(e, operator, [result, each], goal)
        e.give(node.outputs[0], result, order)

    return convert


def _mean(e: Emitter, node: Node) -> None:
    tensors, order = operands(e, node, node.inputs)
    total = Real(e, e.dequantized(tensors[0]))
    for each in tensors[1:]:
        total = total + Real(e, e.dequantized(each))
    e.give(node.outputs[0], (total * (1 / len(tensors))).tensor if len(tensors) > 1 else total.tensor, order)


def _comparison(operator: str) -> Callable[[Emitter, Node], None]:
    def convert(e: Emitter, node: Node) -> None:
        tensors, order = operands(e, node, node.inputs)
        quantized = [each.quantization for each in tensors]
        if not all(each is not None and each.dtype is DType.S8 and not each.is_per_channel for each in quantized):
            tensors = [e.dequantized(each) for each in tensors]
        if tensors[0].dtype in _WIDENED and tensors[0].quantization is None:
            tensors = [e.add("CAST", [each], each.shape, DType.S32) for each in tensors]
        e.give(node.outputs[0], e.add(operator, tensors, e.broadcast_shape(tensors), DType.BOOL), order)

    return convert


def _xor(e: Emitter, node: Node) -> None:
    tensors, order = operands(e, node, node.inputs)
    e.give(node.outputs[0], e.add("NOT_EQUAL", tensors, e.broadcast_shape(tensors), DType.BOOL), order)


def _logical(operator: str) -> Callable[[Emitter, Node], None]:
    def convert(e: Emitter, node: Node) -> None:
        tensors, order = operands(e, node, node.inputs)
        e.give(node.outputs[0], e.add(operator, tensors, e.broadcast_shape(tensors), DType.BOOL), order)

    return convert


def _power(e: Emitter, node: Node) -> None:
    base, exponent = node.inputs
    data = e.graph.data(exponent)
    if data is None or data.size == 0 or (data != data.reshape(-1)[0]).any():
        raise Unsupported("its exponent is not one constant number", "Use a constant exponent")
    power = float(data.reshape(-1)[0])
    stored = e.unscrambled(e.stored(base))
    if e.shape(base) != e.shape(node.outputs[0]):
        raise Unsupported("its base is repeated to the exponent's shape", "Use an exponent of one element")
    x = e.dequantized(stored.tensor)
    if power == int(power) and 1 <= abs(power) <= _LARGEST_POWER and (x.dtype is DType.F32 or power > 0):
        result = _integer_power(e, x, int(abs(power)))
        result = (1.0 / Real(e, result)).tensor if power < 0 else result
    elif x.dtype is not DType.F32:
        raise Unsupported(f"integers to the power of {power:g} are not supported", "Use float32")
    else:
        result = _real_power(Real(e, x), power).tensor
    e.give(node.outputs[0], result, stored.order)


def _integer_power(e: Emitter, x: Tensor, power: int) -> Tensor:
    if power == 1:
        return x
    half = _integer_power(e, x, power // 2)
    square = combined(e, "MUL", [half, half])
    return combined(e, "MUL", [square, x]) if power % 2 else square


def _real_power(x: Real, power: float) -> Real:
    if power == 0.5:
        return x.sqrt()
    if power == -0.5:
        return x.rsqrt()
    return x * 0.0 + 1.0 if power == 0 else (x.log() * power).exp()


def _mod(e: Emitter, node: Node) -> None:
    tensors, order = operands(e, node, node.inputs)
    if tensors[0].dtype in _WIDENED:
        raise Unsupported(f"remainders of {tensors[0].dtype} are not supported", "Use int32 or float32")
    shape, dtype = e.broadcast_shape(tensors), tensors[0].dtype
    if not node.integer("fmod", 0):
        e.give(node.outputs[0], e.add("FLOOR_MOD", tensors, shape, dtype), order)
        return
    # The remainder has the dividend's sign: it is that of the magnitudes.
    zero = e.constant(np.zeros((), dtype.numpy))
    positive = [e.like("MAXIMUM", [each, e.like("SUB", [zero_of(e, each, zero), each])]) for each in tensors]
    rest = e.add("FLOOR_MOD", positive, shape, dtype)
    if dtype is not DType.F32:
        raise Unsupported("remainders of integers with the dividend's sign are not supported", "Use fmod = 0")
    negative = e.add("LESS", [tensors[0], zero], tensors[0].shape, DType.BOOL)
    e.give(node.outputs[0], (-Real(e, rest)).where(negative, Real(e, rest)).tensor, order)


def zero_of(e: Emitter, tensor: Tensor, zero: Tensor) -> Tensor:
    """Zeros of a tensor's shape, so that the result of an operation has it."""
    del e
    return Tensor(tensor.shape, zero.dtype, None, np.zeros(tensor.shape, zero.dtype.numpy))


def _prelu(e: Emitter, node: Node) -> None:
    tensors, order = operands(e, node, node.inputs)
    goal = target(e, node.outputs[0])
    if not are_integers(tensors, goal, (DType.S8,)):
        tensors, goal = [e.dequantized(each) for each in tensors], None
    if tensors[0].dtype is not DType.F32 and goal is None:
        raise Unsupported(f"elements of {tensors[0].dtype} are not supported", "Use float32")
    e.give(node.outputs[0], e.add("PRELU", tensors, tensors[0].shape, tensors[0].dtype, goal), order)


def _where(e: Emitter, node: Node) -> None:
    (condition, *choices), order = operands(e, node, node.inputs)
    goal = target(e, node.outputs[0])
    if goal is not None and are_integers(choices, goal):
        choices = [requantized(e, each, goal) for each in choices]
    else:
        choices, goal = [e.dequantized(each) for each in choices], None
    shape = e.broadcast_shape([condition, *choices])
    dtype = choices[0].dtype
    if dtype in (DType.F32, DType.S8, DType.S16):
        result = e.add("SELECT_V2", [condition, *choices], shape, dtype, goal)
    elif dtype is DType.BOOL:
        other = e.like("LOGICAL_NOT", [condition])
        parts = [
            e.add("LOGICAL_AND", pair, e.broadcast_shape(pair), DType.BOOL)
            for pair in ([condition, choices[0]], [other, choices[1]])
        ]
        result = e.add("LOGICAL_OR", parts, shape, DType.BOOL)
    elif dtype is DType.S32:
        # Integers of 32 bits wrap: the difference and the sum are exact together.
        chosen = e.add("CAST", [condition], condition.shape, DType.S32)
        difference = combined(e, "SUB", choices)
        result = combined(e, "ADD", [combined(e, "MUL", [difference, chosen]), choices[1]])
    else:
        raise Unsupported(f"elements of {dtype} are not supported", "Use float32, int32 or bool")
    e.give(node.outputs[0], result, order)


_WRAPPING = "Integers of 32 and 64 bits become int32, which wraps."
ELEMENTWISE: Mapping[str, Lowering] = {
    "Add": Lowering(_arithmetic("ADD"), ("ADD",), True, _WRAPPING),
    "And": Lowering(_logical("LOGICAL_AND"), ("LOGICAL_AND",)),
    "Div": Lowering(_arithmetic("DIV", (DType.S8,)), ("DIV",), True, _WRAPPING),
    "Equal": Lowering(_comparison("EQUAL"), ("EQUAL",), True),
    "Greater": Lowering(_comparison("GREATER"), ("GREATER",), True),
    "GreaterOrEqual": Lowering(_comparison("GREATER_EQUAL"), ("GREATER_EQUAL",), True),
    "Less": Lowering(_comparison("LESS"), ("LESS",), True),
    "LessOrEqual": Lowering(_comparison("LESS_EQUAL"), ("LESS_EQUAL",), True),
    "Max": Lowering(_extreme("MAXIMUM"), ("MAXIMUM",), True),
    "Mean": Lowering(_mean, ("ADD", "MUL")),
    "Min": Lowering(_extreme("MINIMUM"), ("MINIMUM",), True),
    "Mod": Lowering(_mod, ("FLOOR_MOD", "MAXIMUM", "SUB", "LESS", "NEG", "SELECT_V2")),
    "Mul": Lowering(_arithmetic("MUL"), ("MUL",), True, _WRAPPING),
    "Or": Lowering(_logical("LOGICAL_OR"), ("LOGICAL_OR",)),
    "PRelu": Lowering(_prelu, ("PRELU",), True),
    "Pow": Lowering(
        _power, ("MUL", "DIV", "SQRT", "RSQRT", "LOG", "EXP"), False, "The exponent is one constant number."
    ),
    "Sub": Lowering(_arithmetic("SUB"), ("SUB",), True, _WRAPPING),
    "Sum": Lowering(_arithmetic("ADD"), ("ADD",), True),
    "Where": Lowering(
        _where, ("SELECT_V2", "LOGICAL_NOT", "LOGICAL_AND", "LOGICAL_OR", "CAST", "SUB", "MUL", "ADD"), True
    ),
    "Xor": Lowering(_xor, ("NOT_EQUAL",)),
}
"""By ONNX's name of the operator."""
