"""The `.tflite` file as plain records: the only module here that touches the schema's generated code.

What comes out is sound as bytes (each position was checked, each index of a buffer or operator code leads somewhere)
and nothing more: whether a shape, a scale or a type makes sense is for `tensors` and `operators` to say.

Source of the fields: TensorFlow's `tensorflow/compiler/mlir/lite/schema/schema.fbs`, in the generated form of the
package `tflite`.
"""

from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import tflite
from flatbuffers import number_types

from kibi.dtypes import Array
from kibi.errors import InternalError
from kibi.frontends.tflite.flatbuffer import Budget, CheckedTable, CorruptError, empty, enter, reading
from kibi.ir import Graph, Signature

IDENTIFIER = b"TFL3"
"""The file identifier, at byte 4."""
_LONGEST_TEXT = 1024
# The place of `OperatorCode.builtin_code` in the table's list of fields.
_BUILTIN_CODE_SLOT = 10


def _names(enumeration: type) -> dict[int, str]:
    """An enumeration of the schema, from number to name."""
    return {value: name for name, value in vars(enumeration).items() if isinstance(value, int)}


ACTIVATIONS = _names(tflite.ActivationFunctionType)
PADDINGS = _names(tflite.Padding)
TENSOR_TYPES = _names(tflite.TensorType)
WEIGHTS_FORMATS = _names(tflite.FullyConnectedOptionsWeightsFormat)
_OPERATORS = _names(tflite.BuiltinOperator)
_OPTIONS = _names(tflite.BuiltinOptions)


@dataclass(frozen=True, slots=True)
class QuantizationRecord:
    """Quantization as the file has it.

    Attributes:
        scales: `[S]` f32.
        zero_points: `[Z]` s64.
        axis: the quantized dimension.
        has_details: true if a scheme other than affine quantization is meant.
    """

    scales: Array
    zero_points: Array
    axis: int
    has_details: bool


@dataclass(frozen=True, slots=True)
class TensorRecord:
    """A tensor as the file has it.

    Attributes:
        name: its name, made readable; `tensor_7` where the file has none.
        type_code: number in the schema's `TensorType`.
        shape: the shape; empty for a scalar, and where the file leaves it out.
        signature: the shape with -1 for axes that are unknown until the model runs; empty where the file leaves it out.
        quantization: None where the file leaves it out.
        data: the bytes of a constant `[N]` u8, a read-only view of the file; None where there are none.
        is_external: true if its data are stored after the flatbuffer.
        is_variable: true if it keeps its value between two inferences.
        is_sparse: true if its data are stored without their zeros.
    """

    name: str
    type_code: int
    shape: tuple[int, ...]
    signature: tuple[int, ...]
    quantization: QuantizationRecord | None
    data: Array | None
    is_external: bool
    is_variable: bool
    is_sparse: bool


@dataclass(frozen=True, slots=True)
class OperatorRecord:
    """An operator as the file has it.

    Attributes:
        name: the schema's name, `CUSTOM:<code>` of a custom operator, `BUILTIN:<number>` of one that the schema lacks.
        inputs, outputs: tensor indices as they are written, unchecked.
        options_type: name of its table of options, `NONE` where the file leaves it out.
        options: the table under that name, unchecked.
        custom_options: a custom operator's bytes `[N]` u8, a read-only view of the file.
        has_external_options: true if they are stored after the flatbuffer.
    """

    name: str
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    options_type: str
    options: Any = field(repr=False)
    custom_options: Array = field(repr=False)
    has_external_options: bool = False


class Options:
    """The attributes of one operator, by the names of the schema's generated accessors (`StrideH`)."""

    __slots__ = ("_graphs", "_table", "data", "is_external")

    def __init__(
        self, table: Any, data: bytes = b"", *, is_external: bool = False, graphs: Callable[[int], Graph] | None = None
    ) -> None:
        self._table = table
        self._graphs = graphs
        self.data = data
        """The options of a custom operator, which have no accessors."""
        self.is_external = is_external
        """True if these options are stored after the flatbuffer."""

    def integer(self, name: str) -> int:
        """A number, or the number of an enumerator."""
        with reading():
            return int(getattr(self._table, name)())

    def integers(self, name: str) -> tuple[int, ...]:
        """A vector of numbers; empty where the file leaves it out."""
        with reading():
            return _integers(getattr(self._table, f"{name}AsNumpy")())

    def real(self, name: str) -> float:
        """A float32."""
        with reading():
            return float(getattr(self._table, name)())

    def text(self, name: str) -> str:
        """A text; empty where the file leaves it out."""
        with reading():
            raw = getattr(self._table, name)()
        return _text(raw)

    def flag(self, name: str) -> bool:
        """A truth value."""
        with reading():
            return bool(getattr(self._table, name)())

    def graph(self, name: str) -> Graph:
        """The subgraph whose number this attribute is, as operators run it.

        Raises:
            CorruptError: there is no such subgraph.
            ModelError: it cannot be imported.
        """
        if self._graphs is None:
            raise InternalError("options of no model have no subgraphs")
        return self._graphs(self.integer(name))


