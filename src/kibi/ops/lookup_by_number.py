"""Items of a table by numbers that are computed while the model runs: GATHER and EMBEDDING_LOOKUP."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kibi.dtypes import Array
from kibi.ir import KernelCall, Param, RowAccess, Site


@dataclass(frozen=True, slots=True)
class NumberedItems:
    """How a table falls into items.

    Attributes:
        table, numbers: names of the operands, both of which are read whole by the one step.
        batches: parts of the table and of the numbers that belong together.
        outer: parts of a batch of the table, for each of which all its numbers count.
        items: of a part.
    """

    table: str
    numbers: str
    batches: int
    outer: int
    items: int

    def accesses(self, site: Site) -> tuple[RowAccess, ...]:
        """All rows of both."""
        return tuple(RowAccess.every(tensor.type.rows, 1) for tensor in site.row_tensors)

    def picked(self, site: Site, rows: Sequence[Sequence[Array | None]]) -> Array:
        """The items in order, `[batches * outer, lookups of a batch, elements]`; zeros for a number without one."""
        table, numbers = (
            np.concatenate([np.asarray(row).reshape(-1) for row in rows[site.row_names.index(name)]])
            for name in (self.table, self.numbers)
        )
        items = table.reshape(self.batches * self.outer, self.items, -1)
        wanted = np.repeat(numbers.astype(np.int64).reshape(self.batches, -1), self.outer, axis=0)[..., None]
        is_there = (wanted >= 0) & (wanted < self.items)
        found = np.take_along_axis(items, np.where(is_there, wanted, 0), axis=1)
        return np.where(is_there, found, np.zeros(1, found.dtype))

    def kernel_call(self, site: Site) -> KernelCall:
        """Copies of items, without scratch."""
        table, numbers = site[self.table].type, site[self.numbers].type
        item_elements = table.elements // (self.batches * self.outer * self.items)
        piece = min(item_elements, table.row_elements)
        is_first = site.row_names[0] == self.table
        params = (
            Param("batches", self.batches),
            Param("outer", self.outer),
            Param("lookups", numbers.elements // self.batches),
            Param("items", self.items),
            Param("pieces", item_elements // piece),
            Param("bytes", piece * table.dtype.size_bytes),
            Param("row_bytes", table.row_bytes),
            Param("number_row_elements", numbers.row_elements),
            Param("table", 0 if is_first else numbers.rows),
            Param("numbers", table.rows if is_first else 0),
        )
        return KernelCall("kibi_gather_any", params, is_untyped=True)
