"""Operators by hand in C give the bits of Python's, wherever operands are, and give back all that they took."""

import ctypes
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
import pytest

from kibi.dtypes import Array, DType
from kibi.ir import NodeView, Tensor
from kibi.ops.attributes import Activation, Padding
from kibi.runtime import Interpreter
from tests.eager_c.library import library
from tests.eager_c.program import READ, SOURCE, Camera, CType, Data, Device, File, Program, Ram, Row
from tests.ops.comparison import assert_same, graph_of
from tests.support.amount import amount
from tests.support.choices import Seeded
from tests.support.operator_models import OPERATOR_MODELS

ARGUMENT = -47
_SAMPLES = amount(3, 60)
_ARENA_BYTES = 60_000
_MOST_BYTES = 8_000
_ACTIVATIONS = (Activation.NONE, Activation.RELU, Activation.RELU_N1_TO_1, Activation.RELU6)
_PLACES = ("ram", "buffer", "rows", "camera", "file")
_MADE_AT = {"camera": "rows"}


class Window(ctypes.Structure):
    """`kibi_window_options`."""

    _fields_ = (
        *((name, ctypes.c_uint16) for name in ("stride_height", "stride_width", "dilation_height", "dilation_width")),
        ("padding", ctypes.c_int),
        ("activation", ctypes.c_int),
    )

    @staticmethod
    def of(op: Any) -> "Window":
        """The options of a convolution or a pool."""
        dilation = getattr(op, "dilation", (1, 1))
        return Window(*op.stride, *dilation, int(op.padding is Padding.SAME), _ACTIVATIONS.index(op.activation))


class Pool(ctypes.Structure):
    """`kibi_pool_options`."""

    _fields_ = (("height", ctypes.c_uint16), ("width", ctypes.c_uint16), ("window", Window))


class _Tensors:
    """The operands of one call, at places of one kind."""

    def __init__(self, program: Program, place: str) -> None:
        self.program, self.place = program, place
        self._kept: list[object] = []
        self._arrays: dict[int, tuple[Array, ctypes.Structure, Tensor]] = {}

    def make(self, tensor: Tensor, values: Array | None, place: str) -> ctypes.Structure:
        """A tensor in C with these values; None: one to be written."""
        kind, program = CType.of(tensor.type), self.program
        size, row_bytes = tensor.type.size_bytes, tensor.type.row_bytes
        data = np.zeros(size + 8, np.uint8) if values is None else np.frombuffer(values.tobytes() + bytes(8), np.uint8)
        data = data.copy()
        self._kept += [kind, data]
        address = ctypes.addressof(kind)
        made: ctypes.Structure
        if place == "ram":
            made = Ram()
            program.check(program.call("ram_tensor_init", made, ctypes.byref(kind)), 0)
            ctypes.memmove(made.handle.data, data.ctypes.data, size)
        elif place == "rows":
            offsets = (ctypes.c_uint32 * tensor.type.rows)(*range(0, size, row_bytes))
            self._kept.append(offsets)
            rows = 0 if values is None else tensor.type.rows
            made = Row(program.access("row"), address, data.ctypes.data, ctypes.addressof(offsets), 0, rows)
        elif place == "camera":
            made = self._camera(tensor, data, address)
        elif place == "file":
            made = self._file(data, address)
        else:
            made = Data(program.access("buffer" if values is None else "rom"), address, data.ctypes.data)
        self._arrays[tensor.index] = (data, made, tensor)
        return made

    def _camera(self, tensor: Tensor, data: Array, address: int) -> Camera:
        room = np.zeros(tensor.type.size_bytes, np.uint8)
        row_bytes = tensor.type.row_bytes

        def deliver(_: int, row: int, to: int) -> int:
            ctypes.memmove(to, data.ctypes.data + row * row_bytes, row_bytes)
            return 1

        source = SOURCE(deliver)
        self._kept += [room, source]
        where = self.program.access("camera")
        return Camera(where, address, source, None, room.ctypes.data, tensor.type.rows, 0)

    def _file(self, data: Array, address: int) -> File:
        def read(_: int, offset: int, to: int, count: int) -> int:
            ctypes.memmove(to, data.ctypes.data + offset, count)
            return 1

        def write(_: int, offset: int, source: int, count: int) -> int:
            ctypes.memmove(data.ctypes.data + offset, source, count)
            return 1

        device = Device(READ(read), READ(write), None)
        self._kept.append(device)
        return File(self.program.access("file"), address, ctypes.addressof(device), 0)

    def array(self, index: int) -> Array:
        """The elements of a tensor."""
        data, made, tensor = self._arrays[index]
        size = tensor.type.size_bytes
        there = (ctypes.c_uint8 * size).from_address(made.handle.data) if isinstance(made, Ram) else data[:size]
        return np.frombuffer(bytes(there), tensor.type.dtype.numpy).reshape(tensor.type.shape)


