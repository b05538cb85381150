"""Weights are coded where that saves more flash than the decoder takes, and the bits are the same."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import kibi
from kibi.engines import HostEngine
from kibi.errors import InputError, PlanError
from kibi.frontends.tflite import parse_tflite
from kibi.ir import Graph
from kibi.kernels import closure
from kibi.kernels.params import Params
from kibi.planner import Plan, PlannedModel, Region
from kibi.runtime import seeded_inputs
from kibi.selection import CodedWeights, Goal, candidates, coded_weights, select
from kibi.selection.fully_connected_rice import FULLY_CONNECTED_RICE, RICE_ACCUMULATE
from kibi.selection.weights import decoder_bytes
from kibi.targets import target, targets
from kibi.toolchain import build_image
from tests.support.amount import sample
from tests.support.dense_models import SIZES, dense_network
from tests.support.zoo import model_path, requires_zoo
from tests.toolchain.tools import check_cross

_KERNEL, _BY_ROWS = FULLY_CONNECTED_RICE.kernel, RICE_ACCUMULATE.kernel
_M4 = target("cortex-m4")


def _graph(**options: object) -> Graph:
    return parse_tflite(dense_network(**options), "dense.tflite")  # type: ignore[arg-type]


def _coded(graph: Graph, core: str = "cortex-m4", goal: Goal = Goal.BALANCED) -> CodedWeights:
    return coded_weights(select(graph, target(core), goal))


def _constant_bytes(graph: Graph, plan: Plan) -> int:
    calls = PlannedModel.of(graph, plan).graph.calls
    arrays = sum(data.nbytes for call in calls for data in call.constants.values())
    return arrays + sum(4 * len(call.params_as(Params).fields) for call in calls)


def test_layers_that_pay_are_coded() -> None:
    """Each layer that becomes smaller, and the figures are those of the constants that kernels read."""
    graph = _graph()
    found, plain, made = _coded(graph), kibi.plan(graph), kibi.plan(graph, weights="rice")
    assert [layer.is_coded for layer in found.layers] == [True] * (len(SIZES) - 1)
    assert set(made.kernels) == {_KERNEL} == set(found.kernels)
    assert found.saved_bytes == _constant_bytes(graph, plain) - _constant_bytes(graph, made)
    assert found.saved_bytes > found.decoder_bytes == 548
    assert sum(layer.coded_bytes for layer in found.coded) == _constant_bytes(graph, made)
    assert _KERNEL not in plain.kernels
    assert plain == replace(kibi.plan(graph, weights="flash"), solve_seconds=plain.solve_seconds)


def test_figures_of_a_coded_plan_are_those_that_it_was_made_by() -> None:
    """A report on a plan takes its codes back first."""
    graph = _graph(has_convolution=True)
    made = kibi.plan(graph, weights="rice")
    assert coded_weights(PlannedModel.of(graph, made).graph) == _coded(graph)


def test_layers_that_save_less_than_the_decoder_takes_stay() -> None:
    """All of them, with the figures; the plan is the one without codes."""
    graph = _graph(sizes=(24, 24))
    (layer,) = _coded(graph).layers
    assert 0 < layer.saved_bytes < 548
    assert not layer.is_coded
    assert layer.reason == f"the layers save {layer.saved_bytes} bytes, and the decoder takes 548"
    assert kibi.plan(graph, weights="rice").kernels == kibi.plan(graph).kernels


def test_layers_whose_weights_are_read_again_stay() -> None:
    """Convolutions, and layers with several vectors: decoding would be done again for each."""
    found = _coded(_graph(has_convolution=True))
    assert [(layer.is_coded, layer.reason) for layer in found.layers[:2]] == [
        (False, "an inference reads each weight 16 times"),
        (True, ""),
    ]
    several = _coded(_graph(batch=3))
    assert {(layer.is_coded, layer.reason) for layer in several.layers} == {
        (False, "an inference reads each weight 3 times")
    }


def test_layers_whose_codes_are_no_smaller_stay() -> None:
    """Weights that use all values alike have no shorter codes; the others are coded all the same."""
    found = _coded(_graph(sizes=(64, 96, 64), width=1000))
    assert {layer.reason for layer in found.layers} == {"codes are no smaller"}
    mixed = _coded(_graph(sizes=(160, 96, 160), width=40))
    assert [(layer.is_coded, layer.saved_bytes > 0) for layer in mixed.layers] == [(True, True), (False, False)]


@pytest.mark.parametrize("kernels", [(_KERNEL,), (_BY_ROWS,), (_KERNEL, _BY_ROWS)], ids=len)
@pytest.mark.parametrize("name", [each.name for each in targets() if each.emulated_cpu])
def test_bytes_of_decoders_are_those_of_built_kernels(name: str, kernels: tuple[str, ...], tmp_path: Path) -> None:
    """By the default compiler, to a few bytes."""
    core = target(name)
    for file, text in closure(frozenset(kernels), core.kernel_sets).items():
        (tmp_path / file).write_text(text.text, encoding="utf-8")
    image = build_image(sorted(tmp_path.glob("*.c")), core, entries=kernels, level="s")
    assert image.code_bytes == pytest.approx(decoder_bytes(kernels, core), abs=16)


def test_layer_whose_input_comes_by_rows_is_coded() -> None:
    """It adds up row after row, with codes in that order, and keeps the place in them in its scratch."""
    graph = _graph(sizes=(512, 16), rows=32)
    made, plain = kibi.plan(graph, weights="rice"), kibi.plan(graph)
    assert plain.kernels == ("kibi_fully_connected_s8_accumulate",)
    assert made.kernels == (_BY_ROWS,)
    calls = [PlannedModel.of(graph, each).graph.calls[0] for each in (plain, made)]
    assert calls[1].scratch_bytes == calls[0].scratch_bytes + 4
    found = _coded(graph)
    assert found.saved_bytes == _constant_bytes(graph, plain) - _constant_bytes(graph, made)


def test_decoders_are_taken_where_each_pays() -> None:
    """A kernel that saves less than it takes is left out, and the other one stays; with its own code shared it may pay."""

    def used(sizes: tuple[int, ...]) -> set[str]:
        found = _coded(_graph(sizes=sizes, rows=16))
        assert found.decoder_bytes == decoder_bytes({each.decoder for each in found.coded}, _M4)
        return {layer.decoder for layer in found.coded}

    assert used((512, 16, 8)) == {_BY_ROWS}
    assert used((64, 8, 64, 64)) == {_KERNEL}
    assert used((512, 16, 64, 64)) == {_KERNEL, _BY_ROWS}
    assert used((32, 8, 8)) == set()


@pytest.mark.parametrize("per_channel", [False, True])
@pytest.mark.parametrize(
    ("core", "compiler"),
    sample(
        [("cortex-m4", "zig"), ("cortex-m4", "gcc"), ("cortex-m0plus", "zig"), ("cortex-m0plus", "gcc")],
        {("cortex-m4", "zig"), ("cortex-m0plus", "zig")},
    ),
)
def test_device_saves_what_was_said_and_gives_the_same_bits(
    core: str, compiler: str, per_channel: bool, tmp_path: Path
) -> None:
    """Flash falls by at least what coding saves less the decoder and some padding; Python, without codes, gives the same."""
    if compiler == "gcc":
        check_cross()
    graph = _graph(per_channel=per_channel, has_convolution=True)
    flash = {}
    for weights in ("flash", "rice"):
        library = kibi.compile(graph, kibi.plan(graph, core, weights=weights), tmp_path / weights)
        found = kibi.measure(library, compiler=compiler)
        assert found.bit_exact
        flash[weights] = found.flash_bytes
    coded = _coded(graph, core)
    assert coded.coded
    assert flash["flash"] - flash["rice"] >= coded.saved_bytes - coded.decoder_bytes - 48


def test_host_gives_the_same_bits(tmp_path: Path) -> None:
    """Plain C on this machine decodes, too."""
    graph = _graph()
    plan = kibi.plan(graph, "host", weights="rice")
    assert set(plan.kernels) == {_KERNEL}
    library = kibi.compile(graph, plan, tmp_path)
    inputs = seeded_inputs(graph, 0)
    np.testing.assert_array_equal(HostEngine(library).run(inputs)[0], kibi.run(graph, plan, inputs)[0])


def test_kernel_is_taken_on_request_alone() -> None:
    """No rule and no tuning proposes it, for any goal; a plan that names it keeps it."""
    graph = _graph()
    for goal in Goal:
        assert _KERNEL not in select(graph, _M4, goal).kernels
        for call in graph.general_calls:
            assert _KERNEL not in {each.kernel for each in candidates(call, _M4, goal, every=True)}
            assert _KERNEL in {each.kernel for each in candidates(call, _M4, goal, on_request=True)}
    made = kibi.plan(graph, weights="rice")
    assert PlannedModel.of(graph, made).graph.kernels == made.kernels


def test_compile_without_a_plan_codes_weights(tmp_path: Path) -> None:
    """`kibi.compile` hands the word to the plan that it makes; a plan that is there has its kernels."""
    graph = _graph()
    library = kibi.compile(graph, None, tmp_path, weights="rice")
    assert f"kernels/{_KERNEL}.c" in library.files
    with pytest.raises(InputError, match="a plan that is given has its kernels"):
        kibi.compile(graph, kibi.plan(graph), tmp_path, weights="rice")


def test_weights_in_a_way_that_does_not_exist_are_refused() -> None:
    """The text lists the ways; regions and codes exclude each other."""
    graph = _graph()
    with pytest.raises(InputError, match=r"stored as 'huffman'\. They can be: flash, rice, read:NAME"):
        kibi.plan(graph, weights="huffman")
    board = [Region("sram", 1 << 20, 1)]
    with pytest.raises(PlanError, match="stored as they are"):
        kibi.plan(graph, weights="rice", regions=board, place_weights=True)


@pytest.mark.share(3, part=0)
@requires_zoo
@pytest.mark.parametrize(("core", "most"), [("cortex-m4", 13), ("cortex-m3", 15), ("cortex-m0plus", 33.5)])
def test_anomaly_detection_saves_about_a_third(core: str, most: float, tmp_path: Path) -> None:
    """All ten layers are coded; the documents say how many instructions each weight takes on each core."""
    graph = kibi.simplify(kibi.load(model_path("mlperf_ad_int8")))
    plain, coded = (
        kibi.measure(kibi.compile(graph, kibi.plan(graph, core, weights=weights), tmp_path / weights))
        for weights in ("flash", "rice")
    )
    assert plain.bit_exact
    assert coded.bit_exact
    assert 0.65 < coded.flash_bytes / plain.flash_bytes < 0.69
    assert most - 0.6 < coded.instructions / coded.macs < most
