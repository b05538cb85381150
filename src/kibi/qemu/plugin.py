"""The plugin that QEMU loads: its C structures as Python sees them, and its compilation on first use."""

import ctypes
from enum import IntEnum, IntFlag
from functools import lru_cache
from pathlib import Path

import numpy as np

from kibi.toolchain import build_shared, host_compiler
from kibi.used_tools import noting_tools

MOST_CALLS = 64


class Flag(IntFlag):
    """The effects of an instruction; `plugin.c` has the same."""

    CALLS = 1
    RETURNED = 2
    ENTERS = 4
    MOVES = 8
    PUSHES = 16
    POPS = 32
    LEAVES = 64
    BASED = 128
    LOSES = 256
    VECTOR = 512
    ALIGNED = 1024


class Verdict(IntEnum):
    """What the plugin noted first; `plugin.c` has the same."""

    RUNNING = 0
    BAD_READ = 1
    BAD_WRITE = 2
    MISALIGNED = 3
    OUTSIDE_CODE = 4
    LOST_STACK = 5
    TOO_DEEP = 6


PLACE = np.dtype([("flags", "<u2"), ("label", "<u2"), ("amount", "<i4")])


class State(ctypes.Structure):
    """`kibi_state` of `plugin.c`."""

    _fields_ = (
        *((name, ctypes.c_uint64) for name in ("instructions", "vectors", "label_start")),
        *(
            (name, ctypes.c_uint32)
            for name in (
                "labels_at", "ranges_at", "places_at", "range_count", "first_place", "place_count", "harness",
                "harness_end", "label", "label_calls", "calls", "stack", "lowest_stack", "is_lost", "verdict", "fault_pc",
                "fault_address", "fault_size", "last_range",
            )
        ),
        ("returns", ctypes.c_uint32 * MOST_CALLS),
        ("stacks", ctypes.c_uint32 * MOST_CALLS),
    )  # fmt: skip


@lru_cache
def plugin_library(interface: int) -> Path:
    """The compiled plugin.

    Args:
        interface: the version of QEMU's interface of plugins, 1 or 2.

    Raises:
        ToolchainError: it cannot be compiled.
    """
    with noting_tools():  # what compiles Kibi's own helpers is no part of a report
        source = Path(__file__).with_name(f"plugin{interface}.c")
        return build_shared([source], compiler=host_compiler(), includes=[source.parent])
