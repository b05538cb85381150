"""Plan files on this machine: a core with the kernels that a file needs, in a shared library."""

import ctypes
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np

from kibi.dtypes import Array
from kibi.engines.engine import LIMIT_REACHED, MORE_INPUT, STATUS
from kibi.errors import InternalError, LimitError, PlanError
from kibi.ops import While
from kibi.planfile.core_c import core_texts
from kibi.planfile.kernel_ids import parts_of
from kibi.planfile.reader import PlanFile, Port
from kibi.targets import Target, target
from kibi.toolchain import build_shared
from kibi.toolchain.cache import load_library

_GUARD_BYTES = 64
_CANARY = 0xC5
_NO_WEIGHTS, _WEIGHTS = (f"#define KIBI_CORE_WEIGHTS {each}\n" for each in (0, 1))
PAUSED = 2
"""The status of `run_for` while there are further steps."""


class _Position(ctypes.Structure):
    """`kibi_position`."""

    _fields_ = tuple((name, ctypes.c_uint32) for name in ("run", "done"))


class _Model(ctypes.Structure):
    """`kibi_model`."""

    _fields_ = (
        *(
            (name, ctypes.c_void_p)
            for name in ("file", "kernels", "graph", "arena", "state", "external", "table", "row")
        ),
        ("budget", ctypes.c_uint32),
        ("place", _Position),
        ("ended", ctypes.c_int32),
        ("sequence", ctypes.c_uint32),
    )


class _Port(ctypes.Structure):
    """`kibi_port`."""

    _fields_ = (
        *((name, ctypes.c_void_p) for name in ("data", "shape", "name")),
        ("scale", ctypes.c_float),
        ("zero_point", ctypes.c_int32),
        ("bytes", ctypes.c_uint32),
        ("row_bytes", ctypes.c_uint32),
        ("type", ctypes.c_uint8),
        ("rank", ctypes.c_uint8),
    )


class _Guarded:
    """Bytes with canaries on both sides, which begin at a multiple of the guard's size."""

    def __init__(self, size_bytes: int) -> None:
        room = np.full(size_bytes + 3 * _GUARD_BYTES, _CANARY, np.uint8)
        skip = -room.ctypes.data % _GUARD_BYTES
        self._block = room[skip : skip + size_bytes + 2 * _GUARD_BYTES]
        self.bytes = self._block[_GUARD_BYTES : _GUARD_BYTES + size_bytes]
        self.address = int(self._block.ctypes.data) + _GUARD_BYTES

    @property
    def is_whole(self) -> bool:
        """True if the canaries are alive."""
        return bool((self._block[:_GUARD_BYTES] == _CANARY).all() and (self._block[-_GUARD_BYTES:] == _CANARY).all())


