"""The library for programs by hand, built for this machine, and its arenas as Python objects."""

import ctypes
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np

from kibi.eager.own_events import own_events
from kibi.eager_c.sources import library_texts, operators
from kibi.targets import target
from kibi.toolchain import build_shared
from kibi.toolchain.cache import load_library

NAMES = {each.id(): each.name for each in own_events()}
"""Events and errors by their ids."""
_KEPT = 4096
_CANARY = 0x5A
_GUARD_BYTES = 64
BLOCKS = 400
"""Headers that an arena's table has room for."""


def write(folder: Path, texts: dict[str, str]) -> None:
    """Writes files, some of them in a folder inside."""
    for name, text in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")


@cache
def library(folder: Path) -> ctypes.CDLL:
    """The library with all operators, as a shared library that traps at undefined behaviour."""
    texts = library_texts(operators(), target("host"))
    write(folder, {name.path: text.text for name, text in texts.items()})
    sources = sorted(folder.rglob("*.c"))
    loaded = load_library(build_shared(sources, includes=[folder], level="0", sanitize=True))
    for name in ("kibi_pin", "kibi_block_at"):
        getattr(loaded, name).restype = ctypes.c_void_p
    for name in ("kibi_available", "kibi_history_at"):
        getattr(loaded, name).restype = ctypes.c_uint32
    return loaded


class Memory(ctypes.Structure):
    """`kibi_arena_memory`."""

    _fields_ = (
        ("memory", ctypes.c_void_p),
        ("bytes", ctypes.c_uint32),
        ("blocks", ctypes.c_void_p),
        ("block_count", ctypes.c_uint16),
        ("alignment", ctypes.c_uint16),
    )


class CHandle(ctypes.Structure):
    """`kibi_handle`."""

    _fields_ = (("data", ctypes.c_void_p), ("pins", ctypes.c_uint32))


class CHistory:
    """A handler that keeps ids, and tells the names of those that are new."""

    def __init__(self, loaded: ctypes.CDLL) -> None:
        self._library = loaded
        self._ids = (ctypes.c_uint32 * _KEPT)()
        self.memory = ctypes.create_string_buffer(128)
        assert loaded.kibi_history_init(self.memory, self._ids, _KEPT, None, None) == 0

    def new(self) -> list[str]:
        """The names of the events since the last call, the oldest first."""
        found: list[str] = []
        while identity := self._library.kibi_history_at(self.memory, len(found)):
            found.append(NAMES[identity])
        self._library.kibi_history_clear(self.memory)
        return found[::-1]


class CArena:
    """An arena of the C library, in memory with canaries around it.

    Args:
        loaded: the library.
        kind: `handle_arena`, `linear_arena`, `workspace` or `page_allocator`.
        size_bytes, alignment: of its memory.
        more: arguments of its init function before the handler.
        blocks: headers that its table has room for.
    """

    def __init__(
        self,
        loaded: ctypes.CDLL,
        kind: str,
        size_bytes: int,
        alignment: int,
        more: Sequence[int] = (),
        blocks: int = BLOCKS,
    ) -> None:
        self.library = loaded
        self.history = CHistory(loaded)
        room = np.full(size_bytes + 3 * _GUARD_BYTES, _CANARY, np.uint8)
        start = -room.ctypes.data % _GUARD_BYTES + _GUARD_BYTES
        self._room, self._start = room, start
        self.bytes = room[start : start + size_bytes]
        self.bytes[:] = 0
        self._table = ctypes.create_string_buffer(16 * blocks)
        self.memory = ctypes.create_string_buffer(256)
        given = Memory(self.bytes.ctypes.data, size_bytes, ctypes.addressof(self._table), blocks, alignment)
        init = loaded[f"kibi_{kind}_init"]
        self.status = int(init(self.memory, ctypes.byref(given), *map(ctypes.c_uint32, more), self.history.memory))

    def check_canaries(self) -> None:
        """Nothing outside of the arena's memory has changed."""
        end = self._start + len(self.bytes)
        assert (self._room[: self._start] == _CANARY).all()
        assert (self._room[end:] == _CANARY).all()

    def call(self, name: str, *arguments: object) -> int:
        """What a function returns that takes the arena first."""
        return int(self.library[f"kibi_{name}"](self.memory, *arguments))

    def address(self, handle: CHandle) -> int:
        """The address of a handle's block."""
        return self.call("address", ctypes.byref(handle))
