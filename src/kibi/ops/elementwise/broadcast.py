"""Elementwise operators on several inputs with broadcasting: how rows meet rows."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from math import gcd, prod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from kibi.dtypes import Array, DType
from kibi.errors import InternalError
from kibi.ir import ColumnReach, KernelCall, NodeView, Operator, OperatorError, RowAccess, Rows, TensorType
from kibi.kernels.params import Params
from kibi.kernels.params.binary import ClampedPairF32Params, ClampedPairParams, PairParams
from kibi.ops import checks
from kibi.ops.attributes import Activation
from kibi.ops.elementwise.columns import same_columns

Numbers = NDArray[Any]
"""Elements of s64 or f32."""


@dataclass(frozen=True, slots=True)
class Pairing:
    """The way in which one input meets one output row, seen as `[width, channels]`.

    Attributes:
        access: the pieces of the input that an output row reads: one, or one for each of the output's columns.
        width, channels: of what those pieces hold; each is the output's, or 1 where the input broadcasts.
    """

    access: RowAccess
    width: int
    channels: int

    @staticmethod
    def of(source: TensorType, output: TensorType, split: int) -> "Pairing":
        """The pairing of an input with the output that it broadcasts to; `split` is how many axes of a row make the width."""
        shape = _aligned(source, output)
        axis = output.row_axis
        width, channels = _plane(shape[_behind(output) :], split)
        block = width * channels
        rows = shape[axis] if axis else 1
        unit = gcd(source.row_elements, block)
        count = block // unit
        batches = 1 if axis is None else shape[0]
        access = RowAccess(
            rows=rows * count,
            output_rows=output.rows_per_batch,
            count=count,
            stride=count if rows > 1 else 0,
            parts=source.row_elements // unit,
            is_shared=batches == 1,
        )
        return Pairing(access, width, channels)

    def is_whole(self, plane: tuple[int, int]) -> bool:
        """True if a row of it is one piece, and has an element for each of the output's row."""
        return self.access.count == 1 and (self.width, self.channels) == plane

    def is_flat(self, plane: tuple[int, int]) -> bool:
        """True if one pointer and one stride reach all elements of a row."""
        return self.access.count == 1 and (self.width, self.channels) in (plane, (1, 1))


def _behind(output: TensorType) -> int:
    """The number of axes of which a row has one index each."""
    return 0 if output.row_axis is None else output.row_axis + 1


def _aligned(source: TensorType, output: TensorType) -> tuple[int, ...]:
    """The source's shape with as many axes as the output's."""
    return (1,) * (len(output.shape) - len(source.shape)) + source.shape


def _plane(shape: tuple[int, ...], split: int) -> tuple[int, int]:
    """The axes after the row axis as `(width, channels)`."""
    return prod(shape[:split]), prod(shape[split:])


@lru_cache(maxsize=1024)
def _split(sources: tuple[TensorType, ...], output: TensorType) -> int | None:
    """Returns how many axes of a row are its width: in those, and in the others, each source is there as a whole or broadcasts.

    Up to four axes there always are such; of more, None where there are not.
    """
    row = output.shape[_behind(output) :]
    for split in sorted(range(len(row) + 1), key=lambda split: abs(split - min(1, len(row) - 1))):
        pairings = [Pairing.of(source, output, split) for source in sources]
        plane = _plane(row, split)
        if all(
            # Several pieces are the columns' own: as many along the channels are none of these.
            each.access.count in (1, each.width) and each.width in (1, plane[0]) and each.channels in (1, plane[1])
            for each in pairings
        ):
            return split
    return None


def repeated_shapes(sources: tuple[TensorType, ...], most_axes: int) -> tuple[tuple[int, ...], ...] | None:
    """The shapes to which inputs must be repeated so that their axes fall into two groups, at the least elements.

    Args:
        sources: the inputs' types; only their shapes matter.
        most_axes: of each.

    Returns:
        The shapes, those of inputs that stay among them; None where inputs do not broadcast, or have too many axes.
    """
    shapes = tuple(source.shape for source in sources)
    if max(map(len, shapes)) > most_axes:
        return None
    try:
        output = TensorType(tuple(int(size) for size in np.broadcast_shapes(*shapes)), DType.S8)
    except ValueError:
        return None
    if _split(sources, output) is not None:
        return shapes
    splits = range(len(output.shape) - _behind(output) + 1)
    tries = (tuple(_filled(source, output, split) for source in sources) for split in splits)
    fitting = [each for each in (*tries, (output.shape,) * len(sources)) if _split(_types(each), output) is not None]
    return min(fitting, key=lambda each: sum(map(prod, each)))


