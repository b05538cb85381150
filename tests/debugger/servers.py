"""GDB servers for tests: one that says what a function tells it to, and one with an emulated core, flash and a cycle counter."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import unicorn
from unicorn import arm_const, unicorn_const

from kibi.debugger.packets import decoded, framed

CUT = b"\xff cut"
"""The answer that cuts the connection."""
SILENCE = b"\xff silence"
"""The answer that is none."""
RAW = b"\xff raw"
"""Before bytes that are sent as they are, without a frame."""
Answer = Callable[[bytes], bytes]


class Scripted:
    """A server for one connection after the other, in a thread.

    Args:
        answer: gives the payload of the answer to a payload.
    """

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.heard: list[bytes] = []
        """All payloads, and an interrupt as `\\x03`."""
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.name = f"127.0.0.1:{self._listening.getsockname()[1]}"
        self._stream: socket.socket | None = None
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Ends the server."""
        with suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)  # wakes the thread, which closing does not
        self._listening.close()
        if self._stream is not None:
            with suppress(OSError):
                self._stream.shutdown(socket.SHUT_RDWR)
        self._thread.join(10)

    def send(self, data: bytes) -> None:
        """Sends bytes as they are."""
        if self._stream is not None:
            self._stream.sendall(data)

    def _serve(self) -> None:
        with suppress(OSError):
            while True:
                self._stream, _ = self._listening.accept()
                self._stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                with self._stream, suppress(OSError):
                    self._talk(self._stream)

    def _talk(self, stream: socket.socket) -> None:
        unread, acknowledges = b"", True
        while data := stream.recv(1 << 16):
            unread += data
            while unread:
                if unread[:1] in b"+-":
                    unread = unread[1:]
                    continue
                size = 1 if unread[:1] == b"\x03" else unread.find(b"#") + 3
                if size == 2 or size > len(unread):
                    break
                payload = b"\x03" if size == 1 else decoded(unread[1 : size - 3])
                unread = unread[size:]
                self.heard.append(payload)
                if size > 1 and acknowledges:
                    stream.sendall(b"+")
                told = self.answer(payload)
                acknowledges = acknowledges and (payload, told) != (b"QStartNoAckMode", b"OK")
                if told == CUT:
                    return
                if told != SILENCE:
                    stream.sendall(told.removeprefix(RAW) if told.startswith(RAW) else framed(told))


@contextmanager
def scripted(answer: Answer) -> Iterator[Scripted]:
    """A server, ended after the block."""
    server = Scripted(answer)
    try:
        yield server
    finally:
        server.close()


_UNICORN: Any = unicorn  # without types
_CPUID, _VTOR, _CPACR, _CFSR, _HFSR, _BFAR = (
    0xE000ED00, 0xE000ED08, 0xE000ED88, 0xE000ED28, 0xE000ED2C, 0xE000ED38,
)  # fmt: skip
_DEMCR, _DWT_CTRL, _CYCCNT = 0xE000EDFC, 0xE0001000, 0xE0001004
_HARD_FAULT = 3
_NAMES = (*(f"r{number}" for number in range(13)), "sp", "lr", "pc", "xpsr")
_REGISTERS = (
    *(arm_const.UC_ARM_REG_R0 + number for number in range(13)),
    arm_const.UC_ARM_REG_SP, arm_const.UC_ARM_REG_LR, arm_const.UC_ARM_REG_PC, arm_const.UC_ARM_REG_XPSR,
)  # fmt: skip
M0PLUS, M3 = 0x410C_C601, 0x412F_C231
FLASH, RAM = 0x0800_0000, 0x2000_0000
BLOCK = 1024


