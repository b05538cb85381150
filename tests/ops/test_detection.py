"""TFLite_Detection_PostProcess beyond what is drawn: boxes that are left out, boxes without area, refusals."""

from pathlib import Path

import numpy as np
import pytest

import kibi
from kibi.dtypes import DType
from kibi.engines import DeviceEngine, HostEngine
from kibi.errors import ModelError, OracleError
from kibi.frontends.tflite import parse_tflite
from kibi.runtime import Interpreter
from kibi.tflm import Oracle
from tests.ops.comparison import assert_same, graph_of
from tests.support.detection_models import model

_OPTIONS = {
    "max_detections": 8, "max_classes_per_detection": 1, "num_classes": 3, "nms_iou_threshold": 0.25,
    "nms_score_threshold": 0.25, "y_scale": 10.0, "x_scale": 10.0, "h_scale": 5.0, "w_scale": 5.0,
}  # fmt: skip


@pytest.mark.parametrize("seed", range(4))
def test_fast_suppression_gives_the_detections_of_tflm_and_zeros_behind_them(
    seed: int, oracle: Oracle, tmp_path: Path
) -> None:
    """TFLM leaves places that it does not need as they were; Kibi's are the same in all engines."""
    case = model(_OPTIONS, 40, 4, np.random.default_rng(seed))
    graph = graph_of(case)
    made = kibi.plan(graph)
    library = kibi.compile(graph, made, tmp_path)
    found = Interpreter(graph, made).run(case.inputs)
    assert_same(graph, HostEngine(library).run(case.inputs), found)
    assert_same(graph, DeviceEngine(library).run(case.inputs), found)
    wanted = oracle.run(case.model, [case.inputs])[0].outputs
    count = int(wanted[3][0])
    assert 1 < count <= 8
    assert found[3].tolist() == wanted[3].tolist()
    for mine, its in zip(found[:3], wanted[:3], strict=True):
        np.testing.assert_array_equal(mine[:, :count], its[:, :count])
        assert not mine[:, count:].any()


def test_regular_suppression_on_the_device_equals_tflm(oracle: Oracle, tmp_path: Path) -> None:
    """Each class by itself, at most two of each, in C on the emulated core."""
    case = model({**_OPTIONS, "use_regular_nms": True, "detections_per_class": 2}, 30, 3, np.random.default_rng(5))
    graph = graph_of(case)
    engine = DeviceEngine(kibi.compile(graph, kibi.plan(graph), tmp_path))
    assert_same(graph, engine.run(case.inputs), oracle.run(case.model, [case.inputs])[0].outputs)


def test_box_without_area_ends_in_no_detection(oracle: Oracle, tmp_path: Path) -> None:
    """TFLM stops with an error there, which code on a device has no way to do."""
    case = model(_OPTIONS, 6, 3, np.random.default_rng(0))
    encoded, scores = (array.copy() for array in case.inputs)
    encoded[0, 2, 2] = -3000.0  # exp of it is 0
    graph = graph_of(case)
    made = kibi.plan(graph)
    found = Interpreter(graph, made).run([encoded, scores])
    assert not any(output.any() for output in found)
    assert_same(graph, HostEngine(kibi.compile(graph, made, tmp_path)).run([encoded, scores]), found)
    with pytest.raises(OracleError):
        oracle.run(case.model, [[encoded, scores]])


@pytest.mark.parametrize(
    ("change", "scores", "text"),
    [
        ({"num_classes": 4}, 3, r"scores have shape \[1, 6, 3\], not \[1, 6, 4\], or one class more"),
        ({"num_classes": 3}, 5, r"scores have shape \[1, 6, 5\], not \[1, 6, 3\], or one class more"),
        ({"max_classes_per_detection": 2}, 3, "2 classes for each detection are not supported: TFLM writes"),
        ({"nms_iou_threshold": 0.0}, 3, "nms_iou_threshold is 0, but must be above 0 and at most 1"),
        ({"y_scale": 0.0}, 3, "y_scale is 0, by which nothing can be divided"),
        ({"use_regular_nms": True, "detections_per_class": 0}, 3, "detections_per_class is 0, but must be at least 1"),
        ({"x_scale": "ten"}, 3, "its option x_scale is 'ten', not a number"),
    ],
)
def test_options_that_make_no_sense_are_refused(change: dict[str, float], scores: int, text: str) -> None:
    """What TFLM refuses, and where it would write elsewhere."""
    case = model({**_OPTIONS, **change}, 6, scores, np.random.default_rng(0))
    with pytest.raises(ModelError, match=text):
        parse_tflite(case.model, "wrong.tflite")


def test_missing_option_and_wrong_outputs_are_refused() -> None:
    """The file says how many detections there are, in two places."""
    without = {name: value for name, value in _OPTIONS.items() if name != "h_scale"}
    with pytest.raises(ModelError, match="its options have no h_scale"):
        parse_tflite(model(without, 6, 3, np.random.default_rng(0)).model, "wrong.tflite")
    data = model(_OPTIONS, 6, 3, np.random.default_rng(0), places=7).model
    with pytest.raises(
        ModelError, match=r"its outputs are \[1, 7, 4\] float32.*its options ask for \[1, 8, 4\] float32"
    ):
        parse_tflite(data, "wrong.tflite")


def test_quantized_inputs_are_refused() -> None:
    """As by TFLM, which has floats alone."""
    data = model(_OPTIONS, 6, 3, np.random.default_rng(0), dtype=DType.U8).model
    with pytest.raises(ModelError, match="its inputs are of types u8, u8, f32; TFLM takes f32 alone"):
        parse_tflite(data, "wrong.tflite")
