"""Forward analysis: between which values each element of each s8 tensor lies, for all inputs that a model can have.

The intervals are exact in the integers: the bounds of a node's outputs follow from those of its inputs by its own
arithmetic, element by element, so that padded borders count as what they are.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kibi.dtypes import DType
from kibi.ir import Graph, Site, Tensor
from kibi.ops.add import Add
from kibi.ops.average_pool2d import AveragePool2D
from kibi.ops.logistic import Logistic
from kibi.ops.max_pool2d import MaxPool2D
from kibi.ops.mean import Mean
from kibi.ops.pad import Pad
from kibi.ops.quantize import Quantize
from kibi.ops.relu import Relu
from kibi.ops.relu6 import Relu6
from kibi.ops.reshape import Reshape
from kibi.passes.product_layer import ProductLayer
from kibi.passes.whole_tensors import evaluate

Int64 = NDArray[np.int64]

TABLES = (Relu, Relu6, Logistic, Quantize)
"""Operators that look each s8 element up."""
MONOTONE = (Add, MaxPool2D, AveragePool2D, Mean, Pad, Reshape)
"""Operators whose outputs never fall when an input rises."""


@dataclass(frozen=True, slots=True, eq=False)
class Interval:
    """Bounds of each element of an s8 tensor, closed.

    Attributes:
        low, high: of the tensor's shape.
    """

    low: Int64
    high: Int64

    @staticmethod
    def unknown(tensor: Tensor) -> "Interval":
        """All of s8."""
        low, high = DType.S8.limits
        return Interval(np.full(tensor.type.shape, low, np.int64), np.full(tensor.type.shape, high, np.int64))

    @property
    def is_fixed(self) -> NDArray[np.bool_]:
        """For each channel whether all its elements are known, whatever the model's inputs are."""
        known = self.low == self.high
        channels = known.shape[-1] if known.ndim else 1
        fixed: NDArray[np.bool_] = known.reshape(-1, channels).all(axis=0)
        return fixed


def intervals(graph: Graph) -> dict[int, Interval]:
    """For each s8 tensor the bounds of its elements, by tensor index.

    Model inputs, variables and what an operator makes that is not understood may be anything.
    """
    found: dict[int, Interval] = {}
    for tensor in graph.tensors:
        if tensor.type.dtype is DType.S8:
            data = None if tensor.data is None else tensor.data.astype(np.int64).reshape(tensor.type.shape)
            found[tensor.index] = Interval.unknown(tensor) if data is None else Interval(data, data)
    for site in graph.sites:
        output = site.output
        if output.type.dtype is DType.S8 and not (output.is_state or site.op.receives):
            found[output.index] = _made(site, found) or found[output.index]
    return found


def _made(site: Site, found: dict[int, Interval]) -> Interval | None:
    """The bounds of a node's output, or None where they do not follow."""
    given = [found.get(tensor.index) for tensor in site.row_tensors]
    known = [bounds for bounds in given if bounds is not None]
    if len(known) < len(given):
        return None
    layer = ProductLayer.of(site)
    if layer is not None:
        return Interval(*layer.interval(known[0].low, known[0].high))
    if type(site.op) in TABLES:
        return _looked_up(site, known[0])
    if type(site.op) in MONOTONE and not _may_wrap(site):
        low = evaluate(site, [bounds.low for bounds in known])
        high = evaluate(site, [bounds.high for bounds in known])
        return Interval(low.astype(np.int64), high.astype(np.int64))
    return None


def _looked_up(site: Site, source: Interval) -> Interval:
    """The least and the largest entry of the operator's table between the bounds; tables may rise and fall."""
    every = next(param.value for param in site.op.kernel_call(site).params if param.name == "table")
    table = np.asarray(every).astype(np.int64)
    least, most = np.zeros((256, 256), np.int64), np.zeros((256, 256), np.int64)
    for first in range(256):
        least[first, first:] = np.minimum.accumulate(table[first:])
        most[first, first:] = np.maximum.accumulate(table[first:])
    places, shape = (source.low + 128, source.high + 128), site.output.type.shape
    return Interval(least[places].reshape(shape), most[places].reshape(shape))


def _may_wrap(site: Site) -> bool:
    """Whether a MEAN's scaled sum may leave 32 bits, where it would fall instead of rise."""
    if type(site.op) is not Mean:
        return False
    shift = next(param.value for param in site.op.kernel_call(site).params if param.name == "shift")
    count = site["input"].type.elements // max(1, site.output.type.elements)
    return count * 255 << max(0, int(np.asarray(shift))) > (1 << 31) - (1 << 8)
