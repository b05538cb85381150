"""Forward analysis: the range of each element of each s8 tensor, over all inputs that a model can have.

The intervals are exact in the integers: the bounds of a node's outputs follow from those of its inputs by its own
arithmetic, element by element, so that padded borders count as what they are.
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from kibi.dtypes import DType
from kibi.ir import Graph, NodeView, Tensor
from kibi.ops.elementwise.add import Add
from kibi.ops.elementwise.logistic import Logistic
from kibi.ops.elementwise.quantize import Quantize
from kibi.ops.elementwise.relu import Relu, Relu6
from kibi.ops.linear.fully_connected import FullyConnected
from kibi.ops.movement.pad import Pad
from kibi.ops.movement.reshape import Reshape
from kibi.ops.reductions.mean import Mean
from kibi.ops.windows.average_pool2d import AveragePool2D
from kibi.ops.windows.conv2d import Conv2D
from kibi.ops.windows.depthwise_conv2d import DepthwiseConv2D
from kibi.ops.windows.max_pool2d import MaxPool2D
from kibi.passes.constant_channels.product_layer import ProductLayer
from kibi.passes.whole_tensors import evaluate

Int64 = NDArray[np.int64]

_MOST_ELEMENTS = 1 << 22
_MOST_WORK = 1 << 32
_ELEMENT_WORK = 128
_STEP_WORK = 1 << 16
"""Of a tensor; of a graph; what an element, and a row step, count for where a product counts one."""

TABLES = (Relu, Relu6, Logistic, Quantize)
"""Operators that replace each s8 element by a table entry."""
MONOTONE = (Add, MaxPool2D, AveragePool2D, Mean, Pad, Reshape)
"""Operators whose outputs never fall when an input rises."""
_UNDERSTOOD = (*TABLES, *MONOTONE, Conv2D, DepthwiseConv2D, FullyConnected)


@dataclass(frozen=True, slots=True, eq=False)
class Interval:
    """Bounds of each element of an s8 tensor, both inclusive.

    Attributes:
        low, high: of the tensor's shape.
    """

    low: Int64
    high: Int64

    @staticmethod
    def unknown(tensor: Tensor) -> "Interval":
        """Returns the s8 range for each element."""
        low, high = DType.S8.limits
        shape = tensor.type.shape
        return Interval(np.broadcast_to(np.int64(low), shape), np.broadcast_to(np.int64(high), shape))

    @property
    def is_fixed(self) -> NDArray[np.bool_]:
        """True for each channel whose elements are all constant, whatever the model's inputs are."""
        known = self.low == self.high
        channels = known.shape[-1] if known.ndim else 1
        fixed: NDArray[np.bool_] = known.reshape(-1, channels).all(axis=0)
        return fixed


def intervals(graph: Graph) -> dict[int, Interval]:
    """Returns the bounds of the elements of each s8 tensor, by tensor index.

    Model inputs, variables and the outputs of operators that the analysis does not know may hold any s8 value.
    """
    found: dict[int, Interval] = {}
    for tensor in graph.tensors:
        if tensor.type.dtype is DType.S8:
            data = None if tensor.data is None else tensor.data.astype(np.int64).reshape(tensor.type.shape)
            found[tensor.index] = Interval.unknown(tensor) if data is None else Interval(data, data)
    for view in graph.views:
        output = view.output
        if output.type.dtype is DType.S8 and not (output.is_state or view.op.receives):
            found[output.index] = _made(view, found) or found[output.index]
    return found


def is_affordable(graph: Graph) -> bool:
    """True if the bounds of a graph can be found, and checked again, in bounded time and memory."""
    left = _MOST_WORK
    for view in graph.views:
        if view.output.type.dtype is DType.S8 and type(view.op) in _UNDERSTOOD:
            if any(tensor.type.elements > _MOST_ELEMENTS for tensor in (*view.row_tensors, *view.outputs)):
                return False
            left -= _work(view)
    return left >= 0


def _work(view: NodeView) -> int:
    """Returns the work to find the bounds of a node's output: products, elements read and written, row steps."""
    rows = zip(view.row_tensors, view.accesses, strict=True)
    read = sum(view.steps * access.count * (tensor.type.row_elements // access.parts) for tensor, access in rows)
    return view.op.macs(view) + _ELEMENT_WORK * (read + view.output.type.elements) + _STEP_WORK * view.steps


def _made(view: NodeView, found: dict[int, Interval]) -> Interval | None:
    """Returns the bounds of a node's output; None if they cannot be derived."""
    given = [found.get(tensor.index) for tensor in view.row_tensors]
    known = [bounds for bounds in given if bounds is not None]
    if len(known) < len(given):
        return None
    layer = ProductLayer.of(view)
    if layer is not None:
        return Interval(*layer.interval(known[0].low, known[0].high))
    if isinstance(view.op, TABLES):
        return _codebook_in_use(view, view.op.table(view), known[0])
    if type(view.op) in MONOTONE and not _may_wrap(view):
        low = evaluate(view, [bounds.low for bounds in known])
        high = evaluate(view, [bounds.high for bounds in known])
        return Interval(low.astype(np.int64), high.astype(np.int64))
    return None


def _codebook_in_use(view: NodeView, table: NDArray[np.int8], source: Interval) -> Interval:
    """Returns the least and the largest table entry between the bounds; a table need not be monotonic."""
    least, most = _ends_between(table.tobytes())
    places, shape = (source.low + 128, source.high + 128), view.output.type.shape
    return Interval(least[places].reshape(shape), most[places].reshape(shape))


@lru_cache(maxsize=16)
def _ends_between(entries: bytes) -> tuple[Int64, Int64]:
    """Returns the least and the largest of 256 s8 entries for each range of places, as arrays `[first, last]`."""
    table = np.frombuffer(entries, np.int8).astype(np.int64)
    is_before = np.tri(256, k=-1, dtype=np.bool_)
    least = np.minimum.accumulate(np.where(is_before, 127, table), axis=1)
    most = np.maximum.accumulate(np.where(is_before, -128, table), axis=1)
    return least, most


def _may_wrap(view: NodeView) -> bool:
    """True if a MEAN's scaled sum may leave 32 bits, where it would fall instead of rise."""
    if not isinstance(view.op, Mean):
        return False
    shift = view.op.multiplier(view).shift
    count = view["input"].type.elements // max(1, view.output.type.elements)
    return count * 255 << max(0, shift) > (1 << 31) - (1 << 8)
