"""Wrong operands and arenas of every operator by hand: a status, an event, no byte outside, and nothing kept."""

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from kibi.dtypes import DType
from kibi.eager_c.sources import operators
from kibi.ir import Quantization, TensorType
from tests.eager_c.library import CArena, CHandle, library
from tests.eager_c.program import CContext, CType, Data, Program, Ram
from tests.eager_c.test_operators import Pool, Window

NULL, ALIGNMENT, MEMORY, NOT_ONE_BY_ONE, READ_ONLY, FREED, ARGUMENT = -1, -3, -32, -38, -41, -42, -47
_ROOM = 4096


def _s8(*shape: int) -> TensorType:
    return TensorType(shape, DType.S8, Quantization((0.5,), (0,)))


def _u8(*shape: int) -> TensorType:
    return TensorType(shape, DType.U8, Quantization((0.5,), (7,)))


def _f32(*shape: int) -> TensorType:
    return TensorType(shape, DType.F32)


def _s32(*shape: int) -> TensorType:
    return TensorType(shape, DType.S32)


_FUNCTION = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_void_p)
_first = _FUNCTION(lambda _, elements, count, result: ctypes.memmove(result, elements, min(count, 1)) and None)
_window = ctypes.byref(Window(1, 1, 1, 1, 1, 0))
_pool = ctypes.byref(Pool(2, 2, Window(2, 2, 1, 1, 0, 0)))
_image, _half, _vector, _unit = _s8(1, 4, 4, 2), _s8(1, 2, 2, 2), _s8(2, 6), TensorType(
    (2, 6), DType.S8, Quantization((1 / 256,), (-128,))
)  # fmt: skip
_axes = (ctypes.c_uint8 * 4)(1, 0)
_places, _steps = (ctypes.c_int32 * 4)(0, 0), (ctypes.c_int32 * 4)(1, 1)
_Call = tuple[Sequence[TensorType], int, tuple[Any, ...]]
_ONE: _Call = ((_vector, _vector), 2, ())
_PAIR: _Call = ((_vector, _vector, _vector), 3, (0,))
CALLS: dict[str, _Call] = {
    "conv2d": ((_s8(1, 4, 4, 3), _image, _s8(3, 2, 2, 2), _s32(3)), 3, (_window,)),
    "depthwise_conv2d": ((_s8(1, 4, 4, 4), _image, _s8(1, 2, 2, 4), _s32(4)), 3, (_window,)),
    "fully_connected": ((_s8(2, 3), _vector, _s8(3, 6), _s32(3)), 3, (0,)),
    "batch_matmul": ((_s8(2, 3), _vector, _s8(6, 3)), 3, (0,)),
    **dict.fromkeys(("max_pool2d", "average_pool2d", "min_pool2d"), ((_half, _image), 2, (_pool,))),
    "generic_pool2d": ((_half, _image), 2, (_pool, _first, None)),
    **dict.fromkeys(("add", "sub", "mul"), _PAIR),
    "div": ((_f32(2, 6), _f32(2, 6), _f32(6)), 3, (0,)),
    **{name: ((_vector, _vector, _s8(2, 1)), 3, ()) for name in ("maximum", "minimum")},
    **dict.fromkeys(("relu", "relu6", "tanh", "rsqrt", "quantize", "reshape"), _ONE),
    "logistic": ((_unit, _vector), 2, ()),
    "softmax": ((_unit, _vector), 2, (ctypes.c_float(1.0),)),
    "sin": ((_f32(2, 6), _f32(2, 6)), 2, ()),
    "dequantize": ((_f32(2, 6), _vector), 2, ()),
    "transpose": ((_s8(6, 2), _vector), 2, (_axes,)),
    "strided_slice": ((_s8(2, 3), _vector), 2, (_places, _steps)),
    **{name: ((_s32(6), _vector), 2, (0,)) for name in ("arg_max", "arg_min")},
    **{name: ((_s8(2), _vector), 2, (_axes, 1)) for name in ("sum", "mean", "reduce_max", "reduce_min")},
    "batch_norm": ((_f32(2, 3), _f32(2, 3), *[_f32(3)] * 4), 4, (ctypes.c_float(0.0),)),
    "add_u8": ((_u8(2, 6), _u8(2, 6), _u8(2, 6)), 3, (0,)),
    "depthwise_conv2d_u8": ((_u8(1, 4, 4, 2), _u8(1, 4, 4, 2), _u8(1, 2, 2, 2), _s32(2)), 3, (_window,)),
    "fully_connected_u8": ((_u8(2, 3), _u8(2, 6), _u8(3, 6), _s32(3)), 3, (0,)),
    "max_pool2d_u8": ((_u8(1, 2, 2, 2), _u8(1, 4, 4, 2)), 2, (_pool,)),
    "quantize_u8": ((_u8(2, 6), _f32(2, 6)), 2, ()),
    "arg_max_u8": ((_s32(6), _u8(2, 6)), 2, (0,)),
}
"""A right call of each operator but CONCATENATION: its tensors, the output first; how many it needs; what follows them."""


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    """The library."""
    return library(tmp_path_factory.mktemp("eager"))


