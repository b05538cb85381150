"""Tensors: from records of the file to Kibi's own, with every rule that holds for a tensor by itself."""

import shlex
from collections.abc import Callable, Iterator
from math import isfinite, prod

import numpy as np

from kibi.dtypes import Array, DType
from kibi.errors import Problem
from kibi.frontends.tflite import int4
from kibi.frontends.tflite.reader import TENSOR_TYPES, QuantizationRecord, TensorRecord
from kibi.ir import Quantization, Tensor, TensorType

_DTYPES = {
    int4.NAME: DType.S8,
    "INT8": DType.S8,
    "UINT8": DType.U8,
    "INT16": DType.S16,
    "INT32": DType.S32,
    "UINT32": DType.U32,
    "INT64": DType.S64,
    "UINT64": DType.U64,
    "FLOAT32": DType.F32,
    "BOOL": DType.BOOL,
}
_MOST_AXES = 8
# Offsets on the device are 32 bits wide, and signed where they are compared.
_MOST_BYTES = (1 << 31) - 1
_EXPORT_AGAIN = "Export the model again; the file is damaged"


def unused(index: int) -> Tensor:
    """Returns a placeholder for a tensor that no operator and no input or output of the model names.

    Such leftovers of a converter may have types and shapes that Kibi does not know. They are not read; they only keep the
    indices of the other tensors.
    """
    return Tensor(index, f"tensor_{index}", TensorType((), DType.S8))


def import_tensor(
    index: int, record: TensorRecord, copied: Callable[[int], None], *, is_input: bool = False
) -> tuple[Tensor | None, list[Problem]]:
    """Returns a tensor, or its problems.

    Args:
        index: its index in the file.
        record: the tensor as the file has it.
        copied: is told the bytes of data that cannot stay a view of the file, and may raise `OverlapError`.
        is_input: true if the caller gives it: its shape follows from no other one.

    Returns:
        The tensor and no problems, or None and all problems.
    """
    problems = [Problem(what, remedy, tensor=record.name) for what, remedy in _problems(record, is_input=is_input)]
    if problems:
        return None, problems
    dtype = _DTYPES[TENSOR_TYPES[record.type_code]]
    quantization = _quantization(record.quantization, record.shape) if dtype.is_integer else None
    data = None if record.data is None else _constant(record.data, record, dtype, copied)
    kind, is_int4 = TensorType(record.shape, dtype, quantization), _is_int4(record)
    return Tensor(index, record.name, kind, data, is_variable=record.is_variable, is_int4=is_int4), []


def _is_int4(record: TensorRecord) -> bool:
    return TENSOR_TYPES.get(record.type_code) == int4.NAME


def _problems(record: TensorRecord, *, is_input: bool) -> Iterator[tuple[str, str]]:
    """Yields what is wrong, and what to do."""
    if record.is_variable and record.data is not None:
        yield "it keeps its value between inferences (a variable), and has data as a constant has", _EXPORT_AGAIN
    if record.is_sparse:
        yield "its data are sparse, which is not supported", "Export the model with dense weights"
    if record.is_external:
        yield (
            "its data are stored after the flatbuffer, which is not supported",
            "Export the model with its data inside",
        )
    shape_problems = list(_shape_problems(record, is_input=is_input))
    yield from shape_problems
    dtype = _DTYPES.get(TENSOR_TYPES.get(record.type_code, ""))
    if dtype is None:
        name = TENSOR_TYPES.get(record.type_code, record.type_code)
        if name == "RESOURCE":
            yield "it is the handle of a variable, which is read and assigned in the main subgraph alone", ""
            return
        what = f"element type {name} is not supported; supported: {', '.join(_DTYPES)}"
        yield what, "Quantize the model to int8"
    if shape_problems or dtype is None:
        return
    if _is_int4(record) and record.data is None:
        yield "it has type INT4, which is supported for constants alone", "Quantize the activations to int8"
        return
    elements, stored = prod(record.shape), "int4" if _is_int4(record) else str(dtype)
    expected = int4.packed_bytes(elements) if _is_int4(record) else elements * dtype.size_bytes
    if expected > _MOST_BYTES:
        yield f"shape {_brief(record.shape)} of {dtype} takes {expected} bytes; at most {_MOST_BYTES} are possible", ""
    elif record.data is not None and record.data.size != expected:
        what = f"it has {record.data.size} bytes of data, but shape {_brief(record.shape)} of {stored} takes {expected}"
        yield what, _EXPORT_AGAIN
    elif record.data is not None and dtype is DType.BOOL and record.data.max(initial=0) > 1:
        # TFLM reads the bytes as C++'s `bool`, which has no meaning for any other value: kernels that copy them keep it, those
        # that test them may do anything.
        yield (
            f"it holds booleans, but one of its bytes is {record.data.max()}; only 0 and 1 have a meaning",
            _EXPORT_AGAIN,
        )
    if record.quantization is not None:
        yield from _quantization_problems(record.quantization, record.shape, dtype)


