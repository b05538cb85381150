"""An operator of a file."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from kibi.frontends.tflite.builder import Attribute, ModelBuilder
from kibi.frontends.tflite.reader import ModelReader, OperatorRecord
from kibi.quantization.attributes import attributes_of

_CUSTOM = "CUSTOM:"


@dataclass(frozen=True)
class Layer:
    """An operator of a file.

    Attributes:
        index: of the operator in its subgraph.
        record: the operator.
        attributes: the fields of its options.
    """

    index: int
    record: OperatorRecord
    attributes: Mapping[str, Attribute] = field(default_factory=dict, repr=False)

    @staticmethod
    def of(reader: ModelReader, index: int, file_bytes: int) -> "Layer":
        """Reads an operator.

        Args:
            reader: of its subgraph.
            index: of the operator.
            file_bytes: the size of the file.

        Raises:
            CorruptError: the file is no sound flatbuffer.
            OverlapError: there is no use in reading on.
        """
        record = reader.operator(index)
        return Layer(index, record, attributes_of(record, file_bytes))

    @property
    def name(self) -> str:
        """The schema's name of the operator."""
        return self.record.name

    @property
    def inputs(self) -> tuple[int, ...]:
        """Tensor indices; -1 for an optional input that is left out."""
        return self.record.inputs

    @property
    def outputs(self) -> tuple[int, ...]:
        """Tensor indices."""
        return self.record.outputs

    def write(self, builder: ModelBuilder, inputs: Sequence[int], outputs: Sequence[int]) -> int:
        """Adds the operator to a file, with the attributes that it had and other tensors; returns its index there."""
        if self.name.startswith(_CUSTOM):
            code = self.name.removeprefix(_CUSTOM)
            data = self.record.custom_options.tobytes()
            return builder.operator("CUSTOM", inputs, outputs, custom_code=code, custom_options=data)
        kind = self.record.options_type if self.attributes else None
        return builder.operator(self.name, inputs, outputs, self.attributes, options_type=kind)
