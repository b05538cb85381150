"""Plan files on the emulated Cortex-M4 give the bits that the Python runtime gives: all real models that TFLM runs."""

import pytest

import kibi
from kibi.engines.core_device import CoreDeviceEngine
from kibi.planfile.reader import PlanFile
from kibi.planfile.writer import plan_file
from kibi.planner import PlannedModel
from kibi.runtime import seeded_inputs
from tests.support import zoo
from tests.support.amount import sample

_SLOW = frozenset(
    {
        "arm_kws_micronet_m", "cfu_hps_74ops", "cfu_hps_presence", "cfu_mnv2_160_035", "mcunet_det_person", "mcunet_vww",
        "mlperf_ic_fp32", "mlperf_ic_int8", "mlperf_vww_fp32", "mlperf_vww_int8", "mltk_rock_paper_scissors",
        "openmv_blazeface_front_128", "tflm_person_detect",
    }
)  # fmt: skip
"""Models that take long in Python or on the core."""
_MODELS = [(name,) for name, entry in zoo.catalog().items() if not entry.refusal and name not in _SLOW]


def _compare(name: str) -> None:
    """Runs a model twice in one engine, the second time in slices of seven steps."""
    graph = kibi.simplify(kibi.load(zoo.catalog()[name].path))
    plan = kibi.plan(graph, target="cortex-m4")
    engine = CoreDeviceEngine(PlanFile(plan_file(PlannedModel.of(graph, plan))), kibi.target("cortex-m4"))
    interpreter = kibi.Interpreter(graph, plan)
    for turn in range(2):
        inputs = seeded_inputs(graph, turn)
        expected = [each.tobytes() for each in interpreter.run(inputs)]
        assert [each.tobytes() for each in engine.run(inputs, slice_steps=7 * turn)] == expected


@zoo.requires_zoo
@pytest.mark.parametrize("name", sample(_MODELS, _MODELS[3::40]))
def test_real_model_agrees_on_the_device(name: str) -> None:
    """Some in each run."""
    _compare(name)


@pytest.mark.slow
@zoo.requires_zoo
@pytest.mark.parametrize("name", sorted(_SLOW))
def test_large_model_agrees_on_the_device(name: str) -> None:
    """Those that take long."""
    _compare(name)
