"""Wrong calls from C: each has a status and an event, and touches nothing; this machine's sanitizers watch."""

import ctypes
from typing import Any

import numpy as np
import pytest

from kibi.dtypes import DType
from kibi.ir import TensorType
from tests.eager_c.library import CHistory, library
from tests.eager_c.program import CType, Data, Program, Ram, at

NULL, ACCESS, READ_ONLY, ARGUMENT = -1, -40, -41, -47
_KIND = TensorType((1, 2, 3), DType.S8)


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    """The library."""
    return library(tmp_path_factory.mktemp("eager"))


class _Calls:
    """The functions that take a tensor, with room for what they write."""

    def __init__(self, program: Program) -> None:
        self.room = np.zeros(8, np.int8)
        self.index = (ctypes.c_uint32 * 4)()
        self.pointer, self.offset = ctypes.c_void_p(), ctypes.c_uint32()
        self._program = program
        self._context = ctypes.addressof(program.context)

    def all(self) -> dict[str, tuple[Any, ...]]:
        """What follows the tensor, by the function's name."""
        data = at(self.room)
        return {
            "read": (0, data, 1),
            "write": (0, data, 1),
            "read_row": (0, data),
            "write_row": (0, data),
            "hold_row": (0, 0, ctypes.byref(self.pointer)),
            "offset": (self.index, ctypes.byref(self.offset)),
            "get": (self.index, 0, data),
            "set": (self.index, 0, data),
        }

    def run(self, name: str, tensor: object, arguments: tuple[Any, ...], context: int | None = -1) -> int:
        """A function's status."""
        given = self._context if context == -1 else context
        return int(self._program.library[f"kibi_{name}"](ctypes.c_void_p(given), tensor, *arguments))


def _buffer(program: Program, kind: CType, data: np.ndarray[Any, Any]) -> Data:
    return Data(program.access("buffer"), ctypes.addressof(kind), data.ctypes.data)


def test_tensors_that_are_none_are_reported(loaded: ctypes.CDLL) -> None:
    """No tensor, one of zeros, one without a type or of five axes, no context: never is anything read or written."""
    program = Program(loaded)
    calls = _Calls(program)
    kind, data = CType.of(_KIND), np.zeros(6, np.int8)
    wide = CType.of(_KIND)
    wide.rank = 5
    untyped, unreachable, five = (_buffer(program, each, data) for each in (kind, kind, wide))
    untyped.type, unreachable.access = None, None
    nothing = {"no tensor": None, "zeros": Data(), "no type": untyped, "no access": unreachable}
    for name, arguments in calls.all().items():
        for tensor in nothing.values():
            pointer = None if tensor is None else ctypes.byref(tensor)
            program.check(calls.run(name, pointer, arguments), NULL, "NullPointer")
        program.check(calls.run(name, ctypes.byref(five), arguments), ARGUMENT, "ArgumentRefused")
        program.check(calls.run(name, ctypes.byref(_buffer(program, kind, data)), arguments, context=None), NULL)
        program.check(calls.run(name, ctypes.byref(_buffer(program, kind, data)), arguments), 0)
    for tensor in nothing.values():
        loaded.kibi_let_go(ctypes.byref(program.context), None if tensor is None else ctypes.byref(tensor))
    loaded.kibi_let_go(None, None)


def test_places_that_are_none_are_reported(loaded: ctypes.CDLL) -> None:
    """Each pointer besides the tensor, in turn."""
    program = Program(loaded)
    calls = _Calls(program)
    kind, data = CType.of(_KIND), np.zeros(6, np.int8)
    tensor = ctypes.byref(_buffer(program, kind, data))
    for name, arguments in calls.all().items():
        for place, argument in enumerate(arguments):
            if not isinstance(argument, int):
                wrong = (*arguments[:place], None, *arguments[place + 1 :])
                program.check(calls.run(name, tensor, wrong), NULL, "NullPointer")


def test_tensors_in_ram_need_all_their_parts(loaded: ctypes.CDLL) -> None:
    """A context, an arena, a struct, a type of at most four axes; freeing none is told, too."""
    program = Program(loaded)
    kind, tensor, wide = CType.of(_KIND), Ram(), CType.of(_KIND)
    wide.rank = 5
    context, pointer = ctypes.byref(program.context), ctypes.byref(tensor)
    init, free = loaded.kibi_ram_tensor_init, loaded.kibi_ram_tensor_free
    program.check(init(context, None, ctypes.byref(kind)), NULL, "NullPointer")
    program.check(init(context, pointer, None), NULL, "NullPointer")
    program.check(init(context, pointer, ctypes.byref(wide)), ARGUMENT, "ArgumentRefused")
    program.check(init(None, pointer, ctypes.byref(kind)), NULL)
    program.check(free(context, None), NULL, "NullPointer")
    program.check(free(None, pointer), NULL)
    assert tensor.handle.data is None
    assert program.ram.call("available") == 256


def test_no_error_is_no_event(loaded: ctypes.CDLL) -> None:
    """KIBI_OK is not reported."""
    history = CHistory(loaded)
    assert loaded.kibi_fail(history.memory, 0) == 0
    assert history.new() == []


@pytest.mark.parametrize("status", range(-60, 0))
def test_every_status_has_an_event(loaded: ctypes.CDLL, status: int) -> None:
    """A status of the library its own; any other number that of a refused argument."""
    history = CHistory(loaded)
    assert loaded.kibi_fail(history.memory, status) == status
    known = {**dict.fromkeys(range(-10, 0)), **dict.fromkeys(range(-47, -31))}
    names = history.new()
    assert len(names) == 1
    assert (names[0] == "ArgumentRefused") == (status not in known or status == ARGUMENT)
