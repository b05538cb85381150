"""Devices that say what no measuring program says: each is told in words, in bounded time, and nothing is reported in part."""

import os
import random
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import kibi
from kibi.codegen import Library
from kibi.errors import BoardError, EmulationError, InputError
from kibi.packages.serial import serial_functions
from kibi.reports import board_run
from kibi.reports.board_run import BoardRun
from kibi.reports.measurement import Measurement
from kibi.serial_line import PortPlace, SerialSession, session
from kibi.serial_line.frames import MOST_SKIPPED, BrokenFrameError, Frame, Line, SilenceError
from tests.engines.networks import residual_network
from tests.serial_line.devices import CALL, HELLO, OPERATORS, READ, REFUSED, STARTED, WRITE, Answer, Device, SocketPort

M0PLUS = 0x410C_C601


@pytest.fixture(scope="module")
def on_m3(tmp_path_factory: pytest.TempPathFactory) -> tuple[Library, Measurement]:
    """A small network for the Cortex-M3, and what it takes on the emulated core."""
    library = kibi.compile(residual_network(4, 3, 2), None, tmp_path_factory.mktemp("m3"), target="cortex-m3")
    return library, kibi.measure(library, oracle=False)


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Waits are short."""
    monkeypatch.setattr(session, "_SECONDS", 0.2)
    monkeypatch.setattr(session, "_GREETING_EVERY", 0.1)


def _run(
    on_m3: tuple[Library, Measurement], monkeypatch: pytest.MonkeyPatch, answer: Answer | None, **other: int | str
) -> BoardRun:
    """What a device says, reported."""
    library, measured = on_m3
    digest, core = str(other.get("digest", library.code_digest)), int(other.get("core", 0x412F_C231))
    device = Device(digest, len(serial_functions(library, library.model)), answer, core)

    @contextmanager
    def greeted(place: PortPlace) -> Iterator[SerialSession]:
        line = Line(device.port, str(place))
        try:
            yield SerialSession(line, 10_000_000, 0.5)
        finally:
            line.close()

    monkeypatch.setattr(board_run, "greeted", greeted)
    return board_run.run_over_serial(library, kibi.board("mps2-an385"), "COM3", measured, seconds=0.2)


def test_device_that_answers_is_reported(on_m3: tuple[Library, Measurement], monkeypatch: pytest.MonkeyPatch) -> None:
    """Its bits are wrong, its figures are what it told; noise before and between frames does not matter."""

    def noisy(device: Device, request: Frame) -> bytes:
        return b"boot 1.0\r\n\xc5" + device.proper(request)

    for answer in (None, noisy):
        run = _run(on_m3, monkeypatch, answer)
        assert (run.bit_exact, run.cycles, run.stack_bytes, run.uncounted) == (False, 1000, 100, "")
        assert [each.cycles for each in run.ops] == [1, 2, 3, 4]
        assert (run.core, run.server, run.loaded_into) == ("Cortex-M3 r2p1", "COM3", "firmware")


def _instead(kind: int, wire: bytes | None) -> Answer:
    """The answer to requests of a kind; others are answered as they should be."""
    return lambda device, request: wire if request.kind == kind else device.proper(request)


def _told(kind: int, content: bytes) -> Answer:
    """The content of the answer to requests of a kind."""
    return lambda device, request: (
        Frame(kind | 0x80, request.number, content).wire if request.kind == kind else device.proper(request)
    )


def _greeting(**changed: int) -> Answer:
    return lambda device, request: (
        Frame(HELLO | 0x80, request.number, device.greeting(**changed)).wire
        if request.kind == HELLO
        else device.proper(request)
    )


def _pointing(device: Device, request: Frame) -> bytes:
    """Outputs are where no memory is."""
    if request.kind != CALL or request.content[0] % device.functions != 2:
        return device.proper(request)
    return Frame(CALL | 0x80, request.number, b"\xff" * 4 + bytes(12)).wire


def _broken(device: Device, request: Frame) -> bytes:
    wire = bytearray(device.proper(request))
    wire[-1] ^= request.kind == CALL
    return bytes(wire)


def _cut(device: Device, request: Frame) -> bytes:
    return device.proper(request)[: 9 if request.kind == READ else None]


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (_instead(HELLO, b""), "no measuring program answers at COM3, at 10,000,000 baud. Build the one"),
        (_instead(HELLO, b"login: " * 9), "no measuring program answers"),
        (_instead(CALL, b"U" * (MOST_SKIPPED + 9)), "sends other bytes than the measuring program"),
        (_instead(HELLO, None), "the serial port COM3 failed"),
        (_told(HELLO, b"\x02\x00"), "is of another version of Kibi. Write it again by --serial-program"),
        (_told(HELLO, b"\x01\x00" + bytes(20)), "gave the greeting that makes no sense"),
        (_greeting(content=0), "the greeting that makes no sense"),
        (_greeting(pointer=9), "the greeting that makes no sense"),
        (_greeting(operators=1 << 31), "the greeting that makes no sense"),
        (_greeting(memory=0xFFFF_FFFF), "the greeting that makes no sense"),
        (_greeting(memory_bytes=16), "has 16 bytes for the model, and arena ends after them"),
        (_greeting(stack=90), "gave a call that makes no sense"),
        (_greeting(stack=100), "the stack of 100 bytes .* is too small, .*KIBI_SERIAL_STACK_BYTES=200"),
        (_instead(CALL, b""), "fell silent: a call did not end"),
        (_instead(WRITE, b""), "fell silent: it does not answer any more"),
        (_cut, "fell silent: it does not answer any more"),
        (_instead(CALL, None), "the serial port COM3 failed"),
        (_instead(CALL, Frame(STARTED, 0).wire), "has begun anew in the middle: see its watchdog"),
        (_instead(CALL, Frame(REFUSED, 1, b"\x03").wire), "refused a request: it has begun anew"),
        (_instead(READ, Frame(REFUSED, 1, b"\x01").wire), "a frame arrived broken"),
        (_instead(READ, Frame(REFUSED, 1).wire), "for a reason that Kibi does not know"),
        (_instead(READ, Frame(READ | 0x80, 0).wire * 99), "sends answers that were not asked for"),
        (_broken, "a frame of 16 bytes with a wrong check sum. The line is bad"),
        (_instead(CALL, b"\xc5\x4b\x84\x01\xff\xff"), "a frame of 65,535 bytes; 4,096 are the most"),
        (_told(READ, bytes(3)), "gave an answer that makes no sense"),
        (_pointing, "gave the address 0xffffffff that makes no sense"),
        (_told(CALL, bytes(17)), "gave an answer that makes no sense"),
        (_told(CALL, b"\xff" * 8 + bytes(8)), "gave a call that makes no sense"),
        (_told(OPERATORS, bytes(12)), "gave an answer that makes no sense"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_what_a_device_says_wrong_is_told(
    on_m3: tuple[Library, Measurement], monkeypatch: pytest.MonkeyPatch, answer: Answer, problem: str
) -> None:
    """With what to do."""
    with pytest.raises(BoardError, match=re.compile(problem)):
        _run(on_m3, monkeypatch, answer)


def test_other_library_and_other_core_are_told(
    on_m3: tuple[Library, Measurement], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before anything is run."""
    with pytest.raises(
        BoardError, match="has another library than this model, with these options, gives: its digest is 0000"
    ):
        _run(on_m3, monkeypatch, None, digest="00" * 32)
    with pytest.raises(BoardError, match=r"COM3 has Cortex-M0\+ r0p1, but the program is for cortex-m3"):
        _run(on_m3, monkeypatch, None, core=M0PLUS)


