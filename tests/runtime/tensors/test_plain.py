"""Tensors in ROM, in buffers and in RAM."""

import copy
import gc
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kibi.dtypes import Array, DType
from kibi.eager.context import Context
from kibi.eager.memory import HandleArena
from kibi.eager.tensors import BufferTensor, RamTensor, RomTensor, TensorInterface
from kibi.eager.values import ByteOrder
from kibi.errors import EventError, InputError
from kibi.ir import Quantization, TensorType
from tests.runtime.tensors.places import FAST, SLOW, MarkedOperator

SMALL = TensorType((2, 2), DType.U8)
IMAGE = TensorType((1, 3, 2, 2), DType.S16, Quantization((0.5,), (1,)))


def _three(context: Context, values: Array) -> list[TensorInterface]:
    """The same values in each kind of place."""
    tensor_type = TensorType(values.shape, DType.of(values))
    stored = values.astype(values.dtype.newbyteorder("<" if context.byteorder == "little" else ">"))
    return [
        RomTensor(tensor_type, values, context=context),
        BufferTensor(tensor_type, bytearray(stored.tobytes()), context=context),
        RamTensor(tensor_type, values, context=context),
    ]


@pytest.mark.parametrize(
    ("byteorder", "wanted"), [("little", (0xDE, 0xADDE, 0xEFBEADDE)), ("big", (0xDE, 0xDEAD, 0xDEADBEEF))]
)
def test_element_read_at_any_width(byteorder: ByteOrder, wanted: tuple[int, int, int]) -> None:
    """The example of uTensor's documentation, on both kinds of device."""
    with Context(1024, 1024, byteorder=byteorder):
        tensor = BufferTensor(SMALL, bytearray(b"\xde\xad\xbe\xef"))
    assert (tensor[0, 0].u8, tensor[0, 0].u16, tensor[0, 0].u32) == wanted
    assert int(tensor[0, 1]) == tensor[1] == 0xAD


@given(st.integers(0, 2**16 - 1), st.sampled_from(["little", "big"]))
def test_tensors_hold_the_same_wherever_they_are(seed: int, byteorder: ByteOrder) -> None:
    """Elements, rows and the whole are equal in ROM, buffer and RAM, whatever the order of bytes."""
    random = np.random.default_rng(seed)
    shape = tuple(random.integers(1, 4, random.integers(1, 5)).tolist())
    dtype = [np.int8, np.uint8, np.int16, np.int32, np.int64, np.float32][random.integers(6)]
    values = random.integers(-100, 100, shape).astype(dtype)
    for tensor in _three(Context(4096, 4096, byteorder=byteorder), values):
        assert np.array_equal(tensor.to_array(), values)
        assert tensor.to_array().dtype == values.dtype
        assert all(float(tensor[index]) == values[index] for index in np.ndindex(*shape))
        with tensor.direct(FAST) as memory:
            assert np.array_equal(memory, values)


def test_write_reaches_the_bytes_and_read_only_raises() -> None:
    """Elements, casts and rows are written to buffer and RAM; ROM refuses all of them."""
    context = Context(4096, 4096)
    for tensor in _three(context, np.arange(12, dtype=np.int16).reshape(1, 3, 2, 2)):
        if isinstance(tensor, RomTensor):
            with pytest.raises(EventError, match="ReadOnlyTensor"):
                tensor[0] = 1
            with pytest.raises(EventError, match="ReadOnlyTensor"):
                tensor.write_row(0, [[0, 0], [0, 0]])
            with pytest.raises(EventError, match="ReadOnlyTensor"):
                tensor[0].u8 = 1
            with tensor.direct(FAST) as memory, pytest.raises(ValueError, match="read-only"):
                memory[0] = 1
            continue
        tensor[0, 1, 1, 1] = -7
        tensor[0] = np.uint8(0xFF)
        tensor.write_row(2, [[1, 2], [3, 4]])
        assert tensor.to_array().tolist() == [[[[255, 1], [2, 3]], [[4, 5], [6, -7]], [[1, 2], [3, 4]]]]
        assert tensor.row(2).tolist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize("index", [(2, 0), (0, 2), (-1, 0), 4, (0, 0, 0), (slice(None), 0)])
def test_element_out_of_range_raises(index: int | tuple[int, ...]) -> None:
    """Reading and writing outside of the shape is an error that names the tensor."""
    tensor = RamTensor(SMALL, name="x", context=Context(1024, 1024))
    with pytest.raises(EventError, match=r"InvalidMemoryAccess.*tensor x"):
        _ = tensor[index]
    with pytest.raises(EventError, match="InvalidMemoryAccess"):
        tensor[index] = 1


