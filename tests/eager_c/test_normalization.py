"""Batch normalization by hand: C gives Python's bits, and what does not fit is refused in both."""

import ctypes
import random

import numpy as np
import pytest

from kibi.dtypes import Array, DType
from kibi.eager.context import Context
from kibi.eager.normalization import batch_norm
from kibi.eager.tensors import CameraTensor, RamTensor, RomTensor
from kibi.errors import InputError
from kibi.ir import TensorType
from tests.eager_c.library import library
from tests.eager_c.program import CType, Data, Program
from tests.support.amount import amount

ARGUMENT = -47


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    """The library."""
    return library(tmp_path_factory.mktemp("eager"))


def _floats(*shape: int) -> TensorType:
    return TensorType(shape, DType.F32)


class _Drawn:
    """An input, numbers for each channel of which the last two may be missing, and what Python makes of them."""

    def __init__(self, seed: int) -> None:
        die, draw = random.Random(seed), np.random.default_rng(seed)
        self.shape = tuple(die.randrange(1, 6) for _ in range(die.randrange(1, 5)))
        self.epsilon = die.choice((1e-3, 1e-5, 0.0, 0.5))
        depth = self.shape[-1]
        self.values: Array = draw.normal(0, 3, self.shape).astype(np.float32)
        numbers = [draw.normal(0, 2, depth).astype(np.float32) for _ in range(4)]
        numbers[1] = np.abs(numbers[1])
        numbers[1][0] = die.choice((0.0, 1e-30, 4.0, -1.0))
        missing = die.randrange(4)
        self.numbers = [None if k >= 2 and missing >> (k - 2) & 1 else each for k, each in enumerate(numbers)]

    def expected(self, *, in_place: bool) -> Array:
        """Python's output."""
        kind = _floats(*self.shape)
        with Context(ram=1 << 14):
            source = RamTensor(kind, self.values)
            output = source if in_place else RamTensor(kind)
            mean, variance, gamma, beta = (
                None if each is None else RomTensor(_floats(len(each)), each) for each in self.numbers
            )
            assert mean is not None
            assert variance is not None
            batch_norm(output, source, mean, variance, gamma, beta, epsilon=self.epsilon)
            return output.to_array()


def _data(program: Program, place: str, kind: TensorType, array: Array) -> Data:
    described = CType.of(kind)
    program.keep(described)
    return Data(program.access(place), ctypes.addressof(described), array.ctypes.data)


@pytest.mark.parametrize("in_place", [False, True])
@pytest.mark.parametrize("seed", range(amount(30, 300)))
def test_c_gives_pythons_bits(loaded: ctypes.CDLL, seed: int, in_place: bool) -> None:
    """With and without factors and offsets, in place and not, variances of 0 and below it included."""
    drawn, program = _Drawn(seed), Program(loaded, 4000, 64)
    kind = _floats(*drawn.shape)
    values = drawn.values.copy()
    output = values if in_place else np.zeros_like(values)
    source = _data(program, "buffer", kind, values)
    target = source if in_place else _data(program, "buffer", kind, output)
    numbers = [
        None if each is None else ctypes.byref(_data(program, "rom", _floats(len(each)), each))
        for each in drawn.numbers
    ]
    operands = (ctypes.byref(target), ctypes.byref(source), *numbers)
    context = ctypes.byref(program.context)
    program.check(loaded.kibi_op_batch_norm(context, *operands, ctypes.c_float(drawn.epsilon)), 0)
    np.testing.assert_array_equal(output, drawn.expected(in_place=in_place))
    assert program.metadata.call("available") == 4000


def test_values_are_those_of_the_formula() -> None:
    """(input - mean) * (gamma / sqrt(variance + epsilon)) + beta, of a picture that comes row by row."""
    kind, each = _floats(1, 3, 2, 2), _floats(2)
    values = np.arange(12, dtype=np.float32).reshape(kind.shape)
    mean, variance, gamma, beta = (np.array(two, np.float32) for two in ((1, 2), (3, 8), (2, -1), (0.5, 0)))
    with Context(ram=1 << 10):
        camera, output = CameraTensor(kind, iter(values[0]), keep=1), RamTensor(kind)
        numbers = [RomTensor(each, two) for two in (mean, variance, gamma, beta)]
        batch_norm(output, camera, *numbers, epsilon=1.0)
        wanted = (values - mean) * (gamma / np.sqrt(variance + np.float32(1))) + beta
        assert (output.to_array() == wanted).all()
        assert output.to_array()[0, 0, 0].tolist() == pytest.approx([-0.5, 1 / 3])


def test_what_does_not_fit_is_refused(loaded: ctypes.CDLL) -> None:
    """Types, shapes, and numbers that are not one for each channel, in Python and in C; nothing is written."""
    kind, numbers = _floats(2, 3), _floats(3)
    zeros = np.zeros(6, np.float32)
    wrong: tuple[tuple[TensorType, ...], ...] = (
        (TensorType((2, 3), DType.S32), kind, numbers, numbers),
        (kind, TensorType((2, 3), DType.S32), numbers, numbers),
        (_floats(3, 2), kind, numbers, numbers),
        (kind, kind, _floats(2), numbers),
        (kind, kind, numbers, TensorType((3,), DType.S32)),
        (_floats(), _floats(), numbers, numbers),
    )
    for kinds in wrong:
        program = Program(loaded, 400, 64)
        tensors = [_data(program, "buffer", each, zeros) for each in kinds]
        operands = [ctypes.byref(each) for each in tensors]
        status = loaded.kibi_op_batch_norm(ctypes.byref(program.context), *operands, None, None, ctypes.c_float(0.0))
        program.check(status, ARGUMENT, "ArgumentRefused")
        with Context(ram=1 << 10), pytest.raises(InputError, match="BATCH_NORM"):
            batch_norm(*(RamTensor(each) for each in kinds))
