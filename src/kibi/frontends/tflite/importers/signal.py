"""Importers of TFLM's Signal operators, which front ends of speech are made of."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from typing import Any

import numpy as np

from kibi.dtypes import DType
from kibi.frontends.tflite.importers.base import Importer, Memory, OptionsError
from kibi.frontends.tflite.reader import Options
from kibi.ir import Operator, OperatorError, Tensor, TensorType
from kibi.ops import (
    CustomOptions,
    SignalDelay,
    SignalEnergy,
    SignalFftAutoScale,
    SignalFilterBank,
    SignalFilterBankLog,
    SignalFilterBankSpectralSubtraction,
    SignalFilterBankSquareRoot,
    SignalFramer,
    SignalIrfft,
    SignalOverlapAdd,
    SignalPCAN,
    SignalRfft,
    SignalStacker,
    SignalWindow,
)
from kibi.ops.custom.flexbuffer import FlexValue

_EXPORT = "Export the model again; the file is damaged"
# The schema's numbers of element types, which converters write as the option T.
_ELEMENT_TYPES = {0: DType.F32, 2: DType.S32, 7: DType.S16}


_S32 = range(-(1 << 31), 1 << 31)


def _importer(operator: type[Operator], *, has_type: bool = False, **how: Any) -> Importer:
    """An operator whose options are its attributes and, where it has several types, T.

    All must be there, and no other: TFLM knows them by their places alone.
    """
    kinds = {field.name: type(field.default) for field in fields(operator)}  # type: ignore[arg-type]  # a dataclass
    wanted = sorted([*kinds, *(["T"] if has_type else [])])

    def make(options: Options) -> Operator:
        values = _values(options)
        if sorted(values) != wanted:
            what = f"its options are {', '.join(sorted(values)) or 'none'}, but {', '.join(wanted)} are required"
            raise OptionsError(what, _EXPORT)
        return operator(**{name: _attribute(name, values[name], kind) for name, kind in kinds.items()})

    return Importer(make, check=_check_type if has_type else None, **how)


def _values(options: Options) -> Mapping[str, FlexValue]:
    if options.is_external:
        raise OptionsError("its options are stored after the flatbuffer, which is not supported", _EXPORT)
    try:
        return CustomOptions(options.data).values()
    except OperatorError as error:
        raise OptionsError(error.what, _EXPORT) from error


def _attribute(name: str, value: FlexValue, kind: type) -> int:
    """A number of 32 bits, or a truth value, which some writers have as a number."""
    if kind is bool and value in (0, 1):
        return bool(value)
    if kind is int and type(value) is int and value in _S32:
        return value
    raise OptionsError(f"its option {name} is {value!r}, but {kind.__name__} is required", _EXPORT)


def _check_type(options: Options, inputs: Sequence[Tensor | None]) -> None:
    """The option T is the input's element type, by the schema's number."""
    number, source = _values(options)["T"], inputs[0] if inputs else None
    if source is not None and (type(number) is not int or _ELEMENT_TYPES.get(number) is not source.type.dtype):
        what = f"its option T is {number!r}, but its input has type {source.type.dtype}"
        raise OptionsError(what, _EXPORT)


def _source(inputs: Sequence[Tensor | None]) -> TensorType:
    """The type of the first input; that of a scalar where it is missing, which the operator's rule then refuses."""
    found = inputs[0] if inputs else None
    return TensorType((), DType.S16) if found is None else found.type


def _lines(operand: str) -> Callable[[Any, Sequence[Tensor | None], Sequence[Tensor]], Sequence[Memory]]:
    """One memory, whose size depends on the input."""

    def memories(op: Any, inputs: Sequence[Tensor | None], outputs: Sequence[Tensor]) -> Sequence[Memory]:
        del outputs
        return [Memory(operand, op.memory(_source(inputs)))]

    return memories


def _framer(op: Any, inputs: Sequence[Tensor | None], outputs: Sequence[Tensor]) -> Sequence[Memory]:
    del outputs
    count = Memory("available", _COUNT, np.array([op.first_available], np.int32))
    return [Memory("samples", op.memory(_source(inputs))), count]


def _stacker(op: Any, inputs: Sequence[Tensor | None], outputs: Sequence[Tensor]) -> Sequence[Memory]:
    del inputs, outputs
    return [Memory("samples", op.memory()), Memory("available", _COUNT, np.array([-1], np.int32))]


def _noise(op: Any, inputs: Sequence[Tensor | None], outputs: Sequence[Tensor]) -> Sequence[Memory]:
    del inputs, outputs
    return [Memory("noise", op.memory())]


def _scaled_part(op: Operator, number: int, count: int) -> Operator:
    """One of the two outputs of SignalFftAutoScale."""
    del op
    if count != 2:
        raise OptionsError(f"it has {count} outputs, but 2 are required", _EXPORT)
    return SignalFftAutoScale(number)


_COUNT = TensorType((1,), DType.S32)

SIGNAL: Mapping[str, Importer] = {
    "SignalDelay": _importer(SignalDelay, memories=_lines("samples")),
    "SignalEnergy": _importer(SignalEnergy),
    "SignalFftAutoScale": Importer(lambda _: SignalFftAutoScale(), part=_scaled_part),
    "SignalFilterBank": _importer(SignalFilterBank),
    "SignalFilterBankLog": _importer(SignalFilterBankLog),
    "SignalFilterBankSpectralSubtraction": _importer(SignalFilterBankSpectralSubtraction, memories=_noise),
    "SignalFilterBankSquareRoot": Importer(lambda _: SignalFilterBankSquareRoot()),
    "SignalFramer": _importer(SignalFramer, memories=_framer),
    "SignalIrfft": _importer(SignalIrfft, has_type=True),
    "SignalOverlapAdd": _importer(SignalOverlapAdd, has_type=True, memories=_lines("rest")),
    "SignalPCAN": _importer(SignalPCAN),
    "SignalRfft": _importer(SignalRfft, has_type=True),
    "SignalStacker": _importer(SignalStacker, memories=_stacker),
    "SignalWindow": _importer(SignalWindow),
}
"""By the code of the custom operator."""
