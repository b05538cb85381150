"""The record of a report: its figures are those of the plan and of the measurement."""

import json
from dataclasses import replace
from typing import Any

import pytest

import kibi
from kibi import demo
from kibi.dtypes import DType
from kibi.frontends.tflite import parse_tflite
from kibi.frontends.tflite.builder import ModelBuilder
from kibi.pages.answer import Limits, advice, answer_record, peak_words
from kibi.pages.changes import changes_record
from kibi.pages.html import report_page
from kibi.pages.layers import lanes_of
from kibi.pages.measured import MeasuredModel, measured_model
from kibi.pages.record import SCHEMA_VERSION, report_record
from kibi.pages.timeline import bound_words, memory_words, timeline_record
from kibi.planner import PlannedModel, Region, peak_steps
from kibi.quantization.comparing import LayerComparison
from kibi.reports.pareto import Choice
from kibi.tflm.arena import arena_uses
from tests.engines.networks import residual_network
from tests.pages.networks import chain_bytes
from tests.support.oracle import check_oracle


def test_record_says_what_made_it(glyphs: MeasuredModel, glyphs_record: dict[str, Any]) -> None:
    """Versions of schema, tool and compiler, and the digest of the model; and it is JSON."""
    assert glyphs_record["schema_version"] == SCHEMA_VERSION
    assert glyphs_record["made_by"] == {"kibi": kibi.__version__, "compiler": glyphs.compiler, "level": "s"}
    assert glyphs.compiler.startswith("zig ")
    assert glyphs_record["model"]["sha256"] == glyphs.simplified.graph.digest
    assert len(glyphs_record["model"]["sha256"]) == len(glyphs_record["library_sha256"]) == 64
    sources = glyphs.library.sources
    other = replace(
        glyphs.library, texts={name: text for name, text in glyphs.library.texts.items() if name.path != sources[0]}
    )
    assert glyphs.library.digest == glyphs_record["library_sha256"] != other.digest
    assert json.loads(json.dumps(glyphs_record)) == glyphs_record


def test_answer_has_the_figures_of_the_measurement(glyphs: MeasuredModel, glyphs_record: dict[str, Any]) -> None:
    """Each one that both have."""
    answer, found = glyphs_record["answer"], glyphs.measurement.to_dict()
    shared = (answer.keys() & found.keys()) - {"not_executed"}
    assert {"ram_bytes", "flash_bytes", "stack_bytes", "arena_bytes", "instructions", "macs"} <= shared
    assert {name: answer[name] for name in shared} == {name: found[name] for name in shared}
    parts = ("arena_bytes", "state_bytes", "stack_bytes", "data_bytes")
    assert sum(answer[name] for name in parts) == answer["ram_bytes"]
    assert answer["milliseconds"] == found["cycles_estimate"] / 120e6 * 1000


def test_limits_say_what_is_missing(glyphs: MeasuredModel) -> None:
    """Exactly enough fits; a byte less does not; without a limit nobody knows."""
    ram, flash = glyphs.measurement.ram_bytes, glyphs.measurement.flash_bytes
    fitting, missing = answer_record(glyphs, Limits(ram, flash)), answer_record(glyphs, Limits(ram - 1, flash - 7))
    assert (fitting["fits"], fitting["missing"]) == (True, [])
    assert not missing["fits"]
    assert missing["missing"] == [{"what": "RAM", "bytes": 1}, {"what": "flash", "bytes": 7}]
    assert answer_record(glyphs, Limits(flash_bytes=flash))["fits"]
    assert answer_record(glyphs, Limits())["fits"] is None


@pytest.mark.oracle
def test_answer_has_the_arena_of_tflm(glyphs: MeasuredModel) -> None:
    """Beside Kibi's, where TFLM ran the model: its build says what it uses."""
    check_oracle()
    (use,) = arena_uses([demo.model_path().read_bytes()])
    assert use is not None
    measured = measured_model(glyphs.simplified, glyphs.planned.plan, glyphs.target)
    assert answer_record(measured, Limits())["tflm_arena_bytes"] == use.used_bytes
    assert answer_record(glyphs, Limits())["tflm_arena_bytes"] is None


def test_plan_has_the_buffers_and_levels_of_the_plan(glyphs: MeasuredModel, glyphs_record: dict[str, Any]) -> None:
    """And the peak that the plan itself says."""
    plan, found = glyphs.planned.plan, glyphs_record["plan"]
    places = [(b.tensor if b.tensor is not None else -1, b.offset, b.size_bytes, b.start, b.end) for b in plan.buffers]
    assert [(b[0], b[3], b[4], b[5], b[6]) for b in found["buffers"]] == places
    assert tuple(found["live_bytes"]) == plan.live_bytes()
    assert found["peak"]["step"] == next(peak_steps(plan))
    assert found["peak"]["live_bytes"] == max(plan.live_bytes())
    held = sum(size for _, size in found["peak"]["holders"])
    assert held - found["peak"]["shared_bytes"] == found["peak"]["live_bytes"]