class Board:
    """A board with 64 KiB of flash in blocks and 20 KiB of RAM, whose counter counts each instruction that is executed as a cycle.

    It is the `answer` of a `Scripted` server. A fault enters the handler that its vectors name.

    Args:
        cpuid: what the core says it is: by default a Cortex-M3.
        breakpoint_slots: how many breakpoints the core has.
        counts: False for a cycle counter that does not count.

    Attributes:
        breakpoints: the places where it stops.
        is_running: True between a command to run and the stop.
        erased: how many blocks of flash were erased.
        monitored: the commands of the server's own that came.
    """

    def __init__(self, *, cpuid: int = M3, breakpoint_slots: int = 6, counts: bool = True) -> None:
        self.breakpoints = set[int]()
        self.is_running, self.erased, self.monitored = False, 0, list[bytes]()
        self._cpuid, self._slots, self._counts, self._number, self._cycles = cpuid, breakpoint_slots, counts, 0, 0
        self._core: Any = _UNICORN.Uc(
            unicorn_const.UC_ARCH_ARM, unicorn_const.UC_MODE_THUMB | unicorn_const.UC_MODE_MCLASS
        )
        self._core.ctl_set_cpu_model(
            arm_const.UC_CPU_ARM_CORTEX_M0 if cpuid == M0PLUS else arm_const.UC_CPU_ARM_CORTEX_M3
        )
        self._core.mem_map(FLASH, 64 * 1024)
        self._core.mem_map(RAM, 20 * 1024)
        self._core.mem_map(0xE000_0000, 0x10000)
        self._core.mem_write(FLASH, b"\xff" * 64 * 1024)
        self._core.hook_add(unicorn_const.UC_HOOK_CODE, self._step)
        self.limit = 2_000_000
        self._left, self._is_first, self._stopped_at = 0, True, -1

    def __call__(self, payload: bytes) -> bytes:
        """The answer to a packet."""
        kind = payload[:1]
        if self.is_running and kind != b"\x03":
            return SILENCE
        match kind:
            case b"m":
                address, size = (int(each, 16) for each in payload[1:].split(b","))
                return self._guarded(lambda: self._read(address, size).hex().encode())
            case b"X" | b"M":
                head, _, data = payload[1:].partition(b":")
                address = int(head.split(b",")[0], 16)
                return self._guarded(
                    lambda: self._write(address, data if kind == b"X" else bytes.fromhex(data.decode()))
                )
            case b"p":
                return self.register(int(payload[1:], 16)).to_bytes(4, "little").hex().encode()
            case b"P":
                number, value = payload[1:].split(b"=")
                self._core.reg_write(
                    _REGISTERS[int(number, 16)], int.from_bytes(bytes.fromhex(value.decode()), "little")
                )
                return b"OK"
            case b"Z" | b"z":
                return self._breakpoint(kind == b"Z", int(payload[3:].split(b",")[0], 16))
            case b"c":
                return self._continue()
            case b"\x03":
                self.is_running = False
                return b"T02"
            case b"?":
                return b"S05"
            case _:
                return self._other(payload)

    def register(self, number: int) -> int:
        """A register by the number that the board describes."""
        value = int(self._core.reg_read(_REGISTERS[number]))
        return value & ~0x1FF | self._number if _NAMES[number] == "xpsr" else value

    @property
    def pc(self) -> int:
        """Where the core is."""
        return self.register(_NAMES.index("pc"))

    def _other(self, payload: bytes) -> bytes:
        if payload.startswith(b"qSupported"):
            return b"PacketSize=200;qXfer:features:read+;qXfer:memory-map:read+;QStartNoAckMode+"
        if payload.startswith(b"qXfer:features:read:target.xml:"):
            return _part('<target><xi:include href="core.xml"/></target>', payload)
        if payload.startswith(b"qXfer:features:read:core.xml:"):
            registers = "".join(f'<reg name="{name}" bitsize="32"/>' for name in _NAMES)
            return _part(f"<feature>{registers}</feature>", payload)
        if payload.startswith(b"qXfer:memory-map:read::"):
            flash = f'<memory type="flash" start="{FLASH:#x}" length="0x10000"><property name="blocksize">{BLOCK}</property>'
            return _part(
                f'<memory-map>{flash}</memory><memory type="ram" start="0x20000000" length="0x5000"/></memory-map>',
                payload,
            )
        if payload.startswith(b"vFlashErase:"):
            address, size = (int(each, 16) for each in payload.partition(b":")[2].split(b","))
            if address % BLOCK or size % BLOCK:
                return b"E01"
            self.erased += size // BLOCK
            self._core.mem_write(address, b"\xff" * size)
            return b"OK"
        if payload.startswith(b"vFlashWrite:"):
            address_text, _, data = payload[len(b"vFlashWrite:") :].partition(b":")
            self._core.mem_write(int(address_text, 16), data)
            return b"OK"
        if payload.startswith(b"qRcmd,"):
            self.monitored.append(bytes.fromhex(payload[6:].decode()))
            return RAW + framed(b"O" + b"resetting\n".hex().encode()) + framed(b"OK")
        return b"OK" if payload in (b"QStartNoAckMode", b"vFlashDone") else b""

    def _guarded(self, access: Callable[[], bytes]) -> bytes:
        try:
            return access()
        except _UNICORN.UcError:
            return b"E0e"

    def _read(self, address: int, size: int) -> bytes:
        known = {
            _CPUID: self._cpuid, _CYCCNT: self._cycles if self._counts else 0, _CFSR: 0x8200 if self._number else 0,
            _HFSR: 0x4000_0000 if self._number else 0, _BFAR: 0xDEAD_BEE0,
        }  # fmt: skip
        if address in known and size == 4:
            return (known[address] & 0xFFFF_FFFF).to_bytes(4, "little")
        return bytes(self._core.mem_read(address, size))

    def _write(self, address: int, data: bytes) -> bytes:
        if address >> 28 != RAM >> 28:
            return b"E01" if data else b"OK"  # flash takes no plain writes, and registers are hidden from the debugger
        self._core.mem_write(address, data)
        return b"OK"

    def _breakpoint(self, is_set: bool, address: int) -> bytes:
        if is_set and len(self.breakpoints | {address}) > self._slots:
            return b"E0e"
        (self.breakpoints.add if is_set else self.breakpoints.discard)(address)
        return b"OK"

    def _step(self, core: Any, address: int, _size: int, _data: object) -> None:
        if self._left <= 0 or (address in self.breakpoints and not self._is_first):
            self._stopped_at = address
            core.emu_stop()
            return
        self._is_first = False
        self._left -= 1
        self._cycles += 1

    def _continue(self) -> bytes:
        self._is_first, self._left, self.is_running = True, self.limit, True
        while True:
            self._stopped_at = -1
            try:
                self._core.emu_start(self.pc | 1, 0xFFFF_FFFE)
            except _UNICORN.UcError:
                self._fault()
                continue
            break
        self._core.reg_write(arm_const.UC_ARM_REG_PC, self._stopped_at)
        if self._left <= 0:
            return SILENCE
        self.is_running = False
        return RAW + framed(b"O" + b"hello".hex().encode()) + framed(b"T05hwbreak:;")

    def _fault(self) -> None:
        """Puts registers on the stack and goes to the handler, as the core does."""
        stack = self.register(_NAMES.index("sp")) - 32
        names = ("r0", "r1", "r2", "r3", "r12", "lr", "pc", "xpsr")
        frame = b"".join(self.register(_NAMES.index(name)).to_bytes(4, "little") for name in names)
        self._core.mem_write(stack, frame)
        self._core.reg_write(arm_const.UC_ARM_REG_SP, stack)
        vectors = int.from_bytes(self._core.mem_read(_VTOR, 4), "little")
        handler = int.from_bytes(self._core.mem_read(vectors + 4 * _HARD_FAULT, 4), "little")
        self._core.reg_write(arm_const.UC_ARM_REG_PC, handler & ~1)
        self._number, self._is_first = _HARD_FAULT, False


def _part(text: str, payload: bytes) -> bytes:
    """The part of a description that a packet asks for."""
    start, size = (int(each, 16) for each in payload.rpartition(b":")[2].split(b","))
    part = text[start : start + size].encode()
    return (b"l" if start + size >= len(text) else b"m") + part
