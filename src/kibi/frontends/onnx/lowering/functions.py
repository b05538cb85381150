"""Functions of one element: activations, roots, exponentials, rounding, casts."""

import math
from collections.abc import Callable, Mapping

import numpy as np

from kibi.dtypes import DType
from kibi.frontends.onnx.draft import Quantization, Tensor
from kibi.frontends.onnx.emitter import ELEMENTS, Emitter
from kibi.frontends.onnx.fusing import limits
from kibi.frontends.onnx.graph import Node
from kibi.frontends.onnx.lowering.elementwise import scaled_number
from kibi.frontends.onnx.lowering.entry import Lowering
from kibi.frontends.onnx.problems import Unsupported
from kibi.frontends.onnx.real import Real
from kibi.frontends.onnx.targets import are_integers, give_scaled, quantized_constant, requantized, target, with_scale

# Abramowitz and Stegun, Handbook of Mathematical Functions, 7.1.26: erf up to 1.5e-7.
_ERF = (0.254829592, -0.284496736, 1.421413741, -1.453152027, 1.061405429)
_ERF_P = 0.3275911


def _formula(formula: Callable[[Real, Node], Real]) -> Callable[[Emitter, Node], None]:
    """The conversion of an operator that is a formula of float32."""

    def convert(e: Emitter, node: Node) -> None:
        stored = e.unscrambled(e.stored(node.inputs[0]))
        x = e.dequantized(stored.tensor)
        if x.dtype is not DType.F32:
            raise Unsupported(f"elements of {x.dtype} are not supported", "Use float32")
        e.give(node.outputs[0], formula(Real(e, x), node).tensor, stored.order)

    return convert


def _plain(operator: str) -> Callable[[Emitter, Node], None]:
    return _formula(lambda x, node: x.each(operator))  # noqa: ARG005 - the attributes do not matter


def _activation(operator: str) -> Callable[[Emitter, Node], None]:
    """An activation that has integer kernels, s8 with any two scales."""

    def convert(e: Emitter, node: Node) -> None:
        stored = e.unscrambled(e.stored(node.inputs[0]))
        x, goal = stored.tensor, target(e, node.outputs[0])
        if not are_integers([x], goal, (DType.S8,)):
            x, goal = e.dequantized(x), None
        _check_real(x, goal)
        e.give(node.outputs[0], e.add(operator, [x], x.shape, x.dtype, goal), stored.order)

    return convert


def _check_real(x: Tensor, goal: Quantization | None) -> None:
    if goal is None and x.dtype is not DType.F32:
        raise Unsupported(f"elements of {x.dtype} are not supported", "Use float32")


def _relu(e: Emitter, node: Node) -> None:
    _limited(e, node, 0.0, math.inf)


def _clip(e: Emitter, node: Node) -> None:
    bounds = limits(e.graph, node)
    if bounds is None:
        raise Unsupported("its limits are computed by the model", "Use constant limits")
    _limited(e, node, *bounds)


def _limited(e: Emitter, node: Node, low: float, high: float) -> None:
    """RELU or RELU6, or the larger and the smaller of two; what has a scale keeps it."""
    stored = e.stored(node.inputs[0])
    x = stored.tensor
    meant = x.quantization
    goal = target(e, node.outputs[0])
    if meant is not None and (meant.is_per_channel or meant.dtype not in (DType.S8, DType.S16)):
        x, meant = e.dequantized(x), None
    name = {(0.0, math.inf): "RELU", (0.0, 6.0): "RELU6"}.get((low, high))
    if name == "RELU" and are_integers([x], goal):
        result = e.add("RELU", [x], x.shape, x.dtype, goal)
    elif name is not None and (meant is not None or x.dtype is DType.F32):
        result = e.like(name, [x])
    else:
        # In the scale of the result limits are as exact as the result.
        x = requantized(e, x, goal) if goal is not None and are_integers([x], goal) else x
        meant, result = x.quantization, x
        for operator, limit in (("MAXIMUM", low), ("MINIMUM", high)):
            if math.isfinite(limit):
                bound = quantized_constant(e, np.array(limit), meant) if meant else _number(e, x, limit)
                result = e.like(operator, [result, bound])
    e.give(node.outputs[0], result, stored.order, stored.scramble)


def _number(e: Emitter, like: Tensor, value: float) -> Tensor:
    if like.dtype not in (DType.F32, DType.S32):
        raise Unsupported(f"elements of {like.dtype} are not supported", "Use float32 or int32")
    # The limit of an integer may be the largest one of 64 bits, which means no limit.
    bounded = min(max(value, like.dtype.limits[0]), like.dtype.limits[1]) if like.dtype is DType.S32 else value
    return e.constant(np.array(bounded).astype(like.dtype.numpy))


