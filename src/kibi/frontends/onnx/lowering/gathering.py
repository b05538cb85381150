"""Operators that take elements by number, and sums along an axis."""

import math
from collections.abc import Mapping, Sequence

import numpy as np

from kibi.dtypes import DType
from kibi.frontends.onnx.draft import Tensor
from kibi.frontends.onnx.emitter import Emitter, plain_order
from kibi.frontends.onnx.graph import Node, Numbers
from kibi.frontends.onnx.lowering.elementwise import combined
from kibi.frontends.onnx.lowering.entry import Lowering
from kibi.frontends.onnx.lowering.moving import constant_of, gathered, normal, ranged
from kibi.frontends.onnx.problems import Unsupported


def _indices(e: Emitter, name: str, size: int) -> Tensor:
    """Indices s32 that count from the start."""
    data = e.graph.data(name)
    if data is not None:
        return e.constant(np.where(data < 0, data + size, data).astype(np.int32))
    tensor = e.tensor(name)
    if name in e.naturals:
        return tensor
    return _from_start(e, tensor, np.array(size, np.int32))


def _from_start(e: Emitter, tensor: Tensor, sizes: Numbers) -> Tensor:
    """Indices s32, of which those below 0 count from the end of axes of these sizes; TFLM has no remainder of integers."""
    is_below = e.add("LESS", [tensor, e.constant(np.array(0, np.int32))], tensor.shape, DType.BOOL)
    ends = e.add("CAST", [is_below], tensor.shape, DType.S32)
    return combined(e, "ADD", [tensor, combined(e, "MUL", [ends, e.constant(sizes)])])


def _gather(e: Emitter, node: Node) -> None:
    name, result = node.inputs[1], node.outputs[0]
    stored = e.unscrambled(e.stored(node.inputs[0]))
    axis = normal(node.integer("axis", 0), len(stored.order))
    size = e.shape(node.inputs[0])[axis]
    data = e.graph.data(name)
    if data is not None and data.ndim < 2:
        place = stored.order.index(axis)
        chosen = np.where(data < 0, data + size, data).reshape(-1)
        x = _chosen(e, stored.tensor, chosen, place)
        if data.ndim:
            e.give(result, x, stored.order)
            return
        kept = [each for each in stored.order if each != axis]
        e.give(
            result, e.reshaped(x, (*x.shape[:place], *x.shape[place + 1 :])), tuple(sorted(kept).index(i) for i in kept)
        )
        return
    x = e.tensor(node.inputs[0])
    if x.data is not None and x.quantization is not None and x.quantization.is_per_channel:
        x = e.dequantized(x)
    if x.dtype not in (DType.S8, DType.F32):
        raise Unsupported(f"elements of {x.dtype} are not supported", "Use float32 or int8")
    places = _indices(e, name, size)
    e.give(result, e.add("GATHER", [x, places], e.shape(result), x.dtype, x.quantization, axis=axis))


def _chosen(e: Emitter, x: Tensor, chosen: Numbers, place: int) -> Tensor:
    """Elements along an axis: a slice where they are evenly spaced, which has kernels for more types."""
    steps = np.unique(np.diff(chosen))
    if x.data is None and (len(chosen) == 1 or (len(steps) == 1 and steps[0] != 0)):
        step = int(steps[0]) if len(chosen) > 1 else 1
        along = range(int(chosen[0]), int(chosen[-1]) + (1 if step > 0 else -1), step)
        return ranged(e, x, [along if axis == place else range(size) for axis, size in enumerate(x.shape)])
    return gathered(e, x, chosen, place)


def _gather_nd(e: Emitter, node: Node) -> None:
    if node.integer("batch_dims", 0):
        raise Unsupported("batch axes are not supported", "Use batch_dims = 0")
    x = e.tensor(node.inputs[0])
    data = e.graph.data(node.inputs[1])
    depth = e.shape(node.inputs[1])[-1]
    sizes = np.array(x.shape[:depth], np.int32)
    if data is not None:
        places = e.constant(np.where(data < 0, data + sizes, data).astype(np.int32))
    else:
        given = e.tensor(node.inputs[1])
        places = _from_start(e, given, sizes)
    if x.dtype not in (DType.S8, DType.F32):
        raise Unsupported(f"elements of {x.dtype} are not supported", "Use float32 or int8")
    result = node.outputs[0]
    e.give(result, e.add("GATHER_ND", [x, places], e.shape(result), x.dtype, x.quantization))


def _gather_elements(e: Emitter, node: Node) -> None:
    """Each element's place in the flat input: those of the other axes are known."""
    x = e.tensor(node.inputs[0])
    if x.dtype not in (DType.S8, DType.F32):
        raise Unsupported(f"elements of {x.dtype} are not supported", "Use float32 or int8")
    shape = e.shape(node.inputs[1])
    axis = normal(node.integer("axis", 0), len(shape))
    strides = [math.prod(x.shape[i + 1 :]) for i in range(len(x.shape))]
    base = sum(
        (
            np.arange(size).reshape([-1 if i == j else 1 for j in range(len(shape))]) * strides[i]
            for i, size in enumerate(shape)
            if i != axis
        ),
        np.zeros(shape, np.int64),
    )
    places = _indices(e, node.inputs[1], x.shape[axis])
    if places.data is not None:
        flat = e.constant((places.data.astype(np.int64) * strides[axis] + base).astype(np.int32).reshape(-1))
    else:
        scaled = e.like("MUL", [places, e.constant(np.array(strides[axis], np.int32))])
        flat = e.reshaped(e.like("ADD", [scaled, e.constant(base.astype(np.int32))]), (math.prod(shape),))
    row = e.reshaped(x, (math.prod(x.shape),))
    found = e.add("GATHER", [row, flat], flat.shape, x.dtype, x.quantization, axis=0)
    e.give(node.outputs[0], e.reshaped(found, shape))


