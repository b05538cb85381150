"""Layers and tensors as plain data: the graph with its lanes, and what each layer costs."""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any

from kibi.ir import Graph, Tensor
from kibi.pages.measured import MeasuredModel
from kibi.planner import PlannedModel
from kibi.printable import printable
from kibi.quantization.comparing import LayerComparison, LayerError
from kibi.reports.inspection import describe_attributes
from kibi.reports.memory_timeline import legend
from kibi.toolchain import Image
from kibi.toolchain.image import WEIGHTS_SECTION

_DIGITS = 3
_MISSING = (
    "How much each layer loses by its integers is not known. Give the float32 model that it was quantized from, and data: "
    "kibi report MODEL --reference FLOAT_MODEL --data DATA."
)


def nodes_record(measured: MeasuredModel, comparison: LayerComparison | None = None) -> list[dict[str, Any]]:
    """Each node: operator, attributes, tensors, arithmetic, instructions, and bytes of flash that are its own.

    `weights_bytes` are the constants of the layer as they are stored in flash, packed for its kernel; `code_bytes` its function in
    the model's C file. Kernels, which several layers share, are in `kernels_record`. `lane` is where the graph's picture has it.
    With a comparison, `decibels` and `lost_decibels` are the error of the first output, null where it has no partner.
    """
    graph = measured.planned.graph
    weights = layer_weights(measured)
    sizes = _function_sizes(measured.image)
    lanes = lanes_of(graph)
    errors = None if comparison is None else {each.output: each for each in comparison.layers}
    return [
        {
            "source": view.node.source,
            "op": view.op.name,
            "attributes": printable(describe_attributes(view.op)),
            "inputs": [
                index for index in view.node.inputs if index is not None and not graph.tensors[index].is_constant
            ],
            "outputs": list(view.node.outputs),
            "kernel": kernel,
            "steps": view.steps,
            "macs": cost.macs,
            "instructions": cost.instructions,
            "weights_bytes": weights[number],
            "code_bytes": sizes.get(function, 0),
            "scratch_bytes": cost.scratch_bytes,
            "lane": lanes[number],
            **({} if errors is None else _error(errors.get(_output_name(graph, number)))),
        }
        for number, (view, cost, kernel, function) in enumerate(
            zip(
                graph.views,
                measured.measurement.ops,
                measured.library.model.kernels,
                measured.library.model.functions,
                strict=True,
            )
        )
    ]


def layer_errors_record(graph: Graph, comparison: LayerComparison | None) -> dict[str, Any]:
    """What the errors of layers were measured beside, and of how many layers they are known.

    Without a comparison, there is `missing` alone: how to get one, or nothing for a model without integers.
    """
    if comparison is None:
        is_quantized = any(
            tensor.type.quantization is not None and tensor.type.dtype.is_integer for tensor in graph.tensors
        )
        return {"missing": _MISSING if is_quantized else ""}
    names = [_output_name(graph, number) for number in range(len(graph.nodes))]
    found = {each.output: each for each in comparison.layers}
    return {
        "missing": "",
        "reference": printable(comparison.reference),
        "data": printable(comparison.data),
        "inputs": comparison.inputs,
        "layers": sum(name in found for name in names),
        "without_partner": [number for number, name in enumerate(names) if name not in found],
        "with_factors": [number for number, name in enumerate(names) if name in found and found[name].has_factors],
    }


def _output_name(graph: Graph, number: int) -> str:
    """The name of the tensor that a node makes first; empty if it makes none."""
    outputs = graph.nodes[number].outputs
    return graph.tensors[outputs[0]].name if outputs else ""


def _error(error: LayerError | None) -> dict[str, float | None]:
    if error is None:
        return {"decibels": None, "lost_decibels": None}
    return {"decibels": round(error.decibels, _DIGITS), "lost_decibels": round(error.lost_decibels, _DIGITS)}


def tensors_record(planned: PlannedModel) -> dict[str, Any]:
    """The tensors that are no constants, by their indices: name, shape, type, bytes, maker, readers, and colour in the picture."""
    graph = planned.graph
    makers = {index: number for number, node in enumerate(graph.nodes) for index in node.outputs}
    readers: dict[int, list[int]] = {}
    for number, node in enumerate(graph.nodes):
        for index in dict.fromkeys(node.inputs):
            if index is not None:
                readers.setdefault(index, []).append(number)
    colors = {entry.tensor: entry.color for entry in legend(graph, planned.plan) if entry.tensor is not None}
    used = sorted({*makers, *readers, *graph.inputs})
    return {
        str(index): {
            **tensor_facts(graph.tensors[index]),
            "role": _role(graph, index),
            "maker": makers.get(index, -1),
            "readers": readers.get(index, []),
            **({"color": colors[index]} if index in colors else {}),
        }
        for index in used
        if not graph.tensors[index].is_constant
    }


