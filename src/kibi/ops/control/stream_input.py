"""STREAM_INPUT: the rows of a model input, as the caller hands them over."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from kibi.dtypes import Array, DType
from kibi.errors import InternalError
from kibi.ir import KernelCall, NodeView, Operator, RowAccess, Rows


@dataclass(frozen=True, slots=True)
class StreamInput(Operator):
    """The next row of a model input that streams: nothing → output of any type.

    No model file holds it, and so it is not registered: the pass `stream_inputs` puts one before each input. Its steps
    are the moments at which `push_row` copies a row into the arena. That is all that streaming needs: orders, lifetimes and
    places follow as for any other operator.
    """

    name: ClassVar[str] = "STREAM_INPUT"
    inputs: ClassVar[tuple[str, ...]] = ()
    row_inputs: ClassVar[tuple[str, ...]] = ()
    kernels: ClassVar[tuple[str, ...]] = ()
    types: ClassVar[tuple[DType, ...]] = tuple(DType)
    receives: ClassVar[bool] = True

    def infer(self, view: NodeView) -> tuple[tuple[int, ...], DType]:
        """Accepts whatever the model says of its input."""
        return view.output.type.shape, view.output.type.dtype

    def accesses(self, view: NodeView) -> tuple[RowAccess, ...]:
        """Reads nothing."""
        del view
        return ()

    def reference(self, view: NodeView) -> Callable[[Rows], Array]:
        """Nothing to compute: the row comes from the caller.

        Raises:
            InternalError: always.
        """
        raise InternalError(f"{view.node.label} computes nothing; rows are pushed")

    def kernel_call(self, view: NodeView) -> KernelCall:
        """No kernel: the library's `push_row` copies."""
        del view
        return KernelCall("")