def _one_hot(e: Emitter, node: Node) -> None:
    depth, values = constant_of(e, node, 1, "depth"), constant_of(e, node, 2, "values")
    assert depth is not None  # noqa: S101 (the operator demands it; said for the type checker)
    assert values is not None  # noqa: S101 (as above)
    count = int(depth.reshape(-1)[0])
    indices = e.tensor(node.inputs[0])
    rank = len(indices.shape)
    axis = normal(node.integer("axis", -1), rank + 1)
    size = e.constant(np.array(count, indices.dtype.numpy))
    if indices.dtype not in (DType.S32, DType.F32):
        raise Unsupported(f"indices of {indices.dtype} are not supported", "Use int32 or float32")
    # A negative index counts from the end; what is outside of -count to count is in no place.
    below = e.like("ADD", [indices, size])
    shape = [*indices.shape[:axis], 1, *indices.shape[axis:]]
    along = [count if i == axis else 1 for i in range(rank + 1)]
    numbers = e.constant(np.arange(count).astype(indices.dtype.numpy).reshape(along))
    wanted = e.shape(node.outputs[0])
    same = [e.add("EQUAL", [e.reshaped(each, shape), numbers], wanted, DType.BOOL) for each in (indices, below)]
    is_there = e.add("LOGICAL_OR", same, wanted, DType.BOOL)
    e.give(node.outputs[0], _selected(e, is_there, values, node))


def _selected(e: Emitter, is_there: Tensor, values: Numbers, node: Node) -> Tensor:
    dtype = e.dtype(node.outputs[0])
    off, on = (np.array(each) for each in values)
    if dtype is DType.F32:
        chosen = [e.constant(each.astype(np.float32)) for each in (on, off)]
        return e.add("SELECT_V2", [is_there, *chosen], is_there.shape, DType.F32)
    if dtype is not DType.S32:
        raise Unsupported(f"values of {dtype} are not supported", "Use float32 or int32")
    number = e.add("CAST", [is_there], is_there.shape, DType.S32)
    scaled = e.like("MUL", [number, e.constant((on - off).astype(np.int32))])
    return e.like("ADD", [scaled, e.constant(off.astype(np.int32))])


def _cumulative(e: Emitter, node: Node) -> None:
    axis = constant_of(e, node, 1, "axis")
    assert axis is not None  # noqa: S101 (the operator demands it; said for the type checker)
    x = e.real(node.inputs[0])
    if x.dtype is not DType.F32:
        raise Unsupported(f"elements of {x.dtype} are not supported", "Use float32")
    place = normal(int(axis.reshape(-1)[0]), len(x.shape))
    operands = [x, e.constant(np.array(place, np.int32))]
    exclusive, reverse = bool(node.integer("exclusive", 0)), bool(node.integer("reverse", 0))
    result = e.add("CUMSUM", operands, x.shape, DType.F32, exclusive=exclusive, reverse=reverse)
    e.give(node.outputs[0], result, plain_order(len(x.shape)))


def _reverse_sequence(e: Emitter, node: Node) -> None:
    lengths = constant_of(e, node, 1, "lengths")
    assert lengths is not None  # noqa: S101 (the operator demands it; said for the type checker)
    time, batch = node.integer("time_axis", 0), node.integer("batch_axis", 1)
    x = e.tensor(node.inputs[0])
    rows = [_reversed_row(e, x, batch, time, number, int(length)) for number, length in enumerate(lengths)]
    joined = e.add("CONCATENATION", rows, x.shape, x.dtype, x.quantization, axis=batch) if len(rows) > 1 else rows[0]
    e.give(node.outputs[0], joined)


def _reversed_row(e: Emitter, x: Tensor, batch: int, time: int, number: int, length: int) -> Tensor:
    def part(times: range) -> Tensor:
        chosen: Sequence[range] = [
            range(number, number + 1) if axis == batch else times if axis == time else range(size)
            for axis, size in enumerate(x.shape)
        ]
        return ranged(e, x, chosen)

    if length == 0:
        return part(range(x.shape[time]))
    parts = [part(range(length - 1, -1, -1))]
    if length < x.shape[time]:
        parts.append(part(range(length, x.shape[time])))
    if len(parts) == 1:
        return parts[0]
    shape = [1 if axis == batch else size for axis, size in enumerate(x.shape)]
    return e.add("CONCATENATION", parts, shape, x.dtype, x.quantization, axis=time)


_ELEMENTS = "Elements are float32 or int8."
GATHERING: Mapping[str, Lowering] = {
    "CumSum": Lowering(_cumulative, ("CUMSUM",), False, "Elements are float32; the axis is constant."),
    "Gather": Lowering(
        _gather, ("GATHER", "SLICE", "STRIDED_SLICE", "REVERSE_V2", "LESS", "CAST", "MUL", "ADD"), True, _ELEMENTS
    ),
    "GatherElements": Lowering(_gather_elements, ("GATHER", "MUL", "ADD", "LESS", "CAST"), True, _ELEMENTS),
    "GatherND": Lowering(
        _gather_nd,
        ("GATHER_ND", "LESS", "CAST", "MUL", "ADD"),
        True,
        "Elements are float32 or int8; without batch axes.",
    ),
    "OneHot": Lowering(
        _one_hot, ("ADD", "EQUAL", "LOGICAL_OR", "SELECT_V2", "CAST", "MUL"), False, "Depth and values are constants."
    ),
    "ReverseSequence": Lowering(
        _reverse_sequence, ("SLICE", "REVERSE_V2", "CONCATENATION"), True, "The lengths are constants."
    ),
}
"""By ONNX's name of the operator."""
