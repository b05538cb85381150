"""Where TFLM stops the inference, or reads what is not there: what Kibi gives, or refuses when the model is loaded."""

from collections.abc import Sequence

import numpy as np
import pytest

from kibi.dtypes import Array, DType
from kibi.eager.operators import bind
from kibi.eager.tensors import BufferTensor
from kibi.errors import InputError, ModelError
from kibi.frontends.tflite import parse_tflite
from kibi.frontends.tflite.builder import Attribute, ModelBuilder
from kibi.ir import TensorType
from kibi.ops import Add
from kibi.runtime import Interpreter

_TABLE = np.arange(1, 13, dtype=np.float32).reshape(4, 3)


def _run(
    name: str, inputs: Sequence[Array], shape: Sequence[int], dtype: DType, **attributes: Attribute
) -> tuple[Array, ...]:
    """What an operator makes of inputs none of which is a constant."""
    b = ModelBuilder()
    operands = [b.input(array.shape, DType.of(array)) for array in inputs]
    output = b.tensor(shape, dtype)
    b.operator(name, operands, [output], attributes)
    return tuple(Interpreter(parse_tflite(b.finish([output]), "m.tflite")).run(inputs))


@pytest.mark.parametrize("number", [-1, 4, -(1 << 31), (1 << 31) - 1])
def test_lookup_of_a_number_without_an_item_gives_zeros(number: int) -> None:
    """A number outside the table, or the axis, gives zeros; its neighbours are what they are elsewhere."""
    numbers = np.array([1, number, 3], np.int32)
    wanted = np.stack([_TABLE[1], np.zeros(3, np.float32), _TABLE[3]])
    (codebook_in_use,) = _run("EMBEDDING_LOOKUP", [numbers, _TABLE], (3, 3), DType.F32)
    (gathered,) = _run("GATHER", [_TABLE, numbers], (3, 3), DType.F32, axis=0)
    (gathered_nd,) = _run("GATHER_ND", [_TABLE, numbers[:, None]], (3, 3), DType.F32)
    assert codebook_in_use.tobytes() == gathered.tobytes() == gathered_nd.tobytes() == wanted.tobytes()


def test_broadcast_args_of_sizes_that_differ_gives_the_first() -> None:
    """Where neither size is 1 and they differ, the first counts."""
    shapes = [np.array([2, 3], np.int32), np.array([4, 1, 5], np.int32)]
    (made,) = _run("BROADCAST_ARGS", shapes, (3,), DType.S32)
    assert made.tolist() == [4, 2, 3]


def test_floor_div_by_zero_is_infinite() -> None:
    """FLOOR_DIV by 0 is infinite on the dividend's side."""
    (made,) = _run("FLOOR_DIV", [np.array([3, -3], np.float32), np.zeros(2, np.float32)], (2,), DType.F32)
    assert made.tolist() == [np.inf, -np.inf]


def _refusal(builder: ModelBuilder, name: str, operands: Sequence[int], output: int) -> str:
    builder.operator(name, operands, [output])
    with pytest.raises(ModelError) as error:
        parse_tflite(builder.finish([output]), "m.tflite")
    return str(error.value)


def test_load_comparison_with_a_scale_of_one_is_refused() -> None:
    """TFLM does not survive a scale that is not below 1."""
    b = ModelBuilder()
    operands = [b.input((4,), DType.S8, 0.5, 0), b.input((4,), DType.S8, 1.0, 0)]
    assert "EQUAL: input2 has scale 1, but less than 1" in _refusal(b, "EQUAL", operands, b.tensor((4,), DType.BOOL))


def test_load_add_n_of_so_many_inputs_that_sums_overflow_is_refused() -> None:
    """With a zero point of 0, 31 inputs of s8 have sums that fit; of 32 they might not."""
    b = ModelBuilder()
    operands = [b.input((4,), DType.S8, 0.5, 0)] * 32
    text = _refusal(b, "ADD_N", operands, b.tensor((4,), DType.S8, 0.5, 0))
    assert "ADD_N: 32 inputs with zero point 0 have sums beyond 32 bits; 31 have not" in text


def test_load_reverse_of_axes_apart_is_refused() -> None:
    """TFLM reverses neighbouring axes only."""
    b = ModelBuilder()
    operands = [b.input((2, 3, 4), DType.F32), b.constant(np.array([0, 2], np.int32))]
    assert "are not neighbouring axes" in _refusal(b, "REVERSE_V2", operands, b.tensor((2, 3, 4), DType.F32))


@pytest.mark.parametrize("name", ["ADD", "MAXIMUM", "LESS", "SELECT_V2", "PRELU"])
def test_load_elementwise_of_seven_axes_is_refused(name: str) -> None:
    """TFLM has room for six, and writes what is more beyond the end of its shape, even where nothing broadcasts."""
    b, shape = ModelBuilder(), (1, 2, 1, 1, 1, 2, 2)
    condition = [b.input(shape, DType.BOOL)] if name == "SELECT_V2" else []
    operands = [*condition, b.input(shape, DType.F32), b.input(shape, DType.F32)]
    text = _refusal(b, name, operands, b.tensor(shape, DType.BOOL if name == "LESS" else DType.F32))
    assert "ranks up to 6 are supported" in text
    assert "TFLM" in text


def test_load_prelu_of_five_axes_of_floats_is_refused() -> None:
    """TFLM stops there, though it takes as many axes of integers as other operators."""
    b = ModelBuilder()
    operands = [b.input((1, 2, 3, 2, 3), DType.F32), b.input((3,), DType.F32)]
    text = _refusal(b, "PRELU", operands, b.tensor((1, 2, 3, 2, 3), DType.F32))
    assert "at most 4 axes are supported, as in TFLM" in text


def test_bind_broadcast_along_many_separate_axes_is_refused() -> None:
    """An operator by hand repeats no input: of more than four axes, those after the row axis must form two groups."""
    given = {"input1": (1, 2, 3, 2, 3), "input2": (1, 2, 1, 2, 1), "output": (1, 2, 3, 2, 3)}
    kinds = {name: TensorType(shape, DType.F32) for name, shape in given.items()}
    tensors = {name: BufferTensor(kind, bytearray(kind.size_bytes)) for name, kind in kinds.items()}
    with pytest.raises(InputError, match="broadcast along too many separate axes of a row"):
        bind(Add(), **tensors)
