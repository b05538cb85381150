"""Inputs: checked against the model, quantized from real values, drawn from a seed."""

from collections.abc import Sequence

import numpy as np

from kibi.dtypes import Array, DType
from kibi.errors import InputError
from kibi.ir import Graph, Tensor
from kibi.quant import round_half_away


def check_inputs(graph: Graph, inputs: Sequence[Array]) -> list[Array]:
    """The inputs as arrays of exactly the model's shapes and types.

    Raises:
        InputError: too few, too many, or one of another shape or type.
    """
    if len(inputs) != len(graph.inputs):
        raise InputError(f"{graph.source} takes {len(graph.inputs)} inputs, {len(inputs)} were given.")
    checked = []
    for number, (index, value) in enumerate(zip(graph.inputs, inputs, strict=True)):
        tensor, array = graph.tensors[index], np.asarray(value)
        wanted = tensor.type
        if array.dtype != wanted.dtype.numpy or array.shape != wanted.shape:
            raise InputError(
                f"input {number} ({tensor.name!r}) has shape {list(array.shape)} and type {array.dtype}; "
                f"{list(wanted.shape)} and {wanted.dtype.numpy} are required."
            )
        checked.append(array)
    return checked


def check_row(graph: Graph, number: int, row: Array) -> Array:
    """One row of a model input, of exactly its shape and type.

    Raises:
        InputError: it has another shape or type.
    """
    tensor, array = graph.tensors[graph.inputs[number]], np.asarray(row)
    kind = tensor.type
    if array.dtype != kind.dtype.numpy or array.shape != kind.row_shape:
        raise InputError(
            f"a row of input {number} ({tensor.name!r}) has shape {list(array.shape)} and type {array.dtype}; "
            f"{list(kind.row_shape)} and {kind.dtype.numpy} are required."
        )
    return array


def quantize_real(tensor: Tensor, values: Array) -> Array:
    """Real values in a tensor's scale and type: rule N16; f32 tensors take them as they are.

    Raises:
        InputError: the tensor is an integer one without a scale.
    """
    kind = tensor.type
    if kind.dtype is DType.F32:
        return values.astype(np.float32)
    if kind.quantization is None:
        raise InputError(f"input {tensor.name!r} has no scale; give integers of type {kind.dtype.numpy}.")
    low, high = kind.dtype.limits
    if not kind.quantization.scale:  # it holds nothing but 0
        return np.full(values.shape, kind.quantization.zero_point, kind.dtype.numpy)
    scaled = np.clip(values.astype(np.float32) / np.float32(kind.quantization.scale), -(2.0**24), 2.0**24)
    whole = round_half_away(scaled).astype(np.int64) + kind.quantization.zero_point
    return np.clip(whole, low, high).astype(kind.dtype.numpy)


def seeded_inputs(graph: Graph, seed: int) -> list[Array]:
    """One array for each input: uniform over an integer type's range, standard normal for floats."""
    random = np.random.default_rng(seed)
    arrays: list[Array] = []
    for index in graph.inputs:
        kind = graph.tensors[index].type
        if kind.dtype.is_integer:
            low, high = kind.dtype.limits
            arrays.append(random.integers(low, high + 1, kind.shape).astype(kind.dtype.numpy))
        else:
            arrays.append(random.standard_normal(kind.shape).astype(kind.dtype.numpy))
    return arrays
