"""Reductions over axes, and the places of extremes."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from kibi.dtypes import DType
from kibi.frontends.onnx.draft import Quantization, Tensor
from kibi.frontends.onnx.emitter import Emitter, Stored
from kibi.frontends.onnx.graph import Node
from kibi.frontends.onnx.lowering.entry import Lowering
from kibi.frontends.onnx.lowering.moving import constant_of, normal
from kibi.frontends.onnx.problems import Unsupported
from kibi.frontends.onnx.real import Real
from kibi.frontends.onnx.targets import are_integers, target

_MOST_AXES = 4


def _axes(e: Emitter, node: Node) -> tuple[int, ...]:
    """The axes over which a node reduces; none where it copies."""
    rank = len(e.shape(node.inputs[0]))
    listed = node.attributes.get("axes")
    if listed is None and node.input(1):
        listed = constant_of(e, node, 1, "axes")
    if listed is None or len(listed) == 0:
        return () if node.integer("noop_with_empty_axes", 0) else tuple(range(rank))
    return tuple(sorted({normal(int(axis), rank) for axis in listed}))


def give_reduced(e: Emitter, node: Node, tensor: Tensor, stored: Stored, axes: Sequence[int]) -> None:
    """Says that a tensor, with ones for the axes that are gone, is the result of a reduction."""
    if node.integer("keepdims", 1):
        e.give(node.outputs[0], tensor, stored.order)
        return
    kept = [axis for axis in stored.order if axis not in axes]
    order = tuple(sorted(kept).index(axis) for axis in kept)
    shape = [size for size, axis in zip(tensor.shape, stored.order, strict=True) if axis not in axes]
    e.give(node.outputs[0], e.reshaped(tensor, shape), order)


def over(e: Emitter, operator: str, x: Tensor, places: Sequence[int], goal: Quantization | None = None) -> Tensor:
    """A reduction over axes of a tensor, which stay as ones. Neighbours are joined where there are too many for a kernel."""
    final = [1 if axis in places else size for axis, size in enumerate(x.shape)]
    if len(x.shape) > _MOST_AXES:
        sizes: list[int] = []
        reduced: list[bool] = []
        for axis, size in enumerate(x.shape):
            if reduced and reduced[-1] == (axis in places):
                sizes[-1] *= size
            else:
                sizes.append(size)
                reduced.append(axis in places)
        x, places = e.reshaped(x, sizes), [axis for axis, is_reduced in enumerate(reduced) if is_reduced]
    shape = [1 if axis in places else size for axis, size in enumerate(x.shape)]
    result = e.add(operator, [x, e.numbers(tuple(places))], shape, x.dtype, goal, keep_dims=True)
    return e.reshaped(result, final)


def _plain(operator: str, types: Sequence[DType], *, is_choice: bool = False) -> Callable[[Emitter, Node], None]:
    """MEAN, SUM, and the extremes, of which the result has the scale of the input."""

    def convert(e: Emitter, node: Node) -> None:
        stored = e.unscrambled(e.stored(node.inputs[0]))
        axes = _axes(e, node)
        x = stored.tensor
        goal = x.quantization if is_choice else target(e, node.outputs[0])
        if not are_integers([x], goal, types):
            x, goal = e.dequantized(x), None
        if not axes or not x.shape:
            e.give(node.outputs[0], x, stored.order)
            return
        if goal is None and x.dtype is not DType.F32:
            raise Unsupported(f"elements of {x.dtype} are not supported", "Use float32")
        give_reduced(e, node, over(e, operator, x, [stored.order.index(axis) for axis in axes], goal), stored, axes)

    return convert


def _formula(formula: Callable[[Real, Callable[[str, Real], Real]], Real]) -> Callable[[Emitter, Node], None]:
    """A reduction that is a formula of float32; the formula takes the input and a function that reduces."""

    def convert(e: Emitter, node: Node) -> None:
        stored = e.unscrambled(e.stored(node.inputs[0]))
        axes = _axes(e, node)
        x = e.dequantized(stored.tensor)
        if x.dtype is not DType.F32:
            raise Unsupported(f"elements of {x.dtype} are not supported", "Use float32")
        places = [stored.order.index(axis) for axis in axes]

        def reduce(operator: str, value: Real) -> Real:
            return Real(e, over(e, operator, value.tensor, places)) if places else value

        give_reduced(e, node, formula(Real(e, x), reduce).tensor, stored, axes)

    return convert


def _log_sum_exp(x: Real, reduce: Callable[[str, Real], Real]) -> Real:
    largest = reduce("REDUCE_MAX", x)
    # The largest may be infinite: a difference of infinities is no number.
    bounded = largest.larger(-3.4028234e38).smaller(3.4028234e38)
    return reduce("SUM", (x - bounded).exp()).log() + bounded


def _place(operator: str) -> Callable[[Emitter, Node], None]:
    """ARG_MAX and ARG_MIN: the first of several is the place, or in the other direction the last."""

    def convert(e: Emitter, node: Node) -> None:
        stored = e.unscrambled(e.stored(node.inputs[0]))
        axis = normal(node.integer("axis", 0), len(stored.order))
        x = stored.tensor
        if x.dtype is DType.S8 and x.quantization is None:
            x = e.add("CAST", [x], x.shape, DType.F32)
        x = x if x.dtype is DType.S8 else e.dequantized(x)
        if x.dtype not in (DType.S8, DType.F32):
            raise Unsupported(f"elements of {x.dtype} are not supported", "Use float32 or int8")
        place = stored.order.index(axis)
        shape = (*x.shape[:place], *x.shape[place + 1 :])
        constant = e.constant(np.array(place, np.int32))
        is_last = bool(node.integer("select_last_index", 0))
        x = e.like("REVERSE_V2", [x, e.numbers([place])]) if is_last else x
        found = e.add(operator, [x, constant], shape, DType.S32, output_type="INT32")
        if is_last:
            end = Tensor(shape, DType.S32, None, np.full(shape, x.shape[place] - 1, np.int32))
            found = e.like("SUB", [end, found])
        kept = (*x.shape[:place], 1, *x.shape[place + 1 :])
        give_reduced(e, node, e.reshaped(found, kept), stored, (axis,))

    return convert


_REAL = "Elements are float32."
_BOTH = "Elements are float32 or quantized."
REDUCING: Mapping[str, Lowering] = {
    "ArgMax": Lowering(_place("ARG_MAX"), ("ARG_MAX", "REVERSE_V2", "SUB"), True, "The result is int32."),
    "ArgMin": Lowering(_place("ARG_MIN"), ("ARG_MIN", "REVERSE_V2", "SUB"), True, "The result is int32."),
    "ReduceL1": Lowering(_formula(lambda x, reduce: reduce("SUM", abs(x))), ("ABS", "SUM"), False, _REAL),
    "ReduceL2": Lowering(_formula(lambda x, reduce: reduce("SUM", x * x).sqrt()), ("MUL", "SUM", "SQRT"), False, _REAL),
    "ReduceLogSum": Lowering(_formula(lambda x, reduce: reduce("SUM", x).log()), ("SUM", "LOG"), False, _REAL),
    "ReduceLogSumExp": Lowering(
        _formula(_log_sum_exp), ("REDUCE_MAX", "MAXIMUM", "MINIMUM", "SUB", "EXP", "SUM", "LOG", "ADD"), False, _REAL
    ),
    "ReduceMax": Lowering(_plain("REDUCE_MAX", (DType.S8,), is_choice=True), ("REDUCE_MAX",), True, _BOTH),
    "ReduceMean": Lowering(_plain("MEAN", (DType.S8, DType.S16)), ("MEAN",), True, _BOTH),
    "ReduceMin": Lowering(_plain("REDUCE_MIN", (DType.S8,), is_choice=True), ("REDUCE_MIN",), True, _BOTH),
    "ReduceSum": Lowering(_plain("SUM", (DType.S8, DType.S16)), ("SUM",), True, _BOTH),
    "ReduceSumSquare": Lowering(_formula(lambda x, reduce: reduce("SUM", x * x)), ("MUL", "SUM"), False, _REAL),
}
"""By ONNX's name of the operator."""
