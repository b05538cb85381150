"""Kernels on this machine, called by themselves: in this process, or in a program that QEMU runs."""

import ctypes
import mmap
import subprocess
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from kibi.dtypes import Array, DType
from kibi.ir import KernelCall
from kibi.kernels.params import Params
from kibi.kernels.params.description import Field


class LoadedKernels:
    """Kernels in a shared library, called by themselves in this process."""

    def __init__(self, path: Path) -> None:
        self._library, self._libc = ctypes.CDLL(str(path)), ctypes.CDLL(None, use_errno=True)
        self._kept: list[object] = []

    def call(self, call: KernelCall, output: int, rows: Sequence[int], output_bytes: int = 0) -> None:
        """Call a kernel. Its scratch ends where readable memory ends."""
        del output_bytes
        pointers = (ctypes.c_void_p * len(rows))(*(row or None for row in rows))
        scratch = self.place(np.zeros(call.scratch_bytes, np.int8)) if call.scratch_bytes else None
        struct = _struct(call)
        self._library[call.kernel](ctypes.c_void_p(output), pointers, ctypes.byref(struct), ctypes.c_void_p(scratch))

    def place(self, data: Array) -> int:
        """The address of a copy at the end of memory: a read after it stops the process."""
        room = -(-max(1, data.nbytes) // mmap.PAGESIZE) * mmap.PAGESIZE
        memory = mmap.mmap(-1, room + mmap.PAGESIZE)
        start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        assert self._libc.mprotect(ctypes.c_void_p(start + room), ctypes.c_size_t(mmap.PAGESIZE), 0) == 0
        ctypes.memmove(start + room - data.nbytes, data.ctypes.data, data.nbytes)
        self._kept.append(memory)
        return start + room - data.nbytes


class EmulatedKernels:
    """Kernels in a program of aarch64, which qemu runs.

    Args:
        program: the file.
        kernels: their names, in the order of the program's table.
        cpu: as qemu calls the processor.
    """

    def __init__(self, program: Path, kernels: Sequence[str], cpu: str) -> None:
        command = ["qemu-aarch64", "-cpu", cpu, str(program)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._kernels = list(kernels)
        self._kept: dict[int, Array] = {}

    def call(self, call: KernelCall, output: int, rows: Sequence[int], output_bytes: int) -> None:
        """Send all that a kernel reads, and receive what it writes; see host_calls.c."""
        params, struct = call.params_as(Params), _struct(call)
        values = params.by_name
        fields = [field for field in params.fields if field.is_pointer and values[field.name] is not None]
        message = [
            _words(self._kernels.index(call.kernel), ctypes.sizeof(struct)),
            bytes(struct),
            _words(len(fields)),
        ]
        for field in fields:
            data = values[field.name]
            assert isinstance(data, np.ndarray)
            message += [_words(getattr(type(struct), field.name).offset, data.nbytes), data.tobytes()]
        message.append(_words(len(rows)))
        for row in rows:
            given = self._kept[row].tobytes() if row else b""
            message += [_words(len(given) if row else -1), given]
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(b"".join([*message, _words(output_bytes, call.scratch_bytes)]))
        self._process.stdin.flush()
        made = self._process.stdout.read(output_bytes)
        assert len(made) == output_bytes, f"{call.kernel} ended with {self._process.wait()}"
        ctypes.memmove(output, made, output_bytes)

    def place(self, data: Array) -> int:
        """Keep a copy to be sent, and return the address that the other program replaces by its own."""
        copy = data.copy()
        self._kept[copy.ctypes.data] = copy
        return int(copy.ctypes.data)

    def close(self) -> None:
        """End the program."""
        self._process.communicate()


def _words(*numbers: int) -> bytes:
    return np.array(numbers, "<i4").tobytes()


def _struct(call: KernelCall) -> ctypes.Structure:
    """The parameter struct of a call, as this machine lays it out."""
    params = call.params_as(Params)
    kinds = [(field.name, ctypes.c_void_p if field.is_pointer else _number_type(field)) for field in params.fields]
    kind = type("Params", (ctypes.Structure,), {"_fields_": kinds})
    made: ctypes.Structure = kind(*(_number(value) for _, value in params))
    return made


def _number_type(field: Field) -> type[ctypes.c_int32 | ctypes.c_float]:
    return ctypes.c_float if field.dtype is DType.F32 else ctypes.c_int32


def _number(value: float | Array | None) -> float:
    return value.ctypes.data if isinstance(value, np.ndarray) else value or 0
