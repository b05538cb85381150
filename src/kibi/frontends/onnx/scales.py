"""Scales and zero points of ONNX files, as `.tflite` files have them."""

from collections.abc import Mapping

import numpy as np

from kibi.dtypes import Array, DType
from kibi.frontends.onnx.draft import Quantization
from kibi.frontends.onnx.problems import Unsupported

# How integers are stored, and what is subtracted from them: u8 becomes s8 with a zero point that is 128 lower, and
# u4 gets the range of int4.
_STORED: Mapping[str, tuple[DType, int]] = {
    "INT2": (DType.S8, 0),
    "UINT2": (DType.S8, 0),
    "INT4": (DType.S8, 0),
    "UINT4": (DType.S8, 8),
    "INT8": (DType.S8, 0),
    "UINT8": (DType.S8, 128),
    "INT16": (DType.S16, 0),
    "UINT16": (DType.S16, 1 << 15),
    "INT32": (DType.S32, 0),
}
_NARROW = frozenset(("INT2", "UINT2", "INT4", "UINT4"))


def quantization(kind: str, scale: Array, zero_point: Array | None, axis: int) -> Quantization:
    """The meaning of stored integers.

    Args:
        kind: ONNX's name of their type.
        scale: one, or `[C]`.
        zero_point: as many; None for 0.
        axis: of the channels.

    Raises:
        Unsupported: integers of that type have no place in a `.tflite` file, or the scales have several axes.
    """
    if kind not in _STORED:
        raise Unsupported(f"quantized elements of type {kind} are not supported", "Use int8, uint8, int16 or int4")
    if scale.ndim > 1 and scale.size > 1:
        raise Unsupported(
            "scales of blocks are supported for constants alone", "Use one scale, or one for each channel"
        )
    dtype, shift = _STORED[kind]
    scales = tuple(float(each) for each in np.asarray(scale, np.float32).reshape(-1))
    if not all(np.isfinite(each) and each > 0 for each in scales):
        raise Unsupported("a scale is not a positive number", "Export the model again")
    zeros = (
        np.zeros(len(scales), np.int64) if zero_point is None else np.asarray(zero_point).astype(np.int64).reshape(-1)
    )
    moved = tuple(int(each) - shift for each in zeros)
    return Quantization(scales, moved, axis if len(scales) > 1 else 0, dtype=dtype, is_narrow=kind in _NARROW)


def stored_integers(kind: str, data: Array) -> Array:
    """The integers of a constant as they are stored."""
    dtype, shift = _STORED[kind]
    return (np.asarray(data).astype(np.int64) - shift).astype(dtype.numpy)


def has_full_range(kind: str) -> bool:
    """True if every number of the stored type occurs: of 4 bits only some do, and results would have to be cut to them."""
    return kind not in _NARROW


def meaning(data: Array, meant: Quantization) -> Array:
    """The real numbers f32 that integers mean."""
    along = [1] * data.ndim
    if meant.is_per_channel:
        along[meant.axis] = -1
    scales = np.asarray(meant.scales, np.float32).reshape(along if data.ndim else ())
    zeros = np.asarray(meant.zero_points, np.int64).reshape(along if data.ndim else ())
    return ((data.astype(np.int64) - zeros).astype(np.float32) * scales).astype(np.float32)
