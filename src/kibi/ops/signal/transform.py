"""The shared parts of SignalRfft and SignalIrfft."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

from kibi.dtypes import DType
from kibi.ir import NodeView, Operator, OperatorError, RowAccess
from kibi.ops import checks
from kibi.ops.signal.checks import lines_of
from kibi.ops.signal.fft import RADICES, RealTransform, stages_of

_TYPES = (DType.S16, DType.S32, DType.F32)


@dataclass(frozen=True, slots=True)
class SignalTransform(Operator):
    """A transform of each line along the last axis, between L real numbers and their spectrum of L / 2 + 1 complex ones."""

    types: ClassVar[tuple[DType, ...]] = _TYPES
    is_inverse: ClassVar[bool]

    fft_length: int = 4

    @abstractmethod
    def lengths(self, elements: int) -> tuple[int, int]:
        """The elements of a line of the input, where it has that many, and of the output.

        Raises:
            OperatorError: a line has another number.
        """

    def infer(self, view: NodeView) -> tuple[tuple[int, ...], DType]:
        """The input's shape but for the last axis, the input's type."""
        dtype = checks.dtype(view, "input", *_TYPES)
        length = self.fft_length
        if length < 4 or length % 2 or any(radix not in RADICES for radix, _ in stages_of(length // 2)):
            what = f"the transform's length is {length}, but even numbers from 4 on without prime factors above 5 are possible"
            raise OperatorError(what, "Use a power of 2")
        outer, elements = lines_of(view, "input")
        return (*outer, self.lengths(elements)[1]), dtype

    def accesses(self, view: NodeView) -> tuple[RowAccess, ...]:
        """Row by row."""
        return (RowAccess.same(view.output.type.rows),)

    def transform(self, view: NodeView) -> RealTransform:
        """Returns the transform of the input's type."""
        return RealTransform(view["input"].type.dtype, self.fft_length // 2, self.is_inverse)

    def params(self, view: NodeView) -> dict[str, Any]:
        """The struct's fields that both have."""
        transform, kind = self.transform(view), view["input"].type
        return {
            "lines": kind.row_elements // kind.shape[-1],
            "points": transform.points,
            "stage_count": len(transform.stages),
            "stages": transform.stages,
            "twiddles": transform.twiddles,
            "half_turn": transform.half_turn,
        }
