"""REDUCE_MAX."""

from dataclasses import dataclass
from typing import ClassVar

from kibi.ops.reductions.extremes import Extreme
from kibi.ops.registry import register


@dataclass(frozen=True, slots=True)
class ReduceMax(Extreme):
    """The largest element over axes.

    Source: TFLM `micro/kernels/reduce.cc`.
    """

    name: ClassVar[str] = "REDUCE_MAX"
    is_max: ClassVar[bool] = True


register(ReduceMax)
