"""PADV2 and PAD."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kibi.dtypes import Array, DType
from kibi.ir import KernelCall, NodeView, Operator, OperatorError, RowAccess, Rows
from kibi.kernels.params import PARAMS
from kibi.ops import checks
from kibi.ops.movement.index_map import FILLED, IndexMap, Indices, Numbers
from kibi.ops.overlap import least_distance
from kibi.ops.registry import register


@dataclass(frozen=True, slots=True)
class PadV2(IndexMap):
    """Padding with a value: input s8, s16, s32 or f32 of rank 1 to 5, paddings [rank, 2] s32, value constants → output.

    Source: TFLM `micro/kernels/pad_common.cc`.
    """

    name: ClassVar[str] = "PADV2"
    inputs: ClassVar[tuple[str, ...]] = (
        "input",
        "paddings",
        "value",
    )
    index_inputs: ClassVar[tuple[str, ...]] = ("paddings",)
    kernels: ClassVar[tuple[str, ...]] = (
        "kibi_gather_runs_s8",
        "kibi_gather_runs_s16",
        "kibi_gather_runs_s32",
        "kibi_gather_runs_f32",
    )
    types: ClassVar[tuple[DType, ...]] = (DType.S8, DType.S16, DType.S32, DType.F32)

    def infer(self, view: NodeView) -> tuple[tuple[int, ...], DType]:
        """The input's shape with the paddings added, the input's type."""
        shape, dtype = checks.rank(view, "input", 1, 2, 3, 4, 5), checks.dtype(view, "input", *self.types)
        checks.dtype(view, "paddings", DType.S32)
        checks.dtype(view, "value", dtype)
        if view["value"].type.elements != 1:
            raise OperatorError(f"value has {view['value'].type.elements} elements; one is required", operand="value")
        if dtype is DType.S8:
            value, output = checks.per_tensor(view, "value"), checks.per_tensor(view, "output")
            if (value.scale, value.zero_point) != (output.scale, output.zero_point):
                what = f"value ({value}) and output ({output}) must have the same scale and zero point"
                raise OperatorError(what, operand="value")
        pairs = checks.paddings(view)
        return tuple(size + sum(pair) for size, pair in zip(shape, pairs, strict=True)), dtype

    def indices(self, source: tuple[int, ...], output: tuple[int, ...], constants: tuple[Numbers, ...]) -> Indices:
        """The input's own, and nothing around them."""
        del output
        pairs = np.array(constants[0][1], np.int64).reshape(-1, 2)
        elements = np.arange(int(np.prod(source)), dtype=np.int64).reshape(source)
        return np.pad(elements, pairs, constant_values=FILLED)

    def fill(self, view: NodeView) -> Array:
        """The value."""
        return view.constant("value").reshape(1)


register(PadV2)


