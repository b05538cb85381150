"""Descriptors cost what they cost on the device."""

import ctypes
import struct
from pathlib import Path

import pytest

from kibi.dtypes import DType
from kibi.eager.context import Context
from kibi.eager.memory import Kind, Recording
from kibi.eager.memory.handle_arena import HandleArena
from kibi.eager.tensors import STRUCTS, BufferTensor, RamTensor, RomTensor, c_declaration
from kibi.eager.tensors.layouts import encode_quantization, encode_struct, encode_type, layout_fields
from kibi.eager.values import ByteOrder
from kibi.ir import Quantization, TensorType
from kibi.targets import target
from kibi.toolchain import compile_objects

_SIZES = {
    "kibi_tensor_type": 24,
    "kibi_channel": 8,
    "kibi_tensor": 8,
    "kibi_rom_tensor": 12,
    "kibi_buffer_tensor": 12,
    "kibi_ram_tensor": 16,
    "kibi_row_tensor": 24,
    "kibi_camera_tensor": 28,
    "kibi_file_tensor": 16,
}
QUANTIZED = TensorType((1, 4, 4, 3), DType.S8, Quantization((0.5, 0.25, 2.0), (0, -1, 3), axis=3))


def test_layouts_have_the_documented_sizes() -> None:
    """What a descriptor costs changes only on purpose."""
    assert {name: ctypes.sizeof(layout) for name, layout in STRUCTS.items()} == _SIZES


@pytest.mark.parametrize("name", ["cortex-m4", "cortex-m0plus"])
def test_layouts_are_those_of_the_devices_compiler(name: str, tmp_path: Path) -> None:
    """The C compiler gives every struct the same size, and every field the same place."""
    lines = ["#include <stddef.h>", "#include <stdint.h>"]
    for struct_name, layout in STRUCTS.items():
        checks = [(f"{struct_name}_size", f"sizeof({struct_name})", ctypes.sizeof(layout))]
        for field, _, _ in layout_fields(layout):
            place = getattr(layout, field).offset
            checks.append((f"{struct_name}_{field}", f"offsetof({struct_name}, {field})", place))
        lines.append(c_declaration(struct_name, layout))
        lines += [f"typedef char check_{check}[{got} == {wanted}u ? 1 : -1];" for check, got, wanted in checks]
    source = tmp_path / "layouts.c"
    source.write_text("\n".join([*lines, "extern int nothing;", "int nothing;"]) + "\n", encoding="utf-8")
    compile_objects([source], target(name))


def test_c_declaration_is_a_struct_that_people_can_read() -> None:
    """Fields stand in their order, with the types of stdint.h."""
    assert c_declaration("kibi_channel", STRUCTS["kibi_channel"]) == (
        "typedef struct kibi_channel {\n    float scale;\n    int32_t zero_point;\n} kibi_channel;\n"
    )
    assert "uint32_t dimensions[4];" in c_declaration("kibi_tensor_type", STRUCTS["kibi_tensor_type"])


@pytest.mark.parametrize(("byteorder", "sign"), [("little", "<"), ("big", ">")])
def test_encoded_types_read_back(byteorder: ByteOrder, sign: str) -> None:
    """Shape, element type and quantization stand in metadata as the device reads them."""
    assert struct.unpack(f"{sign}5I4B", encode_type(QUANTIZED, 64, byteorder)) == (1, 4, 4, 3, 64, 4, 0, 3, 1)
    assert struct.unpack(f"{sign}fifi fi".replace(" ", ""), encode_quantization(QUANTIZED, byteorder)) == (
        0.5, 0, 0.25, -1, 2.0, 3
    )  # fmt: skip
    five = TensorType((2, 3, 4, 5, 6), DType.BOOL)
    assert struct.unpack(f"{sign}5I4B", encode_type(five, 0, byteorder)) == (6, 4, 5, 6, 0, 4, 8, 0, 0)
    assert encode_quantization(five, byteorder) == b""
    assert encode_struct(STRUCTS["kibi_rom_tensor"], {"data": 1}, byteorder)[8:] == struct.pack(f"{sign}I", 1)


def test_tensors_cost_metadata_as_on_the_device() -> None:
    """A type that is made up costs RAM, one that a model knows is in flash; quantization is counted apart."""
    metadata = Recording(HandleArena(4096, alignment=4))
    context = Context(metadata, 4096)
    made_up = RamTensor(QUANTIZED, context=context)
    known = RamTensor(QUANTIZED, context=context, constant_type=True)
    plain = BufferTensor(TensorType((3,), DType.S8), bytearray(3), context=context)
    rom = RomTensor(TensorType((3,), DType.S8), bytes(3), context=context, constant_type=True)
    assert [each.metadata_bytes for each in (made_up, known, plain, rom)] == [16 + 24 + 3 * 8, 16, 12 + 24, 12]
    usage = metadata.usage()
    assert usage[Kind.QUANTIZATION].live_bytes == 24
    assert usage[Kind.TENSOR_METADATA].live_bytes == 40 + 16 + 36 + 12
    held = made_up._metadata[0]
    with held.pin() as view:
        assert struct.unpack("<4I5I4B", bytes(view)) == (
            0,
            0,
            0,
            0,
            1,
            4,
            4,
            3,
            made_up._metadata[1].address,
            4,
            0,
            3,
            1,
        )
    del made_up, known, plain, rom, held
    assert metadata.live_bytes == 0
