"""Parameters of the kernel that chooses detections: TFLite_Detection_PostProcess."""

from kibi.dtypes import DType
from kibi.kernels.params.description import Params, number


class DetectionPostprocessParams(Params, kernels=("kibi_detection_postprocess_f32",)):
    """TFLite_Detection_PostProcess: boxes are decoded step by step; the last step chooses the best detections."""

    boxes: int = number(DType.S32, "how many there are, which is the number of steps")
    classes: int = number(DType.S32, "that can be detected")
    first_class: int = number(
        DType.S32,
        "where their scores begin in a row: after those of the background, if there are any",
    )
    is_regular: int = number(
        DType.S32,
        "not 0: overlaps are looked for in each class by itself; 0: among the boxes' best classes",
    )
    most: int = number(DType.S32, "detections, and places in the outputs")
    most_of_a_class: int = number(DType.S32, "detections of one class, if is_regular is not 0")
    y_scale: float = number(DType.F32, "encoded boxes are divided by the scales")
    x_scale: float = number(DType.F32)
    h_scale: float = number(DType.F32)
    w_scale: float = number(DType.F32)
    least_score: float = number(DType.F32, "that a detection has")
    most_overlap: float = number(DType.F32, "intersection over union of two detections; above 0")
    contract = """
        require: 1 <= min(classes, most)
        require: 0 <= first_class
        require: 0 <= is_regular <= 1
        require: node_steps == boxes
        input: 1 x 4 of_bytes 4
        input: 1 x first_class + classes of_bytes 4
        input: 1 x 4 of_bytes 4
        output: most * 4 of_bytes 4
        output: most of_bytes 4
        output: most of_bytes 4
        output: 1 of_bytes 4
        scratch: 4 * (boxes * (7 + is_regular * (classes - 2)) + 3 * most) aligned 4
    """
