"""Drawn models of operators that join, cut and turn tensors of any type."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from kibi.dtypes import Array, DType
from kibi.frontends.tflite.builder import Attribute, ModelBuilder
from kibi.ops import (
    Concatenation,
    ExpandDims,
    Pack,
    Reshape,
    Slice,
    Split,
    SplitV,
    Squeeze,
    StridedSlice,
    Transpose,
    Unpack,
)
from tests.support.case import Case, drawn_shape, factors, one, permutation
from tests.support.choices import Choices, elements, flip, scale, zero_point


def _values(c: Choices, shape: Sequence[int], dtype: DType) -> Array:
    """Elements of any type, for operators that only move them."""
    kind = dtype.numpy
    if dtype is DType.BOOL:
        return elements(c, shape) > 0
    data = elements(c, (*shape, kind.itemsize))
    if dtype is DType.F32:  # whole numbers: no NaN, of which comparisons and copies of floats may change bits
        return data[..., 0].astype(kind)
    return np.ascontiguousarray(data).view(kind).reshape(tuple(shape))


def _moved_quantization(c: Choices, dtype: DType) -> tuple[float | None, int | None]:
    """A scale and a zero point as its type has them; none for what is not quantized."""
    if dtype in (DType.S8, DType.S16):
        return scale(c), zero_point(c) if dtype is DType.S8 else 0
    return None, None


def _joined(
    c: Choices, name: str, dtype: DType, shapes: Sequence[Sequence[int]], output: Sequence[int], **how: Attribute
) -> Case:
    """An operator on several inputs, of which some may be constants or the same tensor again."""
    b, quantization, inputs = ModelBuilder(), _moved_quantization(c, dtype), []
    operands: list[int] = []
    for number, shape in enumerate(shapes):
        data = _values(c, shape, dtype)
        if number and c.one_of((False, False, True)):
            same = [index for index, other in zip(operands, shapes, strict=False) if list(other) == list(shape)]
            operands.append(c.one_of(same) if same and flip(c) else b.constant(data, *quantization))
        else:
            operands.append(b.input(shape, dtype, *quantization))
            inputs.append(data)
    return one(name, b, operands, b.tensor(output, dtype, *quantization), inputs, **how)


def concatenation(c: Choices) -> Case:
    """CONCATENATION of any type along any axis; axes are often 1, so that rows lie along each of them."""
    dtype = c.one_of((DType.S8, DType.S8, *Concatenation.types))
    rank = c.one_of((4, c.integer(1, 5)))
    shape = [c.one_of((1, c.integer(1, 4))) for _ in range(rank)]
    axis = c.integer(0, rank - 1)
    shapes = [[*shape[:axis], c.integer(1, 3), *shape[axis + 1 :]] for _ in range(c.one_of((c.integer(1, 4), 10)))]
    output = [*shape[:axis], sum(each[axis] for each in shapes), *shape[axis + 1 :]]
    return _joined(c, "CONCATENATION", dtype, shapes, output, axis=axis - rank if flip(c) else axis)


def pack(c: Choices) -> Case:
    """PACK of any type along any axis."""
    dtype = c.one_of((DType.S8, DType.S8, *Pack.types))
    rank = c.integer(0, 4)
    shape = [c.one_of((1, c.integer(1, 4))) for _ in range(rank)]
    axis, count = c.integer(0, rank), c.one_of((c.integer(1, 5), c.integer(1, 5), 16))
    output = [*shape[:axis], count, *shape[axis:]]
    axis = axis - rank - 1 if flip(c) else axis
    return _joined(c, "PACK", dtype, [shape] * count, output, axis=axis, values_count=count)


@dataclass(frozen=True, slots=True)
class _Moved:
    """A model that moves elements of one input: its builder, the input, and the scale that its outputs have, too."""

    builder: ModelBuilder
    data: Array
    dtype: DType
    quantization: tuple[float | None, int | None]

    @staticmethod
    def of(c: Choices, shape: Sequence[int], types: Sequence[DType]) -> "_Moved":
        dtype = c.one_of((DType.S8, *types))
        quantization = _moved_quantization(c, dtype)
        moved = _Moved(ModelBuilder(), _values(c, shape, dtype), dtype, quantization)
        moved.builder.input(shape, dtype, *quantization)
        return moved

    def output(self, shape: Sequence[int]) -> int:
        """A tensor of the input's type."""
        return self.builder.tensor(shape, self.dtype, *self.quantization)

    def case(self, name: str, operands: Sequence[int], outputs: Sequence[int], **how: Attribute) -> Case:
        """The model of one operator."""
        self.builder.operator(name, operands, outputs, how)
        return Case(name, self.builder.finish(outputs), (self.data,))

    def numbers(self, values: object) -> int:
        """A constant s32."""
        return self.builder.constant(np.array(values, np.int32))


