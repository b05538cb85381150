"""NOT_EQUAL."""

from dataclasses import dataclass
from typing import ClassVar

from kibi.ops.elementwise.comparison import GREATER, LESS, UNORDERED, Equality
from kibi.ops.registry import register


@dataclass(frozen=True, slots=True)
class NotEqual(Equality):
    """Whether a != b, which a NaN always is, for two inputs that broadcast.

    Source: TFLM `kernels/internal/reference/comparisons.h`, `NotEqualFn`.
    """

    name: ClassVar[str] = "NOT_EQUAL"
    relation: ClassVar[int] = LESS | GREATER | UNORDERED


register(NotEqual)