def _leaky_relu(e: Emitter, node: Node) -> None:
    stored = e.unscrambled(e.stored(node.inputs[0]))
    x, goal = stored.tensor, target(e, node.outputs[0])
    if not are_integers([x], goal):
        x, goal = e.dequantized(x), None
    _check_real(x, goal)
    result = e.add("LEAKY_RELU", [x], x.shape, x.dtype, goal, alpha=node.real("alpha", 0.01))
    e.give(node.outputs[0], result, stored.order)


def _elu(e: Emitter, node: Node) -> None:
    if node.real("alpha", 1.0) == 1.0:
        _activation("ELU")(e, node)
    else:
        _formula(lambda x, node: x.larger(0.0) + (x.smaller(0.0).exp() - 1.0) * node.real("alpha", 1.0))(e, node)


def _bounded(operator: str, scale: float, zero_point: int) -> Callable[[Emitter, Node], None]:
    """LOGISTIC or TANH: the scale of their s8 results is dictated, as is that of s16."""

    def convert(e: Emitter, node: Node) -> None:
        stored = e.unscrambled(e.stored(node.inputs[0]))
        x, goal = stored.tensor, target(e, node.outputs[0])
        if goal is None or not are_integers([x], goal):
            x = e.dequantized(x)
            _check_real(x, None)
            e.give(node.outputs[0], e.like(operator, [x]), stored.order)
            return
        own = with_scale(goal, scale, zero_point) if goal.dtype is DType.S8 else with_scale(goal, 2.0**-15, 0)
        result = e.add(operator, [x], x.shape, goal.dtype, own)
        give_scaled(e, node, result, stored.order, goal)

    return convert


def _signed(integer: Callable[[Emitter, Tensor], Tensor], operator: str) -> Callable[[Emitter, Node], None]:
    """An operator that has no kernel for s32: integers take another way."""

    def convert(e: Emitter, node: Node) -> None:
        stored = e.unscrambled(e.stored(node.inputs[0]))
        x = e.dequantized(stored.tensor)
        if x.dtype is DType.F32:
            result = e.like(operator, [x])
        elif x.dtype is DType.S32:
            result = integer(e, x)
        elif x.dtype in (DType.S8, DType.S16):
            wide = e.add("CAST", [x], x.shape, DType.S32)
            result = e.add("CAST", [integer(e, wide)], x.shape, x.dtype)
        else:
            raise Unsupported(f"elements of {x.dtype} are not supported", "Use float32 or int32")
        e.give(node.outputs[0], result, stored.order)

    return convert


def _negative(e: Emitter, x: Tensor) -> Tensor:
    return e.add("SUB", [e.constant(np.zeros((), np.int32)), x], x.shape, DType.S32)


def _magnitude(e: Emitter, x: Tensor) -> Tensor:
    return e.like("MAXIMUM", [x, _negative(e, x)])


def sign(x: Real) -> Real:
    """-1, 0 or 1; of what is no number, 0."""
    one = x.constant(np.ones(()))
    return one.where(x.compared("GREATER", 0.0), x.constant(-np.ones(())).where(x.compared("LESS", 0.0), 0.0))


def erf(x: Real) -> Real:
    """The error function, up to 1.5e-7."""
    size = abs(x)
    t = 1.0 / (size * _ERF_P + 1.0)
    total = t * _ERF[-1]
    for factor in _ERF[-2::-1]:
        total = (total + factor) * t
    return (1.0 - total * (-(x * x)).exp()) * sign(x)


def _gelu(x: Real, node: Node) -> Real:
    if node.text("approximate", "none") == "tanh":
        inner = (x + x * x * x * 0.044715) * math.sqrt(2 / math.pi)
        return x * 0.5 * (inner.each("TANH") + 1.0)
    return x * 0.5 * (erf(x * math.sqrt(0.5)) + 1.0)


def _softplus(x: Real) -> Real:
    return x.larger(0.0) + ((-abs(x)).exp() + 1.0).log()


def _exponential(x: Real) -> Real:
    """`exp(x) - 1` where x is negative, else 0."""
    return x.smaller(0.0).exp() - 1.0


def _selu(x: Real, node: Node) -> Real:
    alpha, gamma = node.real("alpha", 1.67326319217681884765625), node.real("gamma", 1.05070102214813232421875)
    return (x.larger(0.0) + _exponential(x) * alpha) * gamma


def _celu(x: Real, node: Node) -> Real:
    alpha = node.real("alpha", 1.0)
    return x.larger(0.0) + _exponential(x * (1 / alpha)) * alpha


def _shrink(x: Real, node: Node) -> Real:
    limit, bias = node.real("lambd", 0.5), node.real("bias", 0.0)
    lower = (x + bias).where(x.compared("LESS", -limit), 0.0)
    return (x - bias).where(x.compared("GREATER", limit), lower)