class _Operator:
    """An operator with operands in RAM, or, where `place` says so, in constants or buffers."""

    def __init__(self, loaded: ctypes.CDLL, name: str, place: str = "ram") -> None:
        kinds, self.required, self.more = CALLS[name]
        self.program = Program(loaded, _ROOM, _ROOM)
        self.name, self.types = name, [CType.of(kind) for kind in kinds]
        self._data = [np.ones(kind.size_bytes, np.uint8) for kind in kinds]
        self.tensors: list[Ram | Data] = []
        for kind, data in zip(self.types, self._data, strict=True):
            if place == "ram":
                tensor = Ram()
                self.program.check(self.program.call("ram_tensor_init", tensor, ctypes.byref(kind)), 0)
                self.tensors.append(tensor)
            else:
                self.tensors.append(Data(self.program.access(place), ctypes.addressof(kind), data.ctypes.data))

    def run(self, operands: Sequence[object] | None = None, context: CContext | None = None, more: Any = None) -> int:
        """The status of a call; pins and metadata are given back."""
        given = [ctypes.byref(each) for each in self.tensors] if operands is None else operands
        function = self.program.library[f"kibi_op_{self.name}"]
        status = int(
            function(ctypes.byref(context or self.program.context), *given, *(self.more if more is None else more))
        )
        assert all(each.handle.pins == 0 for each in self.tensors if isinstance(each, Ram))
        assert self.program.metadata.call("available") == _ROOM
        self.program.ram.check_canaries()
        self.program.metadata.check_canaries()
        return status

    def with_operand(self, place: int, tensor: object) -> list[object]:
        """The operands, one of them another."""
        return [tensor if k == place else ctypes.byref(each) for k, each in enumerate(self.tensors)]


def _of_type(operator: _Operator, shape: Sequence[int], rank: int) -> Data:
    kind = CType((ctypes.c_uint32 * 4)(*shape), operator.types[0].quantization, rank, operator.types[0].dtype)
    operator.program.keep(kind)
    return Data(operator.program.access("buffer"), ctypes.addressof(kind), None)


def test_every_operator_has_a_call() -> None:
    """None is left out; the joined one has its own test."""
    assert {*CALLS, "concatenation"} == set(operators())


