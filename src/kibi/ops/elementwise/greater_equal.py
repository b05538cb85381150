"""GREATER_EQUAL."""

from dataclasses import dataclass
from typing import ClassVar

from kibi.ops.elementwise.comparison import EQUAL, GREATER, Comparison
from kibi.ops.registry import register


@dataclass(frozen=True, slots=True)
class GreaterEqual(Comparison):
    """Whether a >= b, for two inputs that broadcast.

    Source: TFLM `kernels/internal/reference/comparisons.h`, `GreaterEqualFn`.
    """

    name: ClassVar[str] = "GREATER_EQUAL"
    relation: ClassVar[int] = GREATER | EQUAL


register(GreaterEqual)
