"""GREATER."""

from dataclasses import dataclass
from typing import ClassVar

from kibi.ops.comparison import GREATER, Comparison
from kibi.ops.registry import register


@dataclass(frozen=True, slots=True)
class Greater(Comparison):
    """Whether a > b, for two inputs that broadcast.

    Source: TFLM `kernels/internal/reference/comparisons.h`, `GreaterFn`.
    """

    name: ClassVar[str] = "GREATER"
    relation: ClassVar[int] = GREATER


register(Greater)
