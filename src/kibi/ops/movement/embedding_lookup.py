"""EMBEDDING_LOOKUP."""

from collections.abc import Callable
from dataclasses import dataclass
from math import prod
from typing import ClassVar

import numpy as np

from kibi.dtypes import Array, DType
from kibi.ir import KernelCall, Operator, OperatorError, RowAccess, Rows, Site
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

    def infer(self, site: Site) -> tuple[tuple[int, ...], DType]:
        """The number of lookups and the shape of an item; the table's type, or f32."""
        checks.dtype(site, "lookup", DType.S32)
        (lookups,) = checks.rank(site, "lookup", 1)
        shape, dtype = checks.rank(site, "table", 2, 3, 4, 5, 6), checks.dtype(site, "table", DType.S8, DType.F32)
        made = site.output.type.dtype
        if (dtype, made) == (DType.S8, DType.F32):
            if checks.per_tensor(site, "table").zero_point:
                raise OperatorError("table has a zero point that is not 0", "Quantize weights symmetrically", "table")
            return (lookups, *shape[1:]), made
        return (lookups, *shape[1:]), dtype

    def steps(self, site: Site) -> int:
        """One: any item may be asked for."""
        del site
        return 1

    def accesses(self, site: Site) -> tuple[RowAccess, ...]:
        """The numbers, and the whole table."""
        return _items(site).accesses(site)

    def reference(self, site: Site) -> Callable[[Rows], Array]:
        """The items, one after another."""
        table, made = site["table"].type, site.output.type.dtype

        def step(rows: Rows) -> Array:
            found = _items(site).picked(site, rows)
            if made is table.dtype:
                return found
            return found.astype(np.float32) * np.float32(site["table"].quantization.scale)

        return step

    def kernel_call(self, site: Site) -> KernelCall:
        """A copy of items, or their conversion."""
        table = site["table"].type
        if site.output.type.dtype is table.dtype:
            return _items(site).kernel_call(site)
        item = prod(table.shape[1:])
        piece = min(item, table.row_elements)
        params = EmbeddingLookupParams(
            lookups=site["lookup"].type.elements,
            items=table.shape[0],
            pieces=item // piece,
            elements=piece,
            row_elements=table.row_elements,
            scale=float(site["table"].quantization.scale),
        )
        return KernelCall("kibi_embedding_lookup_s8_f32", params, is_untyped=True)


def _items(site: Site) -> NumberedItems:
    return NumberedItems("table", "lookup", 1, 1, site["table"].type.shape[0])


register(EmbeddingLookup)