@pytest.mark.parametrize("name", CALLS)
def test_operands_that_are_none_are_reported(loaded: ctypes.CDLL, name: str) -> None:
    """The right call succeeds; no tensor, one of zeros, of no elements, of too many, of five axes do not."""
    operator = _Operator(loaded, name)
    check = operator.program.check
    check(operator.run(), 0)
    optional = [ctypes.byref(each) if k < operator.required else None for k, each in enumerate(operator.tensors)]
    check(operator.run(optional), 0)
    wrong = (((0, 2, 2, 2), 4), ((1 << 16, (1 << 16) + 1), 2), ((1 << 31, 2), 2), ((1, 1, 1, 1), 5), ((1,), 255))
    for place in range(len(operator.tensors)):
        if place < operator.required:
            check(operator.run(operator.with_operand(place, None)), NULL, "NullPointer")
        check(operator.run(operator.with_operand(place, ctypes.byref(Data()))), NULL, "NullPointer")
        for shape, rank in wrong:
            tensor = _of_type(operator, shape, rank)
            check(operator.run(operator.with_operand(place, ctypes.byref(tensor))), ARGUMENT, "ArgumentRefused")
    assert operator.program.library[f"kibi_op_{name}"](None, *operator.with_operand(-1, None), *operator.more) == NULL
    nowhere = CContext(None, operator.program.context.ram, operator.program.context.handler)
    status = operator.run(context=nowhere)
    check(status, status, *(["NullPointer"] if status == NULL else []))
    assert status in (0, NULL)


@pytest.mark.parametrize("name", [name for name, (_, _, more) in CALLS.items() if more])
def test_arguments_that_are_null_are_reported(loaded: ctypes.CDLL, name: str) -> None:
    """Options of windows may be left out; nothing else that is a pointer may."""
    operator = _Operator(loaded, name)
    for place, argument in enumerate(operator.more):
        if argument is not None and not isinstance(argument, int | ctypes.c_float):
            status = operator.run(more=(*operator.more[:place], None, *operator.more[place + 1 :]))
            names = {0: [], NULL: ["NullPointer"], ARGUMENT: ["ArgumentRefused"]}[status]
            operator.program.check(status, status, *names)
            assert (status == 0) <= (argument is _window)


@pytest.mark.parametrize("name", CALLS)
def test_operands_that_are_freed_or_constant_are_reported(loaded: ctypes.CDLL, name: str) -> None:
    """Each operand in turn has no bytes; an output that nobody may write stays what it was."""
    operator = _Operator(loaded, name)
    for place, tensor in enumerate(operator.tensors):
        assert operator.program.call("ram_tensor_free", tensor) == 0
        status = operator.run()
        operator.program.check(status, FREED, "TensorFreed")
        operator.program.check(operator.program.call("ram_tensor_init", tensor, ctypes.byref(operator.types[place])), 0)
    operator.program.check(operator.run(), 0)
    constant = _Operator(loaded, name, "rom")
    constant.program.check(constant.run(), READ_ONLY, "ReadOnlyTensor")


@pytest.mark.parametrize("name", CALLS)
def test_metadata_that_are_too_small_or_unfit_are_reported(loaded: ctypes.CDLL, name: str) -> None:
    """Of any size, at any address, in an arena that frees no single block: a status, or the operator needs none."""
    operator = _Operator(loaded, name)
    seen = set()
    for size in range(4, 1024, 4):
        small = CArena(loaded, "handle_arena", size, 8)
        status = operator.run(context=_context(operator, small))
        assert small.call("available") == size
        small.check_canaries()
        seen.add(status)
        assert (status == MEMORY) == ("OutOfMemory" in small.history.new())
    assert seen <= {0, MEMORY}
    needs = MEMORY in seen
    odd, handle = CArena(loaded, "handle_arena", _ROOM, 1), CHandle()
    assert odd.call("allocate_handle", 3, ctypes.byref(handle)) == 0
    status = operator.run(context=_context(operator, odd))
    operator.program.check(status, ALIGNMENT if needs else 0, *(["ArenaMisaligned"] if needs else []))
    assert odd.call("available") == _ROOM - 3


