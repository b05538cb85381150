"""Items of a table by numbers that are computed while the model runs: EMBEDDING_LOOKUP, GATHER, GATHER_ND."""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from kibi.dtypes import Array
from kibi.ir import KernelCall, NodeView, RowAccess, Rows
from kibi.kernels.params.movement import GatherParams
from kibi.ops.movement.index_map import IndexMap


@dataclass(frozen=True, slots=True)
class NumberedItems:
    """The division of a table into items.

    Attributes:
        table, numbers: names of the operands, both of which are read whole by the one step.
        batches: parts of the table and of the numbers that belong together.
        outer: parts of a batch of the table, for each of which all its numbers count.
        items: of a part.
        strides: of the numbers that make a lookup: the sum of their products is the item's number.
    """

    table: str
    numbers: str
    batches: int
    outer: int
    items: int
    strides: tuple[int, ...] = (1,)

    def accesses(self, view: NodeView) -> tuple[RowAccess, ...]:
        """All rows of both."""
        return tuple(RowAccess.every(tensor.type.rows, 1) for tensor in view.row_tensors)

    def picked(self, view: NodeView, rows: Sequence[Sequence[Array | None]]) -> Array:
        """The items in order, `[batches * outer, lookups of a batch, elements]`; zeros for a lookup that leads to none."""
        table, numbers = (
            np.concatenate([np.asarray(row).reshape(-1) for row in rows[view.row_names.index(name)]])
            for name in (self.table, self.numbers)
        )
        items = table.reshape(self.batches * self.outer, self.items, -1)
        found = numbers.astype(np.int64).reshape(self.batches, -1, len(self.strides)) @ np.array(self.strides, np.int64)
        wanted = np.repeat(found, self.outer, axis=0)[..., None]
        is_there = (wanted >= 0) & (wanted < self.items)
        picked = np.take_along_axis(items, np.where(is_there, wanted, 0), axis=1)
        return np.where(is_there, picked, np.zeros(1, picked.dtype))

    def kernel_call(self, view: NodeView) -> KernelCall:
        """Copies of items, without scratch."""
        table, numbers = view[self.table].type, view[self.numbers].type
        item_elements = table.elements // (self.batches * self.outer * self.items)
        piece = min(item_elements, table.row_elements)
        is_first = view.row_names[0] == self.table
        params = GatherParams(
            batches=self.batches,
            outer=self.outer,
            lookups=numbers.elements // len(self.strides) // self.batches,
            depth=len(self.strides),
            strides=np.array(self.strides, np.int32),
            items=self.items,
            pieces=item_elements // piece,
            bytes=piece * table.dtype.size_bytes,
            row_bytes=table.row_bytes,
            number_row_elements=numbers.row_elements,
            table=0 if is_first else numbers.rows,
            numbers=table.rows if is_first else 0,
        )
        return KernelCall("kibi_gather_any", params, is_untyped=True)


@dataclass(frozen=True, slots=True)
class Gathering(IndexMap):
    """Items of an input by indices: as an index map where those are a constant, else by numbers."""

    inputs: ClassVar[tuple[str, ...]] = ("input", "indices")
    row_inputs: ClassVar[tuple[str, ...]] = ("input", "indices")
    index_inputs: ClassVar[tuple[str, ...]] = ("indices",)
    kernels: ClassVar[tuple[str, ...]] = ("kibi_gather_runs_any", "kibi_gather_any")

    @abstractmethod
    def items(self, view: NodeView) -> NumberedItems:
        """Returns how the input falls into items where indices are computed."""

    def known(self, view: NodeView) -> NDArray[np.int64]:
        """Returns constant indices; for computed ones, zeros of the last axis's size."""
        if view["indices"].is_constant:
            return view.constant("indices").astype(np.int64)
        return np.zeros((1, *view["indices"].type.shape[-1:]), np.int64)

    def steps(self, view: NodeView) -> int:
        """Returns as many steps as have the same map, shifted by rows of the input; one where indices are computed."""
        return IndexMap.steps(self, view) if view["indices"].is_constant else 1

    def accesses(self, view: NodeView) -> tuple[RowAccess, ...]:
        """The rows that hold a step's elements; all rows where indices are computed. Constant ones are not looked at."""
        if not view["indices"].is_constant:
            return self.items(view).accesses(view)
        steps = self.steps(view)
        return (*IndexMap.accesses(self, view), RowAccess(view["indices"].type.rows, steps, stride=0))

    def reference(self, view: NodeView) -> Callable[[Rows], Array]:
        """The elements, picked."""
        if view["indices"].is_constant:
            return IndexMap.reference(self, view)
        return lambda rows: self.items(view).picked(view, rows)

    def kernel_call(self, view: NodeView) -> KernelCall:
        """Copies from places in tables, or, where indices are computed, from those that they name."""
        if not view["indices"].is_constant:
            return self.items(view).kernel_call(view)
        call = IndexMap.kernel_call(self, view)
        return replace(call, inplace_distance_bytes=(*call.inplace_distance_bytes, None))
