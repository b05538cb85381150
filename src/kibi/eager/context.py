"""Contexts: two allocators, an error handler, and the live tensors.

After uTensor's `Context` (`src/uTensor/core/context.hpp`). There is one for the whole program there; here each thread and each
asyncio task has the one that it entered last, and several do not see each other's tensors.
"""

from contextvars import ContextVar
from threading import RLock, local
from typing import TYPE_CHECKING, NoReturn, Self
from weakref import WeakValueDictionary

import numpy as np

from kibi.eager.events import Event
from kibi.eager.handlers import ErrorHandler, Handler, error_of
from kibi.eager.memory import Allocator, Handle, HandleArena, Kind, LinearArena, Recording, WritableBuffer
from kibi.eager.memory.allocator import OutOfMemory
from kibi.eager.notes import recorders
from kibi.eager.values import ByteOrder
from kibi.errors import EventError, InputError, InternalError

if TYPE_CHECKING:
    from kibi.eager.tensors.interface import TensorInterface

METADATA_BYTES = 16 * 1024
"""Default size of a context's metadata arena."""
RAM_BYTES = 1024 * 1024
"""Default size of a context's RAM arena."""
_WORD_BYTES = 4


class Context:
    """The allocators, the error handler and the live tensors of a program without a plan.

    `with Context(metadata=4096, ram=65536):` makes it the current one of this thread or task until the block ends; tensors
    stay in the context in which they were made. A context may be entered several times, and by several threads.

    Args:
        metadata: the allocator of descriptors, small and steady; or the bytes, or how many, of an arena with movable blocks.
        ram: the allocator of data, large and varying; or bytes, or how many, as above.
        handler: receives events and errors; None: errors raise. The arenas that the context makes report to it, too;
            given allocators report to their own handlers.
        byteorder: the byte order of the device.

    Raises:
        InputError: there is no such byte order, or the bytes cannot be an arena.
        ArenaError: the bytes are misaligned: metadata begins at a multiple of 4 bytes, data of 8.
    """

    def __init__(
        self,
        metadata: Allocator | int | WritableBuffer = METADATA_BYTES,
        ram: Allocator | int | WritableBuffer = RAM_BYTES,
        handler: Handler | None = None,
        *,
        byteorder: ByteOrder = "little",
    ) -> None:
        named: object = byteorder
        if not isinstance(named, str) or named not in ("little", "big"):
            raise InputError(f"the byte order {byteorder!r} is neither 'little' nor 'big'.")
        if handler is not None and not callable(getattr(handler, "notify", None)):
            raise InputError(f"the handler is {type(handler).__name__}, which cannot be told. Give one with `notify`.")
        self._handler: Handler = ErrorHandler() if handler is None else handler
        self._metadata = self._arena(metadata, _WORD_BYTES)
        self._ram = self._arena(ram, 2 * _WORD_BYTES)
        self._byteorder: ByteOrder = byteorder
        self._lock = RLock()
        self._tensors: WeakValueDictionary[int, TensorInterface] = WeakValueDictionary()

    @property
    def metadata(self) -> Allocator:
        """The allocator of descriptors."""
        return self._metadata

    @property
    def ram(self) -> Allocator:
        """The allocator of data."""
        return self._ram

    @property
    def handler(self) -> Handler:
        """The handler of events and errors."""
        return self._handler

    @property
    def byteorder(self) -> ByteOrder:
        """The byte order of the device: `little` or `big`."""
        return self._byteorder

    @property
    def tensors(self) -> "tuple[TensorInterface, ...]":
        """The live tensors of this context, the oldest first."""
        with self._lock:
            return tuple(self._tensors.values())

    def register(self, tensor: "TensorInterface") -> None:
        """Adds a tensor to the live ones until it is freed; tensors call this themselves."""
        with self._lock:
            self._tensors[id(tensor)] = tensor
        for each in recorders():
            each.created(tensor)

    def unregister(self, tensor: "TensorInterface") -> None:
        """Removes a tensor from the live ones."""
        with self._lock:
            self._tensors.pop(id(tensor), None)
        for each in recorders():
            each.freed(tensor)

    def notify(self, event: Event) -> None:
        """Reports an event to the handler."""
        self._handler.notify(event)

    def fail(self, error: Event) -> NoReturn:
        """Reports an error to the handler, and raises it.

        Raises:
            EventError: in any case, even if a callback took the error.
        """
        self._handler.notify(error)
        raise error_of(error)

    def claim_metadata(self, size_bytes: int, kind: Kind = Kind.TENSOR_METADATA) -> Handle:
        """Allocates a block of the metadata arena; see `claim_ram`."""
        return self._claim(self._metadata, size_bytes, kind)

    def release_metadata(self, handle: Handle) -> None:
        """Frees a block of the metadata arena, if that arena frees single blocks."""
        arena = self._metadata.allocator if isinstance(self._metadata, Recording) else self._metadata
        if not isinstance(arena, LinearArena):
            handle.free()

    def claim_ram(self, size_bytes: int, kind: Kind = Kind.PLANNED) -> Handle:
        """Allocates a block of the RAM arena, bound to a new handle.

        Args:
            size_bytes: at least 1.
            kind: how a `Recording` counts it.

        Raises:
            EventError: there is no room, even if a callback took the allocator's error.
        """
        return self._claim(self._ram, size_bytes, kind)

    def __enter__(self) -> Self:
        _entered.set((*_entered.get(), self))
        return self

    def __exit__(self, *exception: object) -> None:
        entered = _entered.get()
        if not entered or entered[-1] is not self:
            raise InternalError("a context is left that was not entered last. Nest the with-blocks of contexts.")
        _entered.set(entered[:-1])

    def __repr__(self) -> str:
        free = f"{self._metadata.available()} bytes of metadata and {self._ram.available()} of RAM free"
        return f"<Context, {len(self.tensors)} tensors, {free}>"

    def _arena(self, given: Allocator | int | WritableBuffer, alignment: int) -> Allocator:
        if isinstance(given, int | bytearray | memoryview | np.ndarray):
            return HandleArena(given, alignment=alignment, handler=self._handler)
        if not callable(getattr(given, "allocate", None)):
            raise InputError(f"{type(given).__name__} is no allocator. Give one, or bytes, or how many.")
        return given

    def _claim(self, allocator: Allocator, size_bytes: int, kind: Kind) -> Handle:
        handle = Handle()
        with self._lock:  # nobody else of this context may let the arena drop the block before it is bound
            words = (kind,) if isinstance(allocator, Recording) else ()
            address = allocator.allocate(size_bytes, *words)
            if address is None:
                raise EventError(
                    OutOfMemory.name, f"there is no room for {size_bytes} bytes of {kind}", OutOfMemory.meaning
                )
            allocator.bind(address, handle)
        return handle


_entered: ContextVar[tuple[Context, ...]] = ContextVar("kibi_contexts", default=())
_defaults = local()


def default_context() -> Context:
    """This thread's own context, used while no other was entered, and made on first use.

    Tasks of one event loop share their thread's: enter a context in each where that matters.
    """
    found: Context | None = getattr(_defaults, "context", None)
    if found is None:
        found = _defaults.context = Context()
    return found


def current_context() -> Context:
    """The context that this thread or task entered last, or its default one."""
    return entered_context() or default_context()


def entered_context() -> Context | None:
    """The context that this thread or task entered last; None outside of all with-blocks of contexts."""
    entered = _entered.get()
    return entered[-1] if entered else None
