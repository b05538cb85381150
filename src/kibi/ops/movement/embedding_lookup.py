"""EMBEDDING_LOOKUP."""

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import ClassVar

import numpy as np

from kibi.dtypes import Array, DType
from kibi.ir import KernelCall, NodeView, Operator, OperatorError, RowAccess, Rows
from kibi.kernels.params.movement import EmbeddingLookupParams
from kibi.ops import checks
from kibi.ops.movement.gather_rows import NumberedItems
from kibi.ops.registry import register

_OPERANDS = ("lookup", "table")


@dataclass(frozen=True, slots=True)
class EmbeddingLookup(Operator):
    """Items of a table by number: lookup [N] s32, table [items, …] s8 or f32 → output [N, …] of the table's type, or f32.

    An s8 table whose zero point is 0 may give floats: element times scale (rule N18). A number without an item gives zeros;
    TFLM stops the inference there. Source: TFLM `micro/kernels/embedding_lookup.cc`.
    """

    name: ClassVar[str] = "EMBEDDING_LOOKUP"
    inputs: ClassVar[tuple[str, ...]] = _OPERANDS
    row_inputs: ClassVar[tuple[str, ...]] = _OPERANDS
    kernels: ClassVar[tuple[str, ...]] = ("kibi_gather_any", "kibi_embedding_lookup_s8_f32")
    types: ClassVar[tuple[DType, ...]] = (DType.S32,)

    def infer(self, view: NodeView) -> tuple[tuple[int, ...], DType]:
        """The number of lookups and the shape of an item; the table's type, or f32."""
        checks.dtype(view, "lookup", DType.S32)
        (lookups,) = checks.rank(view, "lookup", 1)
        shape, dtype = checks.rank(view, "table", 2, 3, 4, 5, 6), checks.dtype(view, "table", DType.S8, DType.F32)
        made = view.output.type.dtype
        if (dtype, made) == (DType.S8, DType.F32):
            if checks.per_tensor(view, "table").zero_point:
                raise OperatorError("table has a zero point that is not 0", "Quantize weights symmetrically", "table")
            return (lookups, *shape[1:]), made
        return (lookups, *shape[1:]), dtype

    def steps(self, view: NodeView) -> int:
        """One: any item may be asked for."""
        del view
        return 1

    def accesses(self, view: NodeView) -> tuple[RowAccess, ...]:
        """The numbers, and the whole table."""
        return _items(view).accesses(view)

    def reference(self, view: NodeView) -> Callable[[Rows], Array]:
        """The items, one after another."""
        table, made = view["table"].type, view.output.type.dtype

        def step(rows: Rows) -> Array:
            found = _items(view).picked(view, rows)
            if made is table.dtype:
                return found
            return found.astype(np.float32) * np.float32(view["table"].quantization.scale)

        return step

    def kernel_call(self, view: NodeView) -> KernelCall:
        """A copy of items, or their conversion."""
        table = view["table"].type
        if view.output.type.dtype is table.dtype:
            return _items(view).kernel_call(view)
        item = prod(table.shape[1:])
        piece = min(item, table.row_elements)
        params = EmbeddingLookupParams(
            lookups=view["lookup"].type.elements,
            items=table.shape[0],
            pieces=item // piece,
            elements=piece,
            row_elements=table.row_elements,
            scale=float(view["table"].quantization.scale),
        )
        return KernelCall("kibi_embedding_lookup_s8_f32", params, is_untyped=True)


def _items(view: NodeView) -> NumberedItems:
    return NumberedItems("table", "lookup", 1, 1, view["table"].type.shape[0])


register(EmbeddingLookup)
