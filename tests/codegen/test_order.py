"""Both forms of an order, code and table, give the bits of the Python runtime, whatever is special about the model."""

from collections.abc import Callable
from dataclasses import replace
from itertools import accumulate
from pathlib import Path

import numpy as np
import pytest

import kibi
from kibi.codegen import generate, schedule
from kibi.codegen.schedule import Block, Form, Schedule, Takes, blocks, schedule_of
from kibi.codegen.schedule_folding import Entry, Group
from kibi.dtypes import DType
from kibi.engines import DeviceEngine, HostEngine
from kibi.frontends.tflite import parse_tflite
from kibi.frontends.tflite.builder import ModelBuilder
from kibi.ir import Graph
from kibi.planner import Plan, Run, validate
from kibi.planner.regions.file import Region
from kibi.runtime import seeded_inputs
from kibi.targets import target
from tests.engines.networks import pooled_network, residual_network
from tests.planner.networks import by_row
from tests.support.amount import sample
from tests.support.choices import Seeded
from tests.support.operator_models import OPERATOR_MODELS


def _residual() -> tuple[Graph, Plan]:
    model = residual_network(height=40)
    return model, kibi.plan(model, runs=by_row(model))


def _pooled() -> tuple[Graph, Plan]:
    model = pooled_network("MEAN", height=30)
    return model, kibi.plan(model, runs=by_row(model))


def _in_blocks(*sizes: int) -> tuple[Graph, Plan]:
    """Rows in blocks of these sizes, each operator a block after the one before it."""
    model = residual_network(height=sum(sizes))
    ends = list(accumulate(sizes))
    runs = tuple(
        Run(node, ends[block] - sizes[block], sizes[block])
        for turn in range(len(sizes) + len(model.nodes))
        for node, block in enumerate(range(turn, turn - len(model.nodes), -1))
        if 0 <= block < len(sizes)
    )
    return model, kibi.plan(model, runs=runs)


def _pairs() -> tuple[Graph, Plan]:
    """Two rows of each node at a time, so that the last iteration has less than the others."""
    return _in_blocks(2, 2, 2, 2, 2, 1)


def _uneven() -> tuple[Graph, Plan]:
    """Three rows first, and one at last, so that functions take how many steps they run."""
    return _in_blocks(3, 2, 1, 1)


def _regions() -> tuple[Graph, Plan]:
    model = residual_network()
    regions = (Region("fast", 1 << 10, 1.0), Region("slow", 1 << 20, 2.0))
    return model, kibi.plan(model, regions=regions, granularity="tensor")


def _external() -> tuple[Graph, Plan]:
    model = residual_network()
    return model, kibi.plan(model, input="external", output="external")


def _drawn(operator: str) -> Callable[[], tuple[Graph, Plan]]:
    def make() -> tuple[Graph, Plan]:
        model = parse_tflite(OPERATOR_MODELS[operator](Seeded(0)).model, f"{operator.lower()}.tflite")
        return model, kibi.plan(model)

    return make


_MODELS = {
    "residual": _residual,
    "pooled": _pooled,
    "pairs": _pairs,
    "uneven": _uneven,
    "regions": _regions,
    "external": _external,
    **{name.lower(): _drawn(name) for name in ("IF", "WHILE", "ASSIGN_VARIABLE", "CIRCULAR_BUFFER", "SVDF")},
}


