"""Unicorn's C interface, as much of it as the emulated core needs.

The Python binding can only call hooks that are Python functions, hundreds of times slower than ours in C. So we load
the library that it ships and call it directly.
"""

import ctypes
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from unicorn import unicorn_const

from kibi.emulator.architecture import Architecture
from kibi.errors import EmulationError, InternalError

_CPU_MODEL: Final = unicorn_const.UC_CTL_IO_WRITE << 30 | 1 << 26 | unicorn_const.UC_CTL_CPU_MODEL
_SIGNATURES: Final = {
    "uc_open": (ctypes.c_int, ctypes.c_int, ctypes.c_void_p),
    "uc_close": (ctypes.c_void_p,),
    "uc_mem_map": (ctypes.c_void_p, ctypes.c_uint64, ctypes.c_uint64, ctypes.c_uint32),
    "uc_mem_write": (ctypes.c_void_p, ctypes.c_uint64, ctypes.c_char_p, ctypes.c_uint64),
    "uc_mem_read": (ctypes.c_void_p, ctypes.c_uint64, ctypes.c_void_p, ctypes.c_uint64),
    "uc_reg_write": (ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p),
    "uc_reg_read": (ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p),
    "uc_emu_start": (ctypes.c_void_p, ctypes.c_uint64, ctypes.c_uint64, ctypes.c_uint64, ctypes.c_size_t),
}


@lru_cache
def _library() -> ctypes.CDLL:
    spec = find_spec("unicorn")
    folders = [Path(folder) / "lib" for folder in (spec.submodule_search_locations or [] if spec else [])]
    names = sorted(path for folder in folders for path in folder.glob("libunicorn.*") if path.suffix != ".a")
    if not names:
        raise EmulationError("the unicorn package holds no library of its own. Install it by `pip install unicorn`")
    library = ctypes.CDLL(str(names[0]))
    for name, arguments in _SIGNATURES.items():
        getattr(library, name).argtypes = arguments
    library.uc_strerror.restype = ctypes.c_char_p
    return library


class Engine:
    """One emulated processor with its memory."""

    def __init__(self, architecture: Architecture, processor: str) -> None:
        self._library = _library()
        self._handle = ctypes.c_void_p()
        self._check("uc_open", architecture.number, architecture.mode, ctypes.byref(self._handle))
        model = architecture.processors[processor]
        # This function takes variable arguments, so that it has no signature above.
        if self._library.uc_ctl(self._handle, ctypes.c_int(_CPU_MODEL), ctypes.c_int(model)):
            raise InternalError(f"unicorn knows no processor {processor}")

    def __del__(self) -> None:
        if getattr(self, "_handle", None):
            self._library.uc_close(self._handle)

    def _check(self, function: str, *arguments: object) -> None:
        code = getattr(self._library, function)(*arguments)
        if code:
            raise InternalError(f"{function} failed: {self.describe(code)}")

    def describe(self, code: int) -> str:
        """Unicorn's text for an error code."""
        text: bytes = self._library.uc_strerror(code)
        return text.decode()

    def address_of(self, function: str) -> int:
        """The address of one of the library's functions, for native code to call."""
        return ctypes.cast(getattr(self._library, function), ctypes.c_void_p).value or 0

    def map(self, address: int, size_bytes: int, *, writable: bool, executable: bool) -> None:
        """Maps memory for the processor; both numbers are multiples of 4096."""
        rights = unicorn_const.UC_PROT_READ
        rights |= unicorn_const.UC_PROT_WRITE if writable else 0
        rights |= unicorn_const.UC_PROT_EXEC if executable else 0
        self._check("uc_mem_map", self._handle, address, size_bytes, rights)

    def write(self, address: int, data: bytes) -> None:
        """Writes memory, even if it is read-only for the program."""
        self._check("uc_mem_write", self._handle, address, data, len(data))

    def read(self, address: int, size_bytes: int) -> bytes:
        """Reads memory."""
        buffer = ctypes.create_string_buffer(size_bytes)
        self._check("uc_mem_read", self._handle, address, buffer, size_bytes)
        return buffer.raw

    def set_register(self, number: int, value: int) -> None:
        """Writes a register, by unicorn's number."""
        self._check("uc_reg_write", self._handle, number, ctypes.byref(ctypes.c_uint64(value)))

    def register(self, number: int) -> int:
        """Reads a register, by unicorn's number."""
        value = ctypes.c_uint64(0)
        self._check("uc_reg_read", self._handle, number, ctypes.byref(value))
        return value.value

    def add_hook(self, kind: int, function: object, user_data: object) -> None:
        """Adds a native function that is called at each event of a kind, at all addresses."""
        handle = ctypes.c_size_t()
        everywhere = (ctypes.c_uint64(1), ctypes.c_uint64(0))
        code = self._library.uc_hook_add(
            self._handle, ctypes.byref(handle), ctypes.c_int(kind), ctypes.cast(function, ctypes.c_void_p),  # type: ignore[arg-type]
            user_data, *everywhere,
        )  # fmt: skip
        if code:
            raise InternalError(f"uc_hook_add failed: {self.describe(code)}")

    def run(self, address: int, until: int) -> int:
        """Executes until an address is reached or something stops it; returns unicorn's error code, 0 for none."""
        code: int = self._library.uc_emu_start(self._handle, address, until, 0, 0)
        return code
