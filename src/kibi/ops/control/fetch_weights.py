"""FETCH_WEIGHTS: the packed weights of a node, read from slow memory into a window."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from kibi.dtypes import Array, DType
from kibi.ir import KernelCall, NodeView, Operator, RowAccess, Rows

STATUS_BYTES = 4
"""Bytes of scratch that hold what the application's function returned."""


@dataclass(frozen=True, slots=True)
class FetchWeights(Operator):
    """A node's packed weights: nothing → window [1, loads, 1, words], of s32 or s64. Each row holds the same bytes, fetched again.

    No model file holds it, and so it is not registered: a plan for slow memory puts one before each node with weights. That is
    all that windows need: their orders, lifetimes and places follow as for any other tensor.

    Attributes:
        content: the bytes, in whole words.
    """

    name: ClassVar[str] = "FETCH_WEIGHTS"
    inputs: ClassVar[tuple[str, ...]] = ()
    row_inputs: ClassVar[tuple[str, ...]] = ()
    kernels: ClassVar[tuple[str, ...]] = ()
    types: ClassVar[tuple[DType, ...]] = (DType.S32, DType.S64)
    fetches: ClassVar[bool] = True

    content: bytes = field(repr=False)

    def infer(self, view: NodeView) -> tuple[tuple[int, ...], DType]:
        """The window has whole words; a row of it holds the content."""
        return view.output.type.shape, view.output.type.dtype

    def accesses(self, view: NodeView) -> tuple[RowAccess, ...]:
        """Reads nothing in the arena."""
        del view
        return ()

    def reference(self, view: NodeView) -> Callable[[Rows], Array]:
        """The content, in each row."""
        words = np.frombuffer(self.content, view.output.type.dtype.numpy)
        return lambda rows: words  # noqa: ARG005 - there are no rows

    def kernel_call(self, view: NodeView) -> KernelCall:
        """No kernel: the generated code calls the application's function, whose status is kept in the scratch."""
        del view
        return KernelCall("", scratch_bytes=STATUS_BYTES)
