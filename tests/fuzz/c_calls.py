"""Wrong calls of the C API: null pointers, wrong sizes, any order.

Each gives a status; none writes outside of the memory that it was given, and none stops the process.
"""

import ctypes
import tempfile
from functools import cache
from pathlib import Path

import numpy as np

import kibi
import kibi.demo
from kibi.codegen import Library
from kibi.engines.engine import entry_points, written_sources
from kibi.toolchain import build_shared
from tests.fuzz.checks import BrokenPromiseError

_GUARD_BYTES, _CANARY = 256, 0xC5
_FAIR = frozenset(range(-16, 3))
_MOST_CALLS = 24


@cache
def _libraries() -> tuple[tuple[Library, ctypes.CDLL], ...]:
    """The model that Kibi ships with stored, streamed and external inputs, and all that a library may have, for this machine."""
    made = []
    graph = kibi.load(kibi.demo.model_path())
    every = (("stored", False), ("streamed", False), ("external", False), ("stored", True), ("streamed", True))
    for name, has_all in every:
        plan = kibi.plan(graph, "host", input=name, output="external" if name == "external" else "stored")
        folder = Path(tempfile.mkdtemp(prefix="kibi-fuzz-")) / name
        saves = has_all and name == "stored"
        library = kibi.compile(graph, plan, folder, target="host", lease=has_all, spare=has_all, checkpoints=saves)
        sources, folder = written_sources(library)
        made.append((library, ctypes.CDLL(str(build_shared(sources, includes=[folder], sanitize=True)))))
    return tuple(made)


class _Memory:
    """Bytes between canaries."""

    def __init__(self, size_bytes: int) -> None:
        self.block = np.full(size_bytes + 2 * _GUARD_BYTES + 64, _CANARY, np.uint8)
        self.skip = -self.block.ctypes.data % 64 + _GUARD_BYTES
        self.size_bytes = size_bytes
        self.address = int(self.block.ctypes.data) + self.skip

    def check(self) -> None:
        end = self.skip + self.size_bytes
        if (self.block[: self.skip] != _CANARY).any() or (self.block[end:] != _CANARY).any():
            raise BrokenPromiseError("the C library wrote outside the memory that it was given")


def random_calls(rng: np.random.Generator) -> None:
    """Up to twenty-four calls on one state.

    Raises:
        BrokenPromiseError: a status that is none, or a write outside.
    """
    libraries = _libraries()
    library, shared = libraries[int(rng.integers(len(libraries)))]
    model = library.model
    state = _Memory(model.state_bytes(ctypes.sizeof(ctypes.c_void_p)))
    state.block[state.skip : state.skip + state.size_bytes] = 0
    arena, row = _Memory(model.arena_bytes), _Memory(4096)
    slots = _Slots(rng)
    prefix = f"{model.graph.name}_"
    for _ in range(int(rng.integers(1, _MOST_CALLS))):
        name = str(rng.choice(entry_points(model))).removeprefix(prefix)
        _call(shared, prefix, name, state, arena, row, slots, rng)
    for memory in (state, arena, row):
        memory.check()


_MOVE = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_void_p, ctypes.c_uint, ctypes.c_uint32, ctypes.c_void_p, ctypes.c_uint32
)


class _Slots:
    """Two slots for checkpoints, whose functions now and then fail or change a bit of what they write."""

    class Functions(ctypes.Structure):
        """`kibi_slots`."""

        _fields_ = (("context", ctypes.c_void_p), ("write", _MOVE), ("read", _MOVE))

    def __init__(self, rng: np.random.Generator) -> None:
        self.bytes = [bytearray(1 << 16) for _ in range(2)]
        self._rng = rng
        self.functions = self.Functions(None, _MOVE(self._write), _MOVE(self._read))

    def _write(self, _context: int, slot: int, offset: int, data: int, size: int) -> int:
        self.bytes[slot][offset : offset + size] = ctypes.string_at(data, size)
        if self._rng.random() < 0.02:
            self.bytes[slot][offset] ^= 1
        return int(self._rng.random() < 0.02)

    def _read(self, _context: int, slot: int, offset: int, data: int, size: int) -> int:
        ctypes.memmove(data, bytes(self.bytes[slot][offset : offset + size]), size)
        return int(self._rng.random() < 0.02)


def _call(
    shared: ctypes.CDLL,
    prefix: str,
    name: str,
    state: _Memory,
    arena: _Memory,
    row: _Memory,
    slots: _Slots,
    rng: np.random.Generator,
) -> None:
    """One call; addresses are right, misaligned or null, sizes right or too small, indices any."""
    function = shared[prefix + name]
    handle = ctypes.c_void_p(state.address if rng.random() < 0.9 else None)
    index = ctypes.c_uint(int(rng.choice((0, 0, 0, 1, 2, 7, 0xFFFFFFFF))))
    if name in {"input", "output", "variable"}:
        function.restype = ctypes.c_void_p
        function(handle, index)
        return
    if name == "rewind":
        function.restype = None
        function(handle)
        return
    arguments: tuple[object, ...] = ()
    if name == "init":
        address, size = _place(arena, rng)
        arguments = (ctypes.c_void_p(address), ctypes.c_size_t(size))
    elif name == "set_external_buffer":
        address, size = _place(row, rng)
        arguments = (index, ctypes.c_void_p(address), ctypes.c_size_t(size))
    elif name == "push_row":
        arguments = (ctypes.c_void_p(row.address if rng.random() < 0.9 else None),)
    elif name == "run_for":
        arguments = (ctypes.c_uint32(int(rng.choice((0, 1, 5, 100, 0xFFFFFFFF)))),)
    elif name == "spare":
        place, size_bytes = ctypes.c_void_p(), ctypes.c_size_t()
        arguments = (ctypes.c_uint32(int(rng.choice((0, 1, 50, 0xFFFFFFFF)))), ctypes.byref(place))
        arguments = (*arguments, ctypes.byref(size_bytes) if rng.random() < 0.9 else None)
    elif name in {"checkpoint", "resume"}:
        arguments = (ctypes.byref(slots.functions) if rng.random() < 0.9 else None,)
    status = int(function(handle, *arguments))
    if name != "expected_input" and status not in _FAIR:
        raise BrokenPromiseError(f"{prefix}{name} returned {status}")


def _place(memory: _Memory, rng: np.random.Generator) -> tuple[int | None, int]:
    """An address and a size that the memory really has there, or a null pointer."""
    how = float(rng.random())
    if how < 0.6:
        return memory.address, memory.size_bytes
    if how < 0.7:
        return None, memory.size_bytes
    skip = int(rng.integers(1, 16))
    return memory.address + skip, max(0, memory.size_bytes - skip)
