"""EQUAL."""

from dataclasses import dataclass
from typing import ClassVar

from kibi.ops.elementwise.comparison import EQUAL, Equality
from kibi.ops.registry import register


@dataclass(frozen=True, slots=True)
class Equal(Equality):
    """Whether a == b, for two inputs that broadcast.

    Source: TFLM `kernels/internal/reference/comparisons.h`, `EqualFn`.
    """

    name: ClassVar[str] = "EQUAL"
    relation: ClassVar[int] = EQUAL


register(Equal)
