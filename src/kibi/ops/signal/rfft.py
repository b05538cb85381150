"""SignalRfft."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kibi.dtypes import Array
from kibi.ir import KernelCall, NodeView, OperatorError, Rows
from kibi.kernels.params import PARAMS
from kibi.ops.registry import register
from kibi.ops.signal.checks import apart
from kibi.ops.signal.transform import SignalTransform


@dataclass(frozen=True, slots=True)
class SignalRfft(SignalTransform):
    """Spectra: input [..., N] s16, s32 or f32 → output [..., L + 2] of that type: L / 2 + 1 pairs, real part first.

    L is even, without prime factors above 5; where N is less, zeros follow. Integers are fractions: the spectrum is divided
    by L. Rules N41 to N42. Source: TFLM `signal/micro/kernels/rfft.cc`, `signal/src/rfft_int16.cc`.
    """

    name: ClassVar[str] = "SignalRfft"
    inputs: ClassVar[tuple[str, ...]] = ("input",)
    kernels: ClassVar[tuple[str, ...]] = ("kibi_signal_rfft_s16", "kibi_signal_rfft_s32", "kibi_signal_rfft_f32")
    is_inverse: ClassVar[bool] = False

    def lengths(self, elements: int) -> tuple[int, int]:
        """At most L, and L + 2."""
        if elements > self.fft_length:
            what = f"input has lines of {elements} elements, but the transform's length is {self.fft_length}"
            raise OperatorError(what, operand="input")
        return elements, self.fft_length + 2

    def reference(self, view: NodeView) -> Callable[[Rows], Array]:
        """The transform of each line."""
        transform, elements = self.transform(view), view["input"].type.shape[-1]

        def row(rows: Rows) -> Array:
            with np.errstate(all="ignore"):
                return transform.forward(np.asarray(rows[0][0]).reshape(-1, elements)).reshape(-1)

        return row

    def kernel_call(self, view: NodeView) -> KernelCall:
        """One kernel for each type, which works in its output."""
        kind = view["input"].type
        kernel = f"kibi_signal_rfft_{kind.dtype}"
        params = PARAMS[kernel](input_elements=kind.shape[-1], **self.params(view))
        return KernelCall(kernel, params, inplace_distance_bytes=apart(view))


register(SignalRfft)
