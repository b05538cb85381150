"""Plan files with layers of Golomb-Rice codes: every engine gives the same bits, and any bytes in the place of codes are safe."""

from collections.abc import Iterator

import numpy as np
import pytest

import kibi
from kibi.engines.core import CoreEngine, core_library
from kibi.engines.core_device import CoreDeviceEngine
from kibi.engines.plan_numpy import NumpyPlanEngine
from kibi.frontends.tflite import parse_tflite
from kibi.ir import Graph
from kibi.kernels.params import PARAMS
from kibi.kernels.params.layout import Layout
from kibi.planfile.in_numpy.program import programs_of
from kibi.planfile.reader import PlanFile
from kibi.planfile.records import GRAPH, NODE
from kibi.planfile.writer import plan_file
from kibi.planner import PlannedModel, with_kernels
from kibi.runtime import seeded_inputs
from kibi.selection import candidates
from kibi.selection.fully_connected_rice import FULLY_CONNECTED_RICE, RICE_ACCUMULATE
from tests.ops.comparison import graph_of
from tests.planfile.mutants import tried, with_digest
from tests.support.amount import amount
from tests.support.dense_models import dense_network
from tests.support.operator_models import s8_case

_TARGET = kibi.target("cortex-m4")
_CODED = {each.of: each.kernel for each in (FULLY_CONNECTED_RICE, RICE_ACCUMULATE)}
_KERNELS = tuple(_CODED.values())


def _files() -> Iterator[tuple[Graph, kibi.Plan, PlanFile]]:
    """Drawn layers, and two that add up rows, whose weights are coded, each as a plan file."""
    graphs = [graph_of(s8_case("FULLY_CONNECTED", seed)) for seed in range(amount(6, 60))]
    graphs[1:1] = [parse_tflite(dense_network((12 * size, size), rows=size), "rows.tflite") for size in (3, 5)]
    for graph in graphs:
        made = kibi.plan(graph, _TARGET)
        general = PlannedModel.of(graph, made).graph.general_calls
        known = [{each.kernel for each in candidates(call, _TARGET, made.goal, on_request=True)} for call in general]
        kernels = [
            _CODED[call.kernel] if _CODED.get(call.kernel) in names else call.kernel
            for call, names in zip(general, known, strict=True)
        ]
        if not set(_KERNELS).isdisjoint(kernels):
            plan = with_kernels(graph, made, _TARGET, made.goal, kernels)
            yield graph, plan, PlanFile(plan_file(PlannedModel.of(graph, plan)))


def _array(file: PlanFile, name: str) -> tuple[int, int]:
    """Where an array of the coded layer begins in a file, and its bytes."""
    graph = file.record(GRAPH, file.header["graphs"])
    ((number, kernel),) = (
        (k, node.kernel) for k, node in enumerate(programs_of(file)[0].nodes) if node.kernel in _KERNELS
    )
    params = file.record(NODE, graph["nodes"] + number * NODE.size_bytes)["params"]
    places = dict(zip((each.name for each in PARAMS[kernel].fields), Layout.of(PARAMS[kernel]).offsets, strict=True))

    def read(field: str) -> int:
        start = params + places[field]
        return int.from_bytes(file.data[start : start + 4], "little", signed=True)

    return params + read(name), read({"weights": "weights_bytes", "codings": "output_channels"}[name])


def _changed(file: PlanFile, rng: np.random.Generator) -> bytes:
    """The file with any bytes instead of some codes and codings."""
    data = bytearray(file.data)
    for name in ("weights", "codings"):
        first, size = _array(file, name)
        fill = rng.choice([0, 1, 128, 255, int(rng.integers(256))], size).astype(np.uint8)
        kept = rng.random(size) < rng.choice([0, 0.5, 1])
        old = np.frombuffer(file.data[first : first + size], np.uint8)
        data[first : first + size] = np.where(kept, old, fill).astype(np.uint8).tobytes()
    return with_digest(data)


def test_engines_give_the_bits_of_the_plain_layer() -> None:
    """NumPy, C on this machine and C on the device decode what the Python runtime never coded."""
    ran = set[str]()
    for number, (graph, plan, file) in enumerate(_files()):
        ran |= set(file.kernels)
        inputs = seeded_inputs(graph, number)
        expected = [each.tobytes() for each in kibi.Interpreter(graph, plan).run(inputs)]
        engines: list[NumpyPlanEngine | CoreEngine | CoreDeviceEngine] = [NumpyPlanEngine(file), CoreEngine(file)]
        engines += [CoreDeviceEngine(file, _TARGET)] if number < 2 else []
        for engine in engines:
            assert [each.tobytes() for each in engine.run(inputs)] == expected
    assert ran >= set(_KERNELS)


def test_any_bytes_instead_of_codes_are_safe_and_give_the_same_everywhere() -> None:
    """A core that reads codes of nobody's stays in their bytes, and decodes as the other engines do."""
    rng, made = np.random.default_rng(0), []
    library = core_library(_KERNELS)
    for number, (graph, _, file) in enumerate(_files()):
        for turn in range(amount(12, 100)):
            made.append(_changed(file, rng))
            other, inputs = PlanFile(made[-1]), seeded_inputs(graph, turn)
            found = [NumpyPlanEngine(other).run(inputs), CoreEngine(other, library=library).run(inputs)]
            found += [CoreDeviceEngine(other, _TARGET).run(inputs)] if number < 2 and turn < 4 else []
            assert len({b"".join(each.tobytes() for each in outputs) for outputs in found}) == 1
    assert tried(_KERNELS, made) == (0, len(made))


@pytest.mark.parametrize("name", ["weights_bytes", "piece"])
def test_layer_with_fewer_bits_than_weights_is_refused(name: str) -> None:
    """So a small file cannot ask for endless work."""
    _, _, file = next(_files())
    graph = file.record(GRAPH, file.header["graphs"])
    params = file.record(NODE, graph["nodes"])["params"]
    (kernel,) = file.kernels
    place = Layout.of(PARAMS[kernel]).offsets[[each.name for each in PARAMS[kernel].fields].index(name)]
    data = bytearray(file.data)
    value = {"weights_bytes": 0, "piece": 1 << 24}[name]
    data[params + place : params + place + 4] = value.to_bytes(4, "little")
    assert tried(_KERNELS, [with_digest(data)]) == (1, 0)
