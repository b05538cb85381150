"""Wrong calls of the core's functions: each has a status, and none touches what is not the model's."""

import ctypes
from collections.abc import Iterator

import numpy as np
import pytest

import kibi
from kibi.engines.core import CoreEngine, core_library
from kibi.planfile.reader import PlanFile
from tests.ops.comparison import graph_of
from tests.support.choices import Seeded
from tests.support.operator_models import OPERATOR_MODELS

NULL, SIZE, ALIGNMENT, NEW, SEQUENCE, STEPS, FILE, KERNEL = -1, -2, -3, -4, -5, -7, -16, -17
_P, _N = ctypes.c_void_p, ctypes.c_size_t
_MODEL_BYTES = 128


class _Core:
    """A core, a file, an arena, and a model that is not open yet."""

    def __init__(self, file: PlanFile) -> None:
        self.library = core_library(file.kernels)
        self.file = file
        self._blocks: list[object] = []
        self.model = ctypes.create_string_buffer(_MODEL_BYTES)
        self.data = self.block(file.data)
        self.arena = self.block(bytes(file.arena_bytes + 64))
        self.checked, self.kernels = (
            ctypes.addressof(ctypes.c_char.in_dll(self.library, name))
            for name in ("kibi_core_checked_kernels", "kibi_core_kernels")
        )

    def block(self, data: bytes) -> int:
        """The address of bytes, aligned to 64."""
        raw = np.zeros(len(data) + 64, np.uint8)
        shift = -raw.ctypes.data % 64
        raw[shift : shift + len(data)] = np.frombuffer(data, np.uint8)
        self._blocks.append(raw)
        return int(raw.ctypes.data) + shift

    def call(self, name: str, *arguments: object, model: bool = True) -> int:
        """The status of a function of the core."""
        first = (self.model,) if model else (None,)
        return int(self.library[f"kibi_model_{name}"](*first, *arguments))

    def open(self, **replaced: int) -> int:
        """Opens the model, with some arguments replaced."""
        given = {"file": self.data, "size": len(self.file.data), "kernels": self.checked, "arena": self.arena}
        given = {**given, "room": self.file.arena_bytes, **replaced}
        pointers = {name: _P(given[name]) for name in ("file", "kernels", "arena")}
        size, room = _N(given["size"]), _N(given["room"])
        return self.call("open", pointers["file"], size, pointers["kernels"], pointers["arena"], room)


@pytest.fixture
def core() -> _Core:
    """A core for a model of one operator."""
    return _Core(kibi.compile_plan(graph_of(OPERATOR_MODELS["ABS"](Seeded(3)))))


def _wrong(core: _Core) -> dict[str, tuple[dict[str, int], int]]:
    """The arguments of `open` that are replaced, and the status, by what is wrong."""
    return {
        "nothing": ({}, 0),
        "no file": ({"file": 0}, NULL),
        "no kernels": ({"kernels": 0}, NULL),
        "no arena": ({"arena": 0}, NULL),
        "an arena short by a byte": ({"room": core.file.arena_bytes - 1}, SIZE),
        "an arena beside its alignment": ({"arena": core.arena + 1}, ALIGNMENT),
        "a file short by a byte": ({"size": len(core.file.data) - 1}, FILE),
        "a slot of three bytes": ({"size": 3}, FILE),
        "a file beside its alignment": ({"file": core.data + 2}, FILE),
        "a file without its first word": ({"file": core.block(core.file.data[4:])}, FILE),
    }


@pytest.mark.parametrize(
    "case",
    [
        "nothing", "no file", "no kernels", "no arena", "an arena short by a byte", "an arena beside its alignment",
        "a file short by a byte", "a slot of three bytes", "a file beside its alignment", "a file without its first word",
    ],
)  # fmt: skip
def test_open_says_what_is_wrong(core: _Core, case: str) -> None:
    """Each wrong argument has its status, and the model stays closed."""
    arguments, status = _wrong(core)[case]
    assert core.open(**arguments) == status
    assert core.call("invoke") == (0 if status == 0 else NEW)


def test_calls_without_a_model_are_refused(core: _Core) -> None:
    """A null pointer is no model, for any function."""
    for name in ("invoke", "reset", "run_for", "input", "output", "push_row", "set_state", "set_external", "open"):
        assert core.call(name, *[_P(0)] * 5, model=False) in (NULL, FILE), name
    assert core.call("expected_input", model=False) == -1