class CoreEngine:
    """A plan file, run by the core in C, which is built for this machine and called in this process.

    Args:
        file: the plan file.
        kernels: names of the core's kernels; None: those that the file needs.
        compiler: `zig`, `gcc` or `clang`.
        level: `0`, `1`, `2`, `3` or `s`.
        trusts: True opens the file without checks.
        library: a core from `core_library`, for which `kernels`, `compiler`, `level` and `weights` do not matter; None: it is made.
        weights: True makes a core whose models' weights can be written.

    Raises:
        PlanError: the file needs a kernel that this version has not.
        ToolchainError: the compiler is missing or fails.
    """

    def __init__(
        self,
        file: PlanFile,
        *,
        kernels: Sequence[str] | None = None,
        compiler: str = "zig",
        level: str = "2",
        trusts: bool = False,
        library: ctypes.CDLL | None = None,
        weights: bool = False,
    ) -> None:
        self.file = file
        needed = file.kernels if kernels is None else kernels
        self._library = library or core_library(tuple(needed), compiler=compiler, level=level, weights=weights)
        self._data, self._arena = _Guarded(len(file.data)), _Guarded(file.arena_bytes)
        self._data.bytes[:] = np.frombuffer(file.data, np.uint8)
        self._state = _Guarded(file.state_bytes)
        self._external = [_Guarded(size) for size in file.externals]
        self._model = _Model()
        table = ctypes.addressof(
            ctypes.c_char.in_dll(self._library, f"kibi_core_{'kernels' if trusts else 'checked_kernels'}")
        )
        self._check(
            "open_trusted" if trusts else "open", _pointer(self._data.address), ctypes.c_size_t(len(file.data)), _pointer(table),
            _pointer(self._arena.address), ctypes.c_size_t(file.arena_bytes),
        )  # fmt: skip
        if file.state_bytes:
            self._check("set_state", _pointer(self._state.address), ctypes.c_size_t(file.state_bytes))
        if file.externals:
            self._buffers = (ctypes.c_void_p * len(file.externals))(*(each.address for each in self._external))
            sizes = (ctypes.c_size_t * len(file.externals))(*file.externals)
            self._check("set_external", self._buffers, sizes, ctypes.c_uint(len(file.externals)))

    def run(self, inputs: Sequence[Array], *, slice_steps: int = 0) -> list[Array]:
        """Runs one inference; without outputs if an operator ended it early.

        Args:
            inputs: an array for each input.
            slice_steps: runs it in slices of so many row steps; 0: in one go.

        Raises:
            InputError: an input does not fit.
            InternalError: the core returned an error, or wrote outside of its memory.
        """
        arrays = self.file.checked(inputs)
        if self.file.streams:
            self._push(arrays)
        else:
            for number, array in enumerate(arrays):
                ctypes.memmove(self.port("input", number).data, array.ctypes.data, array.nbytes)
        in_slices = slice_steps and not self.file.streams
        is_complete = self._in_slices(slice_steps) if in_slices else self._check("invoke")
        for block in (self._data, self._arena, self._state, *self._external):
            if not block.is_whole:
                raise InternalError(f"the core wrote outside of the memory of {self.file.name}")
        return [self._read(number, port) for number, port in enumerate(self.file.outputs)] if is_complete else []

    def reset(self) -> None:
        """Gives variables their first values, and forgets an inference that was begun."""
        self._check("reset")

    def port(self, role: str, number: int) -> _Port:
        """What the core says of an input or an output."""
        found = _Port()
        self._check(role, ctypes.c_uint(number), ctypes.byref(found))
        return found

    def call(self, function: str, *arguments: object) -> int:
        """Calls a function of the core by its name without the prefix, on the model, and returns its status."""
        return int(self._library[f"kibi_model_{function}"](ctypes.byref(self._model), *arguments))

    def write_weights(self, offset: int, data: bytes, *, waits: bool = True) -> tuple[int, int]:
        """Writes bytes of the file in memory, of a core with `weights`; between two calls that compute.

        Args:
            offset: of the first byte in the file.
            data: new bytes of constants.
            waits: True: the inference that was begun must not see them; False: they are written at once.

        Returns:
            The status; and where it is `PAUSED`, because the bytes must wait, after how many steps they are written.
        """
        given, until = ctypes.create_string_buffer(data, len(data)), ctypes.c_uint32()
        told = ctypes.byref(until) if waits else None
        place, count = ctypes.c_uint32(offset), ctypes.c_uint32(len(data))
        status = int(self._library["kibi_weights_write"](ctypes.byref(self._model), place, given, count, told))
        return status, int(until.value)

    def _in_slices(self, steps: int) -> bool:
        status = PAUSED
        while status == PAUSED:
            status = self.call("run_for", ctypes.c_uint32(steps))
        return self._is_complete("run_for", status)

    def _push(self, arrays: Sequence[Array]) -> None:
        rows = [0] * len(arrays)
        while (number := self.call("expected_input")) >= 0:
            row = np.ascontiguousarray(arrays[number].reshape(self.file.inputs[number].rows, -1)[rows[number]])
            self._check("push_row", ctypes.c_uint(number), _pointer(row.ctypes.data))
            rows[number] += 1

    def _read(self, number: int, port: Port) -> Array:
        data = ctypes.string_at(self.port("output", number).data, port.size_bytes)
        return np.frombuffer(data, port.dtype.numpy).reshape(port.shape)

    def _check(self, function: str, *arguments: object) -> bool:
        return self._is_complete(function, self.call(function, *arguments))

    def _is_complete(self, function: str, status: int) -> bool:
        """True if the inference came to its end, False if an operator ended it early."""
        if status == LIMIT_REACHED:
            raise LimitError(f"a loop of {self.file.name}, in C,", While.most_turns)
        if function == "open" and status != 0:
            reason = STATUS.get(status, "unknown")
            raise PlanError(
                f"the plan file was refused ({status}: {reason}). Make it again with `kibi compile --format plan`."
            )
        if status not in (0, MORE_INPUT):
            raise InternalError(f"kibi_model_{function} returned {status}: {STATUS.get(status, 'unknown')}")
        return status == 0


@cache
def core_library(
    kernels: tuple[str, ...],
    *,
    compiler: str = "zig",
    level: str = "2",
    parts: frozenset[str] | None = None,
    weights: bool = False,
    sanitize: bool = False,
) -> ctypes.CDLL:
    """Returns a core with these kernels, built for this machine.

    Args:
        kernels: their names.
        compiler: as of `build_shared`.
        level: as there.
        parts: of the kernels that are needed; None: all.
        weights: True for one whose models' weights can be written.
        sanitize: as of `build_shared`.

    Raises:
        ToolchainError: the compiler is missing or fails.
    """
    with tempfile.TemporaryDirectory() as folder:
        sources = written_core(kernels, target("host"), Path(folder), parts, weights=weights)
        includes = [Path(folder)]
        return load_library(build_shared(sources, compiler=compiler, level=level, includes=includes, sanitize=sanitize))


def written_core(
    kernels: Sequence[str],
    core_target: Target,
    folder: Path,
    parts: frozenset[str] | None = None,
    *,
    weights: bool = False,
) -> list[Path]:
    """Writes a core's files into a folder, and returns the C files.

    Args:
        kernels: names of its kernels.
        core_target: the processor.
        folder: where the files are written.
        parts: of the kernels that are needed; None: all.
        weights: True for a core whose models' weights can be written: as if all files were compiled with KIBI_CORE_WEIGHTS=1.
    """
    without = frozenset() if parts is None else parts_of(kernels) - parts
    sources = []
    for name, text in core_texts(kernels, core_target, without).items():
        path = folder / name.path
        path.parent.mkdir(parents=True, exist_ok=True)
        content = text.text.replace(_NO_WEIGHTS, _WEIGHTS) if weights else text.text
        path.write_text(content, encoding="utf-8", newline="\n")
        sources += [path] if path.suffix == ".c" else []
    return sources


def _pointer(address: int) -> ctypes.c_void_p:
    return ctypes.c_void_p(address)