def test_last_reads_are_those_of_a_walk_through_all_steps(glyphs: MeasuredModel, glyphs_record: dict[str, Any]) -> None:
    """Step by step, by the rows that each needs; and a buffer ends right after the last of them."""
    graph, plan = glyphs.planned.graph, glyphs.planned.plan
    last: dict[tuple[int, int, int], int] = {}
    for step, (node, row) in enumerate(plan.steps):
        view = graph.views[node]
        for tensor, access in zip(view.row_tensors, view.accesses, strict=True):
            for needed in access.needs(row):
                last[tensor.index, needed, node] = step
    for tensor, first, rows, _, _, _, end, nodes, reads in glyphs_record["plan"]["buffers"]:
        inside = range(first, first + rows)
        expected = {
            node: max(step for (t, row, n), step in last.items() if (t, n) == (tensor, node) and row in inside)
            for node in {n for t, row, n in last if t == tensor and row in inside}
        }
        assert dict(reads) == expected
        assert bool(nodes) == (tensor == -1)
        if reads and tensor not in graph.outputs:
            assert end == max(expected.values()) + 1


def test_costs_of_layers_add_up(glyphs: MeasuredModel, glyphs_record: dict[str, Any]) -> None:
    """Instructions and MACs are those of the measurement; weights and code of layers are within the totals."""
    found, nodes = glyphs.measurement, glyphs_record["nodes"]
    assert [node["instructions"] for node in nodes] == [cost.instructions for cost in found.ops]
    assert sum(node["macs"] for node in nodes) == found.macs
    weights = [node["weights_bytes"] for node in nodes]
    by_type = dict(zip((node["op"] for node in nodes), weights, strict=True))
    assert by_type["MEAN"] == by_type["ADD"] == by_type["MAX_POOL_2D"] == 0
    assert by_type["FULLY_CONNECTED"] == 520 + 12
    assert found.weights_bytes - 256 < sum(weights) <= found.weights_bytes
    shared = sum(each["code_bytes"] for each in glyphs_record["kernels"])
    assert sum(node["code_bytes"] for node in nodes) + shared <= found.code_bytes
    calls = {each["name"]: each["layers"] for each in glyphs_record["kernels"]}
    assert calls["glyphs_kibi_conv2d_s8_blocks"] == 4


def test_errors_of_layers_are_beside_their_costs(
    glyphs: MeasuredModel, glyphs_record: dict[str, Any], glyphs_errors: LayerComparison
) -> None:
    """With null where nothing is known, which the page says; without a comparison it says how to get one."""
    record = report_record(glyphs, comparison=glyphs_errors)
    assert [node["decibels"] for node in record["nodes"][:3]] == [40.0, None, 35.0]
    assert [node["lost_decibels"] for node in record["nodes"][:3]] == [-1.25, None, -1.25]
    errors = record["layer_errors"]
    assert (errors["layers"], errors["without_partner"], errors["with_factors"]) == (13, [1], [2])
    page = " ".join(report_page(record, {"left_out": "."}).decode().split())
    assert "what &lt;float&gt;.tflite makes, on 32 inputs of data.npz" in page
    assert "13 of 14 have a partner, and of the others nothing is known." in page
    assert "Of 1 layer, the channels were multiplied with factors" in page
    assert "decibels" not in glyphs_record["nodes"][0]
    assert "kibi report MODEL --reference FLOAT_MODEL --data DATA" in glyphs_record["layer_errors"]["missing"]


def test_lines_of_the_graph_pass_through_no_other_operator() -> None:
    """A tensor stays in its maker's lane until its last reader, and nobody else is in that lane meanwhile."""
    for model in (parse_tflite(chain_bytes(40), "chain.tflite"), residual_network()):
        lanes = lanes_of(model)
        makers = {index: number for number, node in enumerate(model.nodes) for index in node.outputs}
        for reader, node in enumerate(model.nodes):
            for index in node.inputs:
                if index in makers:
                    between = range(makers[index] + 1, reader)
                    assert lanes[makers[index]] not in {lanes[number] for number in between}
        assert max(lanes) <= 2


