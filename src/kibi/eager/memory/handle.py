"""Handles: the one name of a block that its arena may move."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, NoReturn

import numpy as np
from numpy.typing import NDArray

from kibi.eager.memory.allocator import InvalidBoundRegionState
from kibi.errors import EventError

if TYPE_CHECKING:
    from kibi.eager.memory.block_arena import BlockArena
    from kibi.eager.memory.blocks import Block


class Handle:
    """Follows one block wherever its arena moves it.

    A handle is unique: it cannot be copied or pickled. Bind it with `allocator.bind(address, handle)`. The allocator does
    not keep it alive.
    """

    __slots__ = ("__weakref__", "_arena", "_block")

    def __init__(self) -> None:
        self._arena: BlockArena | None = None
        self._block: Block | None = None

    @property
    def is_bound(self) -> bool:
        """True if it has a block."""
        return self._block is not None

    @property
    def address(self) -> int | None:
        """The present address of its block, in bytes from the start of the arena; None without a block."""
        block = self._block
        return None if block is None else block.address

    @property
    def size_bytes(self) -> int:
        """Bytes of its block; 0 without one."""
        block = self._block
        return 0 if block is None else block.size_bytes

    @property
    def is_pinned(self) -> bool:
        """True if its block cannot move at present."""
        block = self._block
        return block is not None and block.is_pinned()

    def pin(self) -> AbstractContextManager[memoryview]:
        """Pins the block and gives its bytes, which do not move inside the with-block: `with handle.pin() as view:`.

        The view, of unsigned bytes and writable, is released at the end: using it then raises a ValueError. Arrays made
        from it (`numpy.frombuffer(view, numpy.int16)`) that live on keep the block pinned, so that they never show
        another block's bytes; `PinOutlived` is reported.

        Raises:
            EventError: the handle has no block.
        """
        return self._pinned()

    @contextmanager
    def _pinned(self) -> Iterator[memoryview]:
        arena = self._arena
        if arena is None:
            raise EventError(
                InvalidBoundRegionState.name,
                "this handle has no block to pin: it was never bound, or its block was freed. Bind it to a new one",
            )
        with arena.pinned(self) as view:
            yield view

    def hold(self) -> NDArray[np.uint8]:
        """The block's bytes as a writable array, for a program that keeps them: the block does not move while this array lives.

        Arrays that are made from it count, too. Nothing is reported when the last one ends. For a short time, use `pin`.

        Raises:
            EventError: the handle has no block.
        """
        arena = self._arena
        if arena is None:
            raise EventError(InvalidBoundRegionState.name, "this handle has no block to hold. Bind it to one")
        return arena.held(self)

    def free(self) -> None:
        """Frees its block, if it has one."""
        arena = self._arena
        if arena is not None:
            arena.free(self)

    def attach(self, arena: "BlockArena", block: "Block") -> None:
        """Binds the handle to a block. Only arenas call this."""
        self._arena, self._block = arena, block

    def detach(self) -> None:
        """Unbinds the handle. Only arenas call this."""
        self._arena = self._block = None

    def block_in(self, arena: "BlockArena") -> "Block | None":
        """Returns the handle's block if it is in this arena, else None. Only arenas call this."""
        return self._block if self._arena is arena else None

    def __copy__(self) -> NoReturn:
        raise TypeError("a handle is unique and cannot be copied. Use the same handle, or allocate another block")

    def __deepcopy__(self, memo: object) -> NoReturn:
        raise TypeError("a handle is unique and cannot be copied. Use the same handle, or allocate another block")

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError("a handle names bytes of this process and cannot be pickled. Copy the bytes from a pin instead")

    def __repr__(self) -> str:
        block = self._block
        return "<Handle, unbound>" if block is None else f"<Handle of {block.size_bytes} bytes at {block.address}>"