def _hard_sigmoid(e: Emitter, node: Node) -> None:
    """Of integers the sum's scale ends where the result does, at 0 and 1: no limits are needed."""
    alpha, beta = node.real("alpha", 0.2), node.real("beta", 0.5)
    stored = e.unscrambled(e.stored(node.inputs[0]))
    x, goal = stored.tensor, target(e, node.outputs[0])
    if goal is None or alpha <= 0 or not are_integers([x], goal, (DType.S8,)):
        _formula(lambda real, _: (real * alpha + beta).larger(0.0).smaller(1.0))(e, node)
        return
    between = with_scale(goal, 1 / alpha / 255, goal.dtype.limits[0])
    total = e.add("ADD", [x, scaled_number(e, beta / alpha, (), goal)], x.shape, goal.dtype, between)
    e.give(
        node.outputs[0],
        e.add("MUL", [total, scaled_number(e, alpha, (), goal)], x.shape, goal.dtype, goal),
        stored.order,
    )


def _asinh(x: Real) -> Real:
    size = abs(x)
    return (size + (size * size + 1.0).sqrt()).log() * sign(x)


def _is_inf(e: Emitter, node: Node) -> None:
    stored = e.unscrambled(e.stored(node.inputs[0]))
    x = Real(e, e.dequantized(stored.tensor))
    found = [
        x.compared("EQUAL", limit)
        for limit, name in ((math.inf, "detect_positive"), (-math.inf, "detect_negative"))
        if node.integer(name, 1)
    ]
    result = found[0] if found else x.compared("LESS", -math.inf)
    if len(found) > 1:
        result = e.add("LOGICAL_OR", found, x.tensor.shape, DType.BOOL)
    e.give(node.outputs[0], result, stored.order)


def _is_nan(e: Emitter, node: Node) -> None:
    stored = e.unscrambled(e.stored(node.inputs[0]))
    x = Real(e, e.dequantized(stored.tensor))
    e.give(node.outputs[0], x.compared("NOT_EQUAL", x), stored.order)


def _not(e: Emitter, node: Node) -> None:
    stored = e.unscrambled(e.stored(node.inputs[0]))
    e.give(node.outputs[0], e.like("LOGICAL_NOT", [stored.tensor]), stored.order)


def _cast(e: Emitter, node: Node) -> None:
    stored = e.unscrambled(e.stored(node.inputs[0]))
    kind = e.graph.values[node.outputs[0]].kind
    x, wanted = e.dequantized(stored.tensor), e.dtype(node.outputs[0])
    if kind not in ELEMENTS or (wanted is DType.U8 and x.dtype is not DType.U8):
        raise Unsupported(f"a cast to {kind} is not supported", "Cast to float32, int32, int8, int16 or bool")
    e.give(node.outputs[0], x if x.dtype is wanted else e.add("CAST", [x], x.shape, wanted), stored.order)


def _identity(e: Emitter, node: Node) -> None:
    if node.op == "Dropout":
        training = e.graph.data(node.input(2))
        if node.input(2) and (training is None or training.any()):
            raise Unsupported("it drops elements at random, as in training", "Export the model for inference")
        if any(name in e.consumers or name in e.graph.outputs for name in node.outputs[1:] if name):
            raise Unsupported("its mask is not supported", "Export the model for inference")
    stored = e.stored(node.inputs[0])
    e.give(node.outputs[0], stored.tensor, stored.order, stored.scramble)