def test_width_out_of_range_raises() -> None:
    """Neither reading nor writing reaches beyond the last byte, and rows are within the tensor."""
    tensor = RamTensor(SMALL, [[0, 0], [0, 0]], context=Context(1024, 1024))
    for reach in (
        lambda: tensor[1, 1].u16,
        lambda: tensor.__setitem__((1, 1), np.uint16(1)),
        lambda: tensor.read_bytes(-1, 1),
        lambda: tensor.row(1),
        lambda: tensor.write_row(-1, [[0, 0], [0, 0]]),
    ):
        with pytest.raises(EventError, match="InvalidMemoryAccess"):
            reach()
    with pytest.raises(InputError, match="256"):
        tensor[0] = 256
    assert tensor.to_array().tolist() == [[0, 0], [0, 0]]


@pytest.mark.parametrize(
    "values", [np.zeros((2, 2), np.int8), [[0, 256], [0, 0]], [[0.0, 0], [0, 0]], [0, 0, 0], np.zeros(5, np.uint8)]
)
def test_rows_of_another_type_are_refused(values: object) -> None:
    """Arrays are cast by their owners; numbers that do not fit are not wrapped."""
    tensor = RamTensor(SMALL, context=Context(1024, 1024))
    with pytest.raises(InputError, match="u8"):
        tensor.assign(values)  # type: ignore[arg-type]


def test_direct_is_for_operators_that_are_marked_fast() -> None:
    """Others are refused, and get the same by reading."""
    tensor = RamTensor(SMALL, [[1, 2], [3, 4]], context=Context(1024, 1024))
    with pytest.raises(EventError, match=r"DirectAccessRefused.*not marked fast"), tensor.direct(SLOW):
        pass

    def doubled(operator: MarkedOperator, target: TensorInterface) -> None:
        if operator.is_fast:
            with target.direct(operator) as memory:
                np.multiply(memory, 2, out=memory)
                del memory
        else:
            for linear in range(target.shape.elements):
                target[linear] = 2 * int(target[linear])

    results = []
    for operator in (FAST, SLOW):
        tensor.assign([[1, 2], [3, 100]])
        doubled(operator, tensor)
        results.append(tensor.to_array().tolist())
    assert results == [[[2, 4], [6, 200]]] * 2


def test_ram_tensor_is_freed_with_its_last_reference() -> None:
    """Data and descriptor return to their arenas, also from reference cycles."""
    context = Context(1024, 1024)
    tensor = RamTensor(IMAGE, context=context)
    assert context.ram.available() == 1024 - 24
    del tensor
    assert (context.metadata.available(), context.ram.available()) == (1024, 1024)
    cycle: list[object] = [RamTensor(IMAGE, context=context)]
    cycle.append(cycle)
    del cycle
    gc.collect()
    assert (context.metadata.available(), context.ram.available()) == (1024, 1024)


def test_freed_tensor_can_be_used_no_more() -> None:
    """By hand or at the end of a with-block; twice is once."""
    context = Context(1024, 1024)
    made: list[TensorInterface] = [
        RamTensor(SMALL, context=context),
        BufferTensor(SMALL, bytearray(4), context=context),
        RomTensor(SMALL, bytes(4), context=context),
    ]
    for tensor in made:
        with tensor:
            assert tensor.size_bytes == 4
        tensor.free()
        assert tensor.is_freed
        with pytest.raises(EventError, match="TensorFreed"):
            _ = int(tensor[0])
        with pytest.raises(EventError, match="TensorFreed"), tensor.direct(FAST):
            pass
    assert (context.metadata.available(), context.ram.available()) == (1024, 1024)


def test_ram_tensor_survives_a_rebalance() -> None:
    """The arena moves it to make room, and elements and rows are where they were."""
    ram = HandleArena(256)
    context = Context(4096, ram)
    first = RamTensor(TensorType((1, 96), DType.U8), context=context)
    second = RamTensor(TensorType((10, 10), DType.U8), np.arange(100, dtype=np.uint8).reshape(10, 10), context=context)
    before = second.handle.address
    element = second[4, 2]
    del first
    third = RamTensor(TensorType((1, 117), DType.U8), context=context)
    assert second.handle.address != before
    assert third.handle.is_bound
    assert second.to_array().ravel().tolist() == list(range(100))
    assert element == 42
    element.u8 = 24
    assert second[42] == 24


