"""Resize: by the kernels for images where they compute the same, else by constant matrices along each axis."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from kibi.dtypes import DType
from kibi.frontends.onnx.draft import Tensor
from kibi.frontends.onnx.emitter import Emitter, channels_last
from kibi.frontends.onnx.graph import Node, Numbers
from kibi.frontends.onnx.library import onnx_library
from kibi.frontends.onnx.lowering.entry import Lowering
from kibi.frontends.onnx.lowering.moving import constant_of, gathered
from kibi.frontends.onnx.problems import Unsupported

_FLAGS = {
    "asymmetric": (False, False),
    "half_pixel": (False, True),
    "pytorch_half_pixel": (False, True),
    "align_corners": (True, False),
}


def _resize(e: Emitter, node: Node) -> None:
    before, after = e.shape(node.inputs[0]), e.shape(node.outputs[0])
    rank = len(before)
    is_image = rank in (3, 4) and before[:2] == after[:2]
    order = channels_last(rank) if is_image else e.order_of(node.inputs[:1], rank)
    x = e.tensor(node.inputs[0], order)
    mode = node.text("mode", "nearest")
    matrices = {axis: _matrix(e, node, axis) for axis in range(rank) if _changes(e, node, axis)}
    if mode == "nearest":
        e.give(node.outputs[0], _nearest(e, x, order, matrices, is_image=is_image), order)
        return
    result = _linear(e, node, x, order, matrices) if is_image and mode == "linear" else None
    e.give(node.outputs[0], result or _by_matrices(e, x, order, matrices), order)


def _changes(e: Emitter, node: Node, axis: int) -> bool:
    before, after = e.shape(node.inputs[0])[axis], e.shape(node.outputs[0])[axis]
    scale = _scale(e, node, axis)
    return before != after or scale not in (None, 1.0) or _region(e, node, axis) is not None


def _place(e: Emitter, node: Node, axis: int) -> int | None:
    """Where an axis is among those that the node names; None if it is none of them."""
    rank = len(e.shape(node.inputs[0]))
    axes = [each + rank if each < 0 else each for each in node.integers("axes", tuple(range(rank)))]
    return axes.index(axis) if axis in axes else None


def _scale(e: Emitter, node: Node, axis: int) -> float | None:
    """The scale that the file states for an axis; None if it states sizes."""
    scales = constant_of(e, node, 2, "scales")
    place = _place(e, node, axis)
    return 1.0 if place is None else None if scales is None or not scales.size else float(scales[place])


def _region(e: Emitter, node: Node, axis: int) -> tuple[float, float] | None:
    if node.text("coordinate_transformation_mode", "half_pixel") != "tf_crop_and_resize":
        return None
    region, place = constant_of(e, node, 1, "regions"), _place(e, node, axis)
    if region is None or place is None:
        return None
    return float(region[place]), float(region[place + region.size // 2])


def _matrix(e: Emitter, node: Node, axis: int) -> Numbers:
    """The weights `[after, before]` along one axis, as ONNX's reference computes them from single elements."""
    from onnx.reference import ReferenceEvaluator  # noqa: PLC0415 - an extra: imported where it is used

    helper = onnx_library().helper
    before, after = e.shape(node.inputs[0])[axis], e.shape(node.outputs[0])[axis]
    options: dict[str, Any] = {
        k: v for k, v in node.attributes.items() if k not in ("axes", "keep_aspect_ratio_policy")
    }
    options["extrapolation_value"] = 0.0
    scale, region = _scale(e, node, axis), _region(e, node, axis)
    feeds: dict[str, Numbers] = {"x": np.eye(before, dtype=np.float32)}
    feeds["roi"] = np.array([0, region[0], 1, region[1]] if region else [], np.float32)
    given = ["x", "roi", "", "sizes"] if scale is None else ["x", "roi", "scales"]
    feeds |= (
        {"sizes": np.array([before, after], np.int64)}
        if scale is None
        else {"scales": np.array([1, scale], np.float32)}
    )
    made = helper.make_node("Resize", given, ["y"], **options)
    kind = onnx_library().ValueInfoProto
    graph = helper.make_graph([made], "axis", [kind(name=name) for name in feeds], [kind(name="y")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", max(e.graph.opset, 18))])
    try:
        results: Any = ReferenceEvaluator(model).run(None, feeds)
    except Exception as error:
        raise Unsupported("ONNX's reference cannot compute it", "Use another mode") from error
    found = np.asarray(results[0])
    # Where a value is put in from outside of the region, single elements do not tell it.
    if found.shape != (before, after) or (region is not None and (found.sum(axis=0) == 0).any()):
        raise Unsupported("its values from outside of the image are not supported", "Use another mode")
    matrix: Numbers = np.ascontiguousarray(found.T.astype(np.float32))
    return matrix


def _nearest(
    e: Emitter, x: Tensor, order: tuple[int, ...], matrices: Mapping[int, Numbers], *, is_image: bool
) -> Tensor:
    places = {order.index(axis): matrix.argmax(axis=1) for axis, matrix in matrices.items()}
    for flags in _FLAGS.values() if is_image else ():
        if all(np.array_equal(_kernel_places(x.shape[at], len(to), *flags), to) for at, to in places.items()):
            return _by_kernel(e, "RESIZE_NEAREST_NEIGHBOR", x, {at: len(to) for at, to in places.items()}, flags)
    x = x if x.dtype in (DType.S8, DType.F32) else e.dequantized(x)
    for at, to in places.items():
        x = gathered(e, x, to, at)
    return x


def _kernel_places(before: int, after: int, align_corners: bool, half_pixel: bool) -> Numbers:
    """The places that TFLM's kernel takes (`kernels/internal/reference/resize_nearest_neighbor.h`)."""
    scale = (
        np.float32(before - 1) / np.float32(after - 1)
        if align_corners and after > 1
        else np.float32(before) / np.float32(after)
    )
    at = (np.arange(after, dtype=np.float32) + np.float32(0.5 if half_pixel else 0)) * scale
    found = np.floor(at + np.float32(0.5)) if align_corners else np.floor(at)
    places: Numbers = np.minimum(found, before - 1).astype(np.int64)
    return places


def _linear(
    e: Emitter, node: Node, x: Tensor, order: tuple[int, ...], matrices: Mapping[int, Numbers]
) -> Tensor | None:
    """RESIZE_BILINEAR if it computes the same; else None."""
    mode = node.text("coordinate_transformation_mode", "half_pixel")
    sizes = {order.index(axis): len(matrix) for axis, matrix in matrices.items()}
    if mode not in _FLAGS or node.integer("antialias", 0):
        return None
    flags = _FLAGS[mode]
    for matrix in matrices.values():
        after, before = matrix.shape
        if not np.allclose(_kernel_weights(before, after, *flags), matrix, atol=1e-5):
            return None
    return _by_kernel(e, "RESIZE_BILINEAR", x if x.dtype is DType.S8 else e.dequantized(x), sizes, flags)


def _kernel_weights(before: int, after: int, align_corners: bool, half_pixel: bool) -> Numbers:
    """The weights `[after, before]` of TFLM's kernel (`kernels/internal/reference/resize_bilinear.h`)."""
    scale = (before - 1) / (after - 1) if align_corners and after > 1 else before / after
    at = np.arange(after) * scale if not half_pixel else (np.arange(after) + 0.5) * scale - 0.5
    lower = np.maximum(np.floor(at), 0).astype(int)
    upper = np.minimum(np.ceil(at), before - 1).astype(int)
    part = at - lower
    weights = np.zeros((after, before))
    np.add.at(weights, (np.arange(after), lower), 1 - part)
    np.add.at(weights, (np.arange(after), upper), part)
    return weights


def _by_kernel(e: Emitter, operator: str, x: Tensor, sizes: Mapping[int, int], flags: tuple[bool, bool]) -> Tensor:
    shape = [sizes.get(place, size) for place, size in enumerate(x.shape)]
    image = e.reshaped(x, (x.shape[0], 1, *x.shape[1:])) if len(shape) == 3 else x
    wide = (shape[0], 1, *shape[1:]) if len(shape) == 3 else tuple(shape)
    options = {"align_corners": flags[0], "half_pixel_centers": flags[1]}
    result = e.add(operator, [image, e.numbers(wide[1:3])], wide, x.dtype, x.quantization, **options)
    return e.reshaped(result, shape)


def _by_matrices(e: Emitter, x: Tensor, order: tuple[int, ...], matrices: Mapping[int, Numbers]) -> Tensor:
    x = e.dequantized(x)
    if x.dtype is not DType.F32:
        raise Unsupported(f"elements of {x.dtype} are not supported", "Use float32")
    for axis, matrix in matrices.items():
        at = order.index(axis)
        outer, inner = math.prod(x.shape[:at]), math.prod(x.shape[at + 1 :])
        flat = e.reshaped(x, (outer, x.shape[at], inner))
        weights = e.constant(np.ascontiguousarray(matrix)[None])
        product = e.add("BATCH_MATMUL", [weights, flat], (outer, len(matrix), inner), DType.F32)
        x = e.reshaped(product, (*x.shape[:at], len(matrix), *x.shape[at + 1 :]))
    return x


RESIZING: Mapping[str, Lowering] = {
    "Resize": Lowering(
        _resize,
        ("RESIZE_NEAREST_NEIGHBOR", "RESIZE_BILINEAR", "GATHER", "BATCH_MATMUL"),
        True,
        "Scales, sizes and regions are constants.",
    ),
}
"""By ONNX's name of the operator."""
