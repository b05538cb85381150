"""BROADCAST_TO and BROADCAST_ARGS."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kibi.dtypes import Array, DType
from kibi.ir import KernelCall, NodeView, Operator, OperatorError, RowAccess, Rows
from kibi.kernels.params.movement import BroadcastArgsParams
from kibi.ops import checks
from kibi.ops.movement.index_map import IndexMap, Indices, Numbers
from kibi.ops.registry import register


@dataclass(frozen=True, slots=True)
class BroadcastTo(IndexMap):
    """The input repeated: input of any type, shape [rank] s32 or s64 constant → output of that shape and type; ranks up to 5.

    Source: TFLM `micro/kernels/broadcast_to.cc`.
    """

    name: ClassVar[str] = "BROADCAST_TO"
    inputs: ClassVar[tuple[str, ...]] = (
        "input",
        "shape",
    )
    kernels: ClassVar[tuple[str, ...]] = (
        "kibi_gather_runs_s8",
        "kibi_gather_runs_s16",
        "kibi_gather_runs_s32",
        "kibi_gather_runs_f32",
        "kibi_gather_runs_any",
    )
    types: ClassVar[tuple[DType, ...]] = (
        *(DType.S8, DType.U8, DType.S16, DType.S32, DType.U32, DType.S64, DType.F32, DType.BOOL),
    )

    def infer(self, view: NodeView) -> tuple[tuple[int, ...], DType]:
        """The shape that is asked for, the input's type."""
        shape, dtype = view["input"].type.shape, checks.dtype(view, "input", *self.types)
        checks.dtype(view, "shape", DType.S32, DType.S64)
        wanted = tuple(int(size) for size in view.constant("shape").reshape(-1))
        fits = len(shape) <= len(wanted) <= 5 and view["shape"].type.shape == (len(wanted),) and min(wanted) > 0
        if not fits or any(size not in (1, to) for size, to in zip(shape[::-1], wanted[::-1], strict=False)):
            what = f"an input of {list(shape)} does not broadcast to {list(wanted)}, of at most five axes"
            raise OperatorError(what, operand="shape")
        return wanted, dtype

    def indices(self, source: tuple[int, ...], output: tuple[int, ...], constants: tuple[Numbers, ...]) -> Indices:
        """The input's own, repeated."""
        del constants
        elements = np.arange(int(np.prod(source)), dtype=np.int64).reshape(source)
        return np.broadcast_to(elements, output)


register(BroadcastTo)


_SHAPES = ("input1", "input2")


@dataclass(frozen=True, slots=True)
class BroadcastArgs(Operator):
    """The shape that two shapes broadcast to: inputs [rank] s32 or s64 → output [larger rank] of that type.

    Where two sizes differ and none is 1, TFLM stops the inference; here the first counts. Source: TFLM
    `micro/kernels/broadcast_args.cc` and `kernels/internal/reference/broadcast_args.h`.
    """

    name: ClassVar[str] = "BROADCAST_ARGS"
    inputs: ClassVar[tuple[str, ...]] = _SHAPES
    row_inputs: ClassVar[tuple[str, ...]] = _SHAPES
    kernels: ClassVar[tuple[str, ...]] = ("kibi_broadcast_args_s32", "kibi_broadcast_args_s64")
    types: ClassVar[tuple[DType, ...]] = (DType.S32, DType.S64)

    def infer(self, view: NodeView) -> tuple[tuple[int, ...], DType]:
        """The larger number of axes, the inputs' type."""
        (first,), (second,) = (checks.rank(view, name, 1) for name in _SHAPES)
        return (max(first, second),), checks.dtype(view, "input2", checks.dtype(view, "input1", *self.types))

    def accesses(self, view: NodeView) -> tuple[RowAccess, ...]:
        """Both, whole."""
        del view
        return (RowAccess.same(1), RowAccess.same(1))

    def reference(self, view: NodeView) -> Callable[[Rows], Array]:
        """The size that is not 1, axis by axis; missing axes are 1."""
        elements = view.output.type.elements

        def step(rows: Rows) -> Array:
            first, second = (
                np.concatenate([np.ones(elements - shape.size, shape.dtype), shape])
                for shape in (np.asarray(pieces[0]).reshape(-1) for pieces in rows)
            )
            return np.where(first == 1, second, first)

        return step

    def kernel_call(self, view: NodeView) -> KernelCall:
        """One kernel for each type, without scratch."""
        dtype, elements = view.output.type.dtype, view.output.type.elements
        sizes = [view[name].type.elements for name in _SHAPES]
        params = BroadcastArgsParams(elements1=sizes[0], elements2=sizes[1], elements=elements)
        distances = tuple((elements - size) * dtype.size_bytes for size in sizes)
        return KernelCall(f"kibi_broadcast_args_{dtype}", params, inplace_distance_bytes=distances)


register(BroadcastArgs)
