"""Figures of a model's operators for Model Explorer, which shows them on the nodes of the graph.

The form is that of its custom node data: for each graph the results by node, and colours between the least and the largest value. A
node of a `.tflite` file has the operator's index as its id, a graph the subgraph's name. Source: `node_data_builder.py` and
`node_data_provider_extension_service.ts` of google-ai-edge/model-explorer.
"""

from collections.abc import Mapping
from typing import Any, Final

from kibi.codegen import CompiledModel
from kibi.reports.measurement import Measurement
from kibi.text.json import JsonText, json_text

_COLORS: Final = ({"stop": 0, "bgColor": "#ffffff"}, {"stop": 1, "bgColor": "#f28e2b"})
FIGURES: Final = ("instructions", "macs", "weights_bytes", "scratch_bytes")
"""What there is a file of: Model Explorer shows one value of each file on a node."""


def node_data(model: CompiledModel, found: Measurement, subgraph: str) -> Mapping[str, JsonText]:
    """Returns for each of `FIGURES` the node data of a measured model.

    Operators that a lossless pass took out of the model have no value; several that became one have it at the one that stayed.

    Args:
        model: the model of the library that was measured.
        found: what was measured.
        subgraph: the name of its subgraph in the file.
    """
    values: dict[str, dict[str, int]] = {name: {} for name in FIGURES}
    for node, call, cost in zip(model.graph.nodes, model.graph.calls, found.ops, strict=True):
        if node.source < 0:  # it receives a row of an input, and is in no file
            continue
        figures = {
            "instructions": cost.instructions,
            "macs": cost.macs,
            "weights_bytes": call.constant_bytes,
            "scratch_bytes": cost.scratch_bytes,
        }
        for name, value in figures.items():
            key = str(node.source)
            values[name][key] = values[name].get(key, 0) + value
    return {name: json_text({subgraph: _graph(results)}, indent=1) for name, results in values.items()}


def _graph(results: Mapping[str, int]) -> dict[str, Any]:
    return {"results": {key: {"value": value} for key, value in results.items()}, "gradient": list(_COLORS)}
