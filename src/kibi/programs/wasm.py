"""A WebAssembly module in wasmtime: memory, and functions that are called, with limits of both memory and time."""

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import version
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from kibi.emulator import Call
from kibi.errors import EmulationError, ToolchainError
from kibi.targets import Target
from kibi.toolchain import Image
from kibi.used_tools import note_tool

if TYPE_CHECKING:
    from types import ModuleType

STACK_BYTES = 512 * 1024
"""The room of the stack in linear memory. It begins at address 0, so that a deeper stack leaves the memory, and traps."""
MOST_MEMORY_BYTES = 1 << 30
"""The most linear memory that a module gets."""
_PAGE_BYTES = 64 * 1024
_PAINT = 0xC5
_FILL = 0xA5
_GUARD_BYTES = 64
_TRAP = "wasm trap: "
_NO_OPERATORS: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class _Block:
    """A block of linear memory between guards.

    Attributes:
        name: for error texts.
        first, end: with the guards.
        address, size_bytes: without.
    """

    name: str
    first: int
    end: int
    address: int
    size_bytes: int


class WasmProgram:
    """A module that `build_wasm` made, in a store of its own; it has the methods of `kibi.emulator.Core`.

    `instructions` of a call are wasmtime's fuel. The stack is that of linear memory, by its high-water mark: the lowest byte that
    was written; locals that a runtime has in registers, and its own stack, are not in it.

    Args:
        image: the module.
        target: a target of WebAssembly.

    Attributes:
        counted: what `instructions` of a call are.

    Raises:
        ToolchainError: wasmtime is not installed.
        EmulationError: wasmtime refuses the module, or it wants more memory than it gets.
    """

    counted = "fuel"

    def __init__(self, image: Image, target: Target) -> None:
        self._wasmtime: Any = wasmtime()
        note_tool(f"wasmtime {version('wasmtime')}")
        self._image, self._target = image, target
        self._blocks: list[_Block] = []
        try:
            config = self._wasmtime.Config()
            config.consume_fuel = True
            config.parallel_compilation = False
            self._store = self._wasmtime.Store(self._wasmtime.Engine(config))
            self._store.set_limits(memory_size=MOST_MEMORY_BYTES, instances=1, memories=1, tables=1)
            self._store.set_fuel(0)
            module = self._wasmtime.Module(self._store.engine, image.path.read_bytes())
            self._exports = self._wasmtime.Instance(self._store, module, []).exports(self._store)
            self._memory = self._exports["memory"]
            self._free = int(self._exports["__heap_base"].value(self._store))
        except self._wasmtime.WasmtimeError as error:
            raise EmulationError(f"wasmtime refuses the module: {error}") from None

    @property
    def memory_bytes(self) -> int:
        """The linear memory, in whole pages of 64 KiB: stack, constants, variables and blocks."""
        return int(self._memory.data_len(self._store))

    def allocate(
        self, name: str, size_bytes: int, *, alignment: int = 16, is_exact: bool = False, writable: bool = True,
        fill: int | None = None,
    ) -> int:  # fmt: skip
        """Reserves a block of linear memory between guards of 64 bytes; see `kibi.emulator.Core.allocate`.

        A write into a guard is an error of the call. The block can be written, whatever `writable` says.
        """
        del writable
        address = -(-(self._free + _GUARD_BYTES) // alignment) * alignment
        if is_exact and address % (2 * alignment) == 0:
            address += alignment
        block = _Block(name, self._free, address + size_bytes + _GUARD_BYTES, address, size_bytes)
        missing = block.end - self.memory_bytes
        if missing > 0:
            try:
                self._memory.grow(self._store, -(-missing // _PAGE_BYTES))
            except self._wasmtime.WasmtimeError:
                raise EmulationError(
                    f"no memory of {size_bytes:,} bytes for {name}: a module gets {MOST_MEMORY_BYTES:,} at most,"
                ) from None
        self._free = block.end
        self._blocks.append(block)
        self.write(block.first, bytes([_FILL]) * (block.end - block.first))
        if fill is not None:
            self.write(address, bytes([fill]) * size_bytes)
        return address

    def write(self, address: int, data: bytes) -> None:
        """Writes linear memory.

        Raises:
            EmulationError: some of the bytes are outside.
        """
        self._require_inside(address, len(data), "write")
        self._memory.write(self._store, data, address)

    def read(self, address: int, size_bytes: int) -> bytes:
        """Reads linear memory.

        Raises:
            EmulationError: some of the bytes are outside.
        """
        self._require_inside(address, size_bytes, "read")
        return bytes(self._memory.read(self._store, address, address + size_bytes))

    def call(
        self,
        function: str,
        *arguments: int,
        operators: Mapping[str, str] = _NO_OPERATORS,
        instruction_limit: int = 10_000_000_000,
    ) -> Call:
        """Calls an exported function; see `kibi.emulator.Core.call`. All fuel is that of the label "".

        Raises:
            EmulationError: no such function; it trapped, as an access outside of memory traps; it wrote beside a block; or it took
                all of its fuel. The module can be called again.
        """
        del operators
        store, exports = self._store, self._exports
        if function not in exports:
            raise EmulationError(f"the module exports no function {function!r}")
        # Once in one piece: lower bytes that an earlier call wrote do not count for this one.
        self.write(0, bytes([_PAINT]) * STACK_BYTES)
        store.set_fuel(instruction_limit)
        signed = [(each + (1 << 31)) % (1 << 32) - (1 << 31) for each in arguments]
        try:
            value = exports[function](store, *signed)
        except (self._wasmtime.Trap, self._wasmtime.WasmtimeError) as error:
            if store.get_fuel() == 0:
                raise EmulationError(f"no end after {instruction_limit} units of fuel", function=function) from None
            raise EmulationError(f"the module trapped: {_reason(error)},", function=function) from None
        fuel = instruction_limit - store.get_fuel()
        self._check_blocks(function)
        stack = self.read(0, STACK_BYTES).lstrip(bytes([_PAINT]))
        return Call(
            value=(value or 0) & 0xFFFF_FFFF,
            instructions=fuel,
            by_operator=MappingProxyType({"": fuel}),
            stack_bytes=len(stack),
            cycles_estimate=None,
            spent=None,
        )

    def _check_blocks(self, function: str) -> None:
        for each in self._blocks:
            after = each.address + each.size_bytes
            for start, end in ((each.first, each.address), (after, each.end)):
                if self.read(start, end - start).strip(bytes([_FILL])):
                    raise EmulationError(f"forbidden write beside {each.name}", function=function, address=start)

    def _require_inside(self, address: int, size_bytes: int, what: str) -> None:
        if not 0 <= address <= address + size_bytes <= self.memory_bytes:
            raise EmulationError(f"{what} of {size_bytes:,} bytes outside of linear memory", address=address)


def wasmtime() -> "ModuleType":
    """The runtime.

    Raises:
        ToolchainError: it is not installed.
    """
    try:
        found = import_module("wasmtime")  # an extra, of those who run WebAssembly
    except ImportError as error:
        raise ToolchainError(
            f"WebAssembly runs in wasmtime, which cannot be imported ({error}). Install it by `pip install 'kibi[wasm]'`."
        ) from None
    return found


def _reason(error: Exception) -> str:
    """The cause of a trap, without the list of functions."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    cause = next((line for line in lines if _TRAP in line), lines[-1] if lines else "without a reason")
    return cause.rpartition(_TRAP)[2]
