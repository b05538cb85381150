"""The measuring program's C on this machine, with checks for undefined behaviour: it does not trust the line."""

import random
import struct
import subprocess
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from kibi.packages import serial
from kibi.serial_line.frames import MARK, Frame

SOURCES = Path(serial.__file__).parent
CONTENT, MEMORY_BYTES, OPERATORS = 320, 64, 100
BROKEN, UNKNOWN, NOT_GREETED, OUTSIDE = 1, 2, 3, 4
HELLO = Frame(1, 1)


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The protocol, with functions of this machine in place of a core and a model."""
    folder = tmp_path_factory.mktemp("program")
    for name in ("kibi_serial.h", "kibi_serial_parts.h", "kibi_serial.c"):
        (folder / name).write_text((SOURCES / f"{name}.in").read_text(encoding="utf-8"), encoding="utf-8")
    subprocess.run(
        [
            sys.executable, "-m", "ziglang", "cc", "-std=c99", "-O1", "-Wall", "-Wextra", "-Wconversion", "-Werror",
            "-fsanitize=undefined", "-fsanitize-trap=undefined", "-fstack-protector-all", f"-I{folder}",
            str(folder / "kibi_serial.c"), str(Path(__file__).with_name("host.c")), "-o", str(folder / "program"),
        ],
        check=True,
    )  # fmt: skip
    return folder / "program"


class Running:
    """A program that runs.

    Attributes:
        memory: where its memory is, after a greeting.
    """

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._sent, self._told = process.stdin, process.stdout
        assert self._frame() == Frame(0xF0, 0)  # says that it has started
        self.memory = 0

    def ask(self, frame: Frame, before: bytes = b"") -> Frame:
        """The answer to a frame after other bytes."""
        return self.raw(before + frame.wire)

    def raw(self, wire: bytes) -> Frame:
        """The answer to bytes."""
        self._sent.write(wire)
        self._sent.flush()
        return self._frame()

    def greet(self) -> Frame:
        """The answer to a greeting."""
        told = self.ask(HELLO)
        self.memory = struct.unpack_from("<Q", told.content, 16)[0]
        return told

    def _frame(self) -> Frame:
        head = self._told.read(6)
        kind, number, size = struct.unpack("<BBH", head[2:])
        rest = self._told.read(size + 4)
        assert head[:2] == MARK
        assert struct.unpack("<I", rest[-4:])[0] == zlib.crc32(head[2:] + rest[:-4])
        return Frame(kind, number, rest[:-4])


@contextmanager
def _running(program: Path) -> Iterator[Running]:
    """A program, which ends without an error when no more bytes come."""
    with subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        yield Running(process)
        process.communicate(timeout=20)
    assert process.returncode == 0


def test_program_says_what_it_is(program: Path) -> None:
    """Version, core, sizes, the library's digest."""
    with _running(program) as running:
        told = running.greet()
    version, counts, pointer, content, functions, operators, core = struct.unpack_from("<HBBHHII", told.content)
    assert (told.kind, told.number, version, counts, pointer) == (0x81, 1, 1, 1, 8)
    assert (content, functions, operators, core) == (CONTENT, 2, OPERATORS, 0x12345678)
    assert struct.unpack_from("<II", told.content, 24) == (MEMORY_BYTES, 512)
    assert told.content[32:64] == bytes([1, 2, 3]) + bytes(29)


