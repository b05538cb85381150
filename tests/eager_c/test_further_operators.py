"""Operators by hand that no model file has in this form: slices, joins, the smallest of windows, functions of the application's."""

import ctypes
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from kibi.dtypes import Array, DType
from kibi.eager.context import Context
from kibi.eager.pools import generic_pool2d, min_pool2d
from kibi.eager.tensors import RamTensor, RomTensor
from kibi.errors import InputError
from kibi.ir import Quantization, TensorType
from kibi.ops.attributes import Padding
from tests.eager_c.library import library
from tests.eager_c.program import CType, Data, Program, Ram, at
from tests.eager_c.test_operators import Pool, Window
from tests.support.amount import amount

ARGUMENT, MEMORY, PINNED = -47, -32, -37
_SCALE = Quantization((0.5,), (3,))
_FUNCTION = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_void_p)


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    """The library."""
    return library(tmp_path_factory.mktemp("eager"))


class _Call:
    """A program with an input of random elements, and room for an output."""

    def __init__(self, loaded: ctypes.CDLL, kind: TensorType, made: TensorType, seed: int = 0) -> None:
        self.program = Program(loaded, 8000, 8000)
        draw = np.random.default_rng(seed)
        self.values: Array = draw.integers(-100, 100, kind.shape).astype(kind.dtype.numpy)
        self.made = np.zeros(made.shape, made.dtype.numpy)
        self._types = (CType.of(kind), CType.of(made))
        addresses = [ctypes.addressof(each) for each in self._types]
        self.input = Data(self.program.access("rom"), addresses[0], self.values.ctypes.data)
        self.output = Data(self.program.access("buffer"), addresses[1], self.made.ctypes.data)

    def run(self, name: str, *arguments: object) -> int:
        """The status of an operator; the metadata are given back."""
        context, output = ctypes.byref(self.program.context), ctypes.byref(self.output)
        status = int(self.program.library[f"kibi_op_{name}"](context, output, *arguments))
        assert self.program.metadata.call("available") == 8000
        return status


def _shape(die: random.Random, rank: int) -> tuple[int, ...]:
    return tuple(die.randrange(1, 6) for _ in range(rank))


@pytest.mark.parametrize("seed", range(amount(30, 300)))
def test_strided_slice_is_numpys(loaded: ctypes.CDLL, seed: int) -> None:
    """Forwards and backwards, of any rank; what begins or ends outside is refused."""
    die = random.Random(seed)
    shape = _shape(die, die.randrange(1, 5))
    begins = [die.randrange(size) for size in shape]
    strides = [die.choice((-2, -1, 1, 2, 3)) for _ in shape]
    most = [
        (size - 1 - b) // s + 1 if s > 0 else b // -s + 1 for size, b, s in zip(shape, begins, strides, strict=True)
    ]
    sizes = [die.randrange(1, each + 1) for each in most]
    dtype = die.choice((DType.S8, DType.F32, DType.S64))
    call = _Call(loaded, TensorType(shape, dtype), TensorType(tuple(sizes), dtype), seed)
    given = [(ctypes.c_int32 * 4)(*each) for each in (begins, strides)]
    call.program.check(call.run("strided_slice", ctypes.byref(call.input), *given), 0)
    places = [b + s * np.arange(n) for b, s, n in zip(begins, strides, sizes, strict=True)]
    assert (call.made == call.values[np.ix_(*places)]).all()
    given[0][0] = die.choice((-1, shape[0], 1 << 30))
    status = call.run("strided_slice", ctypes.byref(call.input), *given)
    call.program.check(status, ARGUMENT, "ArgumentRefused")


@pytest.mark.parametrize("seed", range(amount(20, 200)))
def test_concatenation_is_numpys(loaded: ctypes.CDLL, seed: int) -> None:
    """Along any axis, of any number of inputs; a size that does not add up is refused."""
    die = random.Random(seed)
    shape = _shape(die, die.randrange(1, 5))
    axis, count = die.randrange(len(shape)), die.randrange(1, 4)
    shapes = [(*shape[:axis], die.randrange(1, 5), *shape[axis + 1 :]) for _ in range(count)]
    total = (*shape[:axis], sum(each[axis] for each in shapes), *shape[axis + 1 :])
    calls = [_Call(loaded, TensorType(each, DType.S16), TensorType(total, DType.S16), seed) for each in shapes]
    call = calls[0]
    inputs = (ctypes.c_void_p * count)(*(ctypes.addressof(each.input) for each in calls))
    call.program.check(call.run("concatenation", inputs, count, axis), 0)
    assert (call.made == np.concatenate([each.values for each in calls], axis)).all()
    if count > 1:
        call.program.check(call.run("concatenation", inputs, count - 1, axis), ARGUMENT, "ArgumentRefused")
    call.program.check(call.run("concatenation", inputs, count, len(shape)), ARGUMENT, "ArgumentRefused")


