"""Golden vectors: inputs that a few lines of any language make, and the checksum of the outputs that a model must give."""

import zlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from kibi.dtypes import Array, DType
from kibi.errors import KibiError
from kibi.ir import Graph
from kibi.planner import PlannedModel
from kibi.runtime import Interpreter

_PER_INPUT, _PER_ELEMENT = 0x9E3779B9, 0x85EBCA6B
_FIRST, _SECOND = 0x2C1B3C6D, 0x297A2D39
_MASK = 0xFFFFFFFF


@dataclass(frozen=True, slots=True)
class Golden:
    """What an example must give.

    Attributes:
        crc32: the CRC-32 of the bytes of all outputs, one after another.
        is_complete: False if an operator waits for the inputs of further inferences, so that there are no outputs.
    """

    crc32: int
    is_complete: bool = True


def golden_words(number: int, elements: int) -> NDArray[np.int64]:
    """A word of 32 bits for each element of an input, as the examples compute it; `[elements]`, at least 0.

    Args:
        number: of the input.
        elements: how many it has.
    """
    word = (np.arange(1, elements + 1, dtype=np.uint64) * _PER_ELEMENT + number * _PER_INPUT) & _MASK
    word = ((word ^ (word >> 15)) * _FIRST) & _MASK
    word = ((word ^ (word >> 12)) * _SECOND) & _MASK
    return (word ^ (word >> 15)).astype(np.int64)


def golden_inputs(graph: Graph) -> list[Array]:
    """One array for each input: s8, u8 and s16 over their range, f32 in [-1, 1), 0 or 1 of other types."""
    types = [graph.tensors[index].type for index in graph.inputs]
    return [
        _elements(golden_words(number, each.elements), each.dtype).reshape(each.shape)
        for number, each in enumerate(types)
    ]


def _elements(word: NDArray[np.int64], dtype: DType) -> Array:
    high = (word >> 24) - 128
    if dtype is DType.F32:
        return high.astype(np.float32) / np.float32(128)
    values = {DType.S8: high, DType.U8: high + 128, DType.S16: (word >> 16) - 32768}.get(dtype, word >> 31)
    return values.astype(dtype.numpy)


def golden_of(planned: PlannedModel) -> Golden | None:
    """The outputs of the first inference, computed by Kibi's Python engine.

    Returns:
        None if the model cannot run on these inputs, for instance because a loop has no end.
    """
    try:
        outputs = Interpreter(planned.model, planned.plan, use_context=False).run(golden_inputs(planned.model))
    except KibiError:
        return None
    crc32 = 0
    for output in outputs:
        crc32 = zlib.crc32(np.ascontiguousarray(output).tobytes(), crc32)
    return Golden(crc32, is_complete=bool(outputs))
