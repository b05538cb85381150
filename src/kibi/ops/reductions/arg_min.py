"""ARG_MIN."""

from dataclasses import dataclass
from typing import ClassVar

from kibi.ops.reductions.arg_extreme import ArgExtreme
from kibi.ops.registry import register


@dataclass(frozen=True, slots=True)
class ArgMin(ArgExtreme):
    """The place of the smallest element along an axis.

    Source: TFLM `kernels/internal/reference/arg_min_max.h`.
    """

    name: ClassVar[str] = "ARG_MIN"
    is_max: ClassVar[bool] = False


register(ArgMin)
