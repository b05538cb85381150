"""Tensors that an application derives with a table of functions: operators reach them by that table and by nothing else."""

import ctypes
from collections import Counter

import numpy as np
import pytest

from kibi.dtypes import DType
from kibi.ir import Quantization, TensorType
from tests.eager_c.library import library
from tests.eager_c.program import CType, Data, Program, at

INDIRECT, STORAGE = -43, -10
_KIND = TensorType((1, 4, 3, 2), DType.S8, Quantization((0.5,), (0,)))
_LOAD = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_void_p, ctypes.c_uint32
)
_HOLD = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_int, ctypes.POINTER(ctypes.c_void_p)
)
_LET_GO = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)


class _Access(ctypes.Structure):
    """`kibi_access`."""

    _fields_ = (("load", _LOAD), ("store", _LOAD), ("hold", _HOLD), ("let_go", _LET_GO), ("is_whole", ctypes.c_int))


class _Bank:
    """The bytes of a tensor, which C reaches by calling functions of this class. They count the calls.

    Each byte is stored inverted, so that C cannot read it in place, unless rows have addresses.
    """

    def __init__(self, *, has_addresses: bool, is_whole: bool) -> None:
        self.bytes = np.zeros(_KIND.size_bytes, np.uint8)
        self.calls: Counter[str] = Counter()
        self.status = 0
        self._mask = 0 if has_addresses else 0xFF
        self.access = _Access(
            _LOAD(self._load), _LOAD(self._store), _HOLD(self._hold) if has_addresses else _HOLD(), _LET_GO(self._let_go),
            int(is_whole),
        )  # fmt: skip
        self._kind = CType.of(_KIND)
        self.tensor = Data(ctypes.addressof(self.access), ctypes.addressof(self._kind), None)

    def _load(self, _: int, tensor: int, offset: int, to: int, count: int) -> int:
        del tensor
        self.calls["load"] += 1
        data = (self.bytes[offset : offset + count] ^ self._mask).tobytes()
        ctypes.memmove(to, data, count)
        return self.status

    def _store(self, _: int, tensor: int, offset: int, source: int, count: int) -> int:
        del tensor
        self.calls["store"] += 1
        self.bytes[offset : offset + count] = np.frombuffer(ctypes.string_at(source, count), np.uint8) ^ self._mask
        return self.status

    def _hold(self, _: int, tensor: int, row: int, writing: int, data: "ctypes._Pointer[ctypes.c_void_p]") -> int:
        del tensor
        self.calls["hold to write" if writing else "hold"] += 1
        data[0] = ctypes.c_void_p(self.bytes.ctypes.data + row * _KIND.row_bytes)
        return self.status

    def _let_go(self, _: int, tensor: int) -> None:
        del tensor
        self.calls["let go"] += 1

    @property
    def values(self) -> np.ndarray[tuple[int], np.dtype[np.int8]]:
        """The elements."""
        return (self.bytes ^ self._mask).view(np.int8)


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    """The library."""
    return library(tmp_path_factory.mktemp("eager"))


@pytest.mark.parametrize(("has_addresses", "is_whole"), [(False, False), (True, False), (True, True)])
def test_operators_use_the_table_and_let_go_of_what_they_hold(
    loaded: ctypes.CDLL, has_addresses: bool, is_whole: bool
) -> None:
    """Rows with an address are held and let go; others are copied; elements are read and written one by one, too."""
    program = Program(loaded, 1024, 64)
    source, output = (_Bank(has_addresses=has_addresses, is_whole=is_whole) for _ in range(2))
    values = np.arange(-12, 12, dtype=np.int8)
    pointers = [ctypes.byref(each.tensor) for each in (output, source)]
    program.check(program.call("write", source.tensor, 0, at(values), 24), 0)
    assert (source.values == values).all()
    source.calls.clear()
    program.check(loaded.kibi_op_relu(ctypes.byref(program.context), *pointers), 0)
    assert (output.values == np.maximum(values, 0)).all()
    if has_addresses:
        assert source.calls == {"hold": 4, "let go": 4}
        assert output.calls == {"hold to write": 4, "let go": 4}
    else:
        assert (source.calls, output.calls) == ({"load": 4}, {"store": 4})
    index, value = (ctypes.c_uint32 * 4)(0, 3, 2, 1), ctypes.c_int8()
    program.check(program.call("get", output.tensor, index, 0, ctypes.byref(value)), 0)
    assert value.value == 11
    held = ctypes.c_void_p()
    status = program.call("hold_row", output.tensor, 0, 0, ctypes.byref(held))
    program.check(status, *((0,) if has_addresses else (INDIRECT, "DirectAccessRefused")))


@pytest.mark.parametrize("has_addresses", [False, True])
def test_failure_of_a_function_ends_the_operator(loaded: ctypes.CDLL, has_addresses: bool) -> None:
    """What a table's function returns is the operator's status; the function itself reports; nothing stays held."""
    program = Program(loaded, 1024, 64)
    source, output = (_Bank(has_addresses=has_addresses, is_whole=False) for _ in range(2))
    for failing in (source, output):
        failing.status = STORAGE
        source.calls.clear()
        pointers = [ctypes.byref(each.tensor) for each in (output, source)]
        assert loaded.kibi_op_relu(ctypes.byref(program.context), *pointers) == STORAGE
        assert source.calls["let go"] == (source.calls["hold"] if failing is output else 0)
        assert program.metadata.call("available") == 1024
        failing.status = 0
