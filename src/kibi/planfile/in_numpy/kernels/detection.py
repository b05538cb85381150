"""TFLite_Detection_PostProcess."""

import numpy as np

from kibi.ops.detection_postprocess import DetectionPostProcess
from kibi.planfile.in_numpy.call import Call
from kibi.planfile.in_numpy.registry import kernel


@kernel("kibi_detection_postprocess_f32")
def detection_postprocess(call: Call) -> None:
    """Boxes are decoded step by step; the last step chooses the best detections: rule N40."""
    p = call.numbers
    operator = DetectionPostProcess(
        max_detections=p.most,
        detections_per_class=p.most_of_a_class,
        use_regular_nms=bool(p.is_regular),
        num_classes=p.classes,
        nms_score_threshold=p.least_score,
        nms_iou_threshold=p.most_overlap,
        y_scale=p.y_scale,
        x_scale=p.x_scale,
        h_scale=p.h_scale,
        w_scale=p.w_scale,
    )
    whole = operator.accumulation_of(p.boxes, p.first_class)
    work = call.work(len(whole.start), "<f4")
    if call.step == 0:
        work[:] = whole.start
    rows = [call.row(0, 4, "<f4"), call.row(1, p.first_class + p.classes, "<f4"), call.row(2, 4, "<f4")]
    whole.add(work, [[row] for row in rows], call.step)
    if call.step == p.boxes - 1:
        made = whole.finish(work)
        for number, each in enumerate(made if isinstance(made, list) else [made]):
            call.write(np.asarray(each, np.float32), number)
