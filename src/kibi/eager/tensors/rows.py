"""Tensors that are never stored completely: rows at planned offsets, in a ring, or from a camera."""

import ctypes
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar

from numpy.typing import ArrayLike

from kibi.eager.context import Context
from kibi.eager.memory import Kind
from kibi.eager.memory.blocks import whole_number
from kibi.eager.tensors.events import InvalidMemoryAccess, RowNotWritten, RowOverwritten, RowsEnded
from kibi.eager.tensors.interface import TensorInterface
from kibi.eager.tensors.layouts import CameraTensorLayout, RowTensorLayout
from kibi.eager.tensors.storage import ArenaBlock, ByteSource, StillBytes, Storage, borrowed_bytes
from kibi.errors import InputError
from kibi.ir import TensorType

RowSource = Callable[[int], ArrayLike] | Iterable[ArrayLike]
"""The source of rows: a function of the row's number, called in ascending order, or an iterable."""


class RowTensor(TensorInterface):
    """Rows at the offsets of a plan, or in a ring; a row that is written replaces the rows that were stored there.

    Which rows are there is known, so that reading one that is not raises. What others write into the same bytes cannot be.
    The table of offsets is constant, as a plan's is, and takes no metadata.

    Args:
        tensor_type: shape, element type, quantization.
        offsets: the offset of each row, in bytes from the start of the memory.
        ring: instead of offsets, how many rows there is room for: row `y` is stored where row `y - ring` was.
        memory: the caller's writable buffer, such as an arena; None: as much of the RAM arena as is needed.
        name, context, constant_type: see `TensorInterface`.

    Raises:
        InputError: there are not as many offsets as rows, not exactly one of `offsets` and `ring`, or the memory is too small.
        EventError: the RAM arena has no room.
    """

    layout: ClassVar[type[ctypes.Structure]] = RowTensorLayout
    has_fast_rows: ClassVar[bool] = True

    def __init__(
        self,
        tensor_type: TensorType,
        *,
        offsets: Sequence[int] | None = None,
        ring: int | None = None,
        memory: ByteSource | None = None,
        name: str = "",
        context: Context | None = None,
        constant_type: bool = False,
    ) -> None:
        placed = _offsets(tensor_type, offsets, ring)
        super().__init__(tensor_type, name=name, context=context, constant_type=constant_type)
        size_bytes = max(placed) + tensor_type.row_bytes
        self._storage: Storage = (
            ArenaBlock(self._context.claim_ram(size_bytes, Kind.PLANNED))
            if memory is None
            else StillBytes(borrowed_bytes(memory, size_bytes, writable=True))
        )
        self._offsets = placed
        self._stored_bytes = size_bytes
        self._ascending = sorted((offset, y) for y, offset in enumerate(placed))
        self._there: set[int] = set()
        self._written: set[int] = set()

    @property
    def stored_bytes(self) -> int:
        """Bytes from the start of the memory to the end of the highest row."""
        return self._stored_bytes

    @property
    def rows_there(self) -> tuple[int, ...]:
        """The rows that can be read at present, ascending."""
        return tuple(sorted(self._there))

    def free(self) -> None:
        """Frees what the tensor holds; memory of the caller stays the caller's."""
        self._storage.release()
        super().free()

    def touch(self, y: int, *, writing: bool) -> None:
        """Notes that a row is about to be read, or completely written, through bytes that a caller got before.

        Raises:
            EventError: it is to be read, and is not there (any more).
        """
        if writing:
            self._take_place(y)
        else:
            self._check_there(y)

    def restart(self) -> None:
        """Forgets all rows, as before the next inference."""
        self._there.clear()
        self._written.clear()

    def _load(self, offset: int, size_bytes: int) -> bytes:
        y, start = self._place(offset, size_bytes)
        self._check_there(y)
        return self._storage.read(start, size_bytes)

    def _store(self, offset: int, data: bytes) -> None:
        y, start = self._place(offset, len(data))
        self._take_place(y)
        self._storage.write(start, data)

    @contextmanager
    def _held_row(self, y: int, *, writing: bool) -> Iterator[Any]:
        if writing:
            self._take_place(y)
        else:
            self._check_there(y)
        with self._storage.held() as memory:
            row = memory[self._offsets[y] : self._offsets[y] + self._type.row_bytes]
            del memory
            yield row
            del row

    def _check_there(self, y: int) -> None:
        if y not in self._there:
            self._fail(RowOverwritten if y in self._written else RowNotWritten, row=y, there=self.rows_there)

    def _take_place(self, y: int) -> None:
        """Forgets the rows whose bytes a row, which is about to be written, overwrites."""
        if y not in self._there:
            here, reach = self._offsets[y], self._type.row_bytes
            begin = bisect_right(self._ascending, (here - reach, len(self._offsets)))
            end = bisect_left(self._ascending, (here + reach, -1))
            if end - begin < len(self._there):
                self._there.difference_update(x for _, x in self._ascending[begin:end])
            else:
                self._there = {x for x in self._there if abs(self._offsets[x] - here) >= reach}
            self._there.add(y)
            self._written.add(y)

    def _place(self, offset: int, size_bytes: int) -> tuple[int, int]:
        """The row that contains some bytes, and the start of those bytes in the memory."""
        y = _row_of(self, offset, size_bytes)
        return y, self._offsets[y] + offset - y * self._type.row_bytes