@pytest.mark.parametrize("name", CALLS)
def test_metadata_in_a_linear_arena_are_told_and_forgotten(loaded: ctypes.CDLL, name: str) -> None:
    """The arena frees no single block: the status says so, and the block belongs to no handle when the call has ended."""
    operator = _Operator(loaded, name)
    linear = CArena(loaded, "linear_arena", _ROOM, 8)
    status = operator.run(context=_context(operator, linear))
    assert status in (0, NOT_ONE_BY_ONE)
    assert ("NotFreedOneByOne" in linear.history.new()) == (status != 0)
    addresses = [address for address in range(0, _ROOM, 8) if linear.call("contains", address)]
    assert len(addresses) == (status != 0)
    assert not any(linear.call("is_bound", address, None) for address in addresses)
    assert loaded.kibi_reset_linear(linear.memory) == 0


def _context(operator: _Operator, metadata: CArena) -> CContext:
    given = operator.program.context
    return CContext(ctypes.addressof(metadata.memory), given.ram, given.handler)


def test_concatenation_needs_all_its_inputs(loaded: ctypes.CDLL) -> None:
    """An array, and in it tensors; and at least one."""
    operator = _Operator(loaded, "add")
    function, program = loaded.kibi_op_concatenation, operator.program
    output, one = ctypes.byref(operator.tensors[0]), ctypes.addressof(operator.tensors[1])
    context = ctypes.byref(program.context)
    for inputs in (None, (ctypes.c_void_p * 2)(one, None), (ctypes.c_void_p * 2)(None, one)):
        program.check(function(context, output, inputs, 2, 0), NULL, "NullPointer")
    program.check(function(context, None, (ctypes.c_void_p * 1)(one), 1, 0), NULL, "NullPointer")
    program.check(function(context, output, (ctypes.c_void_p * 1)(one), 0, 0), ARGUMENT, "ArgumentRefused")
    program.check(function(context, output, (ctypes.c_void_p * 1)(one), 1, 0), 0)
    assert function(None, output, (ctypes.c_void_p * 1)(one), 1, 0) == NULL


@pytest.mark.parametrize("name", ["min_pool2d", "generic_pool2d", "max_pool2d", "average_pool2d"])
def test_windows_far_beyond_the_input_are_refused(loaded: ctypes.CDLL, name: str) -> None:
    """2**15 by 2**15 elements of 4 bytes would be no byte in 32 bits."""
    operator = _Operator(loaded, name)
    for dtype in (int(operator.types[0].dtype), 7):
        for kind, shape in zip(operator.types, ((1, 1, 1, 2), (1, 4, 4, 2)), strict=True):
            kind.dtype, kind.dimensions = dtype, (ctypes.c_uint32 * 4)(*shape)
        options = ctypes.byref(Pool(1 << 15, 1 << 15, Window(4, 4, 1, 1, 1, 0)))
        operator.program.check(operator.run(more=(options, *operator.more[1:])), ARGUMENT, "ArgumentRefused")


def test_zero_points_far_away_are_refused(loaded: ctypes.CDLL) -> None:
    """An element less such a zero point would not fit 32 bits."""
    for dtype in (DType.S8, DType.U8, DType.S16):
        operator = _Operator(loaded, "dequantize")
        kind = CType.of(TensorType((2, 3), dtype, Quantization((0.5,), (0,))))
        kind.channels[0].zero_point = -(1 << 31)
        tensor = Data(operator.program.access("buffer"), ctypes.addressof(kind), np.zeros(12, np.uint8).ctypes.data)
        output = ctypes.byref(_of_type(operator, (2, 3), 2))
        operator.program.check(operator.run([output, ctypes.byref(tensor)]), ARGUMENT, "ArgumentRefused")


def test_elements_where_kernels_cannot_read_them_are_refused(loaded: ctypes.CDLL) -> None:
    """A buffer of floats at an odd address."""
    operator = _Operator(loaded, "sin", "buffer")
    operator.program.check(operator.run(), 0)
    operator.tensors[1].data += 1
    operator.program.check(operator.run(), ALIGNMENT, "ArenaMisaligned")
