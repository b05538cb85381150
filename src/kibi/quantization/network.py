"""A float32 network as its file has it: operators, tensors, constants; and what of it can be quantized at all."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from kibi.dtypes import Array, DType
from kibi.errors import ModelError, Problem
from kibi.frontends.tflite import parse_tflite
from kibi.frontends.tflite.drafts import corrupt
from kibi.frontends.tflite.flatbuffer import CorruptError, OverlapError
from kibi.frontends.tflite.reader import ModelReader, TensorRecord
from kibi.ir import Graph, NodeView
from kibi.quantization.layer import Layer
from kibi.quantization.subgraphs import Subgraph

_CONVERSIONS = ("QUANTIZE", "DEQUANTIZE")


@dataclass(frozen=True)
class Network:
    """A float32 model.

    Attributes:
        reader: the open file.
        graph: the same model as Kibi runs it; tensors of the file keep their indices.
        layers: in the file's order.
        records: the tensors of the file.
        metadata: its named pieces.
        subgraphs: those after the first one, which stay as they are.
    """

    reader: ModelReader = field(repr=False)
    graph: Graph
    layers: tuple[Layer, ...]
    records: tuple[TensorRecord, ...] = field(repr=False)
    metadata: tuple[tuple[str, bytes], ...] = field(default=(), repr=False)
    subgraphs: tuple[Subgraph, ...] = ()

    @staticmethod
    def of(data: bytes, source: str) -> "Network":
        """Reads a model, and checks that it can be quantized.

        Args:
            data: the contents of a `.tflite` file in normal form.
            source: the file's name, for messages.

        Raises:
            ModelError: the file is broken or not supported, or is quantized already.
        """
        graph = parse_tflite(data, source)
        try:
            reader = ModelReader(data)
            operators = [Layer.of(reader, index, len(data)) for index in range(reader.operator_count)]
            others = tuple(
                Subgraph.of(reader.subgraph(number), len(data)) for number in range(1, reader.subgraph_count)
            )
            records = tuple(reader.tensor(index) for index in range(reader.tensor_count))
            metadata = tuple(
                (name, found.tobytes())
                for name, buffer in reader.metadata()
                if (found := reader.buffer(buffer)) is not None
            )
        except (CorruptError, OverlapError) as error:
            raise ModelError(source, [corrupt(error)]) from error
        layers = tuple(
            layer
            for layer in operators
            if not layer.outputs or not all(graph.tensors[index].is_constant for index in layer.outputs)
        )
        problems = [*_problems(graph, layers), *(problem for each in others for problem in each.problems())]
        if problems:
            raise ModelError(source, problems)
        return Network(reader, graph, layers, records, metadata, others)

    @property
    def inputs(self) -> tuple[int, ...]:
        """Tensor indices of the model's inputs."""
        return self.reader.inputs

    @property
    def outputs(self) -> tuple[int, ...]:
        """Tensor indices of the model's outputs."""
        return self.reader.outputs

    def constant(self, index: int) -> Array | None:
        """The elements of a constant; None for another tensor, and for an operand that is left out."""
        return None if index < 0 else self.graph.tensors[index].data

    def is_real(self, index: int) -> bool:
        """True if a tensor has elements of float32, and is no constant and no variable."""
        if index < 0:
            return False
        tensor = self.graph.tensors[index]
        return tensor.type.dtype is DType.F32 and not tensor.is_constant and not tensor.is_state

    def is_variable(self, index: int) -> bool:
        """True if a tensor keeps its value from one inference to the next."""
        return index >= 0 and (self.graph.tensors[index].is_state or self.records[index].is_variable)

    def is_real_constant(self, index: int) -> bool:
        """True if a tensor is a constant of float32."""
        return (
            index >= 0 and self.graph.tensors[index].is_constant and self.graph.tensors[index].type.dtype is DType.F32
        )

    def name_of(self, layer: Layer) -> str:
        """The name of the tensor that an operator makes; of one that makes none, that of the last one that it reads."""
        indices = [*layer.outputs[:1], *reversed([index for index in layer.inputs if index >= 0])]
        return self.records[indices[0]].name if indices else ""

    @cached_property
    def views(self) -> Mapping[int, NodeView]:
        """The first node of each operator of the file, by its index there."""
        return {view.node.source: view for view in reversed(self.graph.views)}

    @cached_property
    def reals(self) -> tuple[int, ...]:
        """The tensors of float32 that are given or computed while the model runs, in the order in which they are."""
        made = (index for node in self.graph.nodes for index in node.outputs)
        known = dict.fromkeys((*self.inputs, *made))
        return tuple(index for index in known if index < self.reader.tensor_count and self.is_real(index))

    @cached_property
    def makers(self) -> Mapping[int, Layer]:
        """The layer that makes each tensor."""
        return {index: layer for layer in self.layers for index in layer.outputs}

    @cached_property
    def users(self) -> Mapping[int, tuple[Layer, ...]]:
        """The layers that read each tensor."""
        found: dict[int, list[Layer]] = {}
        for layer in self.layers:
            for index in dict.fromkeys(layer.inputs):
                found.setdefault(index, []).append(layer)
        return {index: tuple(layers) for index, layers in found.items()}


def _problems(graph: Graph, layers: tuple[Layer, ...]) -> Iterator[Problem]:
    """Yields what keeps a model from being quantized."""
    quantized = [
        tensor
        for tensor in graph.tensors
        if tensor.type.quantization is not None and tensor.type.dtype in (DType.S8, DType.U8, DType.S16)
    ]
    conversions = [layer for layer in layers if layer.name in _CONVERSIONS]
    if quantized or conversions:
        first = quantized[0] if quantized else graph.tensors[conversions[0].outputs[0]]
        what = "the model is quantized already" if not _has_reals(graph) else "a part of the model is quantized already"
        yield Problem(what, "Give the float32 model that it was made of", tensor=first.name)
    elif not _has_reals(graph):
        yield Problem("no operator computes float32, so there is nothing to quantize", "Give a float32 model")
    makers = [index for layer in layers for index in layer.outputs]
    if len(makers) > len(set(makers)):
        yield Problem("two operators write to one tensor", "Export the model again")


def _has_reals(graph: Graph) -> bool:
    return any(graph.tensors[index].type.dtype is DType.F32 for node in graph.nodes for index in node.outputs)
