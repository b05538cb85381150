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
_FAIR = frozenset(range(-16, 2))
_MOST_CALLS = 24


@cache
def _libraries() -> tuple[tuple[Library, ctypes.CDLL], ...]:
    """The model that Kibi ships with stored, streamed and external inputs, built for this machine."""
    made = []
    graph = kibi.load(kibi.demo.model_path())
    for name in ("stored", "streamed", "external"):
        plan = kibi.plan(graph, "host", input=name, output="external" if name == "external" else "stored")
        library = kibi.compile(graph, plan, Path(tempfile.mkdtemp(prefix="kibi-fuzz-")) / name, target="host")
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
    arena, row = _Memory(model.plan.arena_bytes), _Memory(4096)
    prefix = f"{model.graph.name}_"
    for _ in range(int(rng.integers(1, _MOST_CALLS))):
        name = str(rng.choice(entry_points(model))).removeprefix(prefix)
        _call(shared, prefix, name, state, arena, row, rng)
    for memory in (state, arena, row):
        memory.check()


def _call(
    shared: ctypes.CDLL, prefix: str, name: str, state: _Memory, arena: _Memory, row: _Memory, rng: np.random.Generator
) -> None:
    """One call; addresses are right, misaligned or null, sizes right or too small, indices any."""
    function = shared[prefix + name]
    handle = ctypes.c_void_p(state.address if rng.random() < 0.9 else None)
    index = ctypes.c_uint(int(rng.choice((0, 0, 0, 1, 2, 7, 0xFFFFFFFF))))
    if name in {"input", "output", "variable"}:
        function.restype = ctypes.c_void_p
        function(handle, index)
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
