"""Plan files give the bits that the Python runtime gives: drawn models of every operator, real models, slices, streams."""

import numpy as np
import pytest

import kibi
from kibi.engines.core import CoreEngine
from kibi.ir import Graph
from kibi.kernels.params import PARAMS
from kibi.planfile.reader import PlanFile
from kibi.planfile.runs import WIDTHS
from kibi.planfile.writer import plan_file
from kibi.planner import PlannedModel
from kibi.runtime import seeded_inputs
from tests.ops.comparison import graph_of
from tests.support import zoo
from tests.support.amount import amount, sample, share
from tests.support.choices import Seeded
from tests.support.operator_models import OPERATOR_MODELS
from tests.support.remembering_models import integer_svdf

_LARGE = frozenset(
    {
        "arm_kws_micronet_m", "cfu_hps_74ops", "cfu_hps_presence", "cfu_mnv2_160_035", "mcunet_det_person", "mcunet_vww",
        "mlonmcu_micro_kws_m", "mlperf_ic_fp32", "mlperf_ic_int8", "mlperf_vww_fp32", "mlperf_vww_int8",
        "mltk_rock_paper_scissors", "openmv_blazeface_front_128", "tflm_person_detect",
    }
)  # fmt: skip
"""Models that take long in Python."""
_KERNELS = tuple(PARAMS)
"""One core has all kernels: so it is compiled once."""
_MODELS = [(name,) for name, entry in zoo.catalog().items() if not entry.refusal and name not in _LARGE]


def _compare(graph: Graph, *, target: str, turns: int = 2, width: int = 1, **options: object) -> None:
    """Compares inferences of a plan file with those of the Python runtime: in one go, and in slices."""
    plan = kibi.plan(graph, target=target, **options)  # type: ignore[arg-type]
    file = PlanFile(plan_file(PlannedModel.of(graph, plan), least_width=width))
    assert file.arena_bytes == plan.arena_bytes
    engine, interpreter = CoreEngine(file, kernels=_KERNELS), kibi.Interpreter(graph, plan)
    for turn in range(turns):
        inputs = seeded_inputs(graph, turn)
        expected = interpreter.run(inputs)
        found = engine.run(inputs, slice_steps=3 * turn)
        assert [each.tobytes() for each in found] == [each.tobytes() for each in expected]


@pytest.mark.share(3, part=2)
@pytest.mark.parametrize("operator", share(sorted(OPERATOR_MODELS), 1, 2))
def test_drawn_models_of_an_operator_agree(operator: str) -> None:
    """Several drawn models of each operator, as general kernels run them and as those of the M4 do, with runs of all forms."""
    for seed in range(amount(2, 12)):
        graph = graph_of(OPERATOR_MODELS[operator](Seeded(seed)))
        _compare(graph, target=("cortex-m4", "host")[seed % 2], width=WIDTHS[(seed + len(operator)) % 3])


def test_states_of_bytes_are_read_by_words() -> None:
    """A kernel may read words of a state whose elements are bytes: its group is aligned so, as each state is."""
    graph = graph_of(integer_svdf(Seeded(0), (1, 16), 1, 8, 8, is_usual=True))
    assert kibi.plan(graph, "cortex-m4").kernels == ("kibi_svdf_s8_blocks",)
    _compare(graph, target="cortex-m4", turns=3)


@zoo.requires_zoo
@pytest.mark.parametrize("name", sample(_MODELS, _MODELS[::9]))
def test_real_model_agrees(name: str) -> None:
    """Real models, planned by the row."""
    _compare(kibi.load(zoo.catalog()[name].path), target="cortex-m4", turns=3)


@pytest.mark.slow
@zoo.requires_zoo
@pytest.mark.parametrize("name", sorted(_LARGE))
def test_large_model_agrees(name: str) -> None:
    """Those that take long."""
    _compare(kibi.load(zoo.catalog()[name].path), target="cortex-m4")


def test_equal_models_give_equal_bytes() -> None:
    """Nothing but the model and the plan is in the file."""
    graph = graph_of(OPERATOR_MODELS["CONV_2D"](Seeded(1)))
    first, second = (plan_file(PlannedModel.of(graph, kibi.plan(graph))) for _ in range(2))
    assert first == second
    assert np.frombuffer(first, "<u4")[2] == len(first)