def _shape_problems(record: TensorRecord, *, is_input: bool) -> Iterator[tuple[str, str]]:
    """Yields what is wrong with a shape, and what to do.

    The shape signature marks the axes that were unknown when the model was exported. TFLM uses the file's shape in any case. Kibi
    does so if only the batch of an input is unknown; the operators' rules check the other shapes against it.
    """
    shape, signature = record.shape, record.signature
    if len(shape) > _MOST_AXES:
        yield f"it has {len(shape)} axes; at most {_MOST_AXES} are supported", ""
        return
    if signature and len(signature) != len(shape):
        yield f"its shape has {len(shape)} axes, its shape signature {len(signature)}", _EXPORT_AGAIN
        return
    is_dynamic = is_input and -1 in signature[1:]
    if is_dynamic or -1 in shape:
        yield _dynamic(record, signature if is_dynamic else shape, is_input=is_input)
    elif any(size < 0 for size in shape):
        yield f"its shape {_brief(shape)} has a negative size", _EXPORT_AGAIN
    elif 0 in shape:
        yield f"its shape {_brief(shape)} has no elements", "Export the model without empty tensors"


def _dynamic(record: TensorRecord, shape: tuple[int, ...], *, is_input: bool) -> tuple[str, str]:
    """What is wrong with a shape that has open sizes, and what to do."""
    axes = [str(axis) for axis, size in enumerate(shape) if size == -1]
    several = (
        f"sizes of its axes {', '.join(axes[:-1])} and {axes[-1]} are" if axes[1:] else f"size of its axis {axes[0]} is"
    )
    what = f"its shape is dynamic: {_brief(shape)}. The {several} unknown until the model runs"
    if not is_input:
        return what, "Fix the shapes of inputs: kibi convert MODEL -o FILE --shape INPUT=N,N,…"
    sizes = ",".join(str(max(size, 1)) for size in record.shape)
    option = shlex.quote(f"{record.name}={sizes}")
    return what, f"Say how large it is to be, for instance: kibi convert MODEL -o FILE --shape {option}"


def _quantization_problems(
    record: QuantizationRecord, shape: tuple[int, ...], dtype: DType
) -> Iterator[tuple[str, str]]:
    if record.has_details:
        remedy = "Quantize the model with one scale for each tensor or channel"
        yield "its quantization scheme is custom or blockwise, which is not supported", remedy
        return
    count = len(record.scales)
    if not dtype.is_integer or count == 0:
        return
    if len(record.zero_points) != count:
        yield f"the numbers of its scales ({count}) and zero points ({len(record.zero_points)}) differ", _EXPORT_AGAIN
    bad = next((scale for scale in record.scales.tolist() if not (isfinite(scale) and scale >= 0)), None)
    if bad is not None:
        yield f"its scale {bad} is not a finite number of at least 0", _EXPORT_AGAIN
    low, high = dtype.limits
    outside = next((zero_point for zero_point in record.zero_points.tolist() if not low <= zero_point <= high), None)
    if outside is not None:
        yield f"its zero point {outside} is outside {dtype}'s range {low} to {high}", _EXPORT_AGAIN
    if count > 1 and _axis(record, shape) is None:
        what = f"it has {count} scales along axis {record.axis}, which does not fit shape {_brief(shape)}"
        yield what, _EXPORT_AGAIN


def _axis(record: QuantizationRecord, shape: tuple[int, ...]) -> int | None:
    """Returns the axis that the scales belong to; None if there is no such axis.

    Some converters give a bias, which has one axis, the axis of the filter that it belongs to.
    """
    count = len(record.scales)
    if shape == (count,):
        return 0
    return record.axis if 0 <= record.axis < len(shape) and shape[record.axis] == count else None


def _quantization(record: QuantizationRecord | None, shape: tuple[int, ...]) -> Quantization | None:
    """Sound quantization; None where there are no scales."""
    if record is None or not len(record.scales):
        return None
    scales, zero_points = tuple(record.scales.tolist()), tuple(record.zero_points.tolist())
    return Quantization(scales, zero_points, (_axis(record, shape) or 0) if len(scales) > 1 else 0)


def _constant(data: Array, record: TensorRecord, dtype: DType, copied: Callable[[int], None]) -> Array:
    """The elements of a constant, read-only: a view of the file where its alignment and their size allow one."""
    shape = record.shape
    if _is_int4(record):
        copied(prod(shape))
        unpacked = int4.unpacked(data, prod(shape)).reshape(shape)
        unpacked.flags.writeable = False
        return unpacked
    elements = data.view(dtype.numpy)
    if not elements.flags.aligned:
        copied(data.size)
        elements = np.require(elements, requirements="A")
        elements.flags.writeable = False
    return elements.reshape(shape)


def _brief(shape: tuple[int, ...]) -> str:
    return str(list(shape))
