"""TFLite_Detection_PostProcess."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from kibi.dtypes import Array, DType
from kibi.ir import Accumulation, KernelCall, Made, NodeView, Operator, OperatorError, RowAccess, Rows, TensorType
from kibi.kernels.params.detection import DetectionPostprocessParams
from kibi.ops import checks
from kibi.ops.registry import register
from kibi.quant import exp_f64

_Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class DetectionPostProcess(Operator):
    """The best detections: boxes [1, N, 4 or more], scores [1, N, C or C + 1], anchors [N, 4], all f32 → four outputs of f32.

    The outputs are the boxes [1, M, 4] as y and x of both corners, their classes [1, M], their scores [1, M], and how many there
    are [1]; models may have other shapes of as many elements. Places without a detection are 0. The boxes that are read are y,
    x, h, w, in units of their anchors. Where one has no area TFLM stops with an error; here is no detection then. Source: TFLM
    `micro/kernels/detection_postprocess.cc`.

    Attributes:
        max_detections: M.
        max_classes_per_detection: of each box, without `use_regular_nms`; 1.
        detections_per_class: the most of a class, with `use_regular_nms`.
        use_regular_nms: true if overlaps are looked for in each class by itself, or among the boxes' best classes.
        num_classes: C, without the background, which comes first where it is there.
        nms_score_threshold: the least score.
        nms_iou_threshold: the most intersection over union of two detections; above 0, at most 1.
        y_scale, x_scale, h_scale, w_scale: what the boxes are divided by.
    """

    name: ClassVar[str] = "TFLite_Detection_PostProcess"
    inputs: ClassVar[tuple[str, ...]] = ("boxes", "scores", "anchors")
    outputs: ClassVar[tuple[str, ...]] = ("output", "output_classes", "output_scores", "output_count")
    row_inputs: ClassVar[tuple[str, ...]] = inputs
    kernels: ClassVar[tuple[str, ...]] = ("kibi_detection_postprocess_f32",)
    types: ClassVar[tuple[DType, ...]] = (DType.F32,)
    flow_depends_on_elements: ClassVar[bool] = True

    max_detections: int = 1
    max_classes_per_detection: int = 1
    detections_per_class: int = 100
    use_regular_nms: bool = False
    num_classes: int = 1
    nms_score_threshold: float = 0.0
    nms_iou_threshold: float = 0.5
    y_scale: float = 1.0
    x_scale: float = 1.0
    h_scale: float = 1.0
    w_scale: float = 1.0

    def infer(self, view: NodeView) -> list[TensorType]:
        """The outputs, where shapes and attributes are such that TFLM neither stops nor reads and writes elsewhere."""
        for name in ("scores", "anchors"):
            checks.dtype(view, name, DType.F32)
        self._check_attributes()
        (batch, boxes, numbers), scores = checks.rank(view, "boxes", 3), checks.rank(view, "scores", 3)
        if batch != 1 or numbers < 4:
            raise OperatorError(f"boxes have shape {[batch, boxes, numbers]}, not [1, N, 4]", operand="boxes")
        if scores[:2] != (1, boxes) or not self.num_classes <= scores[2] <= self.num_classes + 1:
            wanted = f"[1, {boxes}, {self.num_classes}], or one class more for the background"
            raise OperatorError(f"scores have shape {list(scores)}, not {wanted}", operand="scores")
        anchors = checks.rank(view, "anchors", 2)
        if anchors != (boxes, 4):
            raise OperatorError(f"anchors have shape {list(anchors)}, not {[boxes, 4]}", operand="anchors")
        self._check_outputs(view)
        return [TensorType(tensor.type.shape, DType.F32) for tensor in view.outputs]

    def _check_outputs(self, view: NodeView) -> None:
        """TFLM writes as many numbers as the attributes say, whatever the shapes."""
        most = self.max_detections
        usual = [TensorType(shape, DType.F32) for shape in ((1, most, 4), (1, most), (1, most), (1,))]
        made = [tensor.type for tensor in view.outputs]
        if [(kind.elements, kind.dtype) for kind in made] != [(kind.elements, kind.dtype) for kind in usual]:
            given, right = (", ".join(map(str, kinds)) for kinds in (made, usual))
            what = f"its outputs are {given}, but its options ask for {right}"
            raise OperatorError(what, "Export it with static shapes", "output")

    def _check_attributes(self) -> None:
        least = {"max_detections": 1, "num_classes": 1, "max_classes_per_detection": 1, "detections_per_class": 1}
        for name, low in least.items():
            if getattr(self, name) < low:
                raise OperatorError(f"{name} is {getattr(self, name)}, but must be at least {low}")
        if not 0 < self.nms_iou_threshold <= 1:
            raise OperatorError(f"nms_iou_threshold is {self.nms_iou_threshold:g}, but must be above 0 and at most 1")
        for name in ("y_scale", "x_scale", "h_scale", "w_scale"):
            if not (np.isfinite(getattr(self, name)) and getattr(self, name)):
                raise OperatorError(f"{name} is {getattr(self, name):g}, by which nothing can be divided")
        if not self.use_regular_nms and min(self.max_classes_per_detection, self.num_classes) > 1:
            what = f"{self.max_classes_per_detection} classes for each detection are not supported"
            raise OperatorError(f"{what}: TFLM writes them to wrong places", "Export the model with one")

    def steps(self, view: NodeView) -> int:
        """One for each box."""
        return view["boxes"].type.shape[1]

    def accumulates(self, view: NodeView) -> bool:
        """Decoded boxes and their scores are kept until all are there."""
        del view
        return True

    def accesses(self, view: NodeView) -> tuple[RowAccess, ...]:
        """A box, its scores, its anchor."""
        boxes = self.steps(view)
        same = RowAccess.same(boxes)
        return same, same, RowAccess(boxes, boxes, parts=boxes)

    def reference(self, view: NodeView) -> Callable[[Rows], Made]:
        """All boxes at once."""
        whole = self.accumulation(view)

        def row(rows: Rows) -> Made:
            work = whole.start.copy()
            for step, pieces in enumerate(zip(*rows, strict=True)):
                whole.add(work, [[piece] for piece in pieces], step)
            return whole.finish(work)

        return row

    def accumulation(self, view: NodeView) -> Accumulation:
        """Rule N40: decoded boxes and scores, from which detections are chosen at the end."""
        return self.accumulation_of(self.steps(view), view["scores"].type.shape[2] - self.num_classes)

    def accumulation_of(self, boxes: int, first: int) -> Accumulation:
        """The same for so many boxes, whose scores begin at a place of their rows."""
        planes = self._planes

        def add(work: Array, rows: Rows, step: int) -> None:
            encoded, scores, anchor = (np.asarray(row[0], np.float32).reshape(-1) for row in rows)
            work[4 * step : 4 * step + 4] = self._decoded(encoded[:4], anchor)
            kept = work[4 * boxes :].reshape(-1)
            if self.use_regular_nms:
                kept[step : planes * boxes : boxes] = scores[first:]
            else:
                best = max(range(self.num_classes), key=lambda number: scores[first + number])
                kept[step], kept[boxes + step] = scores[first + best], best

        def finish(work: Array) -> list[Array]:
            corners = np.asarray(work[: 4 * boxes], np.float32).reshape(-1, 4)
            scores = np.asarray(work[4 * boxes :], np.float32)[: (planes + 1) * boxes].reshape(-1, boxes)
            return self._outputs(corners, self._detections(corners, scores))

        return Accumulation(np.zeros(self._scratch_bytes(boxes) // 4, np.float32), add, finish)

    def kernel_call(self, view: NodeView) -> KernelCall:
        """One kernel, called for each box."""
        boxes = self.steps(view)
        params = DetectionPostprocessParams(
            boxes=boxes,
            classes=self.num_classes,
            first_class=view["scores"].type.shape[2] - self.num_classes,
            is_regular=int(self.use_regular_nms),
            most=self.max_detections,
            most_of_a_class=self.detections_per_class,
            y_scale=float(self.y_scale),
            x_scale=float(self.x_scale),
            h_scale=float(self.h_scale),
            w_scale=float(self.w_scale),
            least_score=float(self.nms_score_threshold),
            most_overlap=float(self.nms_iou_threshold),
        )
        kernel, scratch_bytes = "kibi_detection_postprocess_f32", self._scratch_bytes(boxes)
        # The last call has read its rows before it writes.
        return KernelCall(
            kernel, params, scratch_bytes, takes_step=True, is_untyped=True, inplace_distance_bytes=(0, 0, 0)
        )

    @property
    def _planes(self) -> int:
        """Returns how many scores of each box are kept."""
        return self.num_classes if self.use_regular_nms else 1

    def _scratch_bytes(self, boxes: int) -> int:
        """Corners, scores, best classes if they are kept, an order of boxes, and detections of three numbers."""
        numbers = 4 + self._planes + (1 if self.use_regular_nms else 2)
        return 4 * (boxes * numbers + 3 * self.max_detections)

    def _decoded(self, encoded: _Floats, anchor: _Floats) -> _Floats:
        """The corners of a box: y and x of the lower one, then of the upper one."""
        scales = np.array([self.y_scale, self.x_scale, self.h_scale, self.w_scale], np.float32).astype(np.float64)
        sizes = anchor[2:].astype(np.float64)
        with np.errstate(all="ignore"):
            relative = encoded.astype(np.float64) / scales
            center = (relative[:2] * sizes + anchor[:2].astype(np.float64)).astype(np.float32)
            half = (0.5 * exp_f64(relative[2:]) * sizes).astype(np.float32)
            return np.concatenate([center - half, center + half])

    def _detections(self, corners: _Floats, scores: _Floats) -> list[tuple[int, int, np.float32]]:
        """Box, class and score of each detection, best first; equal ones as they were found."""
        if (corners[:, :2] >= corners[:, 2:]).any():
            return []
        if not self.use_regular_nms:
            chosen = self._selected(corners, scores[0], self.max_detections)
            return [(box, int(scores[1, box]), scores[0, box]) for box in chosen]
        found: list[tuple[int, int, np.float32]] = []
        for number in range(self.num_classes):
            chosen = self._selected(corners, scores[number], self.detections_per_class)
            found += [(box, number, scores[number, box]) for box in chosen]
            found = sorted(found, key=lambda each: -each[2])[: self.max_detections]
        return found

    def _selected(self, corners: _Floats, scores: _Floats, most: int) -> list[int]:
        """The best boxes by these scores, no two of which overlap too much."""
        order = np.argsort(-scores, kind="stable")
        waiting = [int(box) for box in order if scores[box] >= np.float32(self.nms_score_threshold)]
        selected: list[int] = []
        while waiting and len(selected) < most:
            box, *others = waiting
            selected.append(box)
            shares = _overlaps(corners[box], corners[others])
            waiting = [
                other
                for other, share in zip(others, shares, strict=True)
                if not share > np.float32(self.nms_iou_threshold)
            ]
        return selected

    def _outputs(self, corners: _Floats, found: list[tuple[int, int, np.float32]]) -> list[Array]:
        """Boxes, classes, scores, count."""
        boxes, classes, scores = (np.zeros((self.max_detections, size), np.float32) for size in (4, 1, 1))
        for place, (box, number, score) in enumerate(found):
            boxes[place], classes[place], scores[place] = corners[box], number, score
        return [boxes, classes, scores, np.array([len(found)], np.float32)]


def _overlaps(box: _Floats, others: _Floats) -> _Floats:
    """Intersection over union of a box with each of some others."""
    with np.errstate(all="ignore"):
        area, areas = ((each[..., 2] - each[..., 0]) * (each[..., 3] - each[..., 1]) for each in (box, others))
        sides = np.minimum(box[2:], others[:, 2:]) - np.maximum(box[:2], others[:, :2])
        both = np.maximum(sides[:, 0], np.float32(0)) * np.maximum(sides[:, 1], np.float32(0))
        shares = both / (area + areas - both)
    return np.where((area <= 0) | (areas <= 0), np.float32(0), shares)


register(DetectionPostProcess)
