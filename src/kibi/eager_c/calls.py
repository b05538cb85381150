"""The call in C of each operator by hand: from an operator of Python with its tensors to a function and its arguments."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, Final

import numpy as np

from kibi.dtypes import DType
from kibi.eager.operands import verified_view
from kibi.eager.program import RecordedTensor
from kibi.errors import InputError
from kibi.ir import NodeView, Operator
from kibi.ops.attributes import Activation, Padding
from kibi.text.c import CCode, code, literal, word

_ACTIVATIONS = {
    Activation.NONE: "KIBI_NO_ACTIVATION",
    Activation.RELU: "KIBI_RELU",
    Activation.RELU_N1_TO_1: "KIBI_RELU_N1_TO_1",
    Activation.RELU6: "KIBI_RELU6",
}
_PADDINGS = {Padding.VALID: "KIBI_VALID", Padding.SAME: "KIBI_SAME"}


@dataclass(frozen=True, slots=True)
class OperatorCall:
    """A call of an operator in C.

    Attributes:
        name: of the operator in C: `conv2d` for `kibi_op_conv2d`.
        operands: the tensors in the order of the function; None where one is left out.
        joined: true if all operands but the first are one array of pointers, followed by their number.
        arguments: those that follow.
        options: the type and the initializer of the constant whose address comes last; None: the operator has no options.
    """

    name: str
    operands: tuple[RecordedTensor | None, ...]
    arguments: tuple[CCode, ...] = ()
    joined: bool = False
    options: tuple[CCode, CCode] | None = None


@dataclass(frozen=True, slots=True)
class Form:
    """How an operator is called.

    Attributes:
        name: of the operator in C.
        operands: the operator's names for the function's tensors, in its order; empty: the output and all row inputs, joined.
        arguments: those that follow, of a view of the operator.
        options: as in `OperatorCall`.
    """

    name: str
    operands: tuple[str, ...]
    arguments: Callable[[NodeView], tuple[CCode, ...]] = lambda _: ()
    options: Callable[[NodeView], tuple[CCode, CCode] | None] = lambda _: None


@dataclass(frozen=True, slots=True)
class FunctionForm:
    """How an operator is called that is a function of tensors in Python.

    Attributes:
        name: of the operator in C.
        operands: the function's names for the tensors, in the order of C.
        arguments: those that follow, of the function's other arguments as attributes.
        options: as in `OperatorCall`.
    """

    name: str
    operands: tuple[str, ...]
    arguments: Callable[[Any], tuple[CCode, ...]] = lambda _: ()
    options: Callable[[Any], tuple[CCode, CCode] | None] = lambda _: None


def operator_call(op: Operator, operands: Mapping[str, RecordedTensor]) -> OperatorCall:
    """Returns the call of an operator.

    Raises:
        InputError: the library has no such operator, or not for these types or attributes.
    """
    form = OPERATORS.get(op.name)
    if form is None:
        raise InputError(f"{op.name} is no operator of the C library. It has those for {', '.join(sorted(OPERATORS))}.")
    for name in ("axis", "axes", "perm", "begin", "end", "strides"):
        if name in operands and operands[name].data is None:
            raise InputError(f"{op.name}: {name} is an argument in C, whose value must be known. Make it a RomTensor.")
    view = verified_view(op, operands)  # type: ignore[arg-type]  # it looks at names, types and constants alone
    _check_types(op, view)
    if op.name in _ELEMENTWISE:
        _check_elementwise(op, view)
    arguments, options = form.arguments(view), form.options(view)
    if not form.operands:
        joined = (operands["output"], *(operands[name] for name in view.row_names))
        return OperatorCall(form.name, joined, arguments, joined=True)
    return OperatorCall(form.name, tuple(operands.get(name) for name in form.operands), arguments, options=options)


def function_call(name: str, operands: Mapping[str, RecordedTensor], options: Mapping[str, Any]) -> OperatorCall:
    """Returns the call of an operator that is a function of tensors in Python.

    Args:
        name: the function's name in Python.
        operands: its tensors, by the function's names for them.
        options: its other arguments.

    Raises:
        InputError: the function takes one of Python's, which C cannot call.
    """
    form = FUNCTIONS.get(name)
    if form is None:
        raise InputError(
            f"{name} takes a function of Python, which C cannot call. Write this one in C: kibi_op_{name}."
        )
    tensors = tuple(operands.get(each) for each in form.operands)
    given = SimpleNamespace(**options)
    return OperatorCall(form.name, tensors, form.arguments(given), options=form.options(given))


def _check_types(op: Operator, view: NodeView) -> None:
    wide = [tensor.name for _, tensor in view.operands if tensor is not None and len(tensor.type.shape) > 4]
    if wide:
        raise InputError(f"{op.name}: the tensor {wide[0]!r} has more than 4 axes, which the C library does not store.")
    dtypes = {view[name].type.dtype for name in op.row_inputs if view.find(name) is not None}
    taken = _TYPES.get(op.name, {DType.S8, DType.F32})
    wrong = dtypes - taken if taken else set()
    if wrong:
        names = ", ".join(sorted(str(each) for each in taken))
        raise InputError(
            f"{op.name} of {', '.join(sorted(map(str, wrong)))} is not in the C library, which has it for {names}."
        )


def _check_elementwise(op: Operator, view: NodeView) -> None:
    """What Python takes and C does not, of operators that compute element by element.

    Raises:
        InputError: it is that.
    """
    source, output = view["input"].type, view.output.type
    if source.shape != output.shape:
        raise InputError(
            f"{op.name} from {list(source.shape)} to {list(output.shape)} is not in the C library, which takes tensors of one "
            "shape. RESHAPE first."
        )
    made = {"QUANTIZE": DType.S8, "DEQUANTIZE": DType.F32}.get(op.name, source.dtype)
    if output.dtype is not made:
        raise InputError(f"{op.name} to {output.dtype} is not in the C library, which makes {made} of {source.dtype}.")
    if op.name == "DEQUANTIZE" and source.quantization is not None and source.quantization.is_per_channel:
        raise InputError("DEQUANTIZE of a tensor with several scales is not in the C library. Give it one scale.")


def _constant(view: NodeView, name: str) -> list[int]:
    """Elements of a constant operand, which the C library takes as an argument."""
    return [int(value) for value in np.asarray(view.constant(name)).reshape(-1)]


def _window(op: Any) -> CCode:
    """The initializer of window options."""
    dilation = getattr(op, "dilation", (1, 1))
    return code(
        "{$sh, $sw, $dh, $dw, $padding, $activation}",
        sh=op.stride[0],
        sw=op.stride[1],
        dh=dilation[0],
        dw=dilation[1],
        padding=word(_PADDINGS[op.padding]),
        activation=word(_ACTIVATIONS[op.activation]),
    )


def _window_of(given: Any) -> tuple[CCode, CCode]:
    return word("kibi_window_options"), _window(given)


def _pool_of(given: Any) -> tuple[CCode, CCode]:
    height, width = given.kernel
    window = _window(given)
    return word("kibi_pool_options"), code("{$height, $width, $window}", height=height, width=width, window=window)


def _layer(view: NodeView) -> tuple[CCode, CCode]:
    return _window_of(view.op)


def _pool(view: NodeView) -> tuple[CCode, CCode]:
    return _pool_of(view.op)


def _activation(view: NodeView) -> tuple[CCode, ...]:
    return _activation_of(view.op)


def _activation_of(given: Any) -> tuple[CCode, ...]:
    return (word(_ACTIVATIONS[given.activation]),)


def _float(value: float) -> CCode:
    return literal(float(np.float32(value)), "float")


def _beta(view: NodeView) -> tuple[CCode, ...]:
    op: Any = view.op
    return (_float(op.beta),)


def _axis(view: NodeView) -> tuple[CCode, ...]:
    return (code("$axis", axis=_constant(view, "axis")[0] % len(view["input"].type.shape)),)


def _numbers(kind: str, values: list[int]) -> CCode:
    listed = code(", ").join([code("$value", value=value) for value in values])
    return code("(const $kind[]){$values}", kind=word(kind), values=listed)


def _axes(view: NodeView) -> tuple[CCode, ...]:
    rank = len(view["input"].type.shape)
    return (_numbers("uint8_t", [axis % rank for axis in _constant(view, "perm")]),)


def _slice(view: NodeView) -> tuple[CCode, ...]:
    op: Any = view.op
    shape = view["input"].type.shape
    if getattr(op, "shrink_axis_mask", 0) or len(view.output.type.shape) != len(shape):
        raise InputError(f"{op.name}: the C library does not leave axes out. Slice first, then RESHAPE.")
    chosen = op.selection(view)
    strides = [1] * len(shape)
    for each in chosen.axes:
        strides[each.source] = each.step
    return _numbers("int32_t", list(chosen.first)), _numbers("int32_t", strides)


def _reduced_axes(view: NodeView) -> tuple[CCode, ...]:
    rank = len(view["input"].type.shape)
    axes = sorted({axis % rank for axis in _constant(view, "axes")})
    return (_numbers("uint8_t", axes) if axes else word("NULL")), code("$count", count=len(axes))


def _adjoint(view: NodeView) -> tuple[CCode, ...]:
    op: Any = view.op
    flags = [word(f"KIBI_ADJOINT_{side}") for side, is_so in ((1, op.adj_x), (2, op.adj_y)) if is_so]
    return (code(" | ").join(flags) if flags else code("0"),)


def _join_axis(view: NodeView) -> tuple[CCode, ...]:
    op: Any = view.op
    return (code("$axis", axis=op.axis % len(view.output.type.shape)),)


_LAYER = ("output", "input", "filter", "bias")
_PAIR = ("output", "input1", "input2")
_ONE = ("output", "input")
OPERATORS: Mapping[str, Form] = {
    "CONV_2D": Form("conv2d", _LAYER, options=_layer),
    "DEPTHWISE_CONV_2D": Form("depthwise_conv2d", _LAYER, options=_layer),
    "FULLY_CONNECTED": Form("fully_connected", _LAYER, _activation),
    "MAX_POOL_2D": Form("max_pool2d", _ONE, options=_pool),
    "AVERAGE_POOL_2D": Form("average_pool2d", _ONE, options=_pool),
    **{name: Form(name.lower(), _PAIR, _activation) for name in ("ADD", "SUB", "MUL", "DIV")},
    **{name: Form(name.lower(), _PAIR) for name in ("MAXIMUM", "MINIMUM")},
    **{name: Form(name.lower(), _ONE) for name in ("RELU", "RELU6", "LOGISTIC", "TANH", "QUANTIZE", "DEQUANTIZE")},
    **{name: Form(name.lower(), _ONE) for name in ("RSQRT", "SIN")},
    **{name: Form(name.lower(), _ONE, _reduced_axes) for name in ("SUM", "MEAN", "REDUCE_MAX", "REDUCE_MIN")},
    "BATCH_MATMUL": Form("batch_matmul", _PAIR, _adjoint),
    **{name: Form("reshape", _ONE) for name in ("RESHAPE", "SQUEEZE", "EXPAND_DIMS")},
    "SOFTMAX": Form("softmax", _ONE, _beta),
    "TRANSPOSE": Form("transpose", _ONE, _axes),
    "STRIDED_SLICE": Form("strided_slice", _ONE, _slice),
    "CONCATENATION": Form("concatenation", (), _join_axis),
    "ARG_MAX": Form("arg_max", _ONE, _axis),
    "ARG_MIN": Form("arg_min", _ONE, _axis),
}
FUNCTIONS: Mapping[str, FunctionForm] = {
    "min_pool2d": FunctionForm("min_pool2d", _ONE, options=_pool_of),
    "batch_norm": FunctionForm(
        "batch_norm", (*_ONE, "mean", "variance", "gamma", "beta"), lambda given: (_float(given.epsilon),)
    ),
    "add_u8": FunctionForm("add_u8", _PAIR, _activation_of),
    "depthwise_conv2d_u8": FunctionForm("depthwise_conv2d_u8", _LAYER, options=_window_of),
    "fully_connected_u8": FunctionForm("fully_connected_u8", _LAYER, _activation_of),
    "max_pool2d_u8": FunctionForm("max_pool2d_u8", _ONE, options=_pool_of),
    "quantize_u8": FunctionForm("quantize_u8", _ONE),
    "dequantize_u8": FunctionForm("dequantize", _ONE),
    "arg_max_u8": FunctionForm("arg_max_u8", _ONE, lambda given: (code("$axis", axis=int(given.axis)),)),
}
"""Operators that are functions of tensors in Python, by the functions' names."""
_ELEMENTWISE: Final = frozenset(
    ("RELU", "RELU6", "LOGISTIC", "TANH", "RSQRT", "SIN", "SOFTMAX", "QUANTIZE", "DEQUANTIZE")
)
_ANY: set[DType] = set()
_TYPES: Mapping[str, set[DType]] = {
    "DIV": {DType.F32},
    "SIN": {DType.F32},
    "DEQUANTIZE": {DType.S8, DType.U8, DType.S16},
    **dict.fromkeys(("RESHAPE", "SQUEEZE", "EXPAND_DIMS", "TRANSPOSE", "STRIDED_SLICE", "CONCATENATION"), _ANY),
}
"""Element types of the inputs, of operators that do not take s8 and f32; empty: any."""
