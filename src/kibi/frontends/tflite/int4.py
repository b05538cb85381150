"""Constants of int4: two elements in a byte in the file, one byte each from here on."""

from collections.abc import Iterator, Mapping

import numpy as np

from kibi.dtypes import Array, DType
from kibi.ir import Tensor

NAME = "INT4"
"""The schema's name of the type."""
_OPERATORS = ("CONV_2D", "DEPTHWISE_CONV_2D", "FULLY_CONNECTED")


def packed_bytes(elements: int) -> int:
    """Bytes of that many elements in a file."""
    return (elements + 1) // 2


def unpacked(data: Array, elements: int) -> Array:
    """The elements `[elements]` s8, of -8 … 7, from bytes u8: the lower half of a byte comes first.

    Source: TFLM `kernels/internal/portable_tensor_utils.cc`, `UnpackDenseInt4IntoInt8`.
    """
    pairs = data.astype(np.uint8)
    halves = np.stack([pairs & 0xF, pairs >> 4], axis=1).reshape(-1)[:elements].astype(np.int8)
    return np.where(halves > 7, halves - 16, halves).astype(np.int8)


def packed(elements: Array) -> Array:
    """The bytes u8 of elements s8, of -8 … 7, as `unpacked` takes them; of an odd count, the last upper half is 0."""
    halves = elements.reshape(-1).astype(np.uint8) & 0xF
    pairs = np.pad(halves, (0, len(halves) % 2)).reshape(-1, 2)
    return np.asarray(pairs[:, 0] | pairs[:, 1] << 4, np.uint8)


def int4_problems(operator: str, operands: Mapping[str, Tensor | None]) -> Iterator[tuple[str, str, str]]:
    """Yields the int4 constants of an operator that TFLM does not read as int4: what is wrong, what to do, the tensor's name.

    Source: TFLM `micro/kernels/conv_common.cc`, `depthwise_conv_common.cc`, `fully_connected_common.cc`.
    """
    first = operands.get("input")
    for name, tensor in operands.items():
        if tensor is None or not tensor.is_int4:
            continue
        quantization = tensor.type.quantization
        if operator not in _OPERATORS or name != "filter":
            where = ", ".join(_OPERATORS)
            yield f"{name} has type int4; TFLM has it for weights of {where}", "Use int8 here", tensor.name
        elif first is not None and first.type.dtype is DType.S16:
            yield (
                "weights of int4 under elements of s16 are not supported, nor by TFLM",
                "Use weights of int8",
                tensor.name,
            )
        elif operator == "FULLY_CONNECTED" and quantization is not None and quantization.is_per_channel:
            what = "weights of int4 with a scale for each channel are not supported, nor by TFLM"
            yield what, "Use one scale for all of the weights, or int8", tensor.name
