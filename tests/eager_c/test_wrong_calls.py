"""Wrong calls from C: each has a status and an event, and touches nothing; this machine's sanitizers watch."""

import ctypes
from typing import Any

import numpy as np
import pytest

from kibi.dtypes import DType
from kibi.ir import TensorType
from tests.eager_c.library import CArena, CHandle, CHistory, Memory, library
from tests.eager_c.program import CType, Data, Program, Ram, Row, at

NULL, BINDING, SCOPE, ACCESS, ARGUMENT = -1, -36, -39, -40, -47
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


_INITS = {"handle_arena": (), "linear_arena": (), "workspace": (), "page_allocator": (64,)}


@pytest.mark.parametrize("kind", _INITS)
def test_arenas_need_all_their_parts(loaded: ctypes.CDLL, kind: str) -> None:
    """Each pointer in turn; an arena that was refused, or never made, hands out nothing, and says so."""
    arena = CArena(loaded, kind, 256, 8, _INITS[kind])
    init = loaded[f"kibi_{kind}_init"]
    room, table = np.zeros(256, np.uint8), ctypes.create_string_buffer(64)
    history = arena.history
    assert arena.history.new() == ["ArenaConstructed"]
    whole = Memory(room.ctypes.data & ~7, 128, ctypes.addressof(table), 4, 8)
    wrong = [Memory(None, 128, ctypes.addressof(table), 4, 8), Memory(room.ctypes.data, 128, None, 4, 8)]
    for given in (*map(ctypes.byref, wrong), None):
        assert init(arena.memory, given, *_INITS[kind], history.memory) == NULL
        assert history.new() == ["NullPointer"]
    assert init(None, ctypes.byref(whole), *_INITS[kind], history.memory) == NULL
    assert history.new() == ["NullPointer"]
    assert init(arena.memory, ctypes.byref(wrong[1]), *_INITS[kind], history.memory) == NULL
    history.new()
    handle = CHandle()
    for call in (("allocate", 8), ("allocate_handle", 8, ctypes.byref(handle)), ("deallocate", 0)):
        assert arena.call(*call) < 0
        assert history.new() == ["NotInitialized"]
    assert arena.call("available") == 0


def test_no_arena_is_told_to_the_caller(loaded: ctypes.CDLL) -> None:
    """There is nobody to report to: a status alone, no address, or nothing."""
    handle, scope = ctypes.byref(CHandle()), ctypes.create_string_buffer(32)
    with_handle = dict.fromkeys(("bind", "unbind"), (0, handle))
    statuses = {
        **with_handle,
        "allocate_handle": (8, handle),
        "free": (handle,),
        "unpin": (handle,),
        "deallocate": (0,),
        **dict.fromkeys(("reset_temporary", "reset_linear"), ()),
        **dict.fromkeys(("enter", "leave"), (scope,)),
    }
    for name, arguments in statuses.items():
        assert loaded[f"kibi_{name}"](None, *arguments) == NULL, name
    for name, arguments in {
        "allocate": (8,),
        "allocate_temporary": (8,),
        "resize_planned": (8,),
        "reallocate": (0, 8),
    }.items():
        assert loaded[f"kibi_{name}"](None, *arguments) == -1, name
    for name, arguments in {"available": (), "contains": (0,), "is_bound": (0, handle), "rebalance": ()}.items():
        assert not loaded[f"kibi_{name}"](None, *arguments), name
    assert loaded.kibi_pin(None, handle) is None
    assert loaded.kibi_address(None, handle) == -1


def test_no_handle_is_reported(loaded: ctypes.CDLL) -> None:
    """By each function that needs one."""
    arena = CArena(loaded, "handle_arena", 256, 8)
    address = arena.call("allocate", 8)
    arena.history.new()
    assert arena.call("allocate_handle", 8, None) == NULL
    assert arena.history.new() == ["NullPointer"]
    for name in ("bind", "unbind"):
        assert arena.call(name, address, None) == BINDING
        assert arena.history.new() == ["InvalidBoundRegionState"]
    assert loaded.kibi_pin(arena.memory, None) is None
    assert arena.call("unpin", None) == BINDING
    assert len(arena.history.new()) == 2
    assert arena.call("free", None) == 0
    assert arena.call("available") == 256 - 8


def test_scope_that_is_open_is_not_entered_again(loaded: ctypes.CDLL) -> None:
    """It would be its own outer scope, and a search for it would never end."""
    workspace = CArena(loaded, "workspace", 256, 8)
    outer, inner = (ctypes.create_string_buffer(32) for _ in range(2))
    for scope in (outer, inner):
        assert workspace.call("enter", scope) == 0
    workspace.history.new()
    for scope in (outer, inner):
        assert workspace.call("enter", scope) == SCOPE
        assert workspace.history.new() == ["ScopeNotInnermost"]
    assert workspace.call("enter", None) == NULL
    assert workspace.call("leave", None) == NULL
    assert workspace.history.new() == ["NullPointer"] * 2
    assert workspace.call("deallocate", workspace.call("allocate", 8)) == 0
    assert workspace.call("leave", inner) == 0
    assert workspace.call("leave", outer) == 0


def test_row_of_no_bytes_is_reported(loaded: ctypes.CDLL) -> None:
    """Where an axis has no elements, nothing is divided by them."""
    program = Program(loaded)
    kind = CType.of(TensorType((1, 2, 3), DType.S8))
    kind.dimensions[2] = 0
    memory, row = np.zeros(8, np.uint8), np.zeros(8, np.uint8)
    tensor = Row(program.access("row"), ctypes.addressof(kind), memory.ctypes.data, None, 2, 2)
    program.check(program.call("read", tensor, 0, at(row), 0), ACCESS, "InvalidMemoryAccess")
    program.check(program.call("read_row", tensor, 0, at(row)), ACCESS, "InvalidMemoryAccess")