def tensor_facts(tensor: Tensor) -> dict[str, Any]:
    """Name, shape, type, rows and bytes of a tensor; of names that a converter joined by `;`, the first."""
    return {
        "name": printable(tensor.name).split(";")[0],
        "shape": list(tensor.type.shape),
        "type": tensor.type.dtype.word,
        "rows": tensor.type.rows,
        "size_bytes": tensor.type.size_bytes,
    }


def kernels_record(measured: MeasuredModel) -> list[dict[str, Any]]:
    """The functions in flash that belong to no single layer, the largest first, each with how many layers call it directly."""
    model = measured.library.model
    own = {*model.functions}
    callers = Counter(model.kernels)
    found = {name: size for name, size in _function_sizes(measured.image).items() if name not in own}
    return [
        {"name": printable(name), "code_bytes": size, "layers": _layers(name, callers)}
        for name, size in sorted(found.items(), key=lambda item: (-item[1], item[0]))
    ]


def layer_weights(measured: MeasuredModel) -> tuple[int, ...]:
    """The bytes of constants in flash of each node; those that several nodes share are left out.

    The C name of what belongs to a node begins as that of its function does.
    """
    image, model = measured.image, measured.library.model
    spans = [(each.address, each.address + each.size_bytes) for each in image.segments if each.name == WEIGHTS_SECTION]
    starts = {
        function.removesuffix(view.op.name.lower()): number
        for number, (function, view) in enumerate(zip(model.functions, model.graph.views, strict=True))
    }
    found = [0] * len(model.functions)
    for name, symbol in image.symbols.items():
        if any(first <= symbol.address < end for first, end in spans):
            parts = accumulate(name.split("_")[:-1], lambda head, part: f"{head}_{part}")
            owners = [starts[f"{part}_"] for part in parts if f"{part}_" in starts]
            if owners:
                found[owners[-1]] += symbol.size
    return tuple(found)


def lanes_of(graph: Graph) -> list[int]:
    """A lane for each node, so that no tensor's line passes through a node that neither makes nor reads it.

    Nodes are in the order of the file, one below the other. A node takes over the lane of an input that no later node reads, or
    else the lowest free lane; a lane is taken until the last reader of what its node makes.
    """
    last_read = _last_readers(graph)
    makers = {index: number for number, node in enumerate(graph.nodes) for index in node.outputs}
    busy: dict[int, int] = {}
    lanes: list[int] = []
    for number, node in enumerate(graph.nodes):
        sources = [makers[index] for index in node.inputs if index in makers]
        busy = {lane: until for lane, until in busy.items() if until >= number}
        ending = [lanes[source] for source in sources if source < number and busy.get(lanes[source]) == number]
        busy = {lane: until for lane, until in busy.items() if until > number}
        free = next(lane for lane in range(len(busy) + 1) if lane not in busy)
        lane = min([*ending, free]) if ending else free
        lanes.append(lane)
        busy[lane] = max((last_read.get(index, number) for index in node.outputs), default=number)
    return lanes


def _last_readers(graph: Graph) -> Mapping[int, int]:
    """The last node that reads each tensor."""
    return {index: number for number, node in enumerate(graph.nodes) for index in node.inputs if index is not None}


def _role(graph: Graph, index: int) -> str:
    """How a tensor is kept: `input`, `output`, `state` between inferences, `external`, or empty."""
    roles: Sequence[tuple[str, bool]] = (
        ("input", index in graph.inputs),
        ("output", index in graph.outputs),
        ("state", graph.tensors[index].is_state),
        ("external", graph.tensors[index].is_external),
    )
    return next((name for name, holds in roles if holds), "")


def _function_sizes(image: Image) -> dict[str, int]:
    """The bytes of each function of a program; of several with one name, their sum."""
    found: dict[str, int] = {}
    for first, end, name in image.functions:
        found[name] = found.get(name, 0) + end - first
    return found


def _layers(function: str, callers: Counter[str]) -> int:
    """How many layers call a function directly; its name in the program has the library's name before the kernel's."""
    return next((count for kernel, count in callers.items() if function.endswith(kernel)), 0)
