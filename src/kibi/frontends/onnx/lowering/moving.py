"""Operators that move elements: shapes, slices, joins, pads, gathers."""

import math
from collections.abc import Mapping, Sequence

import numpy as np

from kibi.dtypes import DType
from kibi.frontends.onnx.draft import Operation, Tensor
from kibi.frontends.onnx.emitter import Emitter, Stored, channels_last, plain_order
from kibi.frontends.onnx.graph import Node, Numbers
from kibi.frontends.onnx.lowering.entry import Lowering
from kibi.frontends.onnx.problems import Unsupported
from kibi.frontends.onnx.reshaping import give_reshaped
from kibi.frontends.onnx.targets import are_integers, quantized_constant, requantized, target


def constant_of(e: Emitter, node: Node, place: int, what: str) -> Numbers | None:
    """The elements of an input that must be a constant; None if it is left out."""
    name = node.input(place)
    if not name:
        return None
    data = e.graph.data(name)
    if data is None:
        raise Unsupported(f"its {what} are computed by the model", f"Use constant {what}")
    return data


def normal(axis: int, rank: int) -> int:
    """An axis that counts from the start."""
    return axis + rank if axis < 0 else axis


def _reshape(e: Emitter, node: Node) -> None:
    give_reshaped(e, node.outputs[0], e.stored(node.inputs[0]), e.shape(node.outputs[0]))


def _transpose(e: Emitter, node: Node) -> None:
    stored = e.unscrambled(e.stored(node.inputs[0]))
    rank = len(stored.order)
    permutation = node.integers("perm", tuple(reversed(range(rank))))
    e.give(node.outputs[0], stored.tensor, tuple(permutation.index(axis) for axis in stored.order))


def _concat(e: Emitter, node: Node) -> None:
    rank = len(e.shape(node.outputs[0]))
    order = e.order_of(node.inputs, rank)
    tensors = [e.tensor(name, order) for name in node.inputs]
    goal = target(e, node.outputs[0])
    meant = {tensor.quantization for tensor in tensors}
    if goal is not None and are_integers(tensors, goal):
        tensors = [requantized(e, tensor, goal) for tensor in tensors]
    elif len(meant) != 1:
        tensors = [e.dequantized(tensor) for tensor in tensors]
    if len(tensors) == 1:
        e.give(node.outputs[0], tensors[0], order)
        return
    shape = [e.shape(node.outputs[0])[axis] for axis in order]
    place = order.index(normal(node.integer("axis", 0), rank))
    first = tensors[0]
    joined = e.add("CONCATENATION", tensors, shape, first.dtype, first.quantization, axis=place)
    e.give(node.outputs[0], joined, order)


def _split(e: Emitter, node: Node) -> None:
    stored = e.unscrambled(e.stored(node.inputs[0]))
    place = stored.order.index(normal(node.integer("axis", 0), len(stored.order)))
    x = stored.tensor
    shapes = [_split_shape(e, node, name, stored) for name in node.outputs]
    if len(shapes) == 1:
        e.give(node.outputs[0], x, stored.order)
        return
    outputs = tuple(Tensor(shape, x.dtype, x.quantization) for shape in shapes)
    sizes = [shape[place] for shape in shapes]
    axis = e.constant(np.array(place, np.int32))
    if len(set(sizes)) == 1:
        e.operations.append(Operation("SPLIT", (axis, x), outputs, {"num_splits": len(sizes)}))
    else:
        inputs = (x, e.numbers(sizes), axis)
        e.operations.append(Operation("SPLIT_V", inputs, outputs, {"num_splits": len(sizes)}))
    for name, tensor in zip(node.outputs, outputs, strict=True):
        if name:
            e.give(name, tensor, stored.order)


def _split_shape(e: Emitter, node: Node, name: str, stored: Stored) -> tuple[int, ...]:
    if not name:
        raise Unsupported("one of its outputs is left out", "Name all outputs")
    del node
    return tuple(e.shape(name)[axis] for axis in stored.order)


