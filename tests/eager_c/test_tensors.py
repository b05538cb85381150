"""Tensors in C: the layouts that Python counts with, every kind of access, and every wrong call."""

import ctypes
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from kibi.dtypes import DType
from kibi.eager.tensors import STRUCTS
from kibi.eager.tensors.layouts import layout_fields
from kibi.eager_c.sources import library_texts
from kibi.ir import TensorType
from kibi.targets import target
from kibi.toolchain import compile_objects
from tests.eager_c.library import library, write
from tests.eager_c.program import READ, SOURCE, Camera, CType, Data, Device, File, Program, Ram, Row, at

ACCESS, READ_ONLY, FREED, INDIRECT, OVERWRITTEN, NOT_WRITTEN, ENDED, ARGUMENT = range(-40, -48, -1)
SEQUENCE, STORAGE, BINDING, PINNED = -5, -10, -36, -37
_NESTED = {"access": "base.access", "type": "base.type", "pins": "handle.pins"}
_SHAPES = tuple(shape for rank in range(5) for shape in product((1, 2, 3), repeat=rank))


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    """The library."""
    return library(tmp_path_factory.mktemp("eager"))


@pytest.fixture
def program(loaded: ctypes.CDLL) -> Program:
    """A program that has not begun."""
    return Program(loaded)


@pytest.mark.parametrize("name", ["cortex-m4", "cortex-m0plus"])
def test_structs_are_those_that_python_counts_with(name: str, tmp_path: Path) -> None:
    """The device's compiler gives each struct of the library the size, and each field the place, of Python's layouts."""
    texts = {each.path: text.text for each, text in library_texts((), target(name)).items()}
    write(tmp_path, texts)
    lines = ["#include <stddef.h>", '#include "kibi_tensor.h"']
    for struct_name, layout in STRUCTS.items():
        checks = [("size", f"sizeof({struct_name})", ctypes.sizeof(layout))]
        for field, _, _ in layout_fields(layout):
            is_base = struct_name in ("kibi_tensor", "kibi_tensor_type", "kibi_channel")
            path = field if is_base else _NESTED.get(field, field)
            path = "handle.data" if (struct_name, field) == ("kibi_ram_tensor", "data") else path
            checks.append((field, f"offsetof({struct_name}, {path})", getattr(layout, field).offset))
        lines += [f"typedef char {struct_name}_{what}_is[{got} == {wanted}u ? 1 : -1];" for what, got, wanted in checks]
    source = tmp_path / "layouts.c"
    source.write_text("\n".join([*lines, "extern int nothing;", "int nothing;"]) + "\n", encoding="utf-8")
    compile_objects([source], target(name), includes=[tmp_path])


@pytest.mark.parametrize("dtype", list(DType))
def test_rows_are_pythons(loaded: ctypes.CDLL, dtype: DType) -> None:
    """Elements, rows and their bytes are counted alike."""
    for shape in _SHAPES:
        kind = TensorType(shape, dtype)
        given = ctypes.byref(CType.of(kind))
        names = ("elements", "element_bytes", "bytes", "rows", "row_bytes")
        counted = [loaded[f"kibi_{name}"](given) for name in names]
        assert counted == [kind.elements, dtype.size_bytes, kind.size_bytes, kind.rows, kind.row_bytes]


