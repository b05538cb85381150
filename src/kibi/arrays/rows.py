"""Many inputs at once, as a model takes them, and a look at whether their values were normalised."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from kibi.arrays.images import quantized_pixels, real_range
from kibi.dtypes import Array, DType
from kibi.errors import InputError
from kibi.ir import Graph, Tensor
from kibi.runtime.inputs import quantize_real

LOOKED_AT = 64
"""The number of inputs after which values are judged."""
_MOST_OUTSIDE = 0.01
_LEAST_SPAN = 1 / 16
_TOLERATED = 0.05
"""The part of a range by which a value may be outside of it, after calibration."""


def fit_rows(graph: Graph, number: int, rows: Array, source: str) -> Array:
    """Many inputs as a model takes them.

    Args:
        graph: the model.
        number: of its input.
        rows: `[N, …]`: N arrays of the input's shape but for axes of size 1. Elements of the input's own type stay as they are.
            Floats are real values, and are quantized as the input says (rule N16). For an input of another type, u8 are pixels
            from 0 (black) to 255 (white), which become the values that image files become.
        source: the origin of the arrays, for errors.

    Returns:
        `[N, *shape]` of the input's type.

    Raises:
        InputError: shape or type does not fit, or a value is not a number.
    """
    tensor = graph.tensors[graph.inputs[number]]
    check_row_type(tensor, rows.shape[1:], rows.dtype, source)
    kind = tensor.type
    shaped = rows.reshape(len(rows), *kind.shape)
    if rows.dtype.newbyteorder("=") == kind.dtype.numpy.newbyteorder("="):
        own = shaped.astype(kind.dtype.numpy)
        if kind.dtype is DType.F32 and np.isnan(own).any():
            raise _no_numbers(tensor, source)
        return own.view(np.uint8) != 0 if own.dtype == np.bool_ else own
    if rows.dtype == np.uint8:
        return quantized_pixels(graph, tensor, shaped.astype(np.uint8))
    if np.isnan(shaped).any():
        raise _no_numbers(tensor, source)
    return quantize_real(tensor, shaped)


def check_row_type(tensor: Tensor, shape: tuple[int, ...], dtype: "np.dtype[np.generic]", source: str) -> None:
    """Checks the shape and type of one of many inputs.

    Args:
        tensor: the model's input.
        shape: of one array.
        dtype: of its elements.
        source: the origin of the arrays, for errors.

    Raises:
        InputError: it does not fit.
    """
    kind, where = tensor.type, f"{source}, for input {tensor.name!r}"
    if _without_ones(shape) != _without_ones(kind.shape):
        raise InputError(
            f"{where}: one input has the shape {list(shape)}, {list(kind.shape)} is required. Give an array [N, …] of N inputs."
        )
    if dtype.newbyteorder("=") == kind.dtype.numpy.newbyteorder("="):
        return
    takes_real = kind.dtype is DType.F32 or (kind.dtype.is_integer and kind.quantization is not None)
    if takes_real and (dtype.kind == "f" or dtype == np.uint8):
        return
    also = ", real values as float32, or pixels as uint8" if takes_real else ""
    raise InputError(f"{where}: the type is {dtype}; {kind.dtype.numpy} is required{also}.")


def real_rows(graph: Graph, number: int, rows: Array) -> Array:
    """Many inputs for a model of the same network with other types: arrays of the model's own integer type become real values.

    Args:
        graph: the model that the arrays are for.
        number: of its input.
        rows: as in `fit_rows`.
    """
    kind = graph.tensors[graph.inputs[number]].type
    is_own = rows.dtype.newbyteorder("=") == kind.dtype.numpy.newbyteorder("=")
    if not is_own or kind.quantization is None or not kind.dtype.is_integer:
        return rows
    real: Array = ((rows.astype(np.float64) - kind.quantization.zero_point) * kind.quantization.scale).astype(
        np.float32
    )
    return real


@dataclass
class _Seen:
    """What was seen of one input's real values.

    Attributes:
        rows: how many inputs.
        elements, outside: how many values, and how many of them are outside of the range.
        least, largest: the ends of the values.
    """

    rows: int = 0
    elements: int = 0
    outside: int = 0
    least: float = np.inf
    largest: float = -np.inf


class RangeWatch:
    """Looks at the first inputs, and says once whether they look as if they were not normalised.

    Args:
        graph: the model.
    """

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._is_done = False
        self._seen: dict[int, _Seen] = {}

    def look(self, inputs: Sequence[Array]) -> None:
        """Looks at further inputs, an array `[N, …]` for each model input, before they are quantized."""
        for number, rows in enumerate(inputs):
            span = self._span(number)
            if self._is_done or span is None or rows.dtype.kind != "f" or not rows.size:
                continue
            seen, slack = self._seen.setdefault(number, _Seen()), _TOLERATED * (span[1] - span[0])
            real = rows[: LOOKED_AT - seen.rows].astype(np.float32)  # batches of other sizes give the same warnings
            seen.rows += len(real)
            seen.elements += real.size
            seen.outside += int(((real < span[0] - slack) | (real > span[1] + slack)).sum())
            seen.least, seen.largest = min(seen.least, float(real.min())), max(seen.largest, float(real.max()))

    def news(self, *, is_last: bool = False) -> list[str]:
        """The warnings, once enough inputs were seen or there are no more; else none."""
        if self._is_done or not (is_last or any(seen.rows >= LOOKED_AT for seen in self._seen.values())):
            return []
        self._is_done = True
        return [text for number, seen in self._seen.items() if (text := self._judged(number, seen))]

    def _judged(self, number: int, seen: _Seen) -> str:
        span, name = self._span(number), self._graph.tensors[self._graph.inputs[number]].name
        if span is None:
            return ""
        width, remedy = span[1] - span[0], "Give values that are scaled as those that the model was trained on."
        found = f"values from {seen.least:.4g} to {seen.largest:.4g} for input {name!r}"
        holds = f"which holds {span[0]:.4g} to {span[1]:.4g}"
        if seen.outside > _MOST_OUTSIDE * seen.elements:
            part = 100 * seen.outside / seen.elements
            return f"{found}, {holds}: {part:.0f} % of them are outside of that, and look as if they were not normalised. {remedy}"
        if seen.largest - seen.least < _LEAST_SPAN * width:
            return f"{found}, {holds}: they use less than a sixteenth of that, and look as if they were normalised twice. {remedy}"
        return ""

    def _span(self, number: int) -> tuple[float, float] | None:
        tensor = self._graph.tensors[self._graph.inputs[number]]
        span = real_range(self._graph, tensor)
        return span if span is not None and span[0] < span[1] else None


def _no_numbers(tensor: Tensor, source: str) -> InputError:
    return InputError(
        f"{source}, for input {tensor.name!r}: it holds values that are not numbers. Replace them before you save the array."
    )


def _without_ones(shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(size for size in shape if size != 1)
