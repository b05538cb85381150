"""Elementwise operators from s8 to s8: 256 answers, made ahead of time; the kernel looks them up."""

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from kibi.dtypes import Array, DType
from kibi.ir import ColumnReach, KernelCall, NodeView, Operator, RowAccess, Rows
from kibi.kernels.params.unary import TableParams
from kibi.ops import checks
from kibi.ops.elementwise.columns import same_columns

_FOUR = 4
"""Elements that the kernel takes at once."""
ALL_S8 = np.arange(-128, 128, dtype=np.int64)
"""Every input, in the order of the table."""


@dataclass(frozen=True, slots=True)
class TableOperator(Operator):
    """A function of one s8 element: input s8 of any shape → output s8 of the same shape."""

    inputs: ClassVar[tuple[str, ...]] = ("input",)
    kernels: ClassVar[tuple[str, ...]] = ("kibi_table_s8",)
    types: ClassVar[tuple[DType, ...]] = (DType.S8,)

    @abstractmethod
    def table(self, view: NodeView) -> NDArray[np.int8]:
        """The outputs for inputs -128 … 127."""

    def infer(self, view: NodeView) -> tuple[tuple[int, ...], DType]:
        """The input's shape, or another of the same rows, type s8."""
        checks.per_tensor(view, "input")
        checks.per_tensor(view, "output")
        self.table(view)  # which refuses scales that are out of proportion
        return checks.same_rows(view), DType.S8

    def accesses(self, view: NodeView) -> tuple[RowAccess, ...]:
        """Row by row."""
        return (RowAccess.same(view.output.type.rows),)

    def columns(self, view: NodeView) -> ColumnReach | None:
        """Column by column."""
        return same_columns(view)

    def output_range(self, view: NodeView, given: Sequence[tuple[int, int]]) -> tuple[int, int] | None:
        """That of the entries for what the input can have."""
        low, high = given[0]
        entries = self.table(view)[low - ALL_S8[0] : high - ALL_S8[0] + 1]
        return int(entries.min()), int(entries.max())

    def reference(self, view: NodeView) -> Callable[[Rows], Array]:
        """The table, indexed."""
        return table_rows(self.table(view))

    def kernel_call(self, view: NodeView) -> KernelCall:
        """The one kernel."""
        return table_call(self.table(view), view)


def table_rows(table: NDArray[np.int8]) -> Callable[[Rows], Array]:
    """A function that looks a row up."""

    def row(rows: Rows) -> Array:
        return table[np.asarray(rows[0][0]).astype(np.int64) + 128]

    return row


def table_call(table: NDArray[np.int8], view: NodeView) -> KernelCall:
    """The call of `kibi_table_s8`."""
    elements = view.output.type.row_elements
    parts = {"OF_FOURS": elements >= _FOUR, "OF_SINGLES": elements % _FOUR != 0}
    return KernelCall(
        "kibi_table_s8",
        TableParams(table=table, elements=elements),
        inplace_distance_bytes=(0,),
        features=frozenset(f"KIBI_TABLE_S8_{part}" for part, is_needed in parts.items() if is_needed),
        least_features=frozenset({"KIBI_TABLE_S8_OF_SINGLES"}),
    )
