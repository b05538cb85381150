"""Sessions with servers that say what they should not, or nothing."""

import time
from collections.abc import Iterator

import pytest

from kibi.debugger import Server, processor_of, session
from kibi.debugger.packets import NoAnswerError, framed
from kibi.debugger.session import connected
from kibi.errors import BoardError, InputError
from tests.debugger.servers import CUT, RAW, SILENCE, Answer, scripted

_CORE = processor_of("cortex-m4", "the board").registers


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Nobody waits for seconds."""
    monkeypatch.setattr(session, "_SECONDS", 1.0)
    return iter([None])


def _with(answers: dict[bytes, bytes]) -> Answer:
    """Answers by how the payload begins; all others are those of a server that knows little."""

    def answer(payload: bytes) -> bytes:
        return next((told for begin, told in answers.items() if payload.startswith(begin)), b"")

    return answer


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [("localhost:3333", "localhost", 3333), ("[::1]:1", "::1", 1), ("10.0.0.7:65535", "10.0.0.7", 65535)],
)
def test_servers_are_named_by_host_and_port(text: str, host: str, port: int) -> None:
    """And print as they are written."""
    assert Server.named(text) == Server(host, port)
    assert str(Server.named(text)) == text


@pytest.mark.parametrize(
    "text", ["", "3333", "host", "host:", "host:0", "host:65536", "::1:3", "a b:3", "h:1\n", "/dev/x:1"]
)
def test_other_texts_name_no_server(text: str) -> None:
    """They are input errors."""
    with pytest.raises(InputError, match="HOST:PORT"):
        Server.named(text)


def test_no_server_is_an_error_that_says_where() -> None:
    """A port on which nobody listens."""
    with scripted(_with({})) as server:
        name = server.name
    with pytest.raises(BoardError, match=f"no GDB server at {name}"), connected(Server.named(name)):
        pass


def test_server_that_knows_little_is_enough() -> None:
    """No binary packets, no single registers, no hardware breakpoints, no description: all has another way."""
    registers = bytearray(16 * 4 + 8 * 12 + 4 + 4)
    registers[15 * 4 : 16 * 4] = (0x1234).to_bytes(4, "little")
    registers[-4:] = (0x0100_0000).to_bytes(4, "little")

    def answer(payload: bytes) -> bytes:
        match payload[:1]:
            case b"m":
                return b"0* "
            case b"M" | b"G":
                return b"OK"
            case b"g":
                return bytes(registers).hex().encode()
            case b"Z" | b"z":
                return b"OK" if payload[1:2] == b"0" else b""
            case b"c":
                return b"S05"
        return b""

    with scripted(answer) as server, connected(Server.named(server.name)) as found:
        assert found.read(0x2000_0000, 2) == bytes(2)
        found.write(0x2000_0000, b"*#$}")
        found.expect(_CORE.needed, _CORE.by_number)
        assert (found.register("pc"), found.register("xpsr")) == (0x1234, 0x0100_0000)
        found.set_register("r1", 7)
        found.set_breakpoint(0x100)
        assert found.run(1) == 5
        found.close()
        assert server.heard[-1] == b"z0,100,2"
        assert b"M20000000,4:2a23247d" in server.heard
        assert b"Z0,100,2" in server.heard
        written = next(each for each in server.heard if each.startswith(b"G"))
        assert bytes.fromhex(written[1:].decode())[4:8] == b"\7\0\0\0"


@pytest.mark.parametrize(
    ("told", "problem"),
    [
        (b"E14", "says 'E14' instead of memory at 0x00000000"),
        (b"", "says nothing"),
        (b"123", "says '123'"),
        (b"zz", "says 'zz'"),
        (b"00" * 5, "gave 5 bytes instead of 4"),
        (CUT, "was cut"),
        (SILENCE, "does not answer"),
        (RAW + b"$0000#00" * 3, "wrong checksum"),
        (RAW + b"$0000", "does not answer"),
        (RAW + framed(b"0" * 100_000), "gave 50000 bytes"),
        (RAW + framed(b"0" + b"*~" * 5000), "more than"),
        (b"\x1b[2J\xff", "says"),
    ],
    ids=["error", "nothing", "odd", "letters", "long", "cut", "silent", "checksum", "half", "huge", "bomb", "terminal"],
)
def test_memory_that_is_not_what_was_asked_for(told: bytes, problem: str) -> None:
    """An error that says what came, in time."""
    began = time.monotonic()
    with (
        scripted(_with({b"m": told})) as server,
        pytest.raises(BoardError, match="(?s)" + problem) as caught,
        connected(Server.named(server.name)) as found,
    ):
        found.read(0, 4)
    assert time.monotonic() - began < 10
    assert "\x1b" not in str(caught.value)


@pytest.mark.parametrize(
    ("told", "problem"),
    [
        (b"W00", "says 'W00' where the core should stop"),
        (b"X09", "says 'X09'"),
        (b"Fopen,2f6574632f706173737764/0b,0,0", "says 'Fopen"),
        (b"T", "says 'T'"),
        (b"", "says nothing"),
        (CUT, "was cut"),
    ],
    ids=["ended", "killed", "file", "short", "nothing", "cut"],
)
def test_run_that_ends_otherwise_is_an_error(told: bytes, problem: str) -> None:
    """Files of this machine are none of the server's business."""
    with (
        scripted(_with({b"c": told})) as server,
        pytest.raises(BoardError, match=problem),
        connected(Server.named(server.name)) as found,
    ):
        found.run(1)


def test_core_that_does_not_stop_is_halted() -> None:
    """However much it prints, the time ends; and a server that does not even halt it is told."""
    with scripted(_with({b"c": RAW + framed(b"O6869") * 50, b"\x03": b"T02"})) as server:
        with connected(Server.named(server.name)) as found, pytest.raises(NoAnswerError):
            found.run(0.2)
        assert server.heard.count(b"\x03") == 1
    with (
        scripted(_with({b"c": SILENCE, b"\x03": SILENCE})) as server,
        pytest.raises(BoardError),
        connected(Server.named(server.name)) as found,
    ):
        found.run(0.2)


def test_description_without_end_is_refused() -> None:
    """It has a bound, in bytes and in files."""
    features = {b"qSupported": b"PacketSize=4000;qXfer:features:read+"}
    endless = _with({**features, b"qXfer": b"m" + b"x" * 2048})
    with (
        scripted(endless) as server,
        pytest.raises(BoardError, match="more than"),
        connected(Server.named(server.name)),
    ):
        pass
    circle = _with({**features, b"qXfer": b'l<xi:include href="target.xml"/>'})
    with scripted(circle) as server, connected(Server.named(server.name)) as found:
        assert found.described == {}
        assert sum(each.startswith(b"qXfer") for each in server.heard) == 16
    wrong = _with({**features, b"qXfer": b"m"})
    with (
        scripted(wrong) as server,
        pytest.raises(BoardError, match="instead of a desc"),
        connected(Server.named(server.name)),
    ):
        pass


@pytest.mark.parametrize("size", [b"0", b"1", b"ffffffff", b"-1", b"zz", b""])
def test_packets_have_a_size_that_makes_sense(size: bytes) -> None:
    """Whatever the server says."""
    answers = {b"qSupported": b"PacketSize=" + size, b"X": b"OK"}
    with scripted(_with(answers)) as server, connected(Server.named(server.name)) as found:
        found.write(0, bytes(range(200)))
        sizes = [len(each) for each in server.heard if each.startswith(b"X")]
        assert max(sizes) < 20_000
        assert len(sizes) < 40
