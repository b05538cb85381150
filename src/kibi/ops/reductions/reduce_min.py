"""REDUCE_MIN."""

from dataclasses import dataclass
from typing import ClassVar

from kibi.ops.reductions.extremes import Extreme
from kibi.ops.registry import register


@dataclass(frozen=True, slots=True)
class ReduceMin(Extreme):
    """The smallest element over axes.

    Source: TFLM `micro/kernels/reduce.cc`.
    """

    name: ClassVar[str] = "REDUCE_MIN"
    is_max: ClassVar[bool] = False


register(ReduceMin)
