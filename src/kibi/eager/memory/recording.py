"""Records of an allocator: bytes by kind and time, for a picture of the memory."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import StrEnum
from weakref import ref

from kibi.eager.memory.allocator import Allocator, Observable
from kibi.eager.memory.handle import Handle


class Kind(StrEnum):
    """The purpose of a block: the kinds of TFLM's recording_micro_allocator.h, and those that planner and kernels add.

    TENSOR_METADATA: descriptors, shapes. QUANTIZATION: scales and zero points. OPERATOR_DATA: parameters and what operators
    prepare. VARIABLES: tensors that live from one run to the next. PLANNED: activations at planned offsets. SCRATCH: kernels'
    working bytes.
    """

    TENSOR_METADATA = "tensor metadata"
    QUANTIZATION = "quantization"
    OPERATOR_DATA = "operator data"
    VARIABLES = "variables"
    PLANNED = "planned"
    SCRATCH = "scratch"


@dataclass(frozen=True, slots=True)
class Span:
    """A block in one place for a while.

    Attributes:
        start: the moment it came there; moments count what happens to the allocator's blocks, from 0.
        end: the moment it left, or None while it is there.
        address: bytes from the start of the arena.
        size_bytes: its size.
        kind: the use of the block.
        block: number of the block; it keeps it when it moves, so that its spans can be joined.
    """

    start: int
    end: int | None
    address: int
    size_bytes: int
    kind: Kind
    block: int


@dataclass(frozen=True, slots=True)
class Usage:
    """Allocations of one kind.

    Attributes:
        live_bytes: bytes that are held now.
        peak_bytes: the most that were held at once.
        allocations: the number of allocations.
    """

    live_bytes: int = 0
    peak_bytes: int = 0
    allocations: int = 0


class _Told:
    """Tells a recording what its allocator does; neither keeps the other alive in a circle."""

    __slots__ = ("_recording",)

    def __init__(self, recording: "Recording") -> None:
        self._recording = ref(recording)

    def placed(self, address: int, size_bytes: int) -> None:
        """Tells of a new block."""
        recording = self._recording()
        if recording is not None:
            recording.placed(address, size_bytes)

    def moved(self, old: int, address: int, size_bytes: int) -> None:
        """Tells of a block that has moved, or has another size."""
        recording = self._recording()
        if recording is not None:
            recording.moved(old, address, size_bytes)

    def freed(self, address: int, size_bytes: int) -> None:
        """Tells of a block that is no more."""
        recording = self._recording()
        if recording is not None:
            recording.freed(address, size_bytes)


class Recording:
    """Wraps an allocator, is one itself, and records every call.

    Of Kibi's own allocators it also learns what moves, is lost, or is allocated past it.

    Args:
        allocator: to be wrapped.
        kind: the default kind of blocks.
    """

    def __init__(self, allocator: Allocator, kind: Kind = Kind.OPERATOR_DATA) -> None:
        self._allocator = allocator
        self._kind = kind
        self._usage = dict.fromkeys(Kind, Usage())
        self._live: dict[int, Span] = {}
        self._ended: list[Span] = []
        self._moment = self._allocations = self._deallocations = self._moves = self._refusals = 0
        self._live_bytes = self._high_water_bytes = 0
        self._is_told = isinstance(allocator, Observable)
        if isinstance(allocator, Observable):
            allocator.observe(_Told(self))

    @property
    def allocator(self) -> Allocator:
        """The allocator that is wrapped."""
        return self._allocator

    @property
    def live_bytes(self) -> int:
        """Bytes that are held now."""
        self._settle()
        return self._live_bytes

    @property
    def high_water_bytes(self) -> int:
        """The most bytes that were held at once."""
        return self._high_water_bytes

    @property
    def allocations(self) -> int:
        """Blocks that were handed out."""
        return self._allocations

    @property
    def deallocations(self) -> int:
        """Blocks that ended: freed, or lost."""
        self._settle()
        return self._deallocations

    @property
    def moves(self) -> int:
        """The number of times that a block moved or changed its size."""
        return self._moves

    @property
    def refusals(self) -> int:
        """Requests through this recording that got nothing."""
        return self._refusals

    @property
    def moment(self) -> int:
        """The number of changes to blocks so far."""
        self._settle()
        return self._moment

    def usage(self) -> dict[Kind, Usage]:
        """Bytes and counts of every kind."""
        self._settle()
        return dict(self._usage)

    def timeline(self) -> tuple[Span, ...]:
        """The places and times of all blocks, by start; blocks that still live have no end."""
        self._settle()
        return tuple(sorted([*self._ended, *self._live.values()], key=lambda span: (span.start, span.address)))

    @contextmanager
    def kind(self, kind: Kind) -> Iterator[None]:
        """Gives this kind to all blocks allocated in a with-block: `with recording.kind(Kind.SCRATCH):`."""
        before, self._kind = self._kind, Kind(kind)
        try:
            yield
        finally:
            self._kind = before

    def allocate(self, size_bytes: int, kind: Kind | None = None) -> int | None:
        """A block of the wrapped allocator; of this kind, or of the one that `kind` set."""
        with self.kind(self._kind if kind is None else kind):
            try:
                address = self._allocator.allocate(size_bytes)
            except Exception:
                self._refusals += 1
                raise
            if address is None:
                self._refusals += 1
            elif not self._is_told:
                self.placed(address, size_bytes)
        return address

    def deallocate(self, address: int | None) -> None:
        """Frees a block of the wrapped allocator."""
        self._allocator.deallocate(address)
        if not self._is_told and address in self._live and not self._allocator.contains(address):
            self.freed(address, self._live[address].size_bytes)

    def bind(self, address: int, handle: Handle) -> None:
        """Gives a block of the wrapped allocator to a handle."""
        self._allocator.bind(address, handle)

    def unbind(self, address: int, handle: Handle) -> None:
        """Part a block of the wrapped allocator from its handle."""
        self._allocator.unbind(address, handle)

    def is_bound(self, address: int, handle: Handle | None = None) -> bool:
        """True if a block of the wrapped allocator is bound to this handle; None: to any."""
        return self._allocator.is_bound(address, handle)

    def contains(self, address: int | None) -> bool:
        """True if a block of the wrapped allocator starts at an address."""
        return self._allocator.contains(address)

    def available(self) -> int:
        """Bytes that no block of the wrapped allocator holds."""
        return self._allocator.available()

    def placed(self, address: int, size_bytes: int) -> None:
        """Records a new block; the wrapped allocator calls it."""
        self._live[address] = Span(self._moment, None, address, size_bytes, self._kind, self._allocations)
        self._moment += 1
        self._allocations += 1
        self._count(self._kind, size_bytes, allocations=1)

    def moved(self, old: int, address: int, size_bytes: int) -> None:
        """Records that a block of the wrapped allocator has moved, or has another size."""
        span = self._live.pop(old, None)
        if span is None:  # older than the recording
            return
        self._ended.append(replace(span, end=self._moment))
        self._live[address] = replace(span, start=self._moment, address=address, size_bytes=size_bytes)
        self._moment += 1
        self._moves += 1
        self._count(span.kind, size_bytes - span.size_bytes)

    def freed(self, address: int, size_bytes: int) -> None:
        """Records that a block was freed; the wrapped allocator calls it."""
        span = self._live.pop(address, None)
        if span is None:  # older than the recording
            return
        self._ended.append(replace(span, end=self._moment))
        self._moment += 1
        self._deallocations += 1
        self._count(span.kind, -size_bytes)

    def _count(self, kind: Kind, size_bytes: int, allocations: int = 0) -> None:
        usage = self._usage[kind]
        live = usage.live_bytes + size_bytes
        self._usage[kind] = Usage(live, max(usage.peak_bytes, live), usage.allocations + allocations)
        self._live_bytes += size_bytes
        self._high_water_bytes = max(self._high_water_bytes, self._live_bytes)

    def _settle(self) -> None:
        """Lets the allocator see to blocks whose handles have died."""
        self._allocator.available()
