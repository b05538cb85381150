"""Kernels in a program for Linux or in a WebAssembly module, called by themselves with memory of the program's."""

import ctypes
import struct
from collections.abc import Collection, Sequence
from pathlib import Path

import numpy as np

from kibi.dtypes import Array, DType
from kibi.engines.ways import ways_of
from kibi.ir import KernelCall
from kibi.kernels import closure
from kibi.kernels.params import Params
from kibi.targets import target

_ROOM_BYTES = 1 << 23


class ProgramKernels:
    """All kernels of a target's sets in one program.

    Args:
        name: the target's.
        kernels: the kernels that are called.
        folder: where their sources are written.
        level: the compiler's.
    """

    def __init__(self, name: str, kernels: Collection[str], folder: Path, level: str = "2") -> None:
        processor = target(name)
        texts = closure(frozenset(kernels), processor.kernel_sets)
        for file, text in texts.items():
            (folder / file).write_text(text.text, encoding="utf-8")
        sources = [folder / file for file in texts if file.endswith(".c")]
        build, make = ways_of(processor)
        image = build(sources, processor, entries=sorted(kernels), compiler="zig", level=level, includes=[folder])
        self._core = make(image, processor)
        self._pointer_bytes = processor.pointer_bytes
        self._room = self._core.allocate("room", _ROOM_BYTES, alignment=64)
        self._end = self._room + _ROOM_BYTES

    def place(self, data: Array) -> int:
        """The address of a copy, no better aligned than its elements are."""
        return self._placed(data.tobytes(), data.itemsize)

    def call(self, call: KernelCall, output: int, rows: Sequence[int], output_bytes: int) -> None:
        """Call a kernel; its output is copied to an address of this process."""
        made, scratch = self._placed(bytes(output_bytes + 1), 4), self._placed(bytes(call.scratch_bytes + 1), 8)
        arguments = made, self._placed(self._words(rows), 8), self._placed(self._struct(call), 8), scratch
        self._core.call(call.kernel, *arguments)
        found = self._core.read(made, output_bytes + 1)
        assert found[-1] == 0
        ctypes.memmove(output, found, output_bytes)

    def _placed(self, data: bytes, alignment: int) -> int:
        address = (self._end - len(data)) & -alignment
        if address < self._room:  # earlier copies are not needed any more
            self._end = self._room + _ROOM_BYTES
            address = (self._end - len(data)) & -alignment
        self._end = address
        self._core.write(address, data)
        return address

    def _words(self, addresses: Sequence[int]) -> bytes:
        return np.array(addresses, f"<u{self._pointer_bytes}").tobytes()

    def _struct(self, call: KernelCall) -> bytes:
        """The parameter struct of a call, as the program's compiler lays it out."""
        params, data = call.params_as(Params), b""
        for field, (_, value) in zip(params.fields, params, strict=True):
            if field.is_pointer:
                data += bytes(-len(data) % self._pointer_bytes)
                data += self._words([self.place(value) if isinstance(value, np.ndarray) else 0])
            else:
                assert not isinstance(value, np.ndarray)
                data += struct.pack("<f" if field.dtype is DType.F32 else "<i", value or 0)
        return data
