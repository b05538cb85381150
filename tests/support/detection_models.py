"""Drawn models of TFLite_Detection_PostProcess, with few scores, so that many are equal, and boxes that overlap."""

from collections.abc import Callable, Mapping

import numpy as np
from flatbuffers import flexbuffers

from kibi.dtypes import DType
from kibi.frontends.tflite.builder import ModelBuilder
from tests.support.case import Case
from tests.support.choices import Choices, flip

NAME = "TFLite_Detection_PostProcess"


def detection(c: Choices) -> Case:
    """Any boxes, of which TFLM finds no area empty.

    Without `use_regular_nms` TFLM writes no further than the last detection, so that all places are taken here: no box is left
    out, and there are no more places than boxes.
    """
    boxes, classes, is_regular = c.integer(1, 24), c.integer(1, 5), flip(c)
    most = c.integer(1, 12 if is_regular else boxes)
    options = {
        "max_detections": most,
        "max_classes_per_detection": c.one_of((1, 1, 2)) if is_regular else 1,
        "num_classes": classes,
        "nms_iou_threshold": c.one_of((0.125, 0.5, 0.75, 1.0)) if is_regular else 1.0,
        **{f"{side}_scale": c.one_of((10.0, 5.0, 1.0, 4)) for side in "yxhw"},
    }
    if is_regular:
        options |= {"use_regular_nms": True, "nms_score_threshold": c.one_of((0.0, 0.25, 1.5))}
        options |= c.one_of(({}, {"detections_per_class": c.integer(1, 8)}))
    else:
        options |= c.one_of(({}, {"use_regular_nms": False}))
    return model(options, boxes, classes + flip(c), np.random.default_rng(c.integer(0, 1 << 30)), free_anchors=flip(c))


def model(
    options: Mapping[str, float],
    boxes: int,
    scores: int,
    rng: np.random.Generator,
    *,
    free_anchors: bool = False,
    places: int | None = None,
    dtype: DType = DType.F32,
) -> Case:
    """A model of these options, with inputs.

    Args:
        options: of the operator.
        boxes: how many.
        scores: of each box.
        rng: for the inputs.
        free_anchors: whether the anchors are an input.
        places: in the outputs; None: as many as the options say.
        dtype: of boxes and scores as the file says.
    """
    b, most = ModelBuilder(), places or int(options["max_detections"])
    numbers = int(rng.choice((4, 4, 6)))
    encoded = rng.normal(0.0, 2.0, (1, boxes, numbers)).astype(np.float32)
    given = rng.choice(np.array([0.0, 0.125, 0.25, 0.5, 0.75, 1.0], np.float32), (1, boxes, scores))
    anchors = np.concatenate([rng.random((boxes, 2)), 0.05 + rng.random((boxes, 2))], axis=1).astype(np.float32)
    inputs = [b.input(array.shape, dtype) for array in (encoded, given)]
    inputs.append(b.input(anchors.shape, DType.F32) if free_anchors else b.constant(anchors))
    outputs = [b.tensor(shape, DType.F32) for shape in ([1, most, 4], [1, most], [1, most], [1])]
    data = bytes(flexbuffers.Dumps(dict(options)))
    b.operator("CUSTOM", inputs, outputs, custom_code=NAME, custom_options=data)
    return Case(NAME, b.finish(outputs), (encoded, given, *((anchors,) if free_anchors else ())))


DETECTION_MODELS: Mapping[str, Callable[[Choices], Case]] = {NAME: detection}
"""How models of the operator are drawn."""
