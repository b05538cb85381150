"""LESS."""

from dataclasses import dataclass
from typing import ClassVar

from kibi.ops.elementwise.comparison import LESS, Comparison
from kibi.ops.registry import register


@dataclass(frozen=True, slots=True)
class Less(Comparison):
    """Whether a < b, for two inputs that broadcast.

    Source: TFLM `kernels/internal/reference/comparisons.h`, `LessFn`.
    """

    name: ClassVar[str] = "LESS"
    relation: ClassVar[int] = LESS


register(Less)
