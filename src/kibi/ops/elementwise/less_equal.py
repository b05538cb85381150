"""LESS_EQUAL."""

from dataclasses import dataclass
from typing import ClassVar

from kibi.ops.elementwise.comparison import EQUAL, LESS, Comparison
from kibi.ops.registry import register


@dataclass(frozen=True, slots=True)
class LessEqual(Comparison):
    """Whether a <= b, for two inputs that broadcast.

    Source: TFLM `kernels/internal/reference/comparisons.h`, `LessEqualFn`.
    """

    name: ClassVar[str] = "LESS_EQUAL"
    relation: ClassVar[int] = LESS | EQUAL


register(LessEqual)