def test_ram_tensor_moves_with_its_arena(program: Program) -> None:
    """Its elements stay what they are when a rebalance moves them, a held row holds them, and a freed one has none."""
    kind = CType.of(TensorType((1, 4, 3, 2), DType.S16))
    first, second = Ram(), Ram()
    for tensor in (first, second):
        program.check(program.call("ram_tensor_init", tensor, ctypes.byref(kind)), 0)
    program.check(program.call("ram_tensor_init", second, ctypes.byref(kind)), BINDING)
    values = np.arange(24, dtype=np.int16)
    program.check(program.call("write", second, 0, at(values), 48), 0)
    held = ctypes.c_void_p()
    program.check(program.call("hold_row", second, 2, 0, ctypes.byref(held)), 0)
    assert held.value == second.handle.data + 2 * 12
    assert program.call("ram_tensor_free", second) == PINNED
    program.call("ram_tensor_free", first)
    assert program.ram.call("allocate", 240) == -1
    program.call("let_go", second)
    moved_from = second.handle.data
    assert program.ram.call("rebalance")
    assert second.handle.data == moved_from - 48
    row = np.zeros(6, np.int16)
    program.check(program.call("read_row", second, 2, at(row)), 0)
    assert (row == values[12:18]).all()
    index, value = (ctypes.c_uint32 * 4)(0, 3, 2, 1), ctypes.c_int16()
    program.check(program.call("get", second, index, 2, ctypes.byref(value)), 0)
    assert value.value == 23
    program.check(program.call("set", second, index, 2, ctypes.byref(ctypes.c_int16(-5))), 0)
    program.check(program.call("get", second, index, 2, ctypes.byref(value)), 0)
    assert value.value == -5
    program.check(program.call("get", second, index, 0, ctypes.byref(value)), ARGUMENT, "ArgumentRefused")
    index[2] = 3
    program.check(program.call("get", second, index, 2, ctypes.byref(value)), ACCESS, "InvalidMemoryAccess")
    program.check(program.call("read", second, 47, at(row), 2), ACCESS, "InvalidMemoryAccess")
    program.check(program.call("read", second, ctypes.c_uint32(0xFFFFFFFF), at(row), 2), ACCESS, "InvalidMemoryAccess")
    program.check(program.call("read_row", second, 4, at(row)), ACCESS, "InvalidMemoryAccess")
    program.check(program.call("hold_row", second, 4, 0, ctypes.byref(held)), ACCESS, "InvalidMemoryAccess")
    assert program.call("ram_tensor_free", second) == 0
    assert program.call("ram_tensor_free", second) == 0
    program.check(program.call("read_row", second, 0, at(row)), FREED, "TensorFreed")
    program.check(program.call("write_row", second, 0, at(row)), FREED, "TensorFreed")
    program.check(program.call("hold_row", second, 0, 1, ctypes.byref(held)), FREED, "TensorFreed")
    program.ram.check_canaries()


def test_constants_are_read_and_buffers_written_in_place(program: Program) -> None:
    """Neither moves; a constant refuses to be written in each way."""
    kind = CType.of(TensorType((1, 2, 3), DType.U8))
    memory = np.arange(6, dtype=np.uint8)
    rom, buffer = (Data(program.access(each), ctypes.addressof(kind), memory.ctypes.data) for each in ("rom", "buffer"))
    row, held = np.full(3, 9, np.uint8), ctypes.c_void_p()
    program.check(program.call("write_row", rom, 1, at(row)), READ_ONLY, "ReadOnlyTensor")
    program.check(program.call("hold_row", rom, 1, 1, ctypes.byref(held)), READ_ONLY, "ReadOnlyTensor")
    program.check(program.call("hold_row", rom, 1, 0, ctypes.byref(held)), 0)
    assert held.value == memory.ctypes.data + 3
    program.call("let_go", rom)
    program.check(program.call("write_row", buffer, 1, at(row)), 0)
    assert memory.tolist() == [0, 1, 2, 9, 9, 9]


