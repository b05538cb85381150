"""The SVG picture of a recording's timeline."""

from xml.etree import ElementTree as ET

import pytest

from kibi.eager.handlers import NullHandler
from kibi.eager.memory import Handle, HandleArena, Kind, LinearArena, Recording
from kibi.reports.recording_svg import recording_svg

SVG = "{http://www.w3.org/2000/svg}"


def _all(svg: str, tag: str, kind: str) -> list[ET.Element]:
    root = ET.fromstring(svg)  # noqa: S314 - our own output
    return [each for each in root.iter(f"{SVG}{tag}") if each.get("class") == kind]


def _words(svg: str) -> list[str]:
    root = ET.fromstring(svg)  # noqa: S314 - our own output
    return ["".join(each.itertext()) for each in root.iter(f"{SVG}text")]


def _rebalanced(handle: Handle) -> Recording:
    """96 unbound bytes are lost, 100 bound ones move, 117 come."""
    recording = Recording(HandleArena(256))
    recording.allocate(96)
    address = recording.allocate(100, Kind.PLANNED)
    assert address is not None
    recording.bind(address, handle)
    recording.allocate(117, Kind.SCRATCH)
    return recording


def test_recording_boxes_are_to_scale() -> None:
    """Each block has a box in each of its places: height by its bytes, upwards by its address, rightwards by moments."""
    handle = Handle()
    recording = _rebalanced(handle)
    spans = recording.timeline()
    boxes = [
        {side: float(each.attrib[side]) for side in ("x", "y", "width", "height")}
        for each in _all(recording_svg(recording), "rect", "box")
    ]
    assert len(boxes) == len(spans) == 4
    byte, moment = boxes[0]["height"] / 96, boxes[0]["width"] / 2
    floor = boxes[0]["y"] + boxes[0]["height"]
    for box, span in zip(boxes, spans, strict=True):
        end = recording.moment if span.end is None else span.end
        assert box["height"] == pytest.approx(byte * span.size_bytes, abs=0.1)
        assert floor - box["y"] - box["height"] == pytest.approx(byte * span.address, abs=0.1)
        assert box["width"] == pytest.approx(moment * (end - span.start), abs=0.1)
        assert box["x"] - boxes[0]["x"] == pytest.approx(moment * span.start, abs=0.1)


def test_recording_shows_moves() -> None:
    """A block that moved has a line to its next place; one that stayed has none."""
    handle = Handle()
    assert len(_all(recording_svg(_rebalanced(handle)), "circle", "move")) == 1
    recording = Recording(HandleArena(256))
    recording.allocate(96)
    assert not _all(recording_svg(recording), "circle", "move")


def test_recording_picture_says_what_is_seen() -> None:
    """Title, figures, the whole arena, blocks, and each kind that was allocated are written down."""
    handle = Handle()
    words = _words(recording_svg(_rebalanced(handle), "a day in 256 bytes"))
    assert words[0] == "a day in 256 bytes"
    assert "217 bytes at most, 217 at the end; 3 allocations, 1 move, 1 release" in words
    assert {"0", "200", "256", "0: 96 bytes", "1: 100 bytes", "2: 117 bytes", "217 at most"} <= set(words)
    assert words[-2:] == ["scratch", "1 allocation, 117 bytes at most, 117 at the end"]
    assert "variables" not in words


def test_recording_counts_refusals() -> None:
    """What was asked for in vain leaves no box, but is told."""
    recording = Recording(HandleArena(16, handler=NullHandler()))
    assert recording.allocate(400) is None
    svg = recording_svg(recording)
    assert not _all(svg, "rect", "box")
    assert "0 bytes at most, 0 at the end; 1 refusal" in _words(svg)


def test_recording_of_both_ends_shows_the_whole_arena() -> None:
    """Persistent blocks hang from the top, planned ones stand on the ground."""
    recording = Recording(LinearArena(4096))
    recording.allocate(64)
    arena = recording.allocator
    assert isinstance(arena, LinearArena)
    arena.resize_planned(1024)
    top, bottom = (float(each.attrib["y"]) for each in _all(recording_svg(recording), "rect", "box"))
    assert top < bottom
    assert "4,096" in _words(recording_svg(recording))


def test_recording_without_blocks_is_drawn() -> None:
    """Nothing is divided by zero where nothing happened."""
    assert "0 bytes at most, 0 at the end; no allocations" in _words(recording_svg(Recording(HandleArena(16))))


def test_recording_hostile_title_is_escaped() -> None:
    """A title is text, whatever is in it."""
    svg = recording_svg(Recording(HandleArena(16)), "<script>\x00&")
    assert "<script>" not in svg
    assert _words(svg)[0] == "<script>?&"


def test_recording_of_thousands_is_no_wider_than_a_screen() -> None:
    """The picture stays drawable, and the same for the same sequence."""

    def one() -> str:
        recording = Recording(HandleArena(1024))
        for size in range(1, 600):
            recording.deallocate(recording.allocate(size))
        return recording_svg(recording)

    svg = one()
    assert svg == one()
    assert float(ET.fromstring(svg).attrib["width"]) < 3000  # noqa: S314 - our own output
