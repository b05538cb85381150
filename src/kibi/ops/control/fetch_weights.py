"""FETCH_WEIGHTS, START_WEIGHTS and WAIT_WEIGHTS: the packed weights of a node, read from slow memory into a window."""

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


@dataclass(frozen=True, slots=True)
class StartWeights(FetchWeights):
    """The same window, whose bytes arrive while other steps run: nothing → window [1, loads, 1, words], of s32 or s64.

    The application's function begins the transfer of a row and returns at once. From this step on the row belongs to the
    transfer; `WaitWeights` says when its bytes are there. One transfer runs at a time.

    Attributes:
        content: the bytes, in whole words.
    """

    name: ClassVar[str] = "START_WEIGHTS"
    starts: ClassVar[bool] = True


@dataclass(frozen=True, slots=True)
class WaitWeights(Operator):
    """The end of a transfer: window [1, loads, 1, words] → its arrival [1, loads, 1, 0], which has no bytes.

    A step waits until the row with its number is there. Kernels read the arrival beside the window, so that no order lets them
    run before.

    Attributes:
        content: the bytes that are in the window then.
    """

    name: ClassVar[str] = "WAIT_WEIGHTS"
    inputs: ClassVar[tuple[str, ...]] = ("window",)
    row_inputs: ClassVar[tuple[str, ...]] = ("window",)
    kernels: ClassVar[tuple[str, ...]] = ()
    types: ClassVar[tuple[DType, ...]] = (DType.S32, DType.S64)
    waits: ClassVar[bool] = True

    content: bytes = field(repr=False)

    def infer(self, view: NodeView) -> tuple[tuple[int, ...], DType]:
        """A row without bytes for each row of the window."""
        return (1, view["window"].type.rows, 1, 0), DType.S8

    def accesses(self, view: NodeView) -> tuple[RowAccess, ...]:
        """Reads the row with the number of the step."""
        rows = view["window"].type.rows
        return (RowAccess(rows=rows, output_rows=rows),)

    def reference(self, view: NodeView) -> Callable[[Rows], Array]:
        """No element: the bytes are in the window."""
        del view
        return lambda rows: np.zeros(0, np.int8)  # noqa: ARG005 - whatever the window holds

    def kernel_call(self, view: NodeView) -> KernelCall:
        """No kernel: the generated code calls the application's function, whose status is kept in the scratch."""
        del view
        return KernelCall("", scratch_bytes=STATUS_BYTES)
