"""FRAME_DIFFERENCE: how far each pixel is from what it was."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np

from kibi.dtypes import Array, DType
from kibi.ir import KernelCall, NodeView, Operator, OperatorError, RowAccess, Rows
from kibi.kernels.params import Params, number
from kibi.ops import CustomOperator


class FrameDifferenceParams(Params):
    """The parameters of the kernel: the fields of its struct in C, in their order."""

    elements: int = number(DType.S32, "of a row")
    threshold: int = number(DType.S32, "0 … 255")
    output_zero_point: int = number(DType.S32, "-128 … 127")


@dataclass(frozen=True, slots=True)
class FrameDifference(Operator):
    """Absolute difference of two frames s8 of one shape and quantization → output s8 of their shape and scale.

    Differences of up to `threshold` quanta are noise, and become 0.
    """

    name: ClassVar[str] = "FRAME_DIFFERENCE"
    inputs: ClassVar[tuple[str, ...]] = ("frame", "background")
    row_inputs: ClassVar[tuple[str, ...]] = ("frame", "background")
    kernels: ClassVar[tuple[str, ...]] = ("kibi_frame_difference_s8",)
    types: ClassVar[tuple[DType, ...]] = (DType.S8,)

    threshold: int = 0

    def infer(self, view: NodeView) -> tuple[tuple[int, ...], DType]:
        """The frame's shape, type s8."""
        frame, background, output = (view[name].type for name in ("frame", "background", "output"))
        if not 0 <= self.threshold <= 255:
            raise OperatorError(f"threshold is {self.threshold}, but must be 0 to 255")
        if background != frame:
            what = f"background is {background}, the frame {frame}, or their scales differ"
            raise OperatorError(what, "Quantize both alike", "background")
        if frame.quantization is None or output.quantization is None:
            raise OperatorError("frame and output need a scale", "Quantize the model to int8")
        if output.quantization.scales != frame.quantization.scales:
            raise OperatorError("output must have the frame's scale", operand="output")
        return frame.shape, DType.S8

    def accesses(self, view: NodeView) -> tuple[RowAccess, ...]:
        """Output row y reads row y of both."""
        same = RowAccess.same(view.output.type.rows)
        return same, same

    def reference(self, view: NodeView) -> Callable[[Rows], Array]:
        """The living definition: all else must give these bits."""
        zero_point = view.output.quantization.zero_point

        def row(rows: Rows) -> Array:
            frame, background = (np.asarray(pieces[0]).astype(np.int32) for pieces in rows)
            difference = np.abs(frame - background)
            difference[difference <= self.threshold] = 0
            return np.asarray(np.minimum(difference + zero_point, 127), np.int8)

        return row

    def kernel_call(self, view: NodeView) -> KernelCall:
        """One call for each row; the output may lie on either input's row."""
        params = FrameDifferenceParams(
            elements=view.output.type.row_elements,
            threshold=self.threshold,
            output_zero_point=view.output.quantization.zero_point,
        )
        return KernelCall("kibi_frame_difference_s8", params, inplace_distance_bytes=(0, 0))


FRAME_DIFFERENCE = CustomOperator(FrameDifference, kernels=Path(__file__).parent)
"""With the folder of its C files; its options are a flexbuffer map of its attributes."""