@pytest.mark.share(3, part=0)
@pytest.mark.parametrize(
    ("name", "form"),
    sample(
        [(name, form) for name in _MODELS for form in ("code", "steps", "table")],
        [*((name, "code") for name in [*_MODELS][::2]), ("pooled", "steps"), ("residual", "table"), ("while", "table")],
    ),
)
def test_both_forms_give_the_same_bits(name: str, form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In Python, on this machine and on the device, for two inferences one after another."""
    monkeypatch.setattr(schedule, "MOST_EXTRA_BYTES", 1 << 20 if form == "code" else -(1 << 20))
    monkeypatch.setattr(schedule, "_STEPS_DRIVER_BYTES", -(1 << 20) if form == "steps" else 1 << 20)
    model, plan = _MODELS[name]()
    library = kibi.compile(model, plan, tmp_path, target="cortex-m4")
    assert ("plan_order" in library.files[f"{model.name}.c"]) == (form != "code")
    runs = [each.run for each in (kibi.Interpreter(model, plan), HostEngine(library), DeviceEngine(library))]
    for seed in (1, 2):
        inputs = seeded_inputs(model, seed)
        expected, *others = [run(inputs) for run in runs]
        for found in others:
            assert [each.tobytes() for each in found] == [np.asarray(each).tobytes() for each in expected]


def _schedule(model: Graph, runs: tuple[Run, ...], *, keeps_place: bool = False, by_step: bool = True) -> Schedule:
    return schedule_of(model, replace(kibi.plan(model), runs=runs), keeps_place=keeps_place, by_step=by_step)


def test_cascade_is_code_and_long_order_without_a_pattern_is_a_table() -> None:
    """A few calls in a loop are shorter than a table; hundreds of calls one after another are not."""
    model = residual_network(height=40)
    assert _schedule(model, by_row(model)).form is Form.CODE
    nodes = np.random.default_rng(3).permutation([n for n, view in enumerate(model.views) for _ in range(view.steps)])
    runs = tuple(Run(node, nodes[:at].tolist().count(node), 1) for at, node in enumerate(nodes.tolist()))
    found = _schedule(model, runs)
    assert found.form is Form.STEPS
    assert set(found.takes) == {Takes.STEP}
    # Where several steps may be one call, or a pause may come between them, an entry has their number.
    assert _schedule(model, runs, by_step=False).form is Form.RUNS
    assert _schedule(model, runs, keeps_place=True).form is Form.RUNS


def test_table_of_many_functions_has_room_for_their_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where no line repeats others: the driver compares `from` with the number of functions, which compilers warn of."""
    monkeypatch.setattr(schedule, "_RANGE_BYTES", 0)
    builder = ModelBuilder()
    last = builder.input((1, 4), DType.S8, 0.05, 0)
    for _ in range(300):
        made = builder.tensor((1, 4), DType.S8, 0.05, 0)
        builder.operator("ABS", [last], [made])
        last = made
    model = parse_tflite(builder.finish([last]), "chain.tflite")
    library = generate([validate(model, kibi.plan(model, granularity="tensor"))], target("cortex-m4"))
    source = library.files["chain.c"]
    assert "enum { REPEAT = 300 };" in source
    assert "    uint16_t from;" in source


def test_inference_that_pauses_keeps_its_place_in_a_table() -> None:
    """Rows that are pushed one by one come in the middle of a loop."""
    model = residual_network(height=40)
    assert _schedule(model, by_row(model), keeps_place=True).form is Form.LINES


def test_function_takes_what_its_calls_need() -> None:
    """Nothing for a node of one step, a step where each call runs one, else the first and the end."""
    pooled = pooled_network("MEAN", height=30)
    takes = _schedule(pooled, by_row(pooled)).takes
    assert Takes.STEP in takes
    model = residual_network(height=40)
    whole = tuple(Run(number, 0, view.steps) for number, view in enumerate(model.views))
    assert set(_schedule(model, whole).takes) == {Takes.STEPS}


def test_neighbours_that_run_in_the_same_iterations_share_a_condition() -> None:
    """An entry begins when its first step is there, and ends with its last."""
    group = Group((Entry(0, 0, 1, 1), Entry(1, -1, 1, 1), Entry(2, -1, 1, 1), Entry(3, 2, 2, 2)), 6)
    assert blocks(group, [6, 5, 5, 8]) == (
        Block((Entry(0, 0, 1, 1),), 0, 6),
        Block((Entry(1, -1, 1, 1), Entry(2, -1, 1, 1)), 1, 6),
        Block((Entry(3, 2, 2, 2),), 0, 3),
    )
