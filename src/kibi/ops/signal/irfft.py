"""SignalIrfft."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kibi.dtypes import Array, DType
from kibi.ir import KernelCall, NodeView, OperatorError, Rows
from kibi.kernels.params import PARAMS
from kibi.ops.registry import register
from kibi.ops.signal.checks import apart
from kibi.ops.signal.transform import SignalTransform


@dataclass(frozen=True, slots=True)
class SignalIrfft(SignalTransform):
    """Numbers from spectra: input [..., L + 2] s16, s32 or f32, L / 2 + 1 pairs → output [..., L] of that type.

    L is even, without prime factors above 5. All types are divided by L. Rules N41 to N42. Source: TFLM
    `signal/micro/kernels/irfft.cc`, `signal/src/irfft_int16.cc`.
    """

    name: ClassVar[str] = "SignalIrfft"
    inputs: ClassVar[tuple[str, ...]] = ("input",)
    kernels: ClassVar[tuple[str, ...]] = ("kibi_signal_irfft_s16", "kibi_signal_irfft_s32", "kibi_signal_irfft_f32")
    is_inverse: ClassVar[bool] = True

    def lengths(self, elements: int) -> tuple[int, int]:
        """L + 2, and L."""
        if elements != self.fft_length + 2:
            what = f"input has lines of {elements} elements, but {self.fft_length + 2} are required"
            raise OperatorError(what, operand="input")
        return elements, self.fft_length

    def reference(self, view: NodeView) -> Callable[[Rows], Array]:
        """The transform of each line; integers are divided on the way."""
        transform, dtype = self.transform(view), view["input"].type.dtype

        def row(rows: Rows) -> Array:
            with np.errstate(all="ignore"):
                lines = transform.backward(np.asarray(rows[0][0]).reshape(-1, transform.points + 1, 2)).reshape(-1)
                return np.divide(lines, np.float32(self.fft_length)) if dtype is DType.F32 else lines

        return row

    def kernel_call(self, view: NodeView) -> KernelCall:
        """One kernel for each type, which works in its output."""
        kernel = f"kibi_signal_irfft_{view['input'].type.dtype}"
        return KernelCall(kernel, PARAMS[kernel](**self.params(view)), inplace_distance_bytes=apart(view))


register(SignalIrfft)
