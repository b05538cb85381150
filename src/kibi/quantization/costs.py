"""What a quantized model takes on a device: it is planned, compiled and run on the emulated core."""

from collections.abc import Mapping
from dataclasses import dataclass

from kibi.codegen import generate, write
from kibi.files import temporary_folder
from kibi.frontends.tflite.int4 import packed_bytes
from kibi.ir import Graph, Tensor
from kibi.passes import simplify
from kibi.planner import Granularity, PlannedModel, plan
from kibi.quantization.quantizing import Model
from kibi.quantization.report import Costs
from kibi.reports.measurement import Measurement, measure
from kibi.targets import Target


@dataclass(frozen=True, slots=True)
class Shares:
    """The costs of a quantized model, and what its operators take of them.

    Attributes:
        costs: of one inference.
        layers: by the index of the operator in the float32 model: the bytes that it makes, the bytes of its constants, its
            instructions.
        conversions: the instructions of all conversions between types.
        converted: the elements that conversions make.
    """

    costs: Costs
    layers: Mapping[int, Costs]
    conversions: int
    converted: int


def costs_of(graph: Graph, processor: Target) -> Costs:
    """The costs of one inference on a device.

    Args:
        graph: simplified.
        processor: the device.

    Raises:
        ToolchainError: the compiler is missing or fails.
        EmulationError: the emulated core stopped.
    """
    return _costs(_measured(graph, processor)[1])


def shares_of(model: Model, processor: Target) -> Shares:
    """The costs of a quantized model, and what its operators take of them.

    Raises:
        ToolchainError: the compiler is missing or fails.
        EmulationError: the emulated core stopped.
    """
    planned, found = _measured(simplify(model.graph).graph, processor)
    layers: dict[int, Costs] = {}
    conversions = converted = 0
    tensors = planned.graph.tensors
    for node, operator in zip(planned.graph.nodes, found.ops, strict=True):
        made = [tensors[each].type for each in node.outputs]
        index = model.written.operators.get(node.source)
        if index is None:
            conversions += operator.instructions
            converted += sum(each.elements for each in made)
            continue
        constants = [tensors[each] for each in node.inputs if each is not None and tensors[each].is_constant]
        own = Costs(sum(each.size_bytes for each in made), sum(map(_stored_bytes, constants)), operator.instructions)
        layers[index] = layers.get(index, Costs(0, 0, 0)).plus(own)
    return Shares(_costs(found), layers, conversions, converted)


def _stored_bytes(constant: Tensor) -> int:
    """The bytes that a constant takes in flash."""
    return packed_bytes(constant.type.elements) if constant.is_int4 else constant.type.size_bytes


def _measured(graph: Graph, processor: Target) -> tuple[PlannedModel, Measurement]:
    with temporary_folder() as folder:
        planned = PlannedModel.of(graph, plan(graph, processor, granularity=Granularity.ROW))
        return planned, measure(write(generate([planned], processor), folder), oracle=False)


def _costs(found: Measurement) -> Costs:
    return Costs(found.ram_bytes, found.flash_bytes, found.instructions)
