"""Kernels are chosen before plans are made: each byte of a plan is one that the chosen kernel needs."""

from collections.abc import Callable
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest

import kibi
import kibi.demo
from kibi.engines.host import HostEngine
from kibi.errors import InputError, PlanError
from kibi.ir import KernelCall
from kibi.planner import PlannedModel, validate
from kibi.runtime import Interpreter, seeded_inputs
from kibi.selection import Goal, choice, select
from kibi.selection.variant import Variant
from kibi.targets import target
from tests.ops.comparison import assert_same, graph_of
from tests.ops.convolutions import Geometry, convolution
from tests.support.amount import sample
from tests.support.zoo import model_path, requires_zoo

_ARENAS = {
    "tinymaix_mnist_resnet_q": 1_456,
    "mlonmcu_micro_kws_m": 4_760,
    "emlearn_mnist_cnn_int8": 972,
    "mlonmcu_cnn_s": 2_536,
    "tinymaix_cifar10_q": 5_238,
    "mlperf_ic_int8": 10_129,
    "mlperf_kws_int8": 3_946,
    "mlperf_vww_int8": 27_750,
    "tflm_person_detect": 12_058,
}
"""Of zoo models on a core whose general convolutions take no scratch: at most so many bytes."""


@pytest.fixture(scope="module")
def glyphs() -> kibi.Graph:
    """The shipped model."""
    return kibi.load(kibi.demo.model_path())


def test_a_small_core_gets_no_scratch_for_kernels_that_it_does_not_have(glyphs: kibi.Graph) -> None:
    """Blocks of convolutions are for the cores that have them, and for no goal that does without."""
    small, flash, fast = (
        kibi.plan(glyphs, core, goal=goal)
        for core, goal in (("cortex-m0plus", "balanced"), ("cortex-m4", "flash"), ("cortex-m4", "balanced"))
    )
    assert small.arena_bytes == flash.arena_bytes <= 2_931
    own = [each.scratch_of(2) for each in (small, flash)]
    blocks = fast.scratch_of(2)
    assert blocks is not None
    assert all(each is None or each.size_bytes < blocks.size_bytes for each in own)
    assert fast.kernels[2] == "kibi_conv2d_s8_blocks"
    assert {small.kernels[2], flash.kernels[2]} == {"kibi_conv2d_s8"}


@requires_zoo
@pytest.mark.parametrize(
    ("name", "core"),
    sample(
        product(_ARENAS, ["cortex-m0plus", "cortex-m3"]),
        [("tinymaix_cifar10_q", "cortex-m0plus"), ("tflm_person_detect", "cortex-m3")],
    ),
)
def test_arenas_of_real_models_hold_what_their_kernels_need(name: str, core: str) -> None:
    """The scratch of kernels for another core is not in them."""
    graph = kibi.simplify(kibi.load(model_path(name)))
    assert kibi.plan(graph, core).arena_bytes <= _ARENAS[name]


@requires_zoo
@pytest.mark.parametrize("name", ["mlperf_kws_int8", "mlonmcu_micro_kws_m"])
def test_for_flash_the_arena_is_no_larger_than_in_balance(name: str) -> None:
    """Kernels with less code take no more scratch."""
    graph = kibi.simplify(kibi.load(model_path(name)))
    balanced, flash = (kibi.plan(graph, "cortex-m4", goal=goal) for goal in ("balanced", "flash"))
    assert flash.arena_bytes <= balanced.arena_bytes


@pytest.mark.parametrize("goal", list(Goal))
def test_scratch_in_a_plan_is_that_of_its_kernels(glyphs: kibi.Graph, goal: Goal) -> None:
    """To the byte, for each node; and the plan that was saved means the same."""
    plan = kibi.plan(glyphs, "cortex-m4", goal=goal)
    planned = validate(glyphs, kibi.Plan.from_json(plan.to_json()))
    assert planned.plan == plan
    assert planned.graph.kernels == plan.kernels
    for node, call in enumerate(planned.graph.calls):
        scratch = plan.scratch_of(node)
        assert (scratch.size_bytes if scratch else 0) >= call.scratch_bytes
        assert (scratch is None) == (call.scratch_bytes == 0)


