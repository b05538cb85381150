"""A writer of `.tflite` files, on top of the schema's generated code.

It checks nothing, on purpose: who reads the file checks it, and a test that needs a broken model (an index out of range, a
buffer of the wrong size, one scale too many) asks for it in the same words as for a sound one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from types import MappingProxyType

import flatbuffers
import numpy as np
import tflite

from kibi.dtypes import Array, DType
from kibi.frontends.tflite import int4

# What an operator of the schema may have for an attribute: enumerators by name, vectors as sequences.
Attribute = int | float | str | Sequence[int] | Sequence[float] | Array

_TENSOR_TYPES = {
    DType.S8: "INT8",
    DType.U8: "UINT8",
    DType.S16: "INT16",
    DType.S32: "INT32",
    DType.U32: "UINT32",
    DType.S64: "INT64",
    DType.U64: "UINT64",
    DType.F32: "FLOAT32",
    DType.BOOL: "BOOL",
}
# Operators whose table of options has another name than their own.
_SHARED_OPTIONS = {
    "AVERAGE_POOL_2D": "Pool2DOptions",
    "MAX_POOL_2D": "Pool2DOptions",
    "L2_POOL_2D": "Pool2DOptions",
    "MEAN": "ReducerOptions",
    "SUM": "ReducerOptions",
    "REDUCE_PROD": "ReducerOptions",
    "REDUCE_MAX": "ReducerOptions",
    "REDUCE_MIN": "ReducerOptions",
    "REDUCE_ANY": "ReducerOptions",
    "REDUCE_ALL": "ReducerOptions",
    "MAXIMUM": "MaximumMinimumOptions",
    "MINIMUM": "MaximumMinimumOptions",
    "L2_NORMALIZATION": "L2NormOptions",
    "UNIDIRECTIONAL_SEQUENCE_RNN": "SequenceRNNOptions",
    "CONV_3D_TRANSPOSE": "Conv3DOptions",
    "RANDOM_STANDARD_NORMAL": "RandomOptions",
    "RANDOM_UNIFORM": "RandomOptions",
    "MULTINOMIAL": "RandomOptions",
}
# The enumeration behind a text, by the name of the attribute; other texts are texts in the file too.
_ENUMERATIONS = {
    "padding": "Padding",
    "fused_activation_function": "ActivationFunctionType",
    "weights_format": "FullyConnectedOptionsWeightsFormat",
    "kernel_type": "LSTMKernelType",
    "mode": "MirrorPadMode",
    "quantized_bias_type": "TensorType",
    "in_data_type": "TensorType",
    "out_data_type": "TensorType",
    "output_type": "TensorType",
}
# Kernels read the file's buffers in place: the schema asks for this alignment of their data.
_BUFFER_ALIGNMENT_BYTES = 16


@dataclass(slots=True)
class _Subgraph:
    tensors: list[int] = field(default_factory=list)
    operators: list[int] = field(default_factory=list)
    inputs: list[int] = field(default_factory=list)


class ModelBuilder:
    """Collects tensors and operators in the order of the calls, and writes them as one file.

    Example:
        >>> builder = ModelBuilder()
        >>> x = builder.input([1, 4], DType.S8, scale=0.5, zero_point=-1)
        >>> y = builder.tensor([1, 4], DType.S8, scale=0.5, zero_point=-1)
        >>> builder.operator("RELU", [x], [y])
        0
        >>> model = builder.finish(outputs=[y])
    """

    def __init__(self) -> None:
        self._wire = flatbuffers.Builder(1024)
        self._graph = _Subgraph()
        self._graphs: list[int] = []
        self._codes: list[int] = []
        self._code_indices: dict[tuple[str, str, int], int] = {}
        self._metadata: list[int] = []
        self._signatures: list[int] = []
        self._buffers: list[int] = []
        self.buffer(None)  # the schema keeps buffer 0 empty, for tensors without data

    def buffer(self, data: bytes | None) -> int:
        """Add a buffer, absent data for None, and return its index."""
        vector = None if data is None else self._vector(np.frombuffer(data, np.uint8), _BUFFER_ALIGNMENT_BYTES)
        self._buffers.append(self._table("Buffer", {"data": vector}))
        return len(self._buffers) - 1

    def tensor(
        self,
        shape: Sequence[int] | None,
        dtype: DType | str,
        scale: float | Sequence[float] | None = None,
        zero_point: int | Sequence[int] | None = None,
        *,
        axis: int = 0,
        name: str | None = "",
        data: bytes | None = None,
        buffer: int | None = None,
        variable: bool = False,
        shape_signature: Sequence[int] | None = None,
    ) -> int:
        """Add a tensor.

        Args:
            shape: the shape, or None to leave it out.
            dtype: the element type, or a name from the schema's `TensorType`.
            scale: one scale, one for each channel, or None.
            zero_point: one zero point, one for each channel, or None.
            axis: the quantized dimension.
            name: the name; `tensor_<index>` if empty, left out if None.
            data: a constant's bytes, as many as you like.
            buffer: index of a buffer, in place of `data`.
            variable: whether it keeps its value between runs.
            shape_signature: the shape with -1 for what is unknown.

        Returns:
            The tensor's index.
        """
        index = len(self._graph.tensors)
        if buffer is None:
            buffer = 0 if data is None else self.buffer(data)
        fields = {
            "shape": self._numbers(shape, np.int32),
            "type": getattr(tflite.TensorType, dtype if isinstance(dtype, str) else _TENSOR_TYPES[dtype]),
            "buffer": buffer,
            "name": None if name is None else self._wire.CreateString(name or f"tensor_{index}"),
            "quantization": self._quantization(scale, zero_point, axis),
            "is_variable": variable,
            "shape_signature": self._numbers(shape_signature, np.int32),
        }
        self._graph.tensors.append(self._table("Tensor", fields))
        return index

    def input(
        self,
        shape: Sequence[int] | None,
        dtype: DType | str,
        scale: float | None = None,
        zero_point: int | None = None,
        *,
        name: str | None = "",
    ) -> int:
        """Add a tensor that is an input of the graph, and return its index; the arguments are those of `tensor`."""
        index = self.tensor(shape, dtype, scale, zero_point, name=name)
        self._graph.inputs.append(index)
        return index

    def constant(
        self,
        array: Array,
        scale: float | Sequence[float] | None = None,
        zero_point: int | Sequence[int] | None = None,
        *,
        axis: int = 0,
        name: str | None = "",
        is_int4: bool = False,
    ) -> int:
        """Add a tensor with the array's shape, type and values, and return its index.

        Args:
            array: the values.
            scale: as in `tensor`.
            zero_point: as in `tensor`.
            axis: as in `tensor`.
            name: as in `tensor`.
            is_int4: True if values of s8, of -8 … 7, become int4, two in a byte.
        """
        if is_int4:
            data = int4.packed(array).tobytes()
            return self.tensor(array.shape, int4.NAME, scale, zero_point, axis=axis, name=name, data=data)
        values = np.ascontiguousarray(array).astype(array.dtype.newbyteorder("<")).tobytes()
        return self.tensor(array.shape, DType.of(array), scale, zero_point, axis=axis, name=name, data=values)

    def operator(
        self,
        name: str,
        inputs: Sequence[int],
        outputs: Sequence[int],
        attributes: Mapping[str, Attribute] = MappingProxyType({}),
        *,
        version: int = 1,
        opcode_index: int | None = None,
        options_type: str | None = None,
        custom_code: str = "",
        custom_options: bytes | None = None,
        **more_attributes: Attribute,
    ) -> int:
        """Add an operator.

        Args:
            name: a name from the schema's `BuiltinOperator`; `CUSTOM` for one of your own.
            inputs: tensor indices, -1 for an optional input that is absent.
            outputs: tensor indices.
            attributes: fields of the options, named as in the schema; those left out have the schema's defaults.
            version: the operator's version.
            opcode_index: index of the operator code, in place of the right one.
            options_type: the schema's table of options, in place of the one that belongs to the operator.
            custom_code: the name of a custom operator.
            custom_options: the data of a custom operator.
            more_attributes: more fields of the options, as keywords.

        Returns:
            The operator's index.
        """
        code = self._code(name, custom_code, version)
        table = options_type or _options_table(name)
        given = {**attributes, **more_attributes}
        fields = {
            "opcode_index": code if opcode_index is None else opcode_index,
            "inputs": self._numbers(inputs, np.int32),
            "outputs": self._numbers(outputs, np.int32),
            "custom_options": None if custom_options is None else self._vector(np.frombuffer(custom_options, np.uint8)),
        }
        if table is not None:
            union = "builtin_options" if hasattr(tflite.BuiltinOptions, table) else "builtin_options2"
            options = {key: self._attribute(key, value) for key, value in given.items()}
            fields[union + "_type"] = getattr(getattr(tflite, _camel(union)), table)
            fields[union] = self._table(table, options)
        elif given:
            raise TypeError(f"{name} has no attributes, but {sorted(given)} were given")
        self._graph.operators.append(self._table("Operator", fields))
        return len(self._graph.operators) - 1

    def metadata(self, name: str, data: bytes) -> None:
        """Add a named piece of metadata to the model."""
        fields = {"name": self._wire.CreateString(name), "buffer": self.buffer(data)}
        self._metadata.append(self._table("Metadata", fields))

    def signature(
        self, key: str, subgraph: int, inputs: Sequence[tuple[str, int]], outputs: Sequence[tuple[str, int]]
    ) -> None:
        """Add an entry point: a subgraph's number, and names of tensors."""
        maps = [
            self._references(
                [
                    self._table("TensorMap", {"name": self._wire.CreateString(name), "tensor_index": index})
                    for name, index in pairs
                ]
            )
            for pairs in (inputs, outputs)
        ]
        fields = {
            "inputs": maps[0],
            "outputs": maps[1],
            "signature_key": self._wire.CreateString(key),
            "subgraph_index": subgraph,
        }
        self._signatures.append(self._table("SignatureDef", fields))

    def end_subgraph(self, outputs: Sequence[int] | None, inputs: Sequence[int] | None = None) -> None:
        """End a subgraph; what is added from here on belongs to the next one. The arguments are those of `finish`."""
        graph, self._graph = self._graph, _Subgraph()
        fields = {
            "tensors": self._references(graph.tensors),
            "inputs": self._numbers(graph.inputs if inputs is None else inputs, np.int32),
            "outputs": self._numbers(outputs, np.int32),
            "operators": self._references(graph.operators),
            "name": self._wire.CreateString(f"subgraph_{len(self._graphs)}"),
        }
        self._graphs.append(self._table("SubGraph", fields))

    def finish(
        self,
        outputs: Sequence[int] | None,
        inputs: Sequence[int] | None = None,
        *,
        version: int = 3,
        identifier: bytes = b"TFL3",
        description: str = "made by Kibi",
    ) -> bytes:
        """End the last subgraph and the file.

        Args:
            outputs: indices of the tensors that the graph gives, or None to leave them out.
            inputs: indices of the tensors that it takes, in place of those that `input` added.
            version: the schema's version.
            identifier: the four bytes that tell the file's kind.
            description: a text for people.

        Returns:
            The file. The builder is used up.
        """
        self.end_subgraph(outputs, inputs)
        fields = {
            "version": version,
            "operator_codes": self._references(self._codes),
            "subgraphs": self._references(self._graphs),
            "description": self._wire.CreateString(description),
            "buffers": self._references(self._buffers),
            "metadata": self._references(self._metadata) if self._metadata else None,
            "signature_defs": self._references(self._signatures) if self._signatures else None,
        }
        self._wire.Finish(self._table("Model", fields), identifier)
        return bytes(self._wire.Output())

    def _code(self, name: str, custom_code: str, version: int) -> int:
        """Index of the operator code, which is added if it is new."""
        key = (name, custom_code, version)
        if key not in self._code_indices:
            code = getattr(tflite.BuiltinOperator, name)
            fields = {
                # Readers take the larger of the two codes; the old one has but eight bits.
                "deprecated_builtin_code": min(code, tflite.BuiltinOperator.PLACEHOLDER_FOR_GREATER_OP_CODES),
                "builtin_code": code,
                "custom_code": self._wire.CreateString(custom_code) if custom_code else None,
                "version": version,
            }
            self._code_indices[key] = len(self._codes)
            self._codes.append(self._table("OperatorCode", fields))
        return self._code_indices[key]

    def _quantization(
        self, scale: float | Sequence[float] | None, zero_point: int | Sequence[int] | None, axis: int
    ) -> int | None:
        if scale is None and zero_point is None:
            return None
        scales = None if scale is None else self._vector(np.atleast_1d(np.asarray(scale, np.float32)))
        zero_points = None if zero_point is None else self._vector(np.atleast_1d(np.asarray(zero_point, np.int64)))
        fields = {"scale": scales, "zero_point": zero_points, "quantized_dimension": axis}
        return self._table("QuantizationParameters", fields)

    def _attribute(self, key: str, value: Attribute) -> int | float:
        """The value as the generated code takes it; texts and sequences are written, and stand as their places."""
        if isinstance(value, str):
            named = key in _ENUMERATIONS
            place: int = (
                getattr(getattr(tflite, _ENUMERATIONS[key]), value) if named else self._wire.CreateString(value)
            )
            return place
        if isinstance(value, int | float):
            return value
        values = np.asarray(value)
        narrow = {"i": np.int32, "f": np.float32}
        return self._vector(values if isinstance(value, np.ndarray) else values.astype(narrow[values.dtype.kind]))

    def _table(self, name: str, fields: Mapping[str, int | float | None]) -> int:
        """Write a table of the schema without the fields that are None, and return its place."""
        getattr(tflite, f"{name}Start")(self._wire)
        for key, value in fields.items():
            if value is not None:
                getattr(tflite, f"{name}Add{_camel(key)}")(self._wire, value)
        place: int = getattr(tflite, f"{name}End")(self._wire)
        return place

    def _numbers(self, values: Sequence[int] | None, kind: type[np.generic]) -> int | None:
        return None if values is None else self._vector(np.asarray(values, kind))

    def _vector(self, values: Array, alignment_bytes: int = 1) -> int:
        """Write a vector `[N]` of numbers in one piece, aligned to its elements and to `alignment_bytes`."""
        data = values.astype(values.dtype.newbyteorder("<")).tobytes()
        self._wire.StartVector(values.itemsize, values.size, max(values.itemsize, alignment_bytes))
        # The file grows towards its front.
        start = self._wire.Head() - len(data)
        self._wire.head = start
        self._wire.Bytes[start : start + len(data)] = data
        place: int = self._wire.EndVector()
        return place

    def _references(self, places: Sequence[int]) -> int:
        """Write a vector of references to tables."""
        self._wire.StartVector(4, len(places), 4)
        for place in reversed(places):
            self._wire.PrependUOffsetTRelative(place)
        vector: int = self._wire.EndVector()
        return vector


@cache
def _camel(snake: str) -> str:
    """A field's name in the schema as the generated code spells it: `stride_h` → `StrideH`."""
    return "".join(word[:1].upper() + word[1:] for word in snake.split("_"))


def _options_table(operator: str) -> str | None:
    """The name of the schema's table of options for an operator, or None where it has none."""
    if operator in _SHARED_OPTIONS:
        return _SHARED_OPTIONS[operator]
    wanted = operator.replace("_", "").lower() + "options"
    tables = [*vars(tflite.BuiltinOptions), *vars(tflite.BuiltinOptions2)]
    return next((table for table in tables if table.lower() == wanted), None)