@pytest.mark.parametrize("seed", range(4))
def test_ram_tensors_in_a_crowded_arena_keep_their_contents(seed: int) -> None:
    """Tensors that come, go, grow and are written at random hold what a list of arrays holds, however they are moved."""
    random = np.random.default_rng(seed)
    context = Context(4096, HandleArena(600))
    known: list[tuple[RamTensor, Array]] = []
    moves = refusals = 0
    for step in range(500):
        places = [tensor.handle.address for tensor, _ in known]
        if known and random.random() < 0.45:
            known.pop(random.integers(len(known)))
        else:
            shape = (1, int(random.integers(2, 8)), int(random.integers(1, 30)))
            values = random.integers(-128, 128, shape).astype(np.int8)
            try:
                known.append((RamTensor(TensorType(shape, DType.S8), values, context=context), values))
                moves += places != [tensor.handle.address for tensor, _ in known[:-1]]
            except EventError as error:
                refusals += error.name == "OutOfMemory"
        if known and step % 3 == 0:
            tensor, held = known[random.integers(len(known))]
            y = int(random.integers(tensor.rows))
            held[0, y] = random.integers(-128, 128, held.shape[2])
            tensor.write_row(y, held[0, y])
            del tensor
        assert all(np.array_equal(tensor.to_array(), values) for tensor, values in known)
        assert context.ram.available() == 600 - sum(values.size for _, values in known)
        assert list(context.tensors) == [tensor for tensor, _ in known]
    assert moves > 10
    assert refusals > 10


def test_pinned_tensor_is_not_freed() -> None:
    """Inside a direct access the bytes stay."""
    tensor = RamTensor(SMALL, context=Context(1024, 1024))
    with tensor.direct(FAST) as memory:
        with pytest.raises(EventError, match="BlockPinned"):
            tensor.free()
        memory[...] = 7
        del memory
    assert tensor[3] == 7
    tensor.free()


def test_buffers_that_do_not_fit_are_refused() -> None:
    """Too short, read-only, in pieces, no buffer."""
    context = Context(1024, 1024)
    for buffer in (bytearray(3), bytes(4), np.zeros((4, 4), np.uint8)[:, ::2], "four"):
        with pytest.raises(InputError, match="buffer"):
            BufferTensor(SMALL, buffer, context=context)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="3 bytes"):
        RomTensor(SMALL, bytes(3), context=context)
    for array in (np.zeros(4, np.int8), np.zeros(5, np.uint8), np.zeros(4)):
        with pytest.raises(InputError, match="elements of"):
            RomTensor(SMALL, array, context=context)
    assert context.metadata.available() == 1024
    assert context.tensors == ()


def test_buffer_tensor_and_its_owner_see_each_other() -> None:
    """Nothing is copied; a longer buffer's rest is left alone."""
    owned = np.zeros(6, np.uint8)
    tensor = BufferTensor(SMALL, owned, context=Context(1024, 1024))
    tensor[1, 1] = 9
    owned[0] = 5
    assert (owned.tolist(), int(tensor[0])) == ([5, 0, 0, 9, 0, 0], 5)


def test_rom_tensor_of_an_array_is_no_copy() -> None:
    """A model's weights stay where they are, and the array itself is not changed."""
    weights = np.arange(6, dtype=np.int16).reshape(2, 3)
    tensor = RomTensor(TensorType((2, 3), DType.S16), weights, context=Context(1024, 1024))
    with tensor.direct(FAST) as memory:
        assert np.shares_memory(memory, weights)
    assert weights.flags.writeable


def test_tensor_is_unique() -> None:
    """Copying or pickling one raises, and says what to do."""
    tensor = RomTensor(SMALL, bytes(4), context=Context(1024, 1024))
    for duplicate in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="to_array"):
            duplicate(tensor)


def test_tensor_tells_its_type() -> None:
    """Shape, rows, quantization, name."""
    tensor = RamTensor(IMAGE, name="image", context=Context(1024, 1024))
    assert (tensor.type, tensor.dtype, tensor.rows, tensor.size_bytes) == (IMAGE, DType.S16, 3, 24)
    assert tensor.quantization == IMAGE.quantization
    assert tensor.shape.dimensions == (1, 3, 2, 2)
    assert repr(tensor) == "<RamTensor 'image' [1, 3, 2, 2] int16>"


def test_derived_tensor_needs_only_a_way_to_its_bytes() -> None:
    """Users can add their own places: here a tensor whose elements are computed."""

    class Ramp(TensorInterface):
        """Element `n` is `n`, and nothing is stored."""

        is_writable = False

        def _load(self, offset: int, size_bytes: int) -> bytes:
            return bytes(range(offset, offset + size_bytes))

    ramp = Ramp(TensorType((1, 3, 2, 2), DType.U8), context=Context(1024, 1024))
    assert ramp.row(1).tolist() == [[4, 5], [6, 7]]
    assert ramp[0, 2, 1] == 10
    assert ramp.metadata_bytes == 8 + 24
    with pytest.raises(EventError, match="ReadOnlyTensor"):
        ramp[0] = 1
    with pytest.raises(EventError, match="not in one piece"), ramp.direct(FAST):
        pass
