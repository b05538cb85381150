"""A program for Linux in a process of its own, under QEMU or on this machine: memory, and functions that are called."""

import contextlib
import os
import platform
import shutil
import signal
import struct
import subprocess
import sys
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import IO

from kibi.emulator import Call
from kibi.errors import EmulationError, ToolchainError
from kibi.programs.qemu_command import plugin_interface, qemu_path, version_text
from kibi.targets import Target
from kibi.toolchain import Image, build_shared, host_compiler
from kibi.toolchain.cache import checked_copy
from kibi.used_tools import note_tool, noting_tools

SERVER = Path(__file__).parent / "kibi_server.c"
_COUNTER = Path(__file__).parent / "counter.c"
_MAP, _READ, _WRITE, _CALL = 1, 2, 3, 4
_REQUEST = struct.Struct("<8Q")
_REPLY = struct.Struct("<2Q")
_ARGUMENTS = 4
_PAGE_BYTES = 64 * 1024
"""What every Linux can give and protect, whatever its pages are."""
_STACK_BYTES = 512 * 1024
_MASKED_BYTES = 32
"""The vector of AVX2. QEMU's masked loads read all of it, where the processor reads only what the mask selects."""
_FILL = 0xA5
_WORD = _AT_LIMIT = (1 << 64) - 1
_NO_OPERATORS: Mapping[str, str] = MappingProxyType({})
_PROCESSORS = {
    "aarch64": ("qemu-aarch64", "cortex-a53", ("aarch64", "arm64")),
    "arm": ("qemu-arm", "cortex-a7", ()),
    "x86_64": ("qemu-x86_64", "max", ("x86_64", "AMD64")),
    "riscv64": ("qemu-riscv64", "rv64", ("riscv64",)),
}
"""By the architecture: QEMU's command, its name of a processor, and what Python calls a machine of that kind."""


@dataclass(frozen=True, slots=True)
class _Block:
    """Memory between pages that cannot be accessed.

    Attributes:
        name: for error texts.
        first, end: the pages.
        address, size_bytes: what the program may use of them.
    """

    name: str
    first: int
    end: int
    address: int
    size_bytes: int