_REAL = "Elements are float32."
FUNCTIONS: Mapping[str, Lowering] = {
    "Abs": Lowering(_signed(_magnitude, "ABS"), ("ABS", "MAXIMUM", "SUB")),
    "Acosh": Lowering(_formula(lambda x, _: (x + (x * x - 1.0).sqrt()).log()), ("MUL", "SUB", "SQRT", "ADD", "LOG")),
    "Asinh": Lowering(
        _formula(lambda x, _: _asinh(x)), ("ABS", "MUL", "ADD", "SQRT", "LOG", "GREATER", "LESS", "SELECT_V2")
    ),
    "Atanh": Lowering(_formula(lambda x, _: ((x + 1.0) / (1.0 - x)).log() * 0.5), ("ADD", "SUB", "DIV", "LOG", "MUL")),
    "Cast": Lowering(_cast, ("CAST",), False, "Reals become float32, and integers of 64 bits int32; not to uint8."),
    "CastLike": Lowering(_cast, ("CAST",), False, "As Cast."),
    "Ceil": Lowering(_plain("CEIL"), ("CEIL",), False, _REAL),
    "Celu": Lowering(_formula(_celu), ("MAXIMUM", "MINIMUM", "EXP", "SUB", "MUL", "ADD")),
    "Clip": Lowering(_clip, ("RELU", "RELU6", "MAXIMUM", "MINIMUM"), True, "The limits are constants."),
    "Cos": Lowering(_plain("COS"), ("COS",), False, _REAL),
    "Cosh": Lowering(_formula(lambda x, _: (x.exp() + (-x).exp()) * 0.5), ("EXP", "NEG", "ADD", "MUL")),
    "Dropout": Lowering(_identity, (), True, "Not in training mode."),
    "Elu": Lowering(_elu, ("ELU", "MAXIMUM", "MINIMUM", "EXP", "SUB", "MUL", "ADD"), True),
    "Erf": Lowering(
        _formula(lambda x, _: erf(x)),
        ("ABS", "MUL", "ADD", "DIV", "NEG", "EXP", "SUB", "GREATER", "LESS", "SELECT_V2"),
        False,
        "By a polynomial that is up to 1.5e-7 away.",
    ),
    "Exp": Lowering(_plain("EXP"), ("EXP",), False, _REAL),
    "Floor": Lowering(_plain("FLOOR"), ("FLOOR",), False, _REAL),
    "Gelu": Lowering(_formula(_gelu), ("MUL", "ADD", "TANH", "and those of Erf"), False, "As Erf."),
    "HardSigmoid": Lowering(_hard_sigmoid, ("MUL", "ADD", "MAXIMUM", "MINIMUM"), True),
    "HardSwish": Lowering(_activation("HARD_SWISH"), ("HARD_SWISH",), True),
    "Identity": Lowering(_identity, (), True),
    "IsInf": Lowering(_is_inf, ("EQUAL", "LOGICAL_OR")),
    "IsNaN": Lowering(_is_nan, ("NOT_EQUAL",)),
    "LeakyRelu": Lowering(_leaky_relu, ("LEAKY_RELU",), True),
    "Log": Lowering(_plain("LOG"), ("LOG",), False, _REAL),
    "Mish": Lowering(
        _formula(lambda x, _: x * _softplus(x).each("TANH")),
        ("MAXIMUM", "ABS", "NEG", "EXP", "ADD", "LOG", "TANH", "MUL"),
    ),
    "Neg": Lowering(_signed(_negative, "NEG"), ("NEG", "SUB")),
    "Not": Lowering(_not, ("LOGICAL_NOT",)),
    "Reciprocal": Lowering(_formula(lambda x, _: 1.0 / x), ("DIV",), False, _REAL),
    "Relu": Lowering(_relu, ("RELU", "MAXIMUM"), True),
    "Round": Lowering(_plain("ROUND"), ("ROUND",), False, _REAL),
    "Selu": Lowering(_formula(_selu), ("MAXIMUM", "MINIMUM", "EXP", "SUB", "MUL", "ADD")),
    "Shrink": Lowering(_formula(_shrink), ("ADD", "SUB", "LESS", "GREATER", "SELECT_V2"), False, _REAL),
    "Sigmoid": Lowering(_bounded("LOGISTIC", 1 / 256, -128), ("LOGISTIC", "QUANTIZE"), True),
    "Sign": Lowering(_formula(lambda x, _: sign(x)), ("GREATER", "LESS", "SELECT_V2"), False, _REAL),
    "Sin": Lowering(_plain("SIN"), ("SIN",), False, _REAL),
    "Sinh": Lowering(_formula(lambda x, _: (x.exp() - (-x).exp()) * 0.5), ("EXP", "NEG", "SUB", "MUL")),
    "Softplus": Lowering(_formula(lambda x, _: _softplus(x)), ("MAXIMUM", "ABS", "NEG", "EXP", "ADD", "LOG")),
    "Softsign": Lowering(_formula(lambda x, _: x / (abs(x) + 1.0)), ("ABS", "ADD", "DIV")),
    "Sqrt": Lowering(_plain("SQRT"), ("SQRT",), False, _REAL),
    "Swish": Lowering(
        _formula(lambda x, node: x * (x * node.real("alpha", 1.0)).each("LOGISTIC")), ("MUL", "LOGISTIC"), False, _REAL
    ),
    "Tan": Lowering(_formula(lambda x, _: x.each("SIN") / x.each("COS")), ("SIN", "COS", "DIV"), False, _REAL),
    "Tanh": Lowering(_bounded("TANH", 1 / 128, 0), ("TANH", "QUANTIZE"), True),
    "ThresholdedRelu": Lowering(
        _formula(lambda x, node: x.where(x.compared("GREATER", node.real("alpha", 1.0)), 0.0)), ("GREATER", "SELECT_V2")
    ),
}
"""By ONNX's name of the operator."""
