"""How much code kernels bring into a library, as recorded in `code_sizes.json`: no compiler is needed to know it.

`benchmarks/code_sizes.py` measures and records.
"""

import json
from collections.abc import Iterable, Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from kibi.errors import InternalError

RECORD = Path(str(files("kibi.selection"))) / "code_sizes.json"
RECORDED_TARGET = "cortex-m4"
"""The processor that the recorded code is for: it has several kernels for a layer, and its flash matters. The others of its
instruction set have nearly the same code."""


@cache
def _functions() -> Mapping[str, Any]:
    functions: Mapping[str, Any] = json.loads(RECORD.read_text(encoding="utf-8"))["functions"]
    return functions


def is_recorded(kernel: str) -> bool:
    """True if the size of a kernel is known."""
    return kernel in _functions()


def code_bytes(kernels: Iterable[str], parts: frozenset[str], paid: frozenset[str] = frozenset()) -> int:
    """Returns the bytes of code that kernels bring into a library, with the functions that they call, each once.

    Args:
        kernels: C names.
        parts: the macros of the parts of kernels that are needed.
        paid: functions that the library has in any case.

    Raises:
        InternalError: the size of a kernel is not recorded.
    """
    waiting, seen, total = list(kernels), set(paid), 0
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        entry = _entry(name)
        needed = sum(1 << bit for bit, part in enumerate(entry["parts"]) if part in parts)
        total += entry["sizes"][needed]
        waiting += [each for each, sets in entry["calls"].items() if int(sets, 16) >> needed & 1]
    return total


def _entry(name: str) -> Mapping[str, Any]:
    if name not in _functions():
        raise InternalError(f"the code size of {name} is not recorded")
    entry: Mapping[str, Any] = _functions()[name]
    return entry