def _windows(values: Array, options: Pool, output: tuple[int, ...], reduce: Callable[[Array], Any]) -> Array:
    """What a function makes of each window's elements inside."""
    made = np.zeros(output, values.dtype)
    _, height, width, _ = values.shape
    steps = options.window.stride_height, options.window.stride_width
    sizes = zip((height, width), steps, (options.height, options.width), output[1:3], strict=True)
    is_same = options.window.padding
    pads = [max(0, (n - 1) * s + k - size) // 2 if is_same else 0 for size, s, k, n in sizes]
    for place in np.ndindex(*output):
        b, y, x, c = place
        top, left = y * steps[0] - pads[0], x * steps[1] - pads[1]
        rows, columns = slice(max(0, top), top + options.height), slice(max(0, left), left + options.width)
        made[place] = reduce(values[b, rows, columns, c].reshape(-1))
    return made


@pytest.mark.parametrize("seed", range(amount(20, 200)))
def test_smallest_and_generic_pools_see_each_window(loaded: ctypes.CDLL, seed: int) -> None:
    """The smallest element, and a function of the application's, of every element inside and no other."""
    die = random.Random(seed)
    shape = (die.randrange(1, 3), die.randrange(2, 8), die.randrange(2, 8), die.randrange(1, 4))
    size, stride, is_same = (
        (die.randrange(1, 3), die.randrange(1, 3)),
        (die.randrange(1, 3), die.randrange(1, 3)),
        die.random() < 0.5,
    )
    spans = zip(shape[1:3], size, stride, strict=True)
    down, across = (-(-n // s) if is_same else (n - k) // s + 1 for n, k, s in spans)
    dtype = die.choice((DType.S8, DType.F32))
    scale = _SCALE if dtype is DType.S8 else None
    made = TensorType((shape[0], down, across, shape[3]), dtype, scale)
    call = _Call(loaded, TensorType(shape, dtype, scale), made, seed)
    options = Pool(*size, Window(*stride, 0, 0, int(is_same), 0))
    call.program.check(call.run("min_pool2d", ctypes.byref(call.input), ctypes.byref(options)), 0)
    assert (call.made == _windows(call.values, options, made.shape, np.min)).all()

    def middle(_: int, elements: int, count: int, result: int) -> None:
        there = (ctypes.c_uint8 * (count * dtype.size_bytes)).from_address(elements)
        found = np.sort(np.frombuffer(bytes(there), dtype.numpy))[count // 2]
        ctypes.memmove(result, found.tobytes(), dtype.size_bytes)

    function = _FUNCTION(middle)
    call.program.check(call.run("generic_pool2d", ctypes.byref(call.input), ctypes.byref(options), function, None), 0)
    assert (call.made == _windows(call.values, options, made.shape, lambda each: np.sort(each)[len(each) // 2])).all()
    with Context():
        source, target = RomTensor(TensorType(shape, dtype, scale), call.values), RamTensor(made)
        window: dict[str, Any] = {
            "kernel": size,
            "stride": stride,
            "padding": Padding.SAME if is_same else Padding.VALID,
        }
        generic_pool2d(target, source, lambda each: np.sort(each)[len(each) // 2], **window)
        assert (target.to_array() == call.made).all()
        min_pool2d(target, source, **window)
        assert (target.to_array() == _windows(call.values, options, made.shape, np.min)).all()
    status = call.run("generic_pool2d", ctypes.byref(call.input), ctypes.byref(options), None, None)
    call.program.check(status, -1, "NullPointer")


def test_failure_in_the_middle_gives_everything_back(loaded: ctypes.CDLL) -> None:
    """Freed operands, and metadata that are too small: a status, an event, and no pin that stays."""
    program = Program(loaded, 256, 4000)
    kinds = [CType.of(TensorType(shape, DType.S8, _SCALE)) for shape in ((1, 4, 4, 2), (1, 4, 4, 2), (2, 1, 1, 2))]
    output, source, weights = (Ram() for _ in kinds)
    kinds[2].quantization = ctypes.addressof(
        symmetric := CType.of(TensorType((), DType.S8, Quantization((0.5,), (0,))))
    )
    kinds[2].quantization = symmetric.quantization
    for tensor, kind in zip((output, source, weights), kinds, strict=True):
        program.check(program.call("ram_tensor_init", tensor, ctypes.byref(kind)), 0)
    operands = (ctypes.byref(each) for each in (output, source, weights))
    arguments = (ctypes.byref(program.context), *operands, None, None)
    program.check(loaded.kibi_op_conv2d(*arguments), 0)
    assert program.call("ram_tensor_free", source) == 0
    program.check(loaded.kibi_op_conv2d(*arguments), -42, "TensorFreed")
    assert [tensor.handle.pins for tensor in (output, source, weights)] == [0, 0, 0]
    assert program.call("ram_tensor_init", source, ctypes.byref(kinds[1])) == 0
    held = program.metadata.call("allocate", 220)
    assert held == 0
    program.metadata.history.new()
    assert loaded.kibi_op_conv2d(*arguments) == 0  # nobody bound the block, so that it is lost
    assert program.metadata.call("allocate_handle", 220, ctypes.byref(program.keep_handle())) == 0
    assert loaded.kibi_op_conv2d(*arguments) == MEMORY
    assert "OutOfMemory" in program.metadata.history.new()
    assert [tensor.handle.pins for tensor in (output, source, weights)] == [0, 0, 0]
    wrong = ctypes.byref(output)
    program.history.new()
    program.check(loaded.kibi_op_conv2d(arguments[0], wrong, wrong, *arguments[3:]), ARGUMENT, "ArgumentRefused")
    row = np.zeros(8, np.int8)
    program.check(program.call("read_row", output, 0, at(row)), 0)


def test_pools_by_hand_tell_what_does_not_fit() -> None:
    """In Python: types, channels, windows, and what a function makes."""
    kind = TensorType((1, 4, 4, 2), DType.S8, _SCALE)
    half = TensorType((1, 2, 2, 2), DType.S8, _SCALE)
    with Context():
        a, b, c = RamTensor(kind), RamTensor(half), RamTensor(TensorType((1, 2, 2, 2), DType.S16))
        for text, output, function in (("is too big|out of bounds", b, lambda _: 1000), ("differ in type", c, np.min)):
            with pytest.raises(InputError, match=text):
                generic_pool2d(output, a, function, kernel=(2, 2), stride=(2, 2))
        with pytest.raises(InputError, match="window makes 3 of 4"):
            min_pool2d(b, a, kernel=(2, 2))
        with pytest.raises(InputError, match="not both s8"):
            min_pool2d(c, a, kernel=(2, 2))