@dataclass(frozen=True, slots=True)
class Pad(Operator):
    """Padding with the output's zero point: input s8 of rank 1 to 5, paddings [rank, 2] s32 constant → output s8.

    Or input and output are s16, s32 or f32, and zeros are the padding. Source: TFLM `micro/kernels/pad_common.cc`.
    """

    name: ClassVar[str] = "PAD"
    inputs: ClassVar[tuple[str, ...]] = ("input", "paddings")
    kernels: ClassVar[tuple[str, ...]] = ("kibi_pad_s8", "kibi_pad_s16", "kibi_pad_s32", "kibi_pad_f32", *PadV2.kernels)
    types: ClassVar[tuple[DType, ...]] = (DType.S8, DType.S16, DType.S32, DType.F32)

    def infer(self, view: NodeView) -> tuple[tuple[int, ...], DType]:
        """The input's shape with the paddings added, the input's type."""
        shape = checks.rank(view, "input", 1, 2, 3, 4, 5)
        checks.dtype(view, "paddings", DType.S32, DType.S64)
        dtype = view["input"].type.dtype
        if dtype is DType.S8:
            checks.per_tensor(view, "output")
        paddings = view.constant("paddings")
        if paddings.shape != (len(shape), 2) or (paddings.astype(np.int64) < 0).any():
            what = f"paddings {paddings.tolist()} must be {len(shape)} pairs of numbers that are not negative"
            raise OperatorError(what, operand="paddings")
        sums = paddings.astype(np.int64).sum(axis=1)
        return tuple(size + int(extra) for size, extra in zip(shape, sums, strict=True)), dtype

    def steps(self, view: NodeView) -> int:
        """One for each row; where the batch is padded, as many as have the same map."""
        return _MAP.steps(view) if _is_map(view) else view.output.type.rows

    def accesses(self, view: NodeView) -> tuple[RowAccess, ...]:
        """The input row at the same place, or constant rows; a row of the output may take several rows of the input."""
        if _is_map(view):
            return _MAP.accesses(view)
        source, output = view["input"].type, view.output.type
        axis = output.row_axis
        if not axis:  # one row, or the parts of a batch, which is not padded
            return (RowAccess.same(output.rows),)
        before, fill = int(view.constant("paddings")[axis][0]), _value(view)
        rows = source.shape[axis]
        count = source.rows_per_batch // rows
        return (
            RowAccess(
                rows=rows * count,
                output_rows=output.rows_per_batch,
                count=count,
                stride=count,
                start=-before * count,
                fill=fill,
            ),
        )

    def reference(self, view: NodeView) -> Callable[[Rows], Array]:
        """Pad one row's axes; where the batch is padded, pick elements."""
        if _is_map(view):
            return _MAP.reference(view)
        sizes, before, after = _planes(view)
        value = view.output.type.dtype.numpy.type(_value(view))
        padded = tuple(size + sum(pads) for size, *pads in zip(sizes, before, after, strict=True))
        inside = tuple(slice(start, start + size) for start, size in zip(before, sizes, strict=True))

        def row(rows: Rows) -> Array:
            data = np.concatenate([np.asarray(piece).reshape(-1) for piece in rows[0]]).reshape(sizes)
            made = np.full(padded, value, data.dtype)
            made[inside] = data
            return made

        return row

    def kernel_call(self, view: NodeView) -> KernelCall:
        """One kernel for each type, without scratch; where the batch is padded, that which picks elements."""
        if _is_map(view):
            return _MAP.kernel_call(view)
        dtype = view.output.type.dtype
        (width, channels), before, after = _planes(view)
        pieces = self.accesses(view)[0].count
        kernel = f"kibi_pad_{dtype}"
        params = PARAMS[kernel](
            pieces=pieces,
            width=width // pieces,
            channels=channels,
            before_width=before[0],
            after_width=after[0],
            before_channels=before[1],
            after_channels=after[1],
            value=float(_value(view)) if dtype is DType.F32 else _value(view),
        )
        column_elements = before[1] + channels + after[1]
        reads = (
            (k % (width // pieces) * channels, (before[0] + k) * column_elements + before[1]) for k in range(width)
        )
        distance = dtype.size_bytes * least_distance(reads)
        return KernelCall(kernel, params, inplace_distance_bytes=(distance,))


class _Filled(PadV2):
    """PADV2 with the value that PAD has."""

    __slots__ = ()

    def fill(self, view: NodeView) -> Array:
        """The value."""
        return np.full(1, _value(view), view.output.type.dtype.numpy)


_MAP = _Filled()


def _is_map(view: NodeView) -> bool:
    """True if a map of indices replaces the loops: of what has five axes, or a batch that is padded."""
    paddings = view.constant("paddings")
    return len(paddings) > 4 or (len(paddings) > 2 and bool(paddings[0].any()))


def _value(view: NodeView) -> int:
    """Returns the value of the padding."""
    return view.output.quantization.zero_point if view.output.type.dtype is DType.S8 else 0


def _planes(view: NodeView) -> tuple[tuple[int, int], tuple[int, int], tuple[int, int]]:
    """Returns input sizes, and paddings before and after, of the two axes that follow the output's row axis."""
    axis = view.output.type.row_axis
    behind = 0 if axis is None else axis + 1
    shape = view["input"].type.shape[behind:]
    pairs = [(int(low), int(high)) for low, high in view.constant("paddings")[behind:]]
    axes = [(size, low, high) for size, (low, high) in zip(shape, pairs, strict=True)]
    if len(axes) > 2:  # one row: spatial axes are 1 and unpadded
        axes = [axes[0], axes[-1]]
    axes = [(1, 0, 0)] * (2 - len(axes)) + axes
    first, second = axes
    return (first[0], second[0]), (first[1], second[1]), (first[2], second[2])


register(Pad)
