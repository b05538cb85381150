"""The subgraphs of a file after the first one: what IF and WHILE run, what CALL_ONCE runs, further entry points.

They stay as they are: float32, operator by operator. What goes in and out of them is converted in the first one.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from kibi.errors import Problem
from kibi.frontends.tflite.builder import ModelBuilder
from kibi.frontends.tflite.reader import TENSOR_TYPES, ModelReader, TensorRecord
from kibi.quantization.layer import Layer

CALLERS = ("CALL_ONCE", "IF", "WHILE")
"""Operators that run subgraphs."""
VARIABLES = ("ASSIGN_VARIABLE", "READ_VARIABLE", "VAR_HANDLE")
"""Operators of variables, which several subgraphs may share: they stay float32."""


@dataclass(frozen=True)
class Subgraph:
    """A subgraph as the file has it.

    Attributes:
        number: in the file.
        inputs, outputs: tensor indices.
        tensors: its tensors.
        layers: its operators.
    """

    number: int
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    tensors: tuple[TensorRecord, ...] = field(repr=False)
    layers: tuple[Layer, ...] = field(repr=False)

    @staticmethod
    def of(reader: ModelReader, file_bytes: int) -> "Subgraph":
        """Reads a subgraph.

        Args:
            reader: of the subgraph.
            file_bytes: the size of the file.

        Raises:
            CorruptError: the file is no sound flatbuffer.
            OverlapError: there is no use in reading on.
        """
        tensors = tuple(reader.tensor(index) for index in range(reader.tensor_count))
        layers = tuple(Layer.of(reader, index, file_bytes) for index in range(reader.operator_count))
        return Subgraph(reader.number, reader.inputs, reader.outputs, tensors, layers)

    def problems(self) -> Iterator[Problem]:
        """Yields what keeps a subgraph from being copied."""
        for record in self.tensors:
            quantization = record.quantization
            if record.is_external or record.is_sparse or (quantization is not None and quantization.has_details):
                what = (
                    f"subgraph {self.number} has a tensor that is sparse, or stored in a way that Kibi does not write"
                )
                yield Problem(what, "Export the model again, without sparse or external data", tensor=record.name)
            elif record.type_code not in TENSOR_TYPES:
                what = f"subgraph {self.number} has a tensor of an unknown type"
                yield Problem(what, "Export the model again", tensor=record.name)
        for layer in self.layers:
            if layer.name.startswith("BUILTIN:") or layer.record.has_external_options:
                what = f"subgraph {self.number} has an operator that Kibi does not know: {layer.name}"
                yield Problem(what, "Export the model without it", operator=layer.index)

    def write(self, builder: ModelBuilder) -> None:
        """Adds its tensors and operators to a file."""
        for record in self.tensors:
            found = record.quantization
            builder.tensor(
                record.shape,
                TENSOR_TYPES[record.type_code],
                None if found is None or not found.scales.size else found.scales.tolist(),
                None if found is None or not found.zero_points.size else found.zero_points.tolist(),
                axis=0 if found is None else found.axis,
                name=record.name,
                data=None if record.data is None else record.data.tobytes(),
                variable=record.is_variable,
                shape_signature=record.signature or None,
            )
        for layer in self.layers:
            layer.write(builder, layer.inputs, layer.outputs)
