"""The protocol of allocators, what they tell observers, and the events and errors that they report."""

from typing import TYPE_CHECKING, Protocol, runtime_checkable

from kibi.eager.events import declare_error, declare_event

if TYPE_CHECKING:
    from kibi.eager.memory.handle import Handle

ArenaConstructed = declare_event("ArenaConstructed", "an allocator took over its bytes")
ArenaRebalancing = declare_event("ArenaRebalancing", "blocks move together so that the free bytes are in one piece")
RebalanceHeldByPins = declare_event(
    "RebalanceHeldByPins",
    "pinned blocks stand in the way of a rebalance; leave the pins' with-blocks, and let go of arrays made inside them",
)
PinOutlived = declare_event(
    "PinOutlived", "arrays made from a pinned view are still in use, so that the block stays pinned until they are not"
)
PlanDeparture = declare_event("PlanDeparture", "an allocation did not follow the plan that the arena was given")

OutOfMemory = declare_error(
    "OutOfMemory", "no room is left for this block; free blocks, end pins, or give the allocator more bytes"
)
OutOfMemoryBounds = declare_error(
    "OutOfMemoryBounds", "the address is outside of the allocator's bytes; pass one that allocate gave"
)
MetaHeaderNotFound = declare_error(
    "MetaHeaderNotFound",
    "no block starts at this address: it was never allocated, has been freed or moved, or was lost in a rebalance; "
    "ask contains() first, or bind the block to a handle and use the handle's address",
)
MetaHeaderNotBound = declare_error(
    "MetaHeaderNotBound", "nothing is allocated at this address, so that no handle can have it; allocate a block first"
)
InvalidBoundRegionState = declare_error(
    "InvalidBoundRegionState",
    "block and handle do not belong together as this asks; only an allocated block is bound, a block has one handle, "
    "a handle one block, and unbind takes the handle that the block is bound to",
)
BlockPinned = declare_error(
    "BlockPinned",
    "the block is pinned and can neither move nor be freed; leave its with-block, and let go of arrays made inside it",
)
NotFreedOneByOne = declare_error(
    "NotFreedOneByOne", "a linear arena frees no single block; reset its temporaries, or the whole arena"
)
ScopeNotInnermost = declare_error(
    "ScopeNotInnermost", "a workspace scope ended before one that was opened inside it; nest the with-blocks"
)
ArgumentRefused = declare_error(
    "ArgumentRefused", "an argument has a value, a type or a shape that the function does not take; see its description"
)

EVENTS = (
    ArenaConstructed,
    ArenaRebalancing,
    RebalanceHeldByPins,
    PinOutlived,
    PlanDeparture,
    OutOfMemory,
    OutOfMemoryBounds,
    MetaHeaderNotFound,
    MetaHeaderNotBound,
    InvalidBoundRegionState,
    BlockPinned,
    NotFreedOneByOne,
    ScopeNotInnermost,
    ArgumentRefused,
)
"""All events that allocators report."""


class Allocator(Protocol):
    """Hands out blocks of its bytes.

    An address is the distance in bytes from the allocator's first byte, so that 0 is an address and None is not. After
    uTensor's `AllocatorInterface` (src/uTensor/core/memoryManagementInterface.hpp).
    """

    def allocate(self, size_bytes: int) -> int | None:
        """Returns the address of a new block; None if there is no room and a handler took the error."""

    def deallocate(self, address: int | None) -> None:
        """Frees the block at an address; does nothing for None."""

    def bind(self, address: int, handle: "Handle") -> None:
        """Gives a block to a handle, which knows its address from then on."""

    def unbind(self, address: int, handle: "Handle") -> None:
        """Unbinds a block from its handle; the block stays."""

    def is_bound(self, address: int, handle: "Handle | None" = None) -> bool:
        """True if a block is bound to this handle; None: to any."""

    def contains(self, address: int | None) -> bool:
        """True if a live block starts at an address."""

    def available(self) -> int:
        """Bytes that no block holds."""


class Observer(Protocol):
    """Receives the places of blocks."""

    def placed(self, address: int, size_bytes: int) -> None:
        """Receives a new block."""

    def moved(self, old: int, address: int, size_bytes: int) -> None:
        """Receives a block that has moved, or has another size."""

    def freed(self, address: int, size_bytes: int) -> None:
        """A block is no more."""


@runtime_checkable
class Observable(Protocol):
    """Tells observers where blocks are."""

    def observe(self, observer: Observer) -> None:
        """Adds an observer."""