class CameraTensor(TensorInterface):
    """Rows that a source delivers one by one, in ascending order; only the last few are kept.

    A request for a row receives all rows before it, too. Writing raises an error.

    Args:
        tensor_type: shape, element type, quantization.
        source: gives rows of the tensor's element type.
        keep: how many of the last rows can be read, at least 1; they are in the RAM arena.
        name, context, constant_type: see `TensorInterface`.

    Raises:
        InputError: no row is kept, or more than there are.
        EventError: the RAM arena has no room.
    """

    layout: ClassVar[type[ctypes.Structure]] = CameraTensorLayout
    has_fast_rows: ClassVar[bool] = True
    is_writable = False

    def __init__(
        self,
        tensor_type: TensorType,
        source: RowSource,
        *,
        keep: int = 1,
        name: str = "",
        context: Context | None = None,
        constant_type: bool = False,
    ) -> None:
        if whole_number(keep, "the number of rows to keep", least=0) not in range(1, tensor_type.rows + 1):
            raise InputError(
                f"{keep} rows cannot be kept of {tensor_type.rows}. Keep at least 1, and no more than there are."
            )
        super().__init__(tensor_type, name=name, context=context, constant_type=constant_type)
        self._storage = ArenaBlock(self._context.claim_ram(keep * tensor_type.row_bytes, Kind.PLANNED))
        self._keep = int(keep)
        self._source: RowSource | None = None
        self.restart(source)

    def free(self) -> None:
        """Frees what the tensor holds."""
        self._storage.release()
        super().free()

    @property
    def next_row(self) -> int:
        """The number of the row that comes next; all rows before it have come."""
        return self._next

    @property
    def keep(self) -> int:
        """How many of the last rows can be read."""
        return self._keep

    def restart(self, source: RowSource | None = None) -> None:
        """Begins the next picture with row 0.

        Args:
            source: gives its rows; None: the same function, or the same iterable iterated anew.

        Raises:
            InputError: an iterator cannot begin anew.
        """
        given = self._source if source is None else source
        if given is None or (source is None and isinstance(given, Iterator)):
            raise InputError(f"{self._name}: an iterator yields its rows once. Give the next picture's.")
        try:
            self._coming: Iterator[ArrayLike] = iter(()) if callable(given) else iter(given)
        except TypeError:
            what = f"{self._name}: {type(given).__name__} gives no rows"
            raise InputError(f"{what}. Give a function of the row's number, or what yields them.") from None
        self._source = given
        self._next = 0

    def _load(self, offset: int, size_bytes: int) -> bytes:
        y = _row_of(self, offset, size_bytes)
        start = self._receive_up_to(y)
        return self._storage.read(start + offset - y * self._type.row_bytes, size_bytes)

    @contextmanager
    def _held_row(self, y: int, *, writing: bool) -> Iterator[Any]:
        del writing
        start = self._receive_up_to(y)
        with self._storage.held() as memory:
            row = memory[start : start + self._type.row_bytes]
            del memory
            yield row
            del row

    def _receive_up_to(self, y: int) -> int:
        """Receives rows up to this one, and returns where it starts in the storage."""
        while self._next <= y:
            self._receive()
        if y < self._next - self._keep:
            self._fail(RowOverwritten, row=y, next=self._next, kept=self._keep)
        return y % self._keep * self._type.row_bytes

    def _receive(self) -> None:
        """Receives the next row."""
        y = self._next
        try:
            values = self._source(y) if callable(self._source) else next(self._coming)
        except StopIteration:
            self._fail(RowsEnded, row=y, of_rows=self.rows)
        try:
            data = self._encoded(values, self._type.row_elements, f"row {y}")
        except InputError:
            self._coming = iter(())  # a row is gone, and the next must not be taken for it
            raise
        self._storage.write(y % self._keep * self._type.row_bytes, data)
        self._next = y + 1


def _offsets(tensor_type: TensorType, offsets: Sequence[int] | None, ring: int | None) -> tuple[int, ...]:
    """Returns the offset of each row.

    Raises:
        InputError: it is not said, said twice, or said wrongly.
    """
    if (offsets is None) == (ring is None):
        raise InputError("rows are stored at offsets or in a ring. Give one of the two.")
    if ring is not None:
        whole_number(ring, "the rows of the ring")
        return tuple(y % int(ring) * tensor_type.row_bytes for y in range(tensor_type.rows))
    try:
        placed = tuple(
            whole_number(offset, "an offset", least=-(1 << 63)) for offset in (() if offsets is None else offsets)
        )
    except (TypeError, ValueError):
        raise InputError(f"{type(offsets).__name__} is no list of offsets. Give one for each row.") from None
    if len(placed) != tensor_type.rows or min(placed, default=-1) < 0:
        raise InputError(
            f"{len(placed)} offsets, the lowest {min(placed, default=None)}, are given for {tensor_type.rows} rows. Give one "
            "for each, of at least 0."
        )
    return placed


def _row_of(tensor: TensorInterface, offset: int, size_bytes: int) -> int:
    """The one row that contains some bytes; rows are not stored one after another, so no read can span two."""
    row_bytes = tensor.type.row_bytes
    y, within = divmod(offset, row_bytes)
    if within + size_bytes > row_bytes:
        facts = {"row": y, "at": within, "size_bytes": size_bytes, "row_bytes": row_bytes}
        tensor.context.fail(InvalidMemoryAccess(tensor=tensor.name, **facts))
    return y