@pytest.mark.parametrize("seed", range(6))
def test_random_bytes_end_in_an_error_soon(
    on_m3: tuple[Library, Measurement], monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """Instead of one of the answers, or mixed into one."""
    dice = random.Random(seed)
    first = dice.randrange(1, 12)

    def answer(device: Device, request: Frame) -> bytes:
        wire = bytearray(device.proper(request))
        if device.requests >= first:
            for _ in range(dice.randrange(1, 5)):
                wire[dice.randrange(len(wire))] = dice.randrange(256)
        return bytes(wire[: dice.randrange(1, len(wire) + 1)])

    began = time.monotonic()
    with pytest.raises((BoardError, EmulationError)):
        _run(on_m3, monkeypatch, answer)
    assert time.monotonic() - began < 10


class _Bytes:
    """A port that has had its last byte."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.timeout: float | None = None
        self.write_timeout: float | None = None

    def read(self, size: int, /) -> bytes:
        data, self._data = self._data[:size], self._data[size:]
        return data

    def write(self, data: bytes, /) -> None:
        self._data += data

    def close(self) -> None:
        self._data = b""


@given(st.integers(0, 255), st.integers(0, 255), st.binary(max_size=300), st.binary(max_size=40))
def test_frames_are_read_as_they_were_sent(kind: int, number: int, content: bytes, noise: bytes) -> None:
    """After bytes that are no mark."""
    frame = Frame(kind, number, content)
    port = _Bytes(noise.replace(b"\xc5", b"") + frame.wire)
    assert Line(port, "a port").receive(time.monotonic() + 5) == frame


@given(st.binary(max_size=200))
def test_any_bytes_are_a_frame_or_an_error(data: bytes) -> None:
    """Of the two kinds that the greeting expects."""
    with pytest.raises((SilenceError, BrokenFrameError)):
        Line(_Bytes(b"\xc5\x4b" + data), "a port").receive(time.monotonic() + 0.002)


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("/dev/ttyACM0", PortPlace("/dev/ttyACM0", 115_200)), ("COM3:9600", PortPlace("COM3", 9600)),
        ("socket://localhost:5555", PortPlace("socket://localhost:5555")), ("/dev/a:b", PortPlace("/dev/a:b")),
        ("/dev/serial/by-path/pci-0:1:921600", PortPlace("/dev/serial/by-path/pci-0:1", 921_600)),
    ],
    ids=["port", "baud", "url", "colon", "path"],
)  # fmt: skip
def test_ports_are_named(text: str, place: PortPlace) -> None:
    """With their baud rate after the last colon."""
    assert PortPlace.named(text) == place


@pytest.mark.parametrize("text", ["", " ", "a\nb", "x" * 1001, "COM3:999999999"])
def test_what_names_no_port_is_refused(text: str) -> None:
    """With an example."""
    with pytest.raises(InputError):
        PortPlace.named(text)


def test_port_of_this_machine_is_opened() -> None:
    """A pseudo-terminal, which takes and gives every byte as it is; when its other end is closed, that is told."""
    pytest.importorskip("serial", reason="pyserial is not installed")
    pty = pytest.importorskip("pty", reason="this system has no pseudo-terminals")
    far, near = pty.openpty()
    place = PortPlace.named(f"{os.ttyname(near)}:9600")
    line = Line(place.opened(), str(place), place.errors)
    frame = Frame(READ, 7, bytes(range(256)))
    line.send(frame, time.monotonic() + 5)
    assert os.read(far, 1000).startswith(frame.wire)
    os.write(far, frame.wire)
    assert line.receive(time.monotonic() + 5) == frame
    os.close(near)
    os.close(far)
    with pytest.raises(BoardError, match="the serial port /dev/"):
        line.receive(time.monotonic() + 5)
    line.close()


def test_port_that_takes_nothing_is_told() -> None:
    """A port whose other end is gone."""
    device = Device("00", 0, lambda _device, _request: None)
    port: SocketPort = device.port
    line = Line(port, "a port")
    line.close()
    with pytest.raises(BoardError, match="the serial port a port failed"):
        line.send(Frame(HELLO, 1), time.monotonic() + 1)


def test_program_of_the_same_code_fits_however_its_command_was_spelled(
    on_m3: tuple[Library, Measurement], tmp_path: Path
) -> None:
    """The digest is of the code: the command in the files' first lines does not count, and a line of code does."""
    library, _ = on_m3
    again = kibi.compile(
        residual_network(4, 3, 2), None, tmp_path / "again", target="cortex-m3", command="kibi compile --goal balanced"
    )
    assert again.digest != library.digest
    assert again.code_digest == library.code_digest
    other = kibi.compile(residual_network(4, 3, 3), None, tmp_path / "other", target="cortex-m3")
    assert other.code_digest != library.code_digest