def test_memory_is_written_and_read_and_functions_are_called(program: Path) -> None:
    """After noise; what operators took is told once."""
    with _running(program) as running:
        running.greet()
        assert running.ask(Frame(3, 2, struct.pack("<Q", running.memory + 60) + b"abcd"), b"noise\xc5\xc5").kind == 0x83
        assert running.ask(Frame(2, 3, struct.pack("<QH", running.memory + 59, 5))).content == b"\xa5abcd"
        called = running.ask(Frame(4, 4, struct.pack("<H4Q", 1, 40, 0, 0, 2)))
        value, _, stack = struct.unpack("<QII", called.content)
        assert (called.number, value, stack) == (4, 42, 24)
        counts = [running.ask(Frame(5, number, struct.pack("<I", 60))).content for number in (5, 6)]
        others = [running.ask(Frame(4, 7, struct.pack("<H4Q", number, 40, 0, 0, 2))).content for number in (0, 2, 3)]
    assert [struct.unpack("<40I", each)[-1] for each in counts] == [7, 0]
    assert [struct.unpack_from("<Q", each)[0] for each in others] == [
        42,
        42,
        0,
    ]  # those of the second model are the last two


def _refused(frame: Frame) -> int:
    """The reason of a refusal."""
    assert (frame.kind, len(frame.content)) == (0xFF, 1)
    return frame.content[0]


def test_requests_that_make_no_sense_are_refused(program: Path) -> None:
    """And the next ones are answered. The model's memory alone is read and written, its functions alone are called."""
    with _running(program) as running:
        for kind in (2, 3, 4, 5, 77):
            assert _refused(running.ask(Frame(kind, 1, bytes(10)))) == NOT_GREETED
        running.greet()
        at = running.memory
        for reason, kind, content in (
            (OUTSIDE, 2, struct.pack("<QH", at - 1, 1)),
            (OUTSIDE, 2, struct.pack("<QH", at, MEMORY_BYTES + 1)),
            (OUTSIDE, 2, struct.pack("<QH", at + MEMORY_BYTES, 1)),
            (OUTSIDE, 2, struct.pack("<QH", (1 << 64) - 1, 2)),
            (UNKNOWN, 2, struct.pack("<QH", at, CONTENT + 1)),
            (UNKNOWN, 2, struct.pack("<Q", at)),
            (OUTSIDE, 3, struct.pack("<Q", at) + bytes(MEMORY_BYTES + 1)),
            (OUTSIDE, 3, struct.pack("<Q", at + MEMORY_BYTES) + b"x"),
            (UNKNOWN, 3, bytes(7)),
            (UNKNOWN, 4, struct.pack("<H4Q", 4, 0, 0, 0, 0)),
            (UNKNOWN, 4, struct.pack("<H3Q", 0, 0, 0, 0)),
            (UNKNOWN, 5, struct.pack("<I", OPERATORS)),
            (UNKNOWN, 5, b""),
            (UNKNOWN, 1, b"x"),
            (UNKNOWN, 77, b""),
        ):
            told = running.ask(Frame(kind, 2, content))
            assert (_refused(told), told.number) == (reason, 2)
        assert running.greet().kind == 0x81


def test_frames_that_arrive_broken_are_told(program: Path) -> None:
    """A wrong sum, a length that no frame has, one that another cuts off."""
    good = HELLO.wire
    with _running(program) as running:
        assert _refused(running.raw(good[:-1] + bytes([good[-1] ^ 1]))) == BROKEN
        assert _refused(running.raw(MARK + struct.pack("<BBH", 1, 1, CONTENT + 1))) == BROKEN
        assert _refused(running.raw(good[:5] + good)) == BROKEN
        assert running.raw(good).kind == 0x81


def test_random_bytes_do_no_harm(program: Path) -> None:
    """Frames with some of their bytes changed, and parts of frames, among good ones."""
    dice = random.Random(7)
    wire = bytearray(HELLO.wire)
    for _ in range(3000):
        size = dice.choice((0, 2, 4, 8, 10, 34, CONTENT))
        part = bytearray(Frame(dice.randrange(7), dice.randrange(256), dice.randbytes(size)).wire)
        if dice.randrange(3) == 0:
            part[dice.randrange(len(part))] = dice.randrange(256)
        wire += part[: dice.randrange(len(part)) if dice.randrange(5) == 0 else None]
    done = subprocess.run([program], input=bytes(wire), capture_output=True, check=False, timeout=60)
    assert done.returncode == 0
    assert done.stdout.count(MARK) > 1000