_Call = Callable[[NodeView, Callable[[str], Any]], tuple[str, tuple[Any, ...]]]
"""From a node and its operands in C by name to the function that computes it, and its arguments."""


def _layer(name: str, view: NodeView, operand: Callable[[str], Any]) -> tuple[str, tuple[Any, ...]]:
    options = ctypes.byref(Window.of(view.op))
    return name, (operand("output"), operand("input"), operand("filter"), operand("bias"), options)


def _pool(name: str, view: NodeView, operand: Callable[[str], Any]) -> tuple[str, tuple[Any, ...]]:
    op: Any = view.op
    return name, (operand("output"), operand("input"), ctypes.byref(Pool(*op.kernel, Window.of(op))))


def _pair(name: str, view: NodeView, operand: Callable[[str], Any]) -> tuple[str, tuple[Any, ...]]:
    op: Any = view.op
    activation = (_ACTIVATIONS.index(op.activation),) if hasattr(op, "activation") else ()
    return name, (operand("output"), operand("input1"), operand("input2"), *activation)


def _unary(name: str, view: NodeView, operand: Callable[[str], Any]) -> tuple[str, tuple[Any, ...]]:
    more = (ctypes.c_float(view.op.beta),) if name == "softmax" else ()  # type: ignore[attr-defined]  # it has one
    return name, (operand("output"), operand("input"), *more)


def _product(view: NodeView, operand: Callable[[str], Any]) -> tuple[str, tuple[Any, ...]]:
    activation = _ACTIVATIONS.index(view.op.activation)  # type: ignore[attr-defined]  # it has one
    return "fully_connected", (operand("output"), operand("input"), operand("filter"), operand("bias"), activation)


def _transpose(view: NodeView, operand: Callable[[str], Any]) -> tuple[str, tuple[Any, ...]]:
    axes = [int(axis) % len(view["input"].type.shape) for axis in view.constant("perm")]
    return "transpose", (operand("output"), operand("input"), (ctypes.c_uint8 * 4)(*axes[:4]))


def _arg(name: str, view: NodeView, operand: Callable[[str], Any]) -> tuple[str, tuple[Any, ...]]:
    axis = int(view.constant("axis").reshape(-1)[0]) % len(view["input"].type.shape)
    return name, (operand("output"), operand("input"), axis)


def _reduction(name: str, view: NodeView, operand: Callable[[str], Any]) -> tuple[str, tuple[Any, ...]]:
    axes = [int(axis) % len(view["input"].type.shape) for axis in view.constant("axes").reshape(-1)]
    return name, (operand("output"), operand("input"), (ctypes.c_uint8 * len(axes))(*axes), len(axes))


def _matrices(view: NodeView, operand: Callable[[str], Any]) -> tuple[str, tuple[Any, ...]]:
    op: Any = view.op
    adjoint = int(op.adj_x) + 2 * int(op.adj_y)
    return "batch_matmul", (operand("output"), operand("input1"), operand("input2"), adjoint)