def _slice(e: Emitter, node: Node) -> None:
    stored = e.unscrambled(e.stored(node.inputs[0]))
    shape = e.shape(node.inputs[0])
    starts, ends = (constant_of(e, node, place, "limits") for place in (1, 2))
    axes, steps = (constant_of(e, node, place, "axes and steps") for place in (3, 4))
    assert starts is not None  # noqa: S101 (the operator demands it; said for the type checker)
    assert ends is not None  # noqa: S101 (as above)
    axes = np.arange(len(starts)) if axes is None else axes
    steps = np.ones(len(starts), np.int64) if steps is None else steps
    chosen = [range(size) for size in shape]
    for axis, start, end, step in zip(axes, starts, ends, steps, strict=True):
        size = shape[int(axis)]
        chosen[int(axis)] = range(*slice(_bound(start, step), _bound(end, step), int(step)).indices(size))
    e.give(node.outputs[0], ranged(e, stored.tensor, [chosen[axis] for axis in stored.order]), stored.order)


def _bound(value: int, step: int) -> int | None:
    """A limit as Python counts: what is before the first element means all, when it goes backwards."""
    return None if step < 0 and value <= -(1 << 31) else int(value)


def ranged(e: Emitter, x: Tensor, chosen: Sequence[range]) -> Tensor:
    """The elements in a range of each axis."""
    shape = [len(each) for each in chosen]
    forward = [each if each.step > 0 else range(each[-1], each[0] + 1, -each.step) for each in chosen if len(each)]
    if len(forward) != len(shape):
        raise Unsupported("its result has no elements", "Leave it out")
    if tuple(shape) != x.shape:
        begin = e.numbers([each[0] for each in forward])
        if all(each.step == 1 for each in forward):
            x = e.add("SLICE", [x, begin, e.numbers(shape)], shape, x.dtype, x.quantization)
        else:
            end = e.numbers([each[-1] + 1 for each in forward])
            steps = e.numbers([each.step for each in forward])
            x = e.add("STRIDED_SLICE", [x, begin, end, steps], shape, x.dtype, x.quantization)
    for axis, each in enumerate(chosen):
        if each.step < 0 and len(each) > 1:
            x = e.like("REVERSE_V2", [x, e.numbers([axis])])
    return x


def _pad(e: Emitter, node: Node) -> None:
    stored = e.unscrambled(e.stored(node.inputs[0]))
    rank = len(stored.order)
    pads, axes = constant_of(e, node, 1, "paddings"), constant_of(e, node, 3, "axes")
    assert pads is not None  # noqa: S101 (the operator demands it; said for the type checker)
    listed = range(rank) if axes is None else [normal(int(axis), rank) for axis in axes]
    pairs = {axis: (int(pads[i]), int(pads[i + len(listed)])) for i, axis in enumerate(listed)}
    along = [pairs.get(axis, (0, 0)) for axis in stored.order]
    cut = [range(max(-a, 0), size - max(-b, 0)) for (a, b), size in zip(along, stored.tensor.shape, strict=True)]
    x = ranged(e, stored.tensor, cut)
    along = [(max(a, 0), max(b, 0)) for a, b in along]
    mode = node.text("mode", "constant")
    if not any(any(pair) for pair in along):
        result = x
    elif mode == "constant":
        result = _filled(
            e, x, along, constant_of(e, node, 2, "values") if node.input(2) in e.graph.values else None, node
        )
    else:
        result = _repeated(e, x, along, mode)
    e.give(node.outputs[0], result, stored.order)


def _filled(e: Emitter, x: Tensor, along: Sequence[tuple[int, int]], value: Numbers | None, node: Node) -> Tensor:
    del node
    shape = [size + sum(pair) for size, pair in zip(x.shape, along, strict=True)]
    number = 0.0 if value is None or not value.size else float(value.reshape(-1)[0])
    paddings = e.constant(np.array(along, np.int32))
    if x.dtype in (DType.BOOL, DType.U8, DType.U32):
        raise Unsupported(f"elements of {x.dtype} are not supported", "Use float32 or int32")
    if number == 0:
        return e.add("PAD", [x, paddings], shape, x.dtype, x.quantization)
    filling = np.array([number])
    constant = e.constant(filling.astype(x.dtype.numpy))
    if x.quantization is not None:
        constant = quantized_constant(e, filling, x.quantization)
        if float(np.asarray(e.dequantized(constant).data)[0]) != np.float32(number):
            x = e.dequantized(x)
            constant = e.constant(filling.astype(np.float32))
    return e.add("PADV2", [x, paddings, constant], shape, x.dtype, x.quantization)


