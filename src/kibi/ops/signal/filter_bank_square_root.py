"""SignalFilterBankSquareRoot."""

from collections.abc import Callable
from dataclasses import dataclass
from math import isqrt
from typing import ClassVar

import numpy as np

from kibi.dtypes import Array, DType
from kibi.ir import KernelCall, NodeView, Rows
from kibi.kernels.params.unary import ElementsParams
from kibi.ops import checks
from kibi.ops.registry import register
from kibi.ops.signal.checks import Vectors, vector


@dataclass(frozen=True, slots=True)
class SignalFilterBankSquareRoot(Vectors):
    """Square roots, shifted right: input [C] u64, scale_bits [] s32 → output [C] u32.

    Rule N44. Source: TFLM `signal/micro/kernels/filter_bank_square_root.cc`, `signal/src/square_root_64.cc`.
    """

    name: ClassVar[str] = "SignalFilterBankSquareRoot"
    inputs: ClassVar[tuple[str, ...]] = ("input", "scale_bits")
    row_inputs: ClassVar[tuple[str, ...]] = ("input", "scale_bits")
    kernels: ClassVar[tuple[str, ...]] = ("kibi_signal_filter_bank_square_root_u64",)
    types: ClassVar[tuple[DType, ...]] = (DType.U64,)

    def infer(self, view: NodeView) -> tuple[tuple[int, ...], DType]:
        """The input's shape, type u32."""
        checks.dtype(view, "scale_bits", DType.S32)
        checks.rank(view, "scale_bits", 0)
        return (vector(view, "input", DType.U64),), DType.U32

    def reference(self, view: NodeView) -> Callable[[Rows], Array]:
        """Rule N44."""
        del view

        def step(rows: Rows) -> Array:
            bits = int(np.asarray(rows[1][0]).reshape(-1)[0]) & 31
            return np.array([root(value) >> bits for value in np.asarray(rows[0][0]).tolist()], np.uint32)

        return step

    def kernel_call(self, view: NodeView) -> KernelCall:
        """The shift is read before anything is written, and each number right before its root."""
        params = ElementsParams(elements=view["input"].type.elements)
        return KernelCall(
            "kibi_signal_filter_bank_square_root_u64", params, is_untyped=True, inplace_distance_bytes=(0, 0)
        )


def root(value: int) -> int:
    """Rounded to the nearest, unless the result would need one bit more."""
    found = isqrt(value)
    most = 0xFFFF if value < 1 << 32 else 0xFFFFFFFF
    return found + (value - found * found > found and found != most)


register(SignalFilterBankSquareRoot)
