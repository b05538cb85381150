"""Importers of the custom operators that TFLM has."""

from collections.abc import Mapping, Sequence

import numpy as np

from kibi.dtypes import DType
from kibi.frontends.tflite.importers.base import Importer, Memory, OptionsError
from kibi.frontends.tflite.importers.detection import DETECTION
from kibi.frontends.tflite.importers.signal import SIGNAL
from kibi.frontends.tflite.reader import Options
from kibi.ir import Operator, Tensor, TensorType
from kibi.ops import CircularBuffer
from kibi.ops.custom.flexbuffer import read_flexbuffer

_SLOTS_OF_ONE_CYCLE = (5, 13, 25)
_GUESSED = (2, 96)
"""Width and channels with which TFLM counts how many buffers there were before it guesses."""


def _circular_buffer(options: Options) -> Operator:
    """The cycles are the first entry of the options; 0, which is never right, where there are none."""
    if not options.data:
        return CircularBuffer(0)
    try:
        found = read_flexbuffer(options.data)
    except ValueError as error:
        raise OptionsError(f"its options are no flexbuffer: {error}", "Export the model again") from error
    first = (
        next(iter(found.values() if isinstance(found, Mapping) else found), 0)
        if isinstance(found, Mapping | tuple)
        else 0
    )
    if not isinstance(first, int):
        raise OptionsError(f"cycles_max is {first!r}, but a whole number is required", "Export the model again")
    return CircularBuffer(max(0, first))


def _guessed_cycles(op: Operator, inputs: Sequence[Tensor | None], outputs: Sequence[Tensor]) -> Operator:
    """The cycles, where the file does not say them, are what TFLM takes for those shapes."""
    del inputs
    if not isinstance(op, CircularBuffer) or op.cycles or not outputs or len(outputs[0].type.shape) != 4:
        return op
    _, slots, *inner = outputs[0].type.shape
    if slots in _SLOTS_OF_ONE_CYCLE:
        return CircularBuffer(1)
    if tuple(inner) == _GUESSED:
        what = "cycles_max is missing, and TFLM guesses it by how many such operators were prepared before"
        raise OptionsError(what, "Export the model with cycles_max")
    return CircularBuffer(2)


def _circular_memories(op: Operator, inputs: Sequence[Tensor | None], outputs: Sequence[Tensor]) -> Sequence[Memory]:
    """The slots, which begin as the output's zero point if that is a variable, else as zeros; and the countdown."""
    del op, inputs
    if not outputs:
        return ()
    kind = outputs[0].type
    zeros = None if outputs[0].is_variable else np.zeros(kind.shape, kind.dtype.numpy)
    return Memory("memory", kind, zeros), Memory("countdown", TensorType((1,), DType.S32))


CUSTOM: Mapping[str, Importer] = {
    "CIRCULAR_BUFFER": Importer(
        _circular_buffer, memories=_circular_memories, remembers="memory", settled=_guessed_cycles
    ),
    "TFLite_Detection_PostProcess": DETECTION,
    **SIGNAL,
}
"""By the code of the custom operator, which is its name in Kibi, too."""
