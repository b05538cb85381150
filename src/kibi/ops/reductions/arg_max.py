"""ARG_MAX."""

from dataclasses import dataclass
from typing import ClassVar

from kibi.ops.reductions.arg_extreme import ArgExtreme
from kibi.ops.registry import register


@dataclass(frozen=True, slots=True)
class ArgMax(ArgExtreme):
    """The place of the largest element along an axis.

    Source: TFLM `kernels/internal/reference/arg_min_max.h`.
    """

    name: ClassVar[str] = "ARG_MAX"
    is_max: ClassVar[bool] = True


register(ArgMax)
