"""Checks that operators' type rules share; each raises an `OperatorError` that names the operand."""

from math import isfinite

import numpy as np

from kibi.dtypes import DType
from kibi.ir import NodeView, OperatorError, Quantization, Tensor
from kibi.quant import Multiplier, quantize_multiplier


def rank(view: NodeView, operand: str, *ranks: int) -> tuple[int, ...]:
    """The shape of an operand that must have one of these ranks."""
    shape = view[operand].type.shape
    if len(shape) not in ranks:
        wanted = " or ".join(str(rank) for rank in ranks)
        raise OperatorError(f"{operand} has shape {list(shape)}, but rank {wanted} is required", operand=operand)
    return shape


def dtype(view: NodeView, operand: str, *dtypes: DType) -> DType:
    """The element type of an operand that must be one of these."""
    found = view[operand].type.dtype
    if found not in dtypes:
        wanted = " or ".join(str(entry) for entry in dtypes)
        remedy = "Hybrid models (float activations, integer weights) are not supported: quantize activations, too"
        hint = remedy if {found, *dtypes} & {DType.F32} else ""
        raise OperatorError(f"{operand} has type {found}, but {wanted} is required", hint, operand)
    return found


def per_tensor(view: NodeView, operand: str) -> Quantization:
    """The quantization of an operand that must have one scale for the whole tensor."""
    quantization = first_scale(view, operand)
    if quantization.is_per_channel:
        raise OperatorError(f"{operand} has {len(quantization.scales)} scales, but one is required", operand=operand)
    return quantization


def first_scale(view: NodeView, operand: str) -> Quantization:
    """The quantization of an operand of whose scales TFLM reads the first one, whatever the channel."""
    quantization = view[operand].type.quantization
    if quantization is None:
        raise OperatorError(f"{operand} has no scale and zero point", "Quantize the model to int8", operand)
    return quantization


def symmetric(view: NodeView, operand: str) -> Quantization:
    """The quantization of an operand that must have one scale, and the zero point 0."""
    quantization = per_tensor(view, operand)
    if quantization.zero_point:
        what = f"{operand} has zero point {quantization.zero_point}, but 0 is required of {view[operand].type.dtype}"
        raise OperatorError(what, "Quantize the model again, with symmetric activations", operand)
    return quantization


def symmetric_weights(view: NodeView, operand: str, channels: int, axis: int) -> Quantization:
    """The quantization of weights: one scale, or one for each output channel; zero points 0.

    Source: TensorFlow Lite 8-bit quantization specification.
    """
    tensor = view[operand]
    quantization = tensor.type.quantization
    if quantization is None:
        raise OperatorError(f"{operand} has no scale", "Quantize the model to int8", operand)
    if any(quantization.zero_points):
        raise OperatorError(f"{operand} has a zero point that is not 0", "Quantize weights symmetrically", operand)
    if quantization.is_per_channel and (len(quantization.scales), quantization.axis) != (channels, axis):
        what = f"{operand} has {len(quantization.scales)} scales along axis {quantization.axis}"
        raise OperatorError(f"{what}, but {channels} along axis {axis} are required", operand=operand)
    return quantization


def bias(view: NodeView, channels: int, *dtypes: DType) -> Tensor | None:
    """The bias, or None: of one of these types, s32 where none is named; one element for each output channel."""
    tensor = view.find("bias")
    if tensor is None:
        return None
    dtype(view, "bias", *(dtypes or (DType.S32,)))
    if tensor.type.elements != channels:
        what = f"bias has shape {list(tensor.type.shape)}, but {channels} elements are required"
        raise OperatorError(what, operand="bias")
    return tensor


def factor(real: float, most_bits: int = 30) -> Multiplier:
    """A quotient of scales as multiplier and shift; it must be at least 0 and below 2**most_bits.

    Larger ones would shift all bits out; TFLM leaves them undefined (`kernels/internal/common.cc`).
    """
    found = quantize_multiplier(real) if isfinite(real) and real >= 0 else None
    if found is None or found.shift > most_bits:
        wanted = "0 or more" if real < 0 else f"less than 2**{most_bits}"
        what = f"the scales give a factor of {real:.4g}, but {wanted} is required"
        raise OperatorError(what, "Quantize the model again with representative data", "output")
    return found


def positive(name: str, values: tuple[int, ...]) -> None:
    """Attributes such as strides, which must be at least 1."""
    if any(value < 1 for value in values):
        raise OperatorError(f"{name} is {list(values)}, but each must be at least 1")


def same_rows(view: NodeView) -> tuple[int, ...]:
    """The shape of what is computed element by element: the output's own where it falls into the input's rows, else the input's.

    TFLM takes both tensors as flat, and asks for no more than as many elements.
    """
    source, output = view["input"].type, view.output.type
    fits = (source.rows, source.row_elements) == (output.rows, output.row_elements)
    return output.shape if fits else source.shape


def paddings(view: NodeView) -> tuple[tuple[int, int], ...]:
    """Returns for each axis of the input what the constant `paddings` `[rank, 2]` adds before and after; none is negative."""
    rank = len(view["input"].type.shape)
    pairs = view.constant("paddings").astype(np.int64)
    if pairs.shape != (rank, 2) or (pairs < 0).any():
        what = f"paddings {pairs.tolist()} must be {rank} pairs of numbers that are not negative"
        raise OperatorError(what, operand="paddings")
    return tuple((int(low), int(high)) for low, high in pairs.tolist())
