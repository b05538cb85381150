"""Formulas of float32 tensors in the words of Python: `(x * 2 + y).exp()` emits MUL, ADD and EXP."""

from dataclasses import dataclass

import numpy as np

from kibi.dtypes import DType
from kibi.frontends.onnx.draft import Tensor
from kibi.frontends.onnx.emitter import Emitter


@dataclass(frozen=True, slots=True)
class Real:
    """A tensor f32 whose operators emit operations; numbers are constants of rank 0.

    Attributes:
        e: the emitter.
        tensor: the tensor.
    """

    e: Emitter
    tensor: Tensor

    def _pair(self, operator: str, first: "Real | float", second: "Real | float") -> "Real":
        tensors = [each.tensor if isinstance(each, Real) else self.e.real_number(each) for each in (first, second)]
        return Real(self.e, self.e.add(operator, tensors, self.e.broadcast_shape(tensors), DType.F32))

    def _each(self, operator: str) -> "Real":
        return Real(self.e, self.e.add(operator, [self.tensor], self.tensor.shape, DType.F32))

    def __add__(self, other: "Real | float") -> "Real":
        return self._pair("ADD", self, other)

    def __sub__(self, other: "Real | float") -> "Real":
        return self._pair("SUB", self, other)

    def __rsub__(self, other: float) -> "Real":
        return self._pair("SUB", other, self)

    def __mul__(self, other: "Real | float") -> "Real":
        return self._pair("MUL", self, other)

    def __truediv__(self, other: "Real | float") -> "Real":
        return self._pair("DIV", self, other)

    def __rtruediv__(self, other: float) -> "Real":
        return self._pair("DIV", other, self)

    def __neg__(self) -> "Real":
        return self._each("NEG")

    def __abs__(self) -> "Real":
        return self._each("ABS")

    def larger(self, other: "Real | float") -> "Real":
        """The larger of two."""
        return self._pair("MAXIMUM", self, other)

    def smaller(self, other: "Real | float") -> "Real":
        """The smaller of two."""
        return self._pair("MINIMUM", self, other)

    def exp(self) -> "Real":
        """Its exponential."""
        return self._each("EXP")

    def log(self) -> "Real":
        """Its natural logarithm."""
        return self._each("LOG")

    def sqrt(self) -> "Real":
        """Its square root."""
        return self._each("SQRT")

    def rsqrt(self) -> "Real":
        """The reciprocal of its square root."""
        return self._each("RSQRT")

    def each(self, operator: str) -> "Real":
        """An operator with one input applied to it."""
        return self._each(operator)

    def compared(self, operator: str, other: "Real | float") -> Tensor:
        """A comparison: bool."""
        tensors = [self.tensor, other.tensor if isinstance(other, Real) else self.e.real_number(other)]
        return self.e.add(operator, tensors, self.e.broadcast_shape(tensors), DType.BOOL)

    def where(self, condition: Tensor, other: "Real | float") -> "Real":
        """This where a condition holds, else the other."""
        second = other.tensor if isinstance(other, Real) else self.e.real_number(other)
        shape = self.e.broadcast_shape([condition, self.tensor, second])
        return Real(self.e, self.e.add("SELECT_V2", [condition, self.tensor, second], shape, DType.F32))

    def reduced(self, operator: str, axes: tuple[int, ...], *, keep: bool = True) -> "Real":
        """A reduction over axes of the tensor."""
        kept = [1 if axis in axes else size for axis, size in enumerate(self.tensor.shape)]
        shape = kept if keep else [size for axis, size in enumerate(self.tensor.shape) if axis not in axes]
        return Real(self.e, self.e.add(operator, [self.tensor, self.e.numbers(axes)], shape, DType.F32, keep_dims=keep))

    def constant(self, values: "np.ndarray[tuple[int, ...], np.dtype[np.generic]]") -> "Real":
        """A constant beside it."""
        return Real(self.e, self.e.constant(values.astype(np.float32)))

    def magnitude_power(self, power: int) -> "Real":
        """Its magnitude to a power of 1 or more."""
        if power == 1:
            return abs(self)
        result = self * self if power % 2 == 0 else abs(self) * self * self
        for _ in range((power - 1) // 2 - (power % 2)):
            result = result * self * self
        return result

    def root(self, power: int) -> "Real":
        """The root of what is not negative."""
        return self if power == 1 else self.sqrt() if power == 2 else (self.log() * (1 / power)).exp()
