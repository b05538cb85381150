"""Attributes that several operators share: padding and fused activations."""

from dataclasses import dataclass
from enum import Enum

from kibi.dtypes import DType
from kibi.ir import Operator, OperatorError, Quantization


class Padding(Enum):
    """The placement of a window at the borders: one of the schemes that model files have."""

    SAME = "SAME"
    VALID = "VALID"

    def along(self, axis: int) -> "Padding":
        """The same along each axis; as `ExplicitPadding.along`."""
        del axis
        return self

    def output_size(self, size: int, kernel: int, stride: int, dilation: int) -> int:
        """Output length along one axis; 0 or less where the window does not fit.

        Source: TFLM `kernels/padding.h`, `ComputeOutSize`.
        """
        effective = (kernel - 1) * dilation + 1
        if self is Padding.SAME:
            return (size + stride - 1) // stride
        return (size + stride - effective) // stride

    def before(self, size: int, kernel: int, stride: int, dilation: int, output: int) -> int:
        """Padding before the first element along one axis.

        Source: TFLM `kernels/padding.h`, `ComputePaddingWithOffset`: the total is halved and rounded down.
        """
        if self is Padding.VALID:
            return 0
        effective = (kernel - 1) * dilation + 1
        return max(0, (output - 1) * stride + effective - size) // 2


@dataclass(frozen=True, slots=True)
class Sides:
    """Elements outside the input along one axis; the methods are those of `Padding`.

    Attributes:
        front, back: before the first element, and after the last.
    """

    front: int
    back: int

    def output_size(self, size: int, kernel: int, stride: int, dilation: int) -> int:
        """Output length; 0 or less where the window does not fit."""
        effective = (kernel - 1) * dilation + 1
        return (self.front + size + self.back + stride - effective) // stride

    def before(self, size: int, kernel: int, stride: int, dilation: int, output: int) -> int:
        """Padding before the first element, whatever the sizes."""
        del size, kernel, stride, dilation, output
        return self.front


@dataclass(frozen=True, slots=True)
class ExplicitPadding:
    """The columns and rows by which windows reach beyond each border. Passes make it, of a PAD; no scheme of model files says it.

    Attributes:
        height, width: of each axis, elements before the input and after it. Of the width they may be negative, in images higher
            than one row: so many columns at this border are left out of the windows.
    """

    height: tuple[int, int]
    width: tuple[int, int]

    def along(self, axis: int) -> Sides:
        """The padding along the height (0) or the width (1)."""
        return Sides(*(self.height, self.width)[axis])

    def __str__(self) -> str:
        return "padding " + " x ".join(f"{front}+{back}" for front, back in (self.height, self.width))


class Activation(Enum):
    """An activation fused into an operator, applied to the quantized output by clamping it."""

    NONE = "NONE"
    RELU = "RELU"
    RELU_N1_TO_1 = "RELU_N1_TO_1"
    RELU6 = "RELU6"

    def limits(self, dtype: DType, output: Quantization) -> tuple[int, int]:
        """The closed range that outputs are clamped to.

        Source: TFLM `kernels/kernel_util.cc`, `CalculateActivationRangeQuantized`: bounds are quantized with the output's
        scale, rounded half away from zero in float32, and cut to the type's range.

        Raises:
            OperatorError: a bound does not fit 32 bits in the output's scale; TFLM refuses it, too.
        """
        from kibi.quant import quantize_value  # noqa: PLC0415 - quant is left of ops; kept local to this rule

        low, high = dtype.limits
        bounds = {Activation.RELU: (0.0, None), Activation.RELU6: (0.0, 6.0), Activation.RELU_N1_TO_1: (-1.0, 1.0)}
        lower, upper = bounds.get(self, (None, None))
        try:
            if lower is not None:
                low = max(low, quantize_value(lower, output.scale, output.zero_point))
            if upper is not None:
                high = min(high, quantize_value(upper, output.scale, output.zero_point))
        except ValueError as error:
            raise OperatorError(f"{self.value}: {error}", "Quantize the model again", "output") from None
        return low, high

    @property
    def cuts_at_zero(self) -> bool:
        """True if it gives zero for all that is below."""
        return self in (Activation.RELU, Activation.RELU6)

    def plain_limits(self, dtype: DType) -> tuple[float, float]:
        """The closed range that outputs without quantization are clamped to: two integers, or two f32.

        Without an activation it is all of the type; infinities become the largest finite f32.
        Source: TFLM `kernels/kernel_util.h`, `CalculateActivationRange`.
        """
        if dtype is DType.F32:
            most = float.fromhex("0x1.fffffep+127")
            ranges = {Activation.RELU: (0.0, most), Activation.RELU6: (0.0, 6.0), Activation.RELU_N1_TO_1: (-1.0, 1.0)}
            return ranges.get(self, (-most, most))
        low, high = dtype.limits
        bounds = {Activation.RELU: (0, high), Activation.RELU6: (0, 6), Activation.RELU_N1_TO_1: (-1, 1)}
        return bounds.get(self, (low, high))


class ActivatedOperator(Operator):
    """An operator whose outputs go through an activation.

    Attributes:
        activation: the one that the model names.
    """

    __slots__ = ()
    activation: Activation

    @property
    def cuts_at_zero(self) -> bool:
        """True if its activation does."""
        return self.activation.cuts_at_zero