class ModelReader:
    """An open model file. It reads a subgraph's tensors and operators on demand; at first those of subgraph 0.

    All methods raise `CorruptError` where the bytes are no sound flatbuffer, and `OverlapError` where there is no use
    in reading on.
    """

    def __init__(self, data: bytes) -> None:
        """Enters the model's root table.

        Raises:
            CorruptError: the data have no root table.
        """
        self.size_bytes = len(data)
        self._budget = Budget(len(data))
        with reading():
            self._model = tflite.Model()
            self._model.Init(data, int.from_bytes(data[:4], "little"))
            enter(self._model, self._budget)
            self.version = int(self._model.Version())
            self.subgraph_count = int(self._model.SubgraphsLength())
            self._code_count = int(self._model.OperatorCodesLength())
            self._buffer_count = int(self._model.BuffersLength())
        self._codes: dict[int, str] = {}
        self.number = 0
        self.tensor_count, self.operator_count = 0, 0
        self.inputs: tuple[int, ...] = ()
        self.outputs: tuple[int, ...] = ()
        if self.subgraph_count:
            self._enter_subgraph(0)

    def subgraph(self, number: int) -> "ModelReader":
        """The same file, of which the tensors and operators of another subgraph are read.

        Raises:
            CorruptError: there is no such subgraph.
        """
        if not 0 <= number < self.subgraph_count:
            raise CorruptError(f"subgraph {number} is asked for, but there are {self.subgraph_count}")
        other = copy(self)
        other._enter_subgraph(number)  # noqa: SLF001 - its own class
        return other

    @property
    def name(self) -> str:
        """The name of the subgraph; mostly empty, or `main`."""
        with reading():
            return _text(self._graph.Name())

    def _enter_subgraph(self, number: int) -> None:
        self.number = number
        self._graph = self._child(self._model.Subgraphs, number)
        with reading():
            self.tensor_count = int(self._graph.TensorsLength())
            self.operator_count = int(self._graph.OperatorsLength())
            self.inputs = _integers(self._graph.InputsAsNumpy())
            self.outputs = _integers(self._graph.OutputsAsNumpy())

    def _child(self, accessor: Callable[[int], Any], index: int) -> Any:
        """An element of a vector of tables."""
        with reading():
            return enter(accessor(index), self._budget)

    def metadata(self) -> Iterator[tuple[str, int]]:
        """The model's pieces of metadata: name, and index of the buffer."""
        with reading():
            count = int(self._model.MetadataLength())
        for index in range(count):
            metadata = self._child(self._model.Metadata, index)
            with reading():
                yield _text(metadata.Name()), int(metadata.Buffer())

    def signatures(self) -> tuple[Signature, ...]:
        """The model's entry points; what they name may lead nowhere."""
        with reading():
            count = int(self._model.SignatureDefsLength())
        return tuple(self._signature(self._child(self._model.SignatureDefs, index)) for index in range(count))

    def _signature(self, table: Any) -> Signature:
        with reading():
            inputs, outputs = int(table.InputsLength()), int(table.OutputsLength())
            key, subgraph = _text(table.SignatureKey()), int(table.SubgraphIndex())
        return Signature(key, subgraph, self._names(table.Inputs, inputs), self._names(table.Outputs, outputs))

    def _names(self, accessor: Callable[[int], Any], count: int) -> tuple[tuple[str, int], ...]:
        """Names and tensor indices."""
        found = []
        for index in range(count):
            table = self._child(accessor, index)
            with reading():
                found.append((_text(table.Name()), int(table.TensorIndex())))
        return tuple(found)

    def tensor(self, index: int) -> TensorRecord:
        """A tensor of the subgraph; the index is in `[0, tensor_count)`."""
        tensor = self._child(self._graph.Tensors, index)
        with reading():
            quantization = tensor.Quantization()
            buffer_index = int(tensor.Buffer())
        data, is_external = self._buffer(buffer_index)
        with reading():
            return TensorRecord(
                name=_text(tensor.Name()) or f"tensor_{index}",
                type_code=int(tensor.Type()),
                shape=_integers(tensor.ShapeAsNumpy()),
                signature=_integers(tensor.ShapeSignatureAsNumpy()),
                quantization=None if quantization is None else self._quantization(quantization),
                data=data,
                is_external=is_external,
                is_variable=bool(tensor.IsVariable()),
                is_sparse=tensor.Sparsity() is not None,
            )

    def _quantization(self, table: Any) -> QuantizationRecord:
        enter(table, self._budget)
        return QuantizationRecord(
            scales=_array(table.ScaleAsNumpy(), np.dtype("<f4")),
            zero_points=_array(table.ZeroPointAsNumpy(), np.dtype("<i8")),
            axis=int(table.QuantizedDimension()),
            has_details=bool(table.DetailsType()),
        )

    def _buffer(self, index: int) -> tuple[Array | None, bool]:
        """Returns the bytes of a buffer, None if it has none; and true if they are stored after the flatbuffer."""
        if index >= self._buffer_count:
            raise CorruptError(f"its data are in buffer {index}, but there are {self._buffer_count} buffers")
        buffer = self._child(self._model.Buffers, index)
        with reading():
            data = _array(buffer.DataAsNumpy(), np.dtype("u1"))
            is_external = int(buffer.Offset()) > 1  # 0 and 1 mean that there are no such data
        return (data if data.size else None), is_external

    def buffer(self, index: int) -> Array | None:
        """The bytes of a buffer `[N]` u8, a read-only view of the file; None where it has none.

        Raises:
            CorruptError: there is no such buffer, or its bytes are stored after the flatbuffer.
        """
        data, is_external = self._buffer(index)
        if is_external:
            raise CorruptError(f"buffer {index} is stored after the flatbuffer")
        return data

    def entered(self, data: bytes, position: int) -> CheckedTable:
        """Enters a table of a flatbuffer inside this one; the bytes read of it count as read of the file."""
        return CheckedTable(data, position, self._budget)

    def operator(self, index: int) -> OperatorRecord:
        """An operator of the subgraph; the index is in `[0, operator_count)`."""
        operator = self._child(self._graph.Operators, index)
        with reading():
            code = int(operator.OpcodeIndex())
            inputs, outputs = _integers(operator.InputsAsNumpy()), _integers(operator.OutputsAsNumpy())
            options_code = int(operator.BuiltinOptionsType())
            options = operator.BuiltinOptions()
            custom_options = _array(operator.CustomOptionsAsNumpy(), np.dtype("u1"))
            is_external = int(operator.LargeCustomOptionsOffset()) > 1  # 0 and 1 mean that there are no such options
        options_type = "NONE" if options is None else _OPTIONS.get(options_code, str(options_code))
        name = self._operator_name(code)
        return OperatorRecord(name, inputs, outputs, options_type, options, custom_options, is_external)

    def _operator_name(self, index: int) -> str:
        """Returns the name of an operator code: the larger of the two fields that may hold it.

        Source: TFLM `compiler/mlir/lite/schema/schema_utils.cc`, `GetBuiltinCode`. The new field is read as it is: the
        generated accessor falls back to the old one for small numbers, where some converters leave it out.
        """
        if index >= self._code_count:
            raise CorruptError(f"its operator code is number {index}, but there are {self._code_count}")
        if index not in self._codes:
            table = self._child(self._model.OperatorCodes, index)
            with reading():
                checked: CheckedTable = table._tab  # noqa: SLF001 - the generated code's own table has no public name
                new = checked.integer(_BUILTIN_CODE_SLOT, number_types.Int32Flags, 0)
                code = max(int(table.DeprecatedBuiltinCode()), new)
                name = _OPERATORS.get(code, f"BUILTIN:{code}")
                if code == tflite.BuiltinOperator.CUSTOM:
                    name = f"CUSTOM:{_text(table.CustomCode())}"
            self._codes[index] = name
        return self._codes[index]

    def options(
        self, record: OperatorRecord, options_type: str | None, graphs: Callable[[int], Graph] | None = None
    ) -> Options:
        """The options of an operator as a table of that type; the schema's defaults where the file leaves them out.

        For None, options that have no accessors: the operator is a custom one, or has none that matter. `graphs` gives the
        model's subgraphs to operators that call them.
        """
        if options_type is None:
            self._budget.spend(record.custom_options.size)
            return Options(None, record.custom_options.tobytes(), is_external=record.has_external_options)
        table = getattr(tflite, options_type)()
        if record.options_type == "NONE":
            return Options(empty(table), graphs=graphs)
        if record.options_type != options_type:
            raise CorruptError(f"{record.name} has {record.options_type} where {options_type} belong")
        with reading():
            table.Init(record.options.Bytes, record.options.Pos)
            return Options(enter(table, self._budget), graphs=graphs)

    def copied(self, count: int) -> None:
        """Counts bytes of constants that are copied out of the file.

        Raises:
            OverlapError: more than any sound file of that size holds.
        """
        self._budget.spend(count)


def _array(value: Any, dtype: np.dtype[Any]) -> Array:
    """A vector of numbers; the generated code gives 0 for one that the file leaves out."""
    return np.zeros(0, dtype) if isinstance(value, int) else np.asarray(value, dtype)


def _integers(value: Any) -> tuple[int, ...]:
    return tuple(_array(value, np.dtype("<i4")).tolist())


def _text(raw: bytes | None) -> str:
    """A text of the file, fit to be shown: valid, printable, and not endless."""
    if raw is None:
        return ""
    text = raw[:_LONGEST_TEXT].decode("utf-8", errors="replace")
    text = "".join(character if character.isprintable() else "\ufffd" for character in text)
    return text + "…" if len(raw) > _LONGEST_TEXT else text