@pytest.mark.parametrize("by_offsets", [False, True])
def test_rows_in_a_ring_are_replaced(program: Program, *, by_offsets: bool) -> None:
    """A row that was replaced, or never written, is refused by name; so is one out of turn, and bytes of two rows."""
    kind = CType.of(TensorType((1, 5, 4), DType.S8))
    memory = np.zeros(12, np.int8)
    offsets = (ctypes.c_uint32 * 5)(0, 4, 8, 0, 4)
    tensor = Row(
        program.access("row"),
        ctypes.addressof(kind),
        memory.ctypes.data,
        ctypes.addressof(offsets) if by_offsets else 0,
        3,
        0,
    )
    row = np.zeros(4, np.int8)
    for y in range(4):
        program.check(program.call("read_row", tensor, y, at(row)), NOT_WRITTEN, "RowNotWritten")
        row[:] = y
        program.check(program.call("write_row", tensor, y, at(row)), 0)
    program.check(program.call("read_row", tensor, 0, at(row)), OVERWRITTEN, "RowOverwritten")
    program.check(program.call("read_row", tensor, 1, at(row)), 0)
    assert (row == 1).all()
    assert (memory[:4] == 3).all()
    program.check(program.call("read", tensor, 6, at(row), 3), ACCESS, "InvalidMemoryAccess")
    tensor.next = 2
    program.check(program.call("write_row", tensor, 4, at(row)), SEQUENCE, "OutOfSequence")
    held = ctypes.c_void_p()
    program.check(program.call("hold_row", tensor, 1, 0, ctypes.byref(held)), 0)
    assert held.value == memory.ctypes.data + 4


def test_camera_delivers_in_order_and_ends(program: Program) -> None:
    """A request receives all rows before it; the latest are kept; the end has a name."""
    kind = CType.of(TensorType((1, 6, 2), DType.U8))
    memory, asked = np.zeros(4, np.uint8), []

    def deliver(_: int, row: int, to: int) -> int:
        asked.append(row)
        ctypes.memset(to, row, 2)
        return int(row < 5)

    source = SOURCE(deliver)
    camera = Camera(program.access("camera"), ctypes.addressof(kind), source, None, memory.ctypes.data, 2, 0)
    row = np.zeros(2, np.uint8)
    program.check(program.call("read_row", camera, 2, at(row)), 0)
    assert (asked, row.tolist()) == ([0, 1, 2], [2, 2])
    program.check(program.call("read_row", camera, 1, at(row)), 0)
    program.check(program.call("read_row", camera, 0, at(row)), OVERWRITTEN, "RowOverwritten")
    program.check(program.call("write_row", camera, 3, at(row)), READ_ONLY, "ReadOnlyTensor")
    program.check(program.call("read_row", camera, 5, at(row)), ENDED, "RowsEnded")
    assert asked == [0, 1, 2, 3, 4, 5]
    camera.slots = 0
    program.check(program.call("read_row", camera, 5, at(row)), ARGUMENT, "ArgumentRefused")


def test_device_is_read_and_written_without_an_address(program: Program) -> None:
    """Its functions are called with the places of the chip; what fails is a status."""
    kind = CType.of(TensorType((1, 2, 4), DType.S8))
    chip = np.arange(32, dtype=np.uint8)

    def read(_: int, offset: int, to: int, count: int) -> int:
        ctypes.memmove(to, chip.ctypes.data + offset, count)
        return int(offset < 16)

    def store(_: int, offset: int, source: int, count: int) -> int:
        ctypes.memmove(chip.ctypes.data + offset, source, count)
        return 1

    device = Device(READ(read), READ(store), None)
    tensor = File(program.access("file"), ctypes.addressof(kind), ctypes.addressof(device), 10)
    row, held = np.zeros(4, np.uint8), ctypes.c_void_p()
    program.check(program.call("read_row", tensor, 1, at(row)), 0)
    assert row.tolist() == [14, 15, 16, 17]
    program.check(program.call("write", tensor, 2, at(row), 2), 0)
    assert chip[12:14].tolist() == [14, 15]
    program.check(program.call("hold_row", tensor, 0, 0, ctypes.byref(held)), INDIRECT, "DirectAccessRefused")
    tensor.offset = 20
    program.check(program.call("read_row", tensor, 0, at(row)), STORAGE, "StorageFailed")
    device.write = READ()
    program.check(program.call("write_row", tensor, 0, at(row)), READ_ONLY, "ReadOnlyTensor")
