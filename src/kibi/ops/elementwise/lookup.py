"""LOOKUP: any function of one s8 element, as its 256 results."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from kibi.dtypes import DType
from kibi.ir import NodeView, OperatorError
from kibi.ops.elementwise.table import ALL_S8, TableOperator


@dataclass(frozen=True, slots=True)
class Lookup(TableOperator):
    """The entry of a table at each element: input s8 of any shape → output s8 of the same shape.

    No model file holds it, and so it is not registered: the pass `into-table` makes one of several operators that compute an
    element from another one. `entries` are the outputs for -128 … 127.
    """

    name: ClassVar[str] = "LOOKUP"

    entries: tuple[int, ...] = ()

    def infer(self, view: NodeView) -> tuple[tuple[int, ...], DType]:
        """The input's shape, or another of the same rows, type s8."""
        low, high = DType.S8.limits
        if len(self.entries) != len(ALL_S8) or not all(low <= each <= high for each in self.entries):
            raise OperatorError(
                f"its {len(self.entries)} entries are not {len(ALL_S8)} of s8", "Give one for each element"
            )
        return TableOperator.infer(self, view)

    def table(self, view: NodeView) -> NDArray[np.int8]:
        """The entries."""
        del view
        return np.array(self.entries, np.int8)