class LinuxProgram:
    """A program that `build_linux` made with Kibi's server, in a process; it has the methods of `kibi.emulator.Core`.

    Under QEMU a plugin counts instructions, where QEMU takes plugins: one for each that is executed. Without it, `instructions` of
    every call is 0, and `counted` is empty. The stack is measured by its high-water mark: the lowest byte that was written.

    Args:
        image: the program.
        target: a target of Linux.
        is_counted: True to run it under QEMU, which counts, on a machine of the target's own kind, too, where QEMU is installed.

    Raises:
        ToolchainError: this machine does not run such programs, and QEMU is not installed; or the program does not start.
    """

    def __init__(self, image: Image, target: Target, *, is_counted: bool = True) -> None:
        self._image, self._target = image, target
        self._blocks: list[_Block] = []
        self._operators: Mapping[str, str] | None = None
        self._labels: tuple[str, ...] = ("",)
        self._function = ""
        qemu = qemu_for(target, is_counted=is_counted)
        self._spare_bytes = _MASKED_BYTES if qemu is not None and _architecture(target) == "x86_64" else 0
        self._counts: _Counts | None = None
        if qemu is not None:
            note_tool(version_text(qemu))
            if is_counted and (plugin := _plugin(qemu)) is not None:
                self._counts = _Counts(plugin)
        try:
            self._process = self._started(qemu)
        except EmulationError:
            if self._counts is None:
                raise
            self._counts = None  # a QEMU that takes no plugins
            self._process = self._started(qemu)
        self._stack = self._map("stack", _STACK_BYTES)

    @property
    def counted(self) -> str:
        """What `instructions` of a call are; empty if nothing counts them."""
        return "" if self._counts is None else "instructions"

    def allocate(
        self, name: str, size_bytes: int, *, alignment: int = 16, is_exact: bool = False, writable: bool = True,
        fill: int | None = None,
    ) -> int:  # fmt: skip
        """Reserves a block of memory between pages that cannot be accessed; see `kibi.emulator.Core.allocate`.

        The block ends where its pages do, or as near to it as its alignment allows; for x86-64 in QEMU, a vector before that. It
        can be written, whatever `writable` says.
        """
        del writable
        place = self._map(name, max(size_bytes, 1) + 2 * alignment + self._spare_bytes)
        address = (place.end - self._spare_bytes - size_bytes) & -alignment
        if is_exact and address % (2 * alignment) == 0:
            address -= alignment
        self._blocks.append(_Block(name, place.first, place.end, address, size_bytes))
        self.write(place.first, bytes([_FILL]) * (place.end - place.first))
        if fill is not None:
            self.write(address, bytes([fill]) * size_bytes)
        return address

    def write(self, address: int, data: bytes) -> None:
        """Writes memory.

        Raises:
            EmulationError: the program has ended.
        """
        self._ask(_WRITE, address, len(data), data=bytes(data))

    def read(self, address: int, size_bytes: int) -> bytes:
        """Reads memory.

        Raises:
            EmulationError: the program has ended.
        """
        self._ask(_READ, address, size_bytes)
        return self._received(size_bytes)

    def call(
        self,
        function: str,
        *arguments: int,
        operators: Mapping[str, str] = _NO_OPERATORS,
        instruction_limit: int = 10_000_000_000,
    ) -> Call:
        """Calls a function; see `kibi.emulator.Core.call`.

        An operator's function counts until it returns where it was called from. Without a counter there is no limit.

        Raises:
            EmulationError: no such function; the program ended, as a forbidden access ends it; it wrote beside a block; or the
                limit was reached. After an end, the program cannot be called again.
        """
        if function not in self._image.symbols:
            raise EmulationError(f"the program has no function {function!r}")
        if len(arguments) > _ARGUMENTS:
            raise EmulationError(f"a function with {len(arguments)} arguments, where the server passes {_ARGUMENTS},")
        if not self._end.alive:
            raise self._stopped()
        self._function = function
        if self._counts is not None:
            self._counts.send(instruction_limit, self._new_pairs(operators))
        given = [*(each & _WORD for each in arguments), *[0] * (_ARGUMENTS - len(arguments))]
        stack = self._stack
        value, used = self._ask(
            _CALL, self._image.symbols[function].address, stack.first, stack.end - stack.first, *given
        )
        counted = (0, *[0] * len(self._labels)) if self._counts is None else self._counts.receive(len(self._labels))
        self._check_blocks(function)
        return Call(
            value=value & ((1 << 8 * self._target.pointer_bytes) - 1),
            instructions=counted[0],
            by_operator=MappingProxyType(dict(zip(self._labels, counted[1:], strict=True))),
            stack_bytes=used,
            cycles_estimate=None,
            spent=None,
        )

    def close(self) -> None:
        """Ends the process; a second call does nothing."""
        self._end()

    def _new_pairs(self, operators: Mapping[str, str]) -> Sequence[int]:
        """Addresses of operators' functions and the numbers of their labels, where they are others than in the last call."""
        if operators == self._operators:
            return ()
        self._operators = dict(operators)
        symbols = self._image.symbols
        found = {symbols[name].address: label for name, label in operators.items() if label and name in symbols}
        self._labels = ("", *dict.fromkeys(found.values()))
        numbers = {label: number for number, label in enumerate(self._labels)}
        pairs = [word for address, label in found.items() for word in (address, numbers[label])]
        return pairs or (0, 0)  # one that no block has: earlier ones are forgotten

    def _map(self, name: str, size_bytes: int) -> _Block:
        size = -(-size_bytes // _PAGE_BYTES) * _PAGE_BYTES
        first, _ = self._ask(_MAP, size, _PAGE_BYTES)
        if not first:
            raise EmulationError(f"no memory of {size_bytes:,} bytes for {name}")
        return _Block(name, first, first + size, first, size)

    def _check_blocks(self, function: str) -> None:
        """Raises an error if a byte of a block's pages was written that is not its own."""
        for each in self._blocks:
            after = each.address + each.size_bytes
            for start, end in ((max(each.first, each.address - _PAGE_BYTES), each.address), (after, each.end)):
                if self.read(start, end - start).strip(bytes([_FILL])):
                    raise EmulationError(f"forbidden write beside {each.name}", function=function, address=start)

    def _started(self, qemu: str | None) -> "subprocess.Popen[bytes]":
        """Starts the program, and waits for its first answer, after which no file is needed any more."""
        counts = self._counts
        with contextlib.ExitStack() as held:
            program = held.enter_context(checked_copy(self._image.path))
            program.chmod(0o700)
            command: list[str] = [str(program)]
            passed: tuple[int, ...] = ()
            if qemu is not None:
                processor = _PROCESSORS[_architecture(self._target)][1]
                plugin: Sequence[str] = ()
                if counts is not None:
                    returned = self._image.symbols["kibi_returned"].address
                    library = held.enter_context(checked_copy(counts.library))
                    # QEMU divides its argument at commas; names in the folder have none.
                    table = program.parent / "table"
                    table.write_bytes(struct.pack("<3Q", returned, *counts.files))
                    shutil.copyfile(library, program.parent / "counter.so")
                    plugin, passed = ("-plugin", "./counter.so,table=table"), counts.files
                command = [qemu, "-cpu", processor, *plugin, str(program)]
            process = self._process = _opened(command, program.parent, passed)
            self._end = weakref.finalize(self, _ended, process, *([counts.close] if counts is not None else []))
            if counts is not None:
                counts.is_shared()
            try:
                self._ask(_READ, 0, 0)
            except EmulationError:
                self._end()
                raise
        return process

    def _ask(self, what: int, *arguments: int, data: bytes = b"") -> tuple[int, int]:
        """Sends a request, and returns the reply."""
        request = _REQUEST.pack(what, *arguments, *[0] * (7 - len(arguments)))
        try:
            pipe = _pipe(self._process.stdin)
            pipe.write(request)
            pipe.write(data)
            pipe.flush()
        except (OSError, ValueError):
            raise self._stopped() from None
        value, used = _REPLY.unpack(self._received(_REPLY.size))
        return value, used

    def _received(self, size_bytes: int) -> bytes:
        try:
            data = _pipe(self._process.stdout).read(size_bytes)
        except ValueError:  # the pipe is closed
            raise self._stopped() from None
        if len(data) != size_bytes:
            raise self._stopped()
        return data

    def _stopped(self) -> EmulationError:
        """The error for a program that ended, or is not understood and ended now."""
        code = self._process.wait()
        symbol = self._image.symbols.get(self._function)
        at = symbol.address if symbol else 0
        if self._counts is not None and self._counts.is_at_limit(len(self._labels)):
            what = "no end after the most instructions that the call may take,"
        else:
            how = f"by {signal.Signals(-code).name}" if code < 0 else f"with exit code {code}"
            what = f"the program for {self._target.name} ended {how},"
            what += " as a forbidden access ends it," if -code in (signal.SIGSEGV, signal.SIGBUS) else ""
        self._end()
        return EmulationError(what, function=self._function, address=at)


class _Counts:
    """The pipes to and from the plugin.

    Args:
        library: the plugin, in the cache.
    """

    def __init__(self, library: Path) -> None:
        self.library = library
        self._theirs_in, self._out = os.pipe()
        self._in, self._theirs_out = os.pipe()
        self.files = (self._theirs_in, self._theirs_out)

    def is_shared(self) -> None:
        """The other process has its ends, which are closed here."""
        for file in self.files:
            os.close(file)

    def send(self, limit: int, pairs: Sequence[int]) -> None:
        """Says what the next call may take, and which functions are operators'."""
        data = struct.pack(f"<{2 + len(pairs)}Q", limit, len(pairs) // 2, *pairs)
        with contextlib.suppress(BrokenPipeError):  # the program has ended, as the next request finds
            while data:
                data = data[os.write(self._out, data) :]

    def receive(self, labels: int) -> tuple[int, ...]:
        """What the last call took: all instructions, and those of each label."""
        size, data = 8 * (1 + labels), b""
        while len(data) < size:
            piece = os.read(self._in, size - len(data))
            if not piece:
                return (0,) * (1 + labels)
            data += piece
        return struct.unpack(f"<{1 + labels}Q", data)

    def is_at_limit(self, labels: int) -> bool:
        """True if a process that ended had reached the limit."""
        try:
            return self.receive(labels)[0] == _AT_LIMIT
        except OSError:
            return False

    def close(self) -> None:
        """Closes the pipes."""
        for file in (self._in, self._out):
            os.close(file)


def qemu_for(target: Target, *, is_counted: bool = True) -> str | None:
    """Returns the path of QEMU's command for a target; None where this machine runs its programs by itself.

    Args:
        target: a target of Linux.
        is_counted: True to take QEMU on a machine of the target's own kind, too, where it is installed.

    Raises:
        ToolchainError: QEMU is not installed, and this machine does not run such programs.
    """
    command, _, machines = _PROCESSORS[_architecture(target)]
    is_native = sys.platform == "linux" and platform.machine() in machines
    if is_native and not (is_counted and shutil.which(command)):
        return None
    return qemu_path(command, "qemu-user", f"programs for {target.name} do not run on this machine by themselves, and ")


def _architecture(target: Target) -> str:
    return target.zig_target.partition("-")[0]


def _plugin(qemu: str) -> Path | None:
    """The plugin that counts, compiled for a QEMU; None where there is no compiler for this machine, or no Linux."""
    if not sys.platform.startswith("linux"):
        return None
    with noting_tools():  # what compiles Kibi's own helpers is no part of a report
        # The functions that are used here are the same in both interfaces.
        flags = [f"-DKIBI_PLUGIN_VERSION={plugin_interface(qemu)}"]
        return build_shared([_COUNTER], compiler=host_compiler(), flags=flags)


def _opened(command: Sequence[str], folder: Path, files: Sequence[int]) -> "subprocess.Popen[bytes]":
    try:
        return subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            cwd=folder,
            pass_fds=files,
            start_new_session=True,  # Ctrl-C is for this process, which ends its children
        )
    except OSError as error:
        raise ToolchainError(f"the program does not start: {error.strerror}", list(command)) from error


def _ended(process: "subprocess.Popen[bytes]", *closing: Callable[[], None]) -> None:
    """Ends a process, and closes what belongs to it."""
    if process.poll() is None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            process.kill()
    process.wait()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            with contextlib.suppress(OSError):
                pipe.close()
    for close in closing:
        close()


def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    if pipe is None:
        raise ValueError
    return pipe