def test_scratch_of_balanced_kernels_is_a_small_part_of_what_the_arena_holds_in_any_case() -> None:
    """Large windows get blocks that take a sixteenth of the arena; pieces of 512 bytes where the input is elsewhere."""
    graph = graph_of(convolution(Geometry(48, 8, kernel=(4, 4), size=(32, 32))))
    assert graph.least_arena_bytes == 32 * 32 * 48
    kept = kibi.plan(graph, "cortex-m4")
    elsewhere = kibi.plan(graph, "cortex-m4", input="external", output="external")
    scratch = kept.scratch_of(0)
    assert kept.kernels == ("kibi_conv2d_s8_blocks",)
    assert scratch is not None
    assert 2560 < scratch.size_bytes <= graph.least_arena_bytes // 16
    assert elsewhere.kernels == ("kibi_conv2d_s8_pieces",)
    assert elsewhere.arena_bytes <= 512
    assert validate(graph, kibi.Plan.from_json(kept.to_json())).plan == kept
    tight = kibi.plan(graph, "cortex-m4", ram=kept.arena_bytes - 1)
    assert tight.kernels == ("kibi_conv2d_s8",)
    assert tight.arena_bytes < kept.arena_bytes
    assert validate(graph, kibi.Plan.from_json(tight.to_json())).plan == tight
    with pytest.raises(kibi.KibiError, match="the smallest that was found needs"):
        kibi.plan(graph, "cortex-m4", ram=graph.least_arena_bytes - 1)
    nothing = kibi.plan(graph, "cortex-m4", input="external", output="external", ram=0)
    assert (nothing.kernels, nothing.arena_bytes) == (("kibi_conv2d_s8",), 0)


def test_kernels_that_are_named_run(glyphs: kibi.Graph) -> None:
    """Those of the rules, by name, and the general ones where nothing is named."""
    core = target("cortex-m4")
    chosen = select(glyphs, core, Goal.BALANCED)
    assert select(glyphs, core, Goal.BALANCED, chosen.kernels).calls == chosen.calls
    assert select(glyphs, core, Goal.BALANCED, ()).calls == glyphs.general_calls
    assert select(glyphs, core, Goal.BALANCED) is chosen


def test_each_variant_packs_a_layer_once(glyphs: kibi.Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where one variant gives way to another, those that were asked before are not asked again."""
    packed: list[tuple[str, int]] = []
    original = choice._packed

    def counting(variant: Variant, call: KernelCall, goal: Goal) -> KernelCall | None:
        packed.append((variant.kernel, id(call)))
        return original(variant, call, goal)

    monkeypatch.setattr(choice, "_packed", counting)
    chosen = choice.choose(glyphs.general_calls, target("cortex-m4"), Goal.BALANCED)
    assert len(packed) == len(set(packed)) > 0
    assert chosen == select(glyphs, target("cortex-m4"), Goal.BALANCED).calls


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda names: names[:-1], "13 kernels are named for 14 nodes"),
        (
            lambda names: ("kibi_add_s8", *names[1:]),
            "'kibi_add_s8' is no kernel for it on cortex-m4; there are: kibi_conv2d",
        ),
        (lambda names: ("../x", *names[1:]), "is no kernel"),
    ],
)
def test_a_plan_whose_kernels_cannot_run_is_refused(
    glyphs: kibi.Graph, change: Callable[[tuple[str, ...]], tuple[str, ...]], text: str
) -> None:
    """A saved plan may name anything."""
    plan = kibi.plan(glyphs)
    wrong = replace(plan, kernels=change(plan.kernels))
    with pytest.raises(PlanError, match=text):
        PlannedModel.of(glyphs, wrong)
    with pytest.raises(InputError, match=text):
        select(glyphs, target("cortex-m4"), Goal.BALANCED, wrong.kernels).kernels  # noqa: B018 - whether it raises


def test_a_plan_is_compiled_for_its_goal_alone(glyphs: kibi.Graph, tmp_path: Path) -> None:
    """Its kernels are chosen; another goal asks for another plan."""
    plan = kibi.plan(glyphs, goal="flash")
    with pytest.raises(InputError, match="the plan is for flash, not for speed"):
        kibi.compile(glyphs, plan, tmp_path / "a", goal="speed")
    assert kibi.compile(glyphs, plan, tmp_path / "b", goal="flash").model.kernels == plan.kernels


def test_a_plan_runs_on_another_core_by_the_plain_c_of_its_kernels(glyphs: kibi.Graph, tmp_path: Path) -> None:
    """The kernels' twins give the same bits on this machine."""
    plan = kibi.plan(glyphs, "cortex-m4", goal="speed")
    inputs = seeded_inputs(glyphs, 0)
    library = kibi.compile(glyphs, plan, tmp_path / "library", target="host")
    assert library.model.kernels == plan.kernels
    assert_same(glyphs, HostEngine(library).run(inputs), Interpreter(glyphs, plan).run(inputs))
