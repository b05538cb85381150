"""The core's functions as a program in C calls them: with memory of one's own, one arena for several models, leases."""

import ctypes
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np

from kibi.dtypes import Array
from kibi.engines.core import _Model, _Port, written_core
from kibi.kernels.params import PARAMS
from kibi.planfile.reader import PlanFile
from kibi.targets import target
from kibi.toolchain import build_shared
from kibi.toolchain.cache import load_library
from tests.toolchain.unity import unity_files

PAUSED = 2
_ALIGNMENT = 64
_WITH_LEASES = (("kibi_lease.h", "#define KIBI_CORE_LEASE 0", "#define KIBI_CORE_LEASE 1"),)


@cache
def library(*, lease: bool = False, weights: bool = False) -> ctypes.CDLL:
    """A core with all kernels that stops at undefined behaviour: with leases or not, with weights that can be written or not.

    Without optimization and with the same flags, so that the kernels of all of them are compiled once, many at a time.
    """
    with tempfile.TemporaryDirectory() as folder:
        sources = written_core(tuple(PARAMS), target("host"), Path(folder), weights=weights)
        for name, off, on in _WITH_LEASES if lease else ():
            header = Path(folder) / name
            text = header.read_text()
            assert off in text
            header.write_text(text.replace(off, on))
        kernels = [each for each in sources if each.parent.name == "kernels"]
        units = [*(each for each in sources if each not in kernels), *unity_files(kernels, Path(folder) / "kernels")]
        return load_library(build_shared(units, level="0", includes=[Path(folder)], sanitize=True))


def block(data: bytes) -> Array:
    """Bytes that begin at a multiple of 64."""
    room = np.zeros(len(data) + _ALIGNMENT, np.uint8)
    skip = -room.ctypes.data % _ALIGNMENT
    found = room[skip : skip + len(data)]
    found[:] = np.frombuffer(data, np.uint8)
    return found


class CModel:
    """An open model.

    Args:
        file: its plan file.
        arena: bytes of the caller; None: of its own.
        lease: True takes the core with leases.
        trusts: True opens the file without checks.
        weights: True takes the core whose models' weights can be written.
    """

    def __init__(
        self,
        file: PlanFile,
        arena: Array | None = None,
        *,
        lease: bool = False,
        trusts: bool = False,
        weights: bool = False,
    ) -> None:
        self.file, self._library = file, library(lease=lease, weights=weights)
        self._model, self.data, self.state = _Model(), block(file.data), block(bytes(file.state_bytes))
        self.arena = block(bytes(self.needed)) if arena is None else arena
        name = "kibi_core_kernels" if trusts else "kibi_core_checked_kernels"
        table = ctypes.addressof(ctypes.c_char.in_dll(self._library, name))
        sizes = ctypes.c_size_t(len(file.data)), ctypes.c_size_t(self.arena.size)
        opens = "open_trusted" if trusts else "open"
        status = self.call(opens, _address(self.data), sizes[0], ctypes.c_void_p(table), _address(self.arena), sizes[1])
        assert status == 0
        if file.state_bytes:
            assert self.call("set_state", _address(self.state), ctypes.c_size_t(file.state_bytes)) == 0
        self.buffers = [block(bytes(size)) for size in file.externals]
        if self.buffers:
            self._places = (ctypes.c_void_p * len(self.buffers))(*(each.ctypes.data for each in self.buffers))
            room = (ctypes.c_size_t * len(self.buffers))(*file.externals)
            assert self.call("set_external", self._places, room, ctypes.c_uint(len(self.buffers))) == 0

    @property
    def needed(self) -> int:
        """Bytes of the arena that the core asks for."""
        size, alignment = ctypes.c_size_t(), ctypes.c_size_t()
        status = self._library["kibi_model_arena"](
            _address(self.data), ctypes.c_size_t(self.data.size), ctypes.byref(size), ctypes.byref(alignment)
        )
        assert status == 0
        assert _ALIGNMENT % alignment.value == 0
        return int(size.value)

    @property
    def sequence(self) -> int:
        """The number of the newest checkpoint."""
        return int(self._model.sequence)

    @sequence.setter
    def sequence(self, number: int) -> None:
        self._model.sequence = number

    def call(self, function: str, *arguments: object) -> int:
        """The status of a function of the core."""
        return int(self._library[f"kibi_model_{function}"](ctypes.byref(self._model), *arguments))

    def run_for(self, steps: int) -> int:
        """The status of a slice."""
        return self.call("run_for", ctypes.c_uint32(steps))

    def push(self, number: int, row: Array) -> int:
        """The status of a row."""
        return self.call("push_row", ctypes.c_uint(number), _address(np.ascontiguousarray(row)))

    def write_weights(self, offset: int, data: bytes, *, waits: bool) -> tuple[int, int, bytes]:
        """Writes bytes of the file.

        Returns:
            The status, after how many steps the bytes may be written, and what is in the caller's memory afterwards.
        """
        given, until = block(data), ctypes.c_uint32()
        status = self._library["kibi_weights_write"](
            ctypes.byref(self._model), ctypes.c_uint32(offset), _address(given), ctypes.c_uint32(len(data)),
            ctypes.byref(until) if waits else None,
        )  # fmt: skip
        return int(status), int(until.value), given.tobytes()

    def port(self, role: str, number: int) -> tuple[int, _Port]:
        """The status and the description of an input or an output."""
        found = _Port()
        return self.call(role, ctypes.c_uint(number), ctypes.byref(found)), found

    def write(self, number: int, array: Array) -> None:
        """Hands over an input, and writes it."""
        status, port = self.port("input", number)
        assert status == 0
        ctypes.memmove(port.data, np.ascontiguousarray(array).ctypes.data, array.nbytes)

    def write_all(self, inputs: Sequence[Array]) -> None:
        """Hands over all inputs that do not stream."""
        for number, array in enumerate(inputs):
            self.write(number, array)

    def outputs(self) -> list[bytes]:
        """The bytes of each output."""
        found = []
        for number in range(len(self.file.outputs)):
            status, port = self.port("output", number)
            assert status == 0
            found.append(ctypes.string_at(port.data, port.bytes))
        return found

    def finish(self, steps: int = 1 << 31) -> int:
        """Runs slices of so many steps to the end of the inference, and returns the last status."""
        status = PAUSED
        while status == PAUSED:
            status = self.run_for(steps)
        return status


def _address(array: Array) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)