_CALLS: Mapping[str, _Call] = {
    "CONV_2D": partial(_layer, "conv2d"),
    "DEPTHWISE_CONV_2D": partial(_layer, "depthwise_conv2d"),
    "FULLY_CONNECTED": _product,
    "MAX_POOL_2D": partial(_pool, "max_pool2d"),
    "AVERAGE_POOL_2D": partial(_pool, "average_pool2d"),
    **{name: partial(_pair, name.lower()) for name in ("ADD", "SUB", "MUL", "DIV", "MAXIMUM", "MINIMUM")},
    **{name: partial(_unary, name.lower()) for name in ("RELU", "RELU6", "LOGISTIC", "TANH", "SOFTMAX")},
    **{name: partial(_unary, name.lower()) for name in ("QUANTIZE", "DEQUANTIZE", "RESHAPE")},
    **{name: partial(_unary, "reshape") for name in ("SQUEEZE", "EXPAND_DIMS")},
    **{name: partial(_unary, name.lower()) for name in ("RSQRT", "SIN")},
    **{name: partial(_reduction, name.lower()) for name in ("SUM", "MEAN", "REDUCE_MAX", "REDUCE_MIN")},
    "BATCH_MATMUL": _matrices,
    "TRANSPOSE": _transpose,
    "ARG_MAX": partial(_arg, "arg_max"),
    "ARG_MIN": partial(_arg, "arg_min"),
}
_ANY_TYPE = ("RESHAPE", "SQUEEZE", "EXPAND_DIMS", "TRANSPOSE")
_FLOATS_ONLY = ("DIV", "SIN")


def _is_taken(name: str, view: NodeView) -> bool:
    """True if C has the operator for these types."""
    tensors = [tensor for _, tensor in view.operands if tensor is not None]
    dtypes = {view[operand].type.dtype for operand in view.op.row_inputs if view.find(operand) is not None}
    if max(len(tensor.type.shape) for tensor in tensors) > 4:
        return False
    if name == "QUANTIZE":
        return dtypes <= {DType.S8, DType.F32} and view.output.type.dtype is DType.S8 and _has_one_shape(view)
    if name == "DEQUANTIZE":
        return not view["input"].quantization.is_per_channel and _has_one_shape(view)
    if name == "SOFTMAX" and view.output.type.dtype is DType.S16:
        return False
    if name in ("RELU", "RELU6", "LOGISTIC", "TANH", "SOFTMAX", "RSQRT", "SIN") and not _has_one_shape(view):
        return False
    return name in _ANY_TYPE or dtypes <= ({DType.F32} if name in _FLOATS_ONLY else {DType.S8, DType.F32})


def _has_one_shape(view: NodeView) -> bool:
    return view["input"].type.shape == view.output.type.shape


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    """The library."""
    return library(tmp_path_factory.mktemp("eager"))


@pytest.mark.parametrize("name", _CALLS)
def test_operator_gives_pythons_bits_wherever_data_is(loaded: ctypes.CDLL, name: str) -> None:
    """Each kind of place, for inputs, constants and outputs; what C does not have is refused, and nothing is kept."""
    evaluated = 0
    for seed in range(_SAMPLES):
        for place in _PLACES:
            evaluated += _check(loaded, name, seed, place)
    assert evaluated >= len(_PLACES)


def _check(loaded: ctypes.CDLL, name: str, seed: int, place: str) -> bool:
    """Compares one call; true if there was something to compare."""
    case = OPERATOR_MODELS[name](Seeded(seed))
    graph = graph_of(case)
    view = graph.views[0]
    given = dict(zip(graph.inputs, case.inputs, strict=True))
    operands = {key: tensor for key, tensor in view.operands if tensor is not None}
    if any(tensor.type.size_bytes > _MOST_BYTES or len(tensor.type.shape) > 4 for tensor in operands.values()):
        return False
    program = Program(loaded, _ARENA_BYTES, _ARENA_BYTES)
    tensors = _Tensors(program, place)
    made: dict[str, ctypes.Structure] = {}
    by_index: dict[int, ctypes.Structure] = {}
    for key, tensor in operands.items():
        values = tensor.data if tensor.data is not None else given.get(tensor.index)
        where = _MADE_AT.get(place, place) if values is None else place
        made[key] = by_index[tensor.index] = by_index.get(tensor.index) or tensors.make(tensor, values, where)
    function, arguments = _CALLS[name](view, lambda key: ctypes.byref(made[key]) if key in made else None)
    status = loaded[f"kibi_op_{function}"](ctypes.byref(program.context), *arguments)
    program.metadata.check_canaries()
    program.ram.check_canaries()
    assert program.metadata.call("available") == _ARENA_BYTES
    assert all(tensor.handle.pins == 0 for tensor in by_index.values() if isinstance(tensor, Ram))
    if not _is_taken(name, view):
        program.check(status, ARGUMENT, "ArgumentRefused")
        return False
    program.check(status, 0)
    assert_same(graph, [tensors.array(index) for index in graph.outputs], Interpreter(graph).run(case.inputs))
    return True
