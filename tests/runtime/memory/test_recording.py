"""What an allocator handed out, by kind and by moment."""

import pytest

from kibi.eager.handlers import NullHandler
from kibi.eager.memory import (
    Allocator,
    Handle,
    HandleArena,
    Kind,
    LinearArena,
    Observable,
    PageAllocator,
    Recording,
    Span,
    Usage,
    WorkspaceArena,
)
from kibi.errors import EventError


def test_bytes_are_counted_by_kind() -> None:
    """Live bytes, the most at once, and allocations of every kind."""
    recording = Recording(HandleArena(256))
    first = recording.allocate(40, Kind.TENSOR_METADATA)
    with recording.kind(Kind.SCRATCH):
        recording.allocate(16)
        recording.allocate(8, Kind.VARIABLES)
    recording.deallocate(first)
    recording.allocate(10)
    usage = recording.usage()
    assert usage[Kind.TENSOR_METADATA] == Usage(0, 40, 1)
    assert usage[Kind.SCRATCH] == Usage(16, 16, 1)
    assert usage[Kind.VARIABLES] == Usage(8, 8, 1)
    assert usage[Kind.OPERATOR_DATA] == Usage(10, 10, 1)
    assert usage[Kind.QUANTIZATION] == Usage()
    assert (recording.live_bytes, recording.high_water_bytes) == (34, 64)
    assert (recording.allocations, recording.deallocations, recording.refusals) == (4, 1, 0)


def test_timeline_tells_where_blocks_were_and_when() -> None:
    """A block that moves has a span for each place; a lost one ends."""
    recording = Recording(HandleArena(256))
    lost, kept = recording.allocate(64, Kind.SCRATCH), recording.allocate(64, Kind.PLANNED)
    handle = Handle()
    assert kept is not None
    recording.bind(kept, handle)
    assert recording.is_bound(kept, handle)
    recording.allocate(180)
    assert recording.timeline() == (
        Span(0, 2, 0, 64, Kind.SCRATCH, 0),
        Span(1, 3, 64, 64, Kind.PLANNED, 1),
        Span(3, None, 0, 64, Kind.PLANNED, 1),
        Span(4, None, 64, 180, Kind.OPERATOR_DATA, 2),
    )
    assert recording.moves == 1
    assert recording.contains(lost)
    assert recording.available() == 256 - 244
    recording.unbind(0, handle)
    assert not handle.is_bound


def test_block_that_dies_with_its_handle_is_counted() -> None:
    """Nothing that the arena frees is missed."""
    recording = Recording(HandleArena(256))
    handle = Handle()
    recording.bind(recording.allocate(64) or 0, handle)
    assert recording.live_bytes == 64
    del handle
    assert recording.live_bytes == 0
    assert recording.deallocations == 1
    assert recording.timeline()[0].end == 1


@pytest.mark.parametrize("allocator", [HandleArena(256), LinearArena(256), WorkspaceArena(256), PageAllocator(256)])
def test_what_is_allocated_past_the_recording_is_recorded(allocator: HandleArena) -> None:
    """Kibi's allocators tell their observers of every block."""
    assert isinstance(allocator, Observable)
    recording = Recording(allocator)
    with recording.kind(Kind.QUANTIZATION):
        allocator.allocate(24)
    assert recording.usage()[Kind.QUANTIZATION] == Usage(24, 24, 1)


def test_resize_and_reset_are_recorded() -> None:
    """A linear arena's planned block changes its size, and a reset ends all."""
    arena = LinearArena(256)
    recording = Recording(arena, Kind.PLANNED)
    arena.resize_planned(100)
    arena.resize_planned(40)
    arena.reset()
    assert recording.usage()[Kind.PLANNED] == Usage(0, 100, 1)
    assert [(span.size_bytes, span.start, span.end) for span in recording.timeline()] == [(100, 0, 1), (40, 1, 2)]


def test_refusals_are_counted() -> None:
    """Whether they raise or give nothing."""
    raising, quiet = Recording(HandleArena(64)), Recording(HandleArena(64, handler=NullHandler()))
    with pytest.raises(EventError):
        raising.allocate(65)
    assert quiet.allocate(65) is None
    assert raising.refusals == quiet.refusals == 1
    assert raising.allocations == quiet.moment == 0


def test_blocks_older_than_the_recording_are_passed_over() -> None:
    """A recording counts from its beginning."""
    arena = HandleArena(256)
    old = arena.allocate(8)
    recording = Recording(arena)
    recording.deallocate(old)
    assert recording.timeline() == ()
    assert recording.live_bytes == 0


class Bump:
    """Somebody else's allocator: no observers."""

    def __init__(self) -> None:
        self.sizes: dict[int, int] = {}

    def allocate(self, size_bytes: int) -> int | None:
        """Behind the last."""
        address = sum(self.sizes.values())
        self.sizes[address] = size_bytes
        return address

    def deallocate(self, address: int | None) -> None:
        """Forget it."""
        if address is not None:
            self.sizes[address] = 0

    def bind(self, address: int, handle: Handle) -> None:
        """Nothing."""

    def unbind(self, address: int, handle: Handle) -> None:
        """Nothing."""

    def is_bound(self, address: int, handle: Handle | None = None) -> bool:
        """Never."""
        return address < 0 and handle is not None

    def contains(self, address: int | None) -> bool:
        """Whether it has a size."""
        return address is not None and self.sizes.get(address, 0) > 0

    def available(self) -> int:
        """Of a hundred."""
        return 100 - sum(self.sizes.values())


def test_any_allocator_can_be_recorded() -> None:
    """One that tells nobody is recorded from what goes through."""
    wrapped: Allocator = Bump()
    recording = Recording(wrapped, Kind.VARIABLES)
    assert recording.allocator is wrapped
    address = recording.allocate(30)
    recording.allocate(20)
    recording.deallocate(address)
    assert recording.usage()[Kind.VARIABLES] == Usage(20, 50, 2)
    assert [span.end for span in recording.timeline()] == [2, None]


def test_recording_of_a_recording_counts_the_same() -> None:
    """A recording is an allocator, too."""
    inner = Recording(HandleArena(256))
    outer: Recording = Recording(inner)
    outer.deallocate(outer.allocate(16))
    outer.allocate(8)
    assert outer.live_bytes == inner.live_bytes == 8
    assert outer.allocations == inner.allocations == 2