def _repeated(e: Emitter, x: Tensor, along: Sequence[tuple[int, int]], mode: str) -> Tensor:
    """Padding with elements: MIRROR_PAD for reflections, else gathers."""
    if mode == "reflect" and all(max(pair) < size for pair, size in zip(along, x.shape, strict=True)):
        shape = [size + sum(pair) for size, pair in zip(x.shape, along, strict=True)]
        if len(shape) <= 4 and x.dtype in (DType.S8, DType.F32):
            paddings = e.constant(np.array(along, np.int32))
            return e.add("MIRROR_PAD", [x, paddings], shape, x.dtype, x.quantization, mode="REFLECT")
    names = {"edge": "edge", "reflect": "reflect", "wrap": "wrap"}
    if mode not in names:
        raise Unsupported(f"mode {mode} is not supported", "Use constant, reflect, edge or wrap")
    for axis, pair in enumerate(along):
        if any(pair):
            places = np.pad(np.arange(x.shape[axis]), pair, mode=names[mode])  # type: ignore[call-overload]
            x = gathered(e, x, places.astype(np.int32), axis)
    return x


def gathered(e: Emitter, x: Tensor, places: Numbers, axis: int) -> Tensor:
    """Constant places along an axis; other types than s8 and f32 have no kernel."""
    if x.data is not None:
        return e.constant(np.take(x.data, places, axis), x.quantization)
    _check_gather(x)
    shape = (*x.shape[:axis], *places.shape, *x.shape[axis + 1 :])
    return e.add("GATHER", [x, e.constant(places.astype(np.int32))], shape, x.dtype, x.quantization, axis=axis)


def _check_gather(x: Tensor) -> None:
    if x.dtype not in (DType.S8, DType.F32) or (x.quantization is not None and x.quantization.is_per_channel):
        raise Unsupported(f"elements of {x.dtype} are not supported", "Use float32 or int8")


def _expand(e: Emitter, node: Node) -> None:
    shape = e.shape(node.outputs[0])
    order = e.order_of(node.inputs[:1], len(shape))
    x = e.aligned(node.inputs[0], order)
    wanted = [shape[axis] for axis in order]
    e.give(node.outputs[0], broadcast(e, x, wanted), order)


def broadcast(e: Emitter, x: Tensor, shape: Sequence[int]) -> Tensor:
    """A tensor repeated along axes of size 1."""
    if x.shape == tuple(shape):
        return x
    if x.data is not None and x.quantization is None:
        return e.constant(np.ascontiguousarray(np.broadcast_to(x.data, tuple(shape))))
    return e.add("BROADCAST_TO", [x, e.numbers(shape)], shape, x.dtype, x.quantization)


def _tile(e: Emitter, node: Node) -> None:
    stored = e.unscrambled(e.stored(node.inputs[0]))
    repeats = constant_of(e, node, 1, "repeats")
    assert repeats is not None  # noqa: S101 (the operator demands it; said for the type checker)
    x = stored.tensor
    for place, axis in enumerate(stored.order):
        count = int(repeats[axis])
        if count > 1:
            outer, inner = math.prod(x.shape[:place]), math.prod(x.shape[place:])
            shape = (*x.shape[:place], x.shape[place] * count, *x.shape[place + 1 :])
            x = e.reshaped(broadcast(e, e.reshaped(x, (outer, 1, inner)), (outer, count, inner)), shape)
    e.give(node.outputs[0], x, stored.order)