def test_proof_is_in_plain_words(glyphs: MeasuredModel) -> None:
    """Proven, or within percents that are never too few."""
    plan = glyphs.planned.plan
    excess = plan.arena_bytes / plan.lower_bound_bytes - 1
    said = memory_words(plan)
    assert said.startswith("Within 1.9% of the least that this order of steps allows")
    assert excess <= 0.049
    whole = kibi.plan(glyphs.simplified.graph, granularity="tensor")
    assert memory_words(whole).startswith("Proven")
    in_place = next(each for each in bound_words(plan) if each.startswith("In any order"))
    assert f"{plan.order_bound_bytes:,} bytes would live at once, but this plan makes rows in the place" in in_place


def test_advice_lists_what_saves_something(glyphs: MeasuredModel) -> None:
    """With the signs of all changes; a way that saves neither RAM nor flash is no advice."""
    found = glyphs.measurement
    same = ("s", 1, 1, True)

    def choice(name: str, ram: int, flash: int) -> Choice:
        return Choice(name, *same, found.ram_bytes + ram, found.flash_bytes + flash, found.instructions + 5, None, 0.0)

    said = advice(glyphs, [choice("a", -10, 3), choice("b", 1, -20), choice("c", 1, 1)])
    assert said == (
        "Less RAM, planned a: \u221210 bytes of RAM, +3 bytes of flash, +5 instructions.",
        "Less flash, planned b: +1 bytes of RAM, \u221220 bytes of flash, +5 instructions.",
    )


def _with_nodes(record: dict[str, Any], nodes: list[dict[str, Any]]) -> dict[str, Any]:
    return {**record, "nodes": nodes}


def test_changes_pair_layers_by_name_and_then_by_form(glyphs_record: dict[str, Any]) -> None:
    """A layer that went, one that cost less, and one whose output has another name."""
    same = changes_record(glyphs_record, glyphs_record)
    assert {each["status"] for each in same["layers"]} == {"same"}
    assert all(each["old"] == each["new"] for each in same["totals"])
    nodes, tensors = glyphs_record["nodes"], glyphs_record["tensors"]
    renamed = str(nodes[5]["outputs"][0])
    new = {
        **glyphs_record,
        "nodes": [nodes[0], {**nodes[1], "instructions": 7}, *nodes[3:]],
        "tensors": {**tensors, renamed: {**tensors[renamed], "name": "another"}},
    }
    found = changes_record(glyphs_record, new)["layers"]
    assert [(each["status"], each["nodes"]) for each in found[:4]] == [
        ("same", [0, 0]), ("changed", [1, 1]), ("removed", [2, None]), ("same", [3, 2]),
    ]  # fmt: skip
    assert found[1]["instructions"] == [nodes[1]["instructions"], 7]
    assert found[5]["nodes"] == [5, 4]
    assert found[5]["name"] == "another"
    back = changes_record(new, glyphs_record)["layers"]
    assert [each["nodes"] for each in back if each["status"] == "added"] == [[None, 2]]
    for each in (found, back):
        assert sorted(pair[0] for pair in (line["nodes"] for line in each) if pair[0] is not None) == list(
            range(len(nodes) if each is found else len(nodes) - 1)
        )


def test_model_without_arithmetic_has_a_record() -> None:
    """No weights, no MACs, nothing to divide by."""
    builder = ModelBuilder()
    given = builder.input((2,), DType.S8, 0.05, 0)
    made = builder.tensor((2,), DType.S8, 0.05, 0)
    builder.operator("ABS", [given], [made])
    model = parse_tflite(builder.finish([made]), "abs.tflite")
    found = kibi.report(model, oracle=False)
    assert found.record["answer"]["macs"] == 0
    assert b"per MAC" in found.page
    assert repr(found).startswith("<Report of abs on cortex-m4: ")


def test_plan_of_several_memories_has_one_peak(glyphs: MeasuredModel) -> None:
    """The words and the picture agree on the step at which the most bytes live in all of them."""
    regions = (Region("fast", 2048, 1.0), Region("large", 1 << 16, 3.0))
    graph = glyphs.simplified.graph
    plan = kibi.plan(graph, regions=regions)
    found = timeline_record(PlannedModel.of(graph, plan))
    assert [each["base"] for each in found["regions"]] == [0, plan.regions[0].used_bytes]
    assert found["peak"]["live_bytes"] == max(found["live_bytes"]) == found["live_bytes"][found["peak"]["step"]]
    assert peak_words(graph, plan).startswith(f"{max(found['live_bytes']):,} bytes live at once")
    assert memory_words(plan).endswith(
        f"fast {plan.regions[0].used_bytes:,} of 2,048, large {plan.regions[1].used_bytes:,} of 65,536."
    )
