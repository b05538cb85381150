"""Inputs: checked against the model, quantized from real values, drawn from a seed."""

from collections.abc import Sequence

import numpy as np

from kibi.dtypes import Array, DType
from kibi.eager.memory.blocks import whole_number
from kibi.eager.room import room_for
from kibi.errors import InputError
from kibi.ir import Graph, Tensor, TensorType
from kibi.quant import round_half_away

_DRAWN_TOGETHER = 1 << 20
"""Elements that are drawn at a time."""


def check_inputs(graph: Graph, inputs: Sequence[Array]) -> list[Array]:
    """The inputs as arrays of exactly the model's shapes and types.

    Raises:
        InputError: too few, too many, or one of another shape or type.
    """
    try:  # a generator may have no end, so that only what has a length is asked for its elements
        given = list(inputs) if len(inputs) == len(graph.inputs) else None
    except TypeError:
        what = f"{graph.source} takes a list of {len(graph.inputs)} arrays"
        raise InputError(f"{what}; {type(inputs).__name__} was given, which is none. Give a list.") from None
    if given is None:
        raise InputError(f"{graph.source} takes {len(graph.inputs)} inputs, {len(inputs)} were given.")
    return [check_input(graph, number, value) for number, value in enumerate(given)]


def check_input(graph: Graph, number: int, value: object) -> Array:
    """One input as an array of exactly the model's shape and type.

    Raises:
        InputError: it has another shape or type.
    """
    tensor = graph.tensors[graph.inputs[number]]
    wanted, array = tensor.type, _array(value, f"input {number} ({tensor.name!r})")
    if array.dtype != wanted.dtype.numpy or array.shape != wanted.shape:
        raise InputError(
            f"input {number} ({tensor.name!r}) has shape {list(array.shape)} and type {array.dtype}; "
            f"{list(wanted.shape)} and {wanted.dtype.numpy} are required."
        )
    return _with_true_as_one(array)


def check_row(graph: Graph, number: int, row: Array) -> Array:
    """One row of a model input, of exactly its shape and type.

    Raises:
        InputError: it has another shape or type.
    """
    tensor = graph.tensors[graph.inputs[number]]
    kind, array = tensor.type, _array(row, f"a row of input {number} ({tensor.name!r})")
    if array.dtype != kind.dtype.numpy or array.shape != kind.row_shape:
        raise InputError(
            f"a row of input {number} ({tensor.name!r}) has shape {list(array.shape)} and type {array.dtype}; "
            f"{list(kind.row_shape)} and {kind.dtype.numpy} are required."
        )
    return _with_true_as_one(array)


def _array(value: object, what: str) -> Array:
    """Converts a value to an array.

    Raises:
        InputError: NumPy cannot convert it.
    """
    try:
        return np.asarray(value)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise InputError(f"{what} is no array: {error}. Give a NumPy array.") from None


def _with_true_as_one(array: Array) -> Array:
    """The array; of booleans each byte is 0 or 1, as C wants it: views of other arrays may hold anything."""
    return array.view(np.uint8) != 0 if array.dtype == np.bool_ else array


def quantize_real(tensor: Tensor, values: Array) -> Array:
    """Real values in a tensor's scale and type: rule N16; f32 tensors take them as they are.

    Raises:
        InputError: the tensor is an integer one without a scale, or the values are no real numbers.
    """
    kind, values = tensor.type, _array(values, f"what input {tensor.name!r} is to be")
    if values.dtype.kind not in "biuf":
        raise InputError(f"input {tensor.name!r} takes real values, not {values.dtype}. Give an array of floats.")
    with np.errstate(over="ignore"):  # what is beyond float32 is infinite
        real = values.astype(np.float32)
    if kind.dtype is DType.F32:
        return real
    if np.isnan(values).any():
        raise InputError(f"what input {tensor.name!r} is to be holds values that are not numbers. Replace them.")
    if kind.quantization is None or not kind.dtype.is_integer:
        raise InputError(f"input {tensor.name!r} has no scale; give integers of type {kind.dtype.numpy}.")
    low, high = kind.dtype.limits
    if not kind.quantization.scale:  # it holds nothing but 0
        return np.full(values.shape, kind.quantization.zero_point, kind.dtype.numpy)
    with np.errstate(all="ignore"):  # what is infinite ends at the ends of the integer type
        scaled = np.clip(real / np.float32(kind.quantization.scale), -(2.0**24), 2.0**24)
    whole = round_half_away(scaled).astype(np.int64) + kind.quantization.zero_point
    return np.clip(whole, low, high).astype(kind.dtype.numpy)


def seeded_inputs(graph: Graph, seed: int) -> list[Array]:
    """One array for each input: uniform over the type's range, standard normal for floats.

    An element of a boolean input is true for one of the seeds 2k and 2k + 1 and false for the other, so that a condition
    comes out both ways.

    Args:
        graph: the model.
        seed: at least 0; the same one gives the same arrays everywhere.

    Raises:
        InputError: the seed is no such number, or this machine has no room for the arrays.
    """
    seed = whole_number(seed, "the seed", least=0)
    random = np.random.default_rng(seed)
    arrays: list[Array] = []
    with room_for(graph.source):
        for number, index in enumerate(graph.inputs):
            kind = graph.tensors[index].type
            if kind.dtype is DType.BOOL:
                coins = np.random.default_rng((seed // 2, number)).integers(0, 2, kind.shape)
                arrays.append(coins != seed % 2)
            else:
                arrays.append(_drawn(random, kind))
    return arrays


def _drawn(random: np.random.Generator, kind: TensorType) -> Array:
    """Elements of a type of numbers, in pieces: they are drawn wider than they are stored."""
    array = np.empty(kind.elements, kind.dtype.numpy)
    for start in range(0, array.size, _DRAWN_TOGETHER):
        piece = array[start : start + _DRAWN_TOGETHER]
        if kind.dtype.is_integer:
            low, high = kind.dtype.limits
            wide = np.uint64 if high > np.iinfo(np.int64).max else np.int64
            piece[:] = random.integers(low, high, piece.size, wide, endpoint=True)
        else:
            piece[:] = random.standard_normal(piece.size)
    return array.reshape(kind.shape)
