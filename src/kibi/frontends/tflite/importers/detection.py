"""The importer of TFLite_Detection_PostProcess, whose options are a flexbuffer map."""

from collections.abc import Mapping, Sequence

import numpy as np

from kibi.dtypes import DType
from kibi.frontends.tflite.importers.base import Importer, OptionsError
from kibi.frontends.tflite.reader import Options
from kibi.ir import Operator, OperatorError, Tensor
from kibi.ops import CustomOptions, DetectionPostProcess

_AGAIN = "Export the model again; the file is damaged"
_NEEDED = ("max_detections", "max_classes_per_detection", "nms_iou_threshold", "num_classes")
_SCALES = ("y_scale", "x_scale", "h_scale", "w_scale")
_THRESHOLDS = ("nms_score_threshold", "nms_iou_threshold")
_INTEGERS = ("max_detections", "max_classes_per_detection", "detections_per_class", "num_classes")


def _detection(options: Options) -> Operator:
    """The operator from its options.

    Raises:
        OptionsError: one is missing, or no number.
    """
    try:
        values = CustomOptions(options.data).values()
    except OperatorError as error:
        raise OptionsError(error.what, _AGAIN) from error
    missing = [name for name in (*_NEEDED, *_SCALES) if name not in values]
    if missing:
        raise OptionsError(f"its options have no {', '.join(missing)}", _AGAIN)
    integers = {name: int(_number(values, name)) for name in _INTEGERS if name in values}
    floats = {name: float(np.float32(_number(values, name))) for name in (*_SCALES, *_THRESHOLDS)}
    return DetectionPostProcess(
        max_detections=integers["max_detections"],
        max_classes_per_detection=integers["max_classes_per_detection"],
        detections_per_class=integers.get("detections_per_class", 100),
        use_regular_nms=bool(_number(values, "use_regular_nms")),
        num_classes=integers["num_classes"],
        **floats,
    )


def _number(values: Mapping[str, object], name: str) -> float:
    """An option that is a number; 0 where it is left out, as in TFLM."""
    value = values.get(name, 0)
    if not isinstance(value, int | float) or not abs(value) < 1 << 31:
        raise OptionsError(f"its option {name} is {value!r}, not a number below 2**31", _AGAIN)
    return value


def _check_inputs(options: Options, inputs: Sequence[Tensor | None]) -> None:
    """TFLM has this operator of floats alone."""
    del options
    found = [tensor.type.dtype for tensor in inputs if tensor is not None]
    if set(found) - {DType.F32}:
        types = ", ".join(map(str, found))
        raise OptionsError(
            f"its inputs are of types {types}; TFLM takes f32 alone", "Put a DEQUANTIZE before each input"
        )


DETECTION = Importer(_detection, check=_check_inputs)
"""Of the custom operator of that name."""