def _mixed_shape(c: Choices, least: int, most: int, size: int = 5) -> tuple[int, ...]:
    """A shape with many ones, so that rows lie along each axis."""
    return tuple(c.one_of((1, c.integer(1, size), c.integer(1, size))) for _ in range(c.integer(least, most)))


def strided_slice(c: Choices) -> Case:
    """STRIDED_SLICE with any begins, ends beyond the axis too, strides of both signs, and masks."""
    shape = _mixed_shape(c, 1, 4, 6)
    moved = _Moved.of(c, shape, StridedSlice.types)
    masks, rows, output = [0, 0, 0], [], []
    for axis, length in enumerate(shape):
        begin = c.integer(0, length - 1)
        stride = c.one_of((1, 1, 2, 3, -1, -2))
        is_left_out = stride > 0 and c.one_of((False, False, True))
        from_start, to_end = flip(c), flip(c)
        begin = (0 if stride > 0 else length - 1) if from_start else begin
        end = begin + c.integer(1, length - begin) if stride > 0 else c.integer(-1, begin - 1)
        end = (length if stride > 0 else -1) if to_end else end
        if not is_left_out:
            output.append(-((begin - end) // stride))
        masks = [mask | bit << axis for mask, bit in zip(masks, (from_start, to_end, is_left_out), strict=True)]
        given = c.integer(-9, 9) if from_start else begin - length if flip(c) else begin
        last = (
            c.integer(-9, 9)
            if to_end or is_left_out
            else end - length
            if end < length and (end < 0 or flip(c))
            else end
        )
        rows.append((given, last, stride))
    operands = [0, *(moved.numbers([row[column] for row in rows]) for column in range(3))]
    how = dict(zip(("begin_mask", "end_mask", "shrink_axis_mask"), masks, strict=True))
    return moved.case("STRIDED_SLICE", operands, [moved.output(output)], **how)


def slice_(c: Choices) -> Case:
    """SLICE of any stretches."""
    shape = _mixed_shape(c, 1, 5)
    moved = _Moved.of(c, shape, Slice.types)
    begins = [c.integer(0, length - 1) for length in shape]
    sizes = [
        c.one_of((length - begin, c.integer(1, length - begin))) for length, begin in zip(shape, begins, strict=True)
    ]
    given = [
        -1 if begin + size == length and flip(c) else size
        for length, begin, size in zip(shape, begins, sizes, strict=True)
    ]
    kind = c.one_of((np.int32, np.int64))
    operands = [0, *(moved.builder.constant(np.array(values, kind)) for values in (begins, given))]
    return moved.case("SLICE", operands, [moved.output(sizes)])


def _split_shape(c: Choices, size: int) -> tuple[list[int], int, int]:
    """A shape with an axis of that size; the axis, and how it is named."""
    shape = list(_mixed_shape(c, 0, 3, 4))
    axis = c.integer(0, len(shape))
    shape.insert(axis, size)
    return shape, axis, axis - len(shape) if flip(c) else axis


def split(c: Choices) -> Case:
    """SPLIT into equal parts along any axis."""
    parts, size = c.integer(1, 4), c.integer(1, 3)
    shape, axis, named = _split_shape(c, parts * size)
    moved = _Moved.of(c, shape, Split.types)
    axis_operand = moved.numbers(named if flip(c) else [named])
    outputs = [moved.output([*shape[:axis], size, *shape[axis + 1 :]]) for _ in range(parts)]
    return moved.case("SPLIT", [axis_operand, 0], outputs, num_splits=parts)


def split_v(c: Choices) -> Case:
    """SPLIT_V into parts of any sizes along any axis."""
    sizes = [c.integer(1, 3) for _ in range(c.integer(1, 4))]
    shape, axis, named = _split_shape(c, sum(sizes))
    moved = _Moved.of(c, shape, SplitV.types)
    rest = c.one_of((None, c.integer(0, len(sizes) - 1)))
    given = [-1 if number == rest else size for number, size in enumerate(sizes)]
    operands = [0, moved.numbers(given), moved.numbers(named)]
    outputs = [moved.output([*shape[:axis], size, *shape[axis + 1 :]]) for size in sizes]
    return moved.case("SPLIT_V", operands, outputs, num_splits=len(sizes))


def unpack(c: Choices) -> Case:
    """UNPACK along any axis."""
    count = c.integer(1, 4)
    shape, axis, named = _split_shape(c, count)
    moved = _Moved.of(c, shape, Unpack.types)
    outputs = [moved.output([*shape[:axis], *shape[axis + 1 :]]) for _ in range(count)]
    return moved.case("UNPACK", [0], outputs, axis=named, num=count)


def transpose(c: Choices) -> Case:
    """TRANSPOSE by any permutation."""
    shape = _mixed_shape(c, 1, 5, 6)
    moved = _Moved.of(c, shape, [kind for kind in Transpose.types if kind is not DType.BOOL])  # which TFLM refuses
    order = permutation(c, len(shape))
    return moved.case("TRANSPOSE", [0, moved.numbers(order)], [moved.output([shape[axis] for axis in order])])


def squeeze(c: Choices) -> Case:
    """SQUEEZE of named axes, or of all that are 1."""
    shape = _mixed_shape(c, 1, 5)
    moved = _Moved.of(c, shape, Squeeze.types)
    ones = [axis for axis, size in enumerate(shape) if size == 1]
    named = [axis for axis in ones if flip(c)]
    gone = named or ones
    output = moved.output([size for axis, size in enumerate(shape) if axis not in gone])
    dims = [axis - len(shape) if flip(c) else axis for axis in named]
    return moved.case("SQUEEZE", [0], [output], **({"squeeze_dims": dims} if dims else {}))


def expand_dims(c: Choices) -> Case:
    """EXPAND_DIMS at any axis."""
    shape = _mixed_shape(c, 0, 4)
    moved = _Moved.of(c, shape, ExpandDims.types)
    axis = c.integer(0, len(shape))
    output = moved.output([*shape[:axis], 1, *shape[axis:]])
    named = axis - len(shape) - 1 if flip(c) else axis
    return moved.case("EXPAND_DIMS", [0, moved.numbers(named if flip(c) else [named])], [output])


def reshape(c: Choices) -> Case:
    """RESHAPE from any shape to any other; the new shape as an input, as an attribute, as nothing, or nowhere."""
    b = ModelBuilder()
    shape = drawn_shape(c, c.integer(0, 5), 6)
    total = prod(shape)
    output_shape = factors(c, total, c.integer(1, 5)) if total > 1 or flip(c) else ()
    dtype = c.one_of((DType.S8, DType.F32, c.one_of(Reshape.types)))
    data, quantization = _values(c, shape, dtype), _moved_quantization(c, dtype)
    source, output = b.input(shape, dtype, *quantization), b.tensor(output_shape, dtype, *quantization)
    how = c.one_of(("input", "attribute", "nowhere", "nothing") if output_shape else ("nowhere", "nothing"))
    named = np.array(output_shape if how == "input" else (), np.int32)
    operands = [source, b.constant(named)] if how in ("input", "nothing") else [source]
    if how == "attribute":
        return one("RESHAPE", b, operands, output, [data], new_shape=output_shape)
    return one("RESHAPE", b, operands, output, [data])


JOINING_MODELS: Mapping[str, Callable[[Choices], Case]] = {
    "CONCATENATION": concatenation,
    "EXPAND_DIMS": expand_dims,
    "PACK": pack,
    "RESHAPE": reshape,
    "SLICE": slice_,
    "SPLIT": split,
    "SPLIT_V": split_v,
    "SQUEEZE": squeeze,
    "STRIDED_SLICE": strided_slice,
    "TRANSPOSE": transpose,
    "UNPACK": unpack,
}
"""How models of each of these operators are drawn."""
