"""The native hook: its C structures as Python sees them, and its compilation on first use."""

import ctypes
from enum import IntEnum, IntFlag
from functools import lru_cache
from pathlib import Path

import numpy as np

from kibi.toolchain import host_compiler, load_shared
from kibi.used_tools import noting_tools


class Flag(IntFlag):
    """The effects of an instruction; `hook.c` has the same."""

    LOADS = 1
    STORES = 2
    ENTERS = 4
    RETURNS = 8
    MOVES_STACK = 16
    CONDITIONAL = 32
    REFUSED = 64
    PREDICTED = 128


class Verdict(IntEnum):
    """The reason why the hook stopped the core; `hook.c` has the same."""

    RUNNING = 0
    AT_LIMIT = 1
    BAD_READ = 2
    BAD_WRITE = 3
    MISALIGNED = 4
    BAD_INSTRUCTION = 5
    OUTSIDE_CODE = 6
    UNFORESEEN = 7


INSTRUCTION = np.dtype([
    ("flags", "u1"), ("base", "u1"), ("index", "u1"), ("shift", "u1"), ("offset", "<i4"), ("size", "u1"),
    ("range", "u1"), ("align", "u1"), ("width", "u1"), ("cost_next", "u1"), ("cost_jumped", "u1"), ("label", "<u2"),
    ("cost_odd", "u1"), ("cost_even", "u1"),
], align=True)  # fmt: skip
RANGE = np.dtype([("first", "<u4"), ("end", "<u4"), ("writable", "<u4")])


class State(ctypes.Structure):
    """`kibi_state` of `hook.c`."""

    _fields_ = (
        *((name, ctypes.c_uint64) for name in ("instructions", "limit", "cycles", "label_start")),
        *((name, ctypes.c_void_p) for name in ("by_label", "code", "ranges", "read_register", "stop", "waits")),
        ("waited", ctypes.c_uint64),
        *(
            (name, ctypes.c_uint32)
            for name in (
                "code_first", "code_count", "range_count", "next", "label", "return_address", "return_stack",
                "lowest_stack", "pending", "verdict", "fault_pc", "fault_address", "fault_size", "foreseen_address",
                "foreseen_size", "foreseen_store", "stack_register", "return_register", "predicted",
            )
        ),
    )  # fmt: skip


@lru_cache
def hook_library() -> ctypes.CDLL:
    """The compiled hook.

    Raises:
        ToolchainError: it cannot be compiled.
    """
    with noting_tools():  # what compiles Kibi's own helpers is no part of a report
        folder = Path(__file__).parent
        return load_shared([folder / "hook.c", folder / "waits.c"], compiler=host_compiler(), includes=[folder])