def _types(shapes: tuple[tuple[int, ...], ...]) -> tuple[TensorType, ...]:
    return tuple(TensorType(shape, DType.S8) for shape in shapes)


def _filled(source: TensorType, output: TensorType, split: int) -> tuple[int, ...]:
    """The source's shape with all axes of a group where it has some; as it is where that changes nothing."""
    own, first = _aligned(source, output), _behind(output)
    filled = own[:first]
    for part in (slice(first, first + split), slice(first + split, None)):
        filled += own[part] if own[part] == output.shape[part] or prod(own[part]) == 1 else output.shape[part]
    return source.shape if filled == own else filled


@dataclass(frozen=True, slots=True)
class Broadcast2(Operator):
    """Two inputs of one type and of shapes that broadcast (ranks up to 6) → output of that type.

    One with more inputs has a rule on types of its own. Kernels are `kibi_<name>_<type>`; their structs begin with the fields of
    `broadcast_params`.
    """

    inputs: ClassVar[tuple[str, ...]] = ("input1", "input2")
    row_inputs: ClassVar[tuple[str, ...]] = ("input1", "input2")
    most_axes: ClassVar[int] = 6
    """TFLM `kernels/internal/runtime_shape.h`."""

    def infer(self, view: NodeView) -> tuple[tuple[int, ...], DType]:
        """The broadcast shape, the inputs' type."""
        first, second = self.inputs
        dtype = checks.dtype(view, second, view[first].type.dtype)
        return self.broadcast_shape(view), dtype

    def broadcast_shape(self, view: NodeView) -> tuple[int, ...]:
        """The shape that the inputs broadcast to.

        Raises:
            OperatorError: they do not, or have too many axes.
        """
        sources = tuple(view[name].type for name in self.inputs)
        shapes = [source.shape for source in sources]
        text = f"inputs of shapes {' and '.join(str(list(shape)) for shape in shapes)}"
        if max(map(len, shapes)) > self.most_axes:
            what = f"{text}: ranks up to {self.most_axes} are supported"
            raise OperatorError(f"{what}, for which TFLM has room; of more it writes beyond the end of its shapes")
        try:
            shape = tuple(int(size) for size in np.broadcast_shapes(*shapes))
        except ValueError:
            raise OperatorError(f"{text} do not broadcast") from None
        if _split(sources, TensorType(shape, DType.S8)) is None:
            what = f"{text} broadcast along too many separate axes of a row"
            raise OperatorError(what, "Repeat an input by BROADCAST_TO, as Kibi does where it loads a model file")
        return shape

    def accesses(self, view: NodeView) -> tuple[RowAccess, ...]:
        """Returns for each input the pieces that meet an output row."""
        return tuple(pairing.access for pairing in self._pairings(view))

    def columns(self, view: NodeView) -> ColumnReach | None:
        """Column by column, where images have one shape and constants are the same for each column."""
        return same_columns(view)

    def _pairings(self, view: NodeView) -> tuple[Pairing, ...]:
        split = self._split(view)
        return tuple(Pairing.of(view[name].type, view.output.type, split) for name in self.inputs)

    def _split(self, view: NodeView) -> int:
        split = _split(tuple(view[name].type for name in self.inputs), view.output.type)
        if split is None:
            raise InternalError(f"{view.node.label} broadcasts in a way that infer refuses")
        return split

    def _output_plane(self, view: NodeView) -> tuple[int, int]:
        output = view.output.type
        return _plane(output.shape[_behind(output) :], self._split(view))

    def broadcast_params(self, view: NodeView) -> dict[str, int]:
        """The struct fields that say how the inputs' pieces meet an output row."""
        plane = self._output_plane(view)
        pairings = self._pairings(view)
        is_flat = all(pairing.is_flat(plane) for pairing in pairings)
        fields = {
            "pieces": 1 if is_flat else plane[0],
            "elements": prod(plane) if is_flat else plane[1],
            **{f"rows{number}": each.access.count for number, each in enumerate(pairings[:-1], start=1)},
        }
        for number, pairing in enumerate(pairings, start=1):
            has_rows = pairing.access.count > 1
            fields |= {
                f"row_step{number}": int(has_rows),
                f"piece_step{number}": 0 if has_rows or pairing.width == 1 else pairing.channels,
                f"step{number}": int(pairing.channels > 1 or (is_flat and pairing.width > 1)),
            }
        return fields

    def kernel_call(self, view: NodeView) -> KernelCall:
        """The type's kernel, without scratch, and without fields of its own."""
        return self.call(view, PairParams)

    def call(self, view: NodeView, kind: type[Params], **fields: Any) -> KernelCall:
        """The call of the type's kernel, without scratch, whose struct has these fields after those of the broadcast."""
        kernel = f"kibi_{self.name.lower()}_{view.output.type.dtype}"
        return KernelCall(
            kernel, kind(**self.broadcast_params(view), **fields), inplace_distance_bytes=self.overlaps(view)
        )

    def overlaps(self, view: NodeView) -> tuple[int | None, ...]:
        """Returns each input's `KernelCall.inplace_distance_bytes`: 0 where its rows meet the output's element by element."""
        plane = self._output_plane(view)
        pairings = self._pairings(view)
        return tuple(0 if each.is_whole(plane) and each.access.parts == 1 else None for each in pairings)

    def planes(self, view: NodeView) -> Callable[[Rows], tuple[Numbers, ...]]:
        """From a step's rows to the inputs' pieces as arrays `[width, channels]` of the output row, broadcast; integers as s64."""
        plane = self._output_plane(view)
        shapes = [(pairing.width, pairing.channels) for pairing in self._pairings(view)]

        def planes(rows: Rows) -> tuple[Numbers, ...]:
            arrays = []
            for shape, pieces in zip(shapes, rows, strict=True):
                data = np.concatenate([np.asarray(piece).reshape(-1) for piece in pieces]).reshape(shape)
                wide = data.astype(np.int64) if data.dtype.kind == "i" else data
                arrays.append(wide if shape == plane else np.broadcast_to(wide, plane))
            return tuple(arrays)

        return planes


