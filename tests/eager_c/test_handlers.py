"""Who receives events in C, and what a program is told for each status."""

import ctypes
import re

import pytest

from kibi.eager.inference_events import ERRORS
from kibi.kernels import kernel_folder
from tests.eager_c.library import NAMES, CHistory, library

_BY_HAND = {
    "MEMORY": "OutOfMemory",
    "BOUNDS": "OutOfMemoryBounds",
    "NO_BLOCK": "MetaHeaderNotFound",
    "UNALLOCATED": "MetaHeaderNotBound",
    "BINDING": "InvalidBoundRegionState",
    "PINNED": "BlockPinned",
    "NOT_ONE_BY_ONE": "NotFreedOneByOne",
    "SCOPE": "ScopeNotInnermost",
    "ACCESS": "InvalidMemoryAccess",
    "READ_ONLY": "ReadOnlyTensor",
    "FREED": "TensorFreed",
    "INDIRECT": "DirectAccessRefused",
    "OVERWRITTEN": "RowOverwritten",
    "NOT_WRITTEN": "RowNotWritten",
    "ROWS_ENDED": "RowsEnded",
    "ARGUMENT": "ArgumentRefused",
}


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    """The library."""
    return library(tmp_path_factory.mktemp("eager"))


def test_every_status_has_the_event_of_its_name(loaded: ctypes.CDLL) -> None:
    """All that these functions return below zero are reported by the right name."""
    header = (kernel_folder() / "kibi.h").read_text(encoding="utf-8")
    codes = {name: int(value) for name, value in re.findall(r"KIBI_ERROR_(\w+) = (-\d+)", header)}
    expected = {name.removeprefix("KIBI_ERROR_"): each.name for name, each in ERRORS.items()} | _BY_HAND
    history = CHistory(loaded)
    for name, value in codes.items():
        if not -32 < value <= -16:  # of cores
            assert loaded.kibi_fail(history.memory, value) == value
            assert history.new() == [expected[name]], name
    assert loaded.kibi_fail(None, -1) == -1


def test_history_keeps_the_latest_and_calls_back(loaded: ctypes.CDLL) -> None:
    """The oldest are forgotten; a callback gets errors, and only those."""
    errors: list[int] = []
    callback = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_uint32)(lambda _, number: errors.append(number))
    ids, memory = (ctypes.c_uint32 * 3)(), ctypes.create_string_buffer(128)
    assert loaded.kibi_history_init(memory, ids, 3, callback, None) == 0
    for number in (5, 6, 7, 8):
        loaded.kibi_notify(memory, number)
    assert [loaded.kibi_history_at(memory, k) for k in range(4)] == [8, 7, 6, 0]
    assert not errors
    loaded.kibi_fail(memory, -32)
    assert [NAMES[number] for number in errors] == ["OutOfMemory"]
    loaded.kibi_history_clear(memory)
    assert loaded.kibi_history_at(memory, 0) == 0
    assert loaded.kibi_history_init(memory, None, 3, None, None) == -1
    assert loaded.kibi_history_init(memory, None, 0, None, None) == 0
    loaded.kibi_notify(memory, 1)
    assert loaded.kibi_history_at(memory, 0) == 0