def _depth_to_space(e: Emitter, node: Node) -> None:
    x = e.tensor(node.inputs[0], channels_last(4))
    block = node.integer("blocksize", 1)
    if node.text("mode", "DCR") == "CRD":
        channels = x.shape[3] // block**2
        places = np.arange(x.shape[3]).reshape(channels, block * block).T.reshape(-1)
        x = gathered(e, x, places, 3)
    n, h, w, c = x.shape
    shape = (n, h * block, w * block, c // block**2)
    result = e.add("DEPTH_TO_SPACE", [x], shape, x.dtype, x.quantization, block_size=block)
    e.give(node.outputs[0], result, channels_last(4))


def _space_to_depth(e: Emitter, node: Node) -> None:
    x = e.tensor(node.inputs[0], channels_last(4))
    block = node.integer("blocksize", 1)
    n, h, w, c = x.shape
    shape = (n, h // block, w // block, c * block**2)
    result = e.add("SPACE_TO_DEPTH", [x], shape, x.dtype, x.quantization, block_size=block)
    if node.text("mode", "DCR") == "CRD":
        places = np.arange(shape[3]).reshape(block * block, c).T.reshape(-1)
        result = gathered(e, result, places, 3)
    e.give(node.outputs[0], result, channels_last(4))


def _trilu(e: Emitter, node: Node) -> None:
    k = constant_of(e, node, 1, "diagonals")
    x = e.real(node.inputs[0])
    if x.dtype not in (DType.F32, DType.S32):
        raise Unsupported(f"elements of {x.dtype} are not supported", "Use float32 or int32")
    rows, columns = x.shape[-2:]
    diagonal = 0 if k is None else int(k.reshape(-1)[0])
    ones = np.ones((rows, columns), np.bool_)
    mask = np.triu(ones, diagonal) if node.integer("upper", 1) else np.tril(ones, diagonal)
    if x.dtype is DType.S32:
        result = e.like("MUL", [x, e.constant(mask.astype(np.int32))])
    else:
        result = e.add("SELECT_V2", [e.constant(mask), x, e.real_number(0.0)], x.shape, DType.F32)
    e.give(node.outputs[0], result, plain_order(len(x.shape)))


def _folded(e: Emitter, node: Node) -> None:
    del e, node
    raise Unsupported("its result depends on what the model computes", "Use constants, and fixed sizes")


_FOLDED = "Computed when the file is read; its inputs are constants or known sizes."
MOVING: Mapping[str, Lowering] = {
    "Concat": Lowering(_concat, ("CONCATENATION", "QUANTIZE"), True),
    "Constant": Lowering(_folded, (), True, "Computed when the file is read."),
    "ConstantOfShape": Lowering(_folded, (), False, _FOLDED),
    "DepthToSpace": Lowering(_depth_to_space, ("DEPTH_TO_SPACE", "GATHER"), True),
    "Expand": Lowering(_expand, ("BROADCAST_TO", "RESHAPE"), True, "The shape is constant."),
    "EyeLike": Lowering(_folded, (), False, _FOLDED),
    "Flatten": Lowering(_reshape, ("RESHAPE", "TRANSPOSE"), True),
    "Pad": Lowering(
        _pad, ("PAD", "PADV2", "MIRROR_PAD", "GATHER", "SLICE"), True, "Paddings and the value are constants."
    ),
    "Range": Lowering(_folded, (), False, _FOLDED),
    "Reshape": Lowering(_reshape, ("RESHAPE", "TRANSPOSE"), True, "The shape is known when the file is read."),
    "Shape": Lowering(_folded, (), True, _FOLDED),
    "Size": Lowering(_folded, (), True, _FOLDED),
    "Slice": Lowering(_slice, ("SLICE", "STRIDED_SLICE", "REVERSE_V2"), True, "All but the data are constants."),
    "SpaceToDepth": Lowering(_space_to_depth, ("SPACE_TO_DEPTH", "GATHER"), True),
    "Split": Lowering(_split, ("SPLIT", "SPLIT_V"), True),
    "Squeeze": Lowering(_reshape, ("RESHAPE", "TRANSPOSE"), True),
    "Tile": Lowering(_tile, ("BROADCAST_TO", "RESHAPE"), True, "The repeats are constants."),
    "Transpose": Lowering(_transpose, ("TRANSPOSE",), True),
    "Trilu": Lowering(_trilu, ("SELECT_V2", "MUL")),
    "Unsqueeze": Lowering(_reshape, ("RESHAPE", "TRANSPOSE"), True),
}
"""By ONNX's name of the operator."""
