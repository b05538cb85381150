"""The shared part of LOGISTIC and TANH of s16: inputs in the units of their table."""

from collections.abc import Container

from kibi.ir import NodeView, OperatorError
from kibi.kernels.params.unary import SigmoidS16Params
from kibi.ops import checks
from kibi.quant import checked_log2

_DOUBLED_UNTIL = ((1 << 15) - 1) / 2
"""A multiplier that is above is not doubled any more; of large scales it is above from the start."""


def scaling(view: NodeView, shifts: Container[int]) -> tuple[int, int]:
    """Rule N29: multiplier and shift to the right, from the input's elements to units of 1/12288; the product wraps in 32 bits.

    Args:
        view: the node; both zero points are 0, the output's scale is 2**-15.
        shifts: input scales that are such a power of two above 2**-12 take the exact way.

    Raises:
        OperatorError: the scales or zero points are not as they must be.
    """
    source, output = checks.symmetric(view, "input"), checks.symmetric(view, "output")
    if checked_log2(output.scale) != -15:
        raise OperatorError(f"output has scale {output.scale}, but 1/32768 is required", operand="output")
    power = checked_log2(source.scale)
    if power is not None and 12 + power in shifts:
        return 3 << 12 + power, 0
    multiplier, shift = source.scale * 4096.0 * 3.0, 0
    while multiplier <= _DOUBLED_UNTIL and shift <= 30:
        multiplier, shift = 2 * multiplier, shift + 1
    if multiplier >= 1 << 31:
        cause = f"TFLM converts a multiplier of {multiplier:.4g} to int32, which C++ leaves undefined"
        what = f"input has scale {source.scale:.9g}: {cause}"
        raise OperatorError(what, "Quantize the model again with representative data", "input")
    return int(multiplier), shift


def sigmoid_params(view: NodeView, shifts: Container[int]) -> SigmoidS16Params:
    """The parameters of the kernels of s16, with the results of `scaling`."""
    multiplier, shift = scaling(view, shifts)
    return SigmoidS16Params(elements=view.output.type.row_elements, factor=multiplier, right_shift=shift)
