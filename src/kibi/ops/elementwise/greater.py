"""GREATER."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

from kibi.dtypes import DType
from kibi.ops.elementwise.comparison import GREATER, Comparison
from kibi.ops.registry import register


@dataclass(frozen=True, slots=True)
class Greater(Comparison):
    """Whether a > b, for two inputs that broadcast.

    Of the comparisons TFLM runs only this one on s16, in `GreaterEval`. `ComparisonsPrepare` sets zero points and multipliers
    for s8 alone, so that what lay in the arena before decides, and Kibi refuses s16.
    Source: TFLM `kernels/internal/reference/comparisons.h`, `GreaterFn`.
    """

    name: ClassVar[str] = "GREATER"
    relation: ClassVar[int] = GREATER
    undefined: ClassVar[Mapping[DType, str]] = MappingProxyType(
        {DType.S16: "it compares int16 by zero points and multipliers that it never sets"}
    )


register(Greater)