def test_calls_before_open_are_refused(core: _Core) -> None:
    """A struct of zeros is a closed model."""
    port = ctypes.create_string_buffer(64)
    for name, arguments in (
        ("invoke", ()), ("reset", ()), ("run_for", (ctypes.c_uint32(1),)), ("input", (ctypes.c_uint(0), port)),
        ("output", (ctypes.c_uint(0), port)), ("push_row", (ctypes.c_uint(0), port)),
        ("set_state", (port, _N(64))), ("set_external", (port, port, ctypes.c_uint(1))),
    ):  # fmt: skip
        assert core.call(name, *arguments) == NEW, name
    assert core.call("expected_input") == -1


def test_wrong_calls_of_an_open_model(core: _Core) -> None:
    """What the model has not, or is not in turn, is refused; the model stays as it was."""
    assert core.open() == 0
    port = ctypes.create_string_buffer(64)
    assert core.call("input", ctypes.c_uint(1), port) == NULL
    assert core.call("output", ctypes.c_uint(7), port) == NULL
    assert core.call("input", ctypes.c_uint(0), _P(0)) == NULL
    assert core.call("run_for", ctypes.c_uint32(0)) == STEPS
    assert core.call("push_row", ctypes.c_uint(0), port) == SEQUENCE
    assert core.call("push_row", ctypes.c_uint(0), _P(0)) == NULL
    assert core.call("invoke") == 0


def test_arena_that_a_file_needs_is_told_before_it_is_opened(core: _Core) -> None:
    """Bytes that are no file, and null pointers, have a status; a null pointer is nothing to rewind."""
    size, alignment = _N(), _N()
    ask = core.library["kibi_model_arena"]
    given = ctypes.byref(size), ctypes.byref(alignment)
    assert ask(_P(core.data), _N(len(core.file.data)), *given) == 0
    assert (size.value, alignment.value) == (core.file.arena_bytes, core.file.header["arena_alignment"])
    assert ask(_P(core.data), _N(len(core.file.data) - 1), *given) == FILE
    assert ask(_P(core.data + 2), _N(len(core.file.data) - 2), *given) == FILE
    assert ask(_P(0), _N(100), *given) == NULL
    assert ask(_P(core.data), _N(100), _P(0), given[1]) == NULL
    assert ask(_P(core.data), _N(100), given[0], _P(0)) == NULL
    core.library["kibi_model_rewind"](_P(0))


def test_missing_kernel_is_a_status_of_its_own(core: _Core) -> None:
    """A core without the kernel says so, not that the file is wrong."""
    other = core_library(("kibi_softmax_s8",))
    table = ctypes.addressof(ctypes.c_char.in_dll(other, "kibi_core_checked_kernels"))
    assert core.open(kernels=table) == KERNEL


def test_closed_model_is_refused(core: _Core) -> None:
    """After `close` nothing runs; another open begins anew."""
    assert core.open() == 0
    core.library["kibi_model_close"](core.model)
    assert core.call("invoke") == NEW
    assert core.open() == 0
    assert core.call("invoke") == 0


def _slices(engine: CoreEngine, steps: int) -> Iterator[int]:
    status = 2
    while status == 2:
        status = engine.call("run_for", ctypes.c_uint32(steps))
        yield status


@pytest.mark.parametrize("steps", [1, 2, 7, 1000])
def test_slices_end_after_as_many_calls_as_they_must(steps: int) -> None:
    """`run_for` pauses exactly while steps are left, and `invoke` in the middle begins anew."""
    graph = graph_of(OPERATOR_MODELS["MAX_POOL_2D"](Seeded(1)))
    plan = kibi.plan(graph)
    engine = CoreEngine(kibi.compile_plan(graph, plan), trusts=True)
    expected = -(-len(plan.steps) // steps)
    assert list(_slices(engine, steps)) == [2] * (expected - 1) + [0]
    if expected > 1:
        assert engine.call("run_for", ctypes.c_uint32(steps)) == 2
        assert engine.call("invoke") == 0
        assert len(list(_slices(engine, steps))) == expected
