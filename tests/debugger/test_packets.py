"""Packets: frames, checksums, escapes, repetitions; and what no server may send."""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kibi.debugger.packets import MOST_BYTES, Link, NoAnswerError, checksum, decoded, escaped, framed
from kibi.errors import BoardError


@pytest.fixture
def ends() -> Iterator[tuple[Link, socket.socket]]:
    """A link, and the other end of its connection."""
    near, far = socket.socketpair()
    link = Link(near, "the server")
    yield link, far
    link.close()
    far.close()


def _soon() -> float:
    return time.monotonic() + 0.3


@given(st.binary(max_size=300))
def test_escapes_are_resolved(data: bytes) -> None:
    """And what begins, ends or repeats is escaped."""
    assert decoded(escaped(data)) == data
    assert not set(b"#$*") & set(escaped(data))


@pytest.mark.parametrize(
    ("body", "plain"),
    [(b"0* ", b"0000"), (b"a*!b", b"aaaaab"), (b"x*~", b"x" * 98), (b"}\x03", b"#"), (b"", b"")],
    ids=["four", "five", "most", "escape", "nothing"],
)
def test_repetitions_are_written_out(body: bytes, plain: bytes) -> None:
    """The count's character is 29 more than the count."""
    assert decoded(body) == plain


@pytest.mark.parametrize(
    "body",
    [b"*!", b"a*", b"a*\x1f", b"a*\x7f", b"a}", b"}}}"],
    ids=["first", "cut", "low", "high", "escape", "escapes"],
)
def test_repetitions_and_escapes_of_nothing_are_refused(body: bytes) -> None:
    """As no server has a reason to send them."""
    with pytest.raises(BoardError, match="of nothing"):
        decoded(body)


def test_repetitions_do_not_grow_without_bound() -> None:
    """A packet of a few kilobytes may say a hundred times as much."""
    with pytest.raises(BoardError, match="more than"):
        decoded(b"a" + b"*~" * (MOST_BYTES // 90))


@given(st.binary(max_size=100), st.integers(1, 7))
def test_packet_in_pieces_is_a_packet(data: bytes, size: int) -> None:
    """However the network cuts it."""
    near, far = socket.socketpair()
    link = Link(near, "the server")
    whole = b"+" + framed(escaped(data))
    for at in range(0, len(whole), size):
        far.sendall(whole[at : at + size])
    assert link.receive(time.monotonic() + 5) == data
    assert far.recv(10) == b"+"
    link.close()
    far.close()


def test_wrong_checksum_is_asked_for_again_three_times(ends: tuple[Link, socket.socket]) -> None:
    """And without acknowledgements it is an error at once."""
    link, far = ends
    far.sendall(b"$OK#00" + framed(b"OK"))
    assert link.receive(_soon()) == b"OK"
    assert far.recv(10) == b"-+"
    far.sendall(b"$OK#00" * 3)
    with pytest.raises(BoardError, match="wrong checksum"):
        link.receive(_soon())
    link.acknowledges = False
    far.sendall(b"$OK#00")
    with pytest.raises(BoardError, match="wrong checksum"):
        link.receive(_soon())


def test_packet_that_is_refused_is_sent_again_three_times(ends: tuple[Link, socket.socket]) -> None:
    """And an answer that comes without an acknowledgement is one."""
    link, far = ends
    far.sendall(b"-+")
    link.send(b"m0,4", _soon())
    assert far.recv(100) == framed(b"m0,4") * 2
    far.sendall(b"---")
    with pytest.raises(BoardError, match="refused a packet 3 times"):
        link.send(b"m0,4", _soon())
    far.sendall(framed(b"E01"))
    link.send(b"m0,4", _soon())
    assert link.receive(_soon()) == b"E01"


def test_notifications_and_noise_are_skipped(ends: tuple[Link, socket.socket]) -> None:
    """Up to a bound."""
    link, far = ends
    far.sendall(b"noise%Stop:T05#00more" + framed(b"OK"))
    assert link.receive(_soon()) == b"OK"


@pytest.mark.parametrize("sent", [b"HTTP/1.1 400 Bad Request\r\n", b"$never ends "], ids=["noise", "packet"])
def test_endless_bytes_are_no_packet(ends: tuple[Link, socket.socket], sent: bytes) -> None:
    """The link stops to read."""
    link, far = ends
    sender = threading.Thread(target=_send_all, args=(far, sent * (3 * MOST_BYTES // len(sent))))
    sender.start()
    with pytest.raises(BoardError, match=r"no packets|more than"):
        link.receive(time.monotonic() + 10)
    link.close()
    sender.join(10)


def _send_all(stream: socket.socket, data: bytes) -> None:
    with suppress(OSError):
        stream.sendall(data)


def test_silence_ends_in_time_and_a_cut_is_told(ends: tuple[Link, socket.socket]) -> None:
    """Bytes that trickle in do not move the end."""
    link, far = ends
    far.sendall(b"$half a pack")
    began = time.monotonic()
    with pytest.raises(NoAnswerError, match="does not answer"):
        link.receive(time.monotonic() + 0.2)
    assert time.monotonic() - began < 5
    far.shutdown(socket.SHUT_RDWR)
    with pytest.raises(BoardError, match="connection to the server was cut"):
        link.receive(_soon())


def test_checksum_is_the_sum_modulo_256() -> None:
    """As in GDB's manual."""
    assert (framed(b"OK"), checksum(b"\xff\xff")) == (b"$OK#9a", 0xFE)