@dataclass(frozen=True, slots=True)
class Elementwise2(Broadcast2):
    """Two inputs of one type and of shapes that broadcast (ranks up to 6) → output of that type, clamped by an activation.

    Types s8 and s16 are quantized, s32 and f32 are not.
    """

    activation: Activation = Activation.NONE

    def infer(self, view: NodeView) -> tuple[tuple[int, ...], DType]:
        """The broadcast shape, the inputs' type."""
        shape, dtype = Broadcast2.infer(self, view)
        checks.dtype(view, "output", dtype)
        if is_quantized(dtype):
            for operand in (*self.inputs, "output"):
                checks.per_tensor(view, operand)
            self.activation.limits(dtype, view.output.quantization)
        return shape, dtype

    def limits(self, view: NodeView) -> tuple[float, float]:
        """The closed range that outputs are clamped to: two integers, or two f32.

        Source: TFLM `kernels/kernel_util.cc`, `CalculateActivationRangeQuantized`; `kernel_util.h`, `CalculateActivationRange`.
        """
        dtype = view.output.type.dtype
        if is_quantized(dtype):
            return self.activation.limits(dtype, view.output.quantization)
        return self.activation.plain_limits(dtype)

    def clamp_params(self, view: NodeView) -> dict[str, float]:
        """The struct fields of the clamp."""
        low, high = self.limits(view)
        return {"activation_min": low, "activation_max": high}

    def plain_call(self, view: NodeView) -> KernelCall:
        """The call of the kernel of s32 or f32, which are not quantized."""
        kind = ClampedPairF32Params if view.output.type.dtype is DType.F32 else ClampedPairParams
        return self.call(view, kind, **self.clamp_params(view))

    def clamped(self, view: NodeView) -> Callable[[Numbers], Array]:
        """A function that clamps an array, the upper bound last, and gives it the output's type; a NaN stays one."""
        numpy = view.output.type.dtype.numpy
        low, high = np.array(self.limits(view), numpy if numpy.kind == "f" else np.int64)

        def clamp(values: Numbers) -> Array:
            raised = np.where(values < low, low, values)  # which keeps the sign of a zero
            return np.where(raised > high, high, raised).astype(numpy)

        return clamp


def is_quantized(dtype: DType) -> bool:
    """True if elements represent real numbers by scale and zero point."""
    return dtype in (DType.S8, DType.S16)
