"""Operators that slide windows: convolutions and pools, of one or two axes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kibi.dtypes import DType
from kibi.frontends.onnx.draft import Quantization, Tensor
from kibi.frontends.onnx.emitter import Emitter, channels_last
from kibi.frontends.onnx.graph import Node, Numbers
from kibi.frontends.onnx.lowering.entry import Lowering
from kibi.frontends.onnx.lowering.moving import ranged
from kibi.frontends.onnx.problems import Unsupported
from kibi.frontends.onnx.real import Real
from kibi.frontends.onnx.targets import are_integers, target
from kibi.frontends.onnx.weights import layer, real_constant

_LOWEST = float(np.finfo(np.float32).min)


@dataclass(frozen=True, slots=True)
class Geometry:
    """The windows of an operator; all have two axes, height and width. One axis of ONNX is the width.

    Attributes:
        kernel, stride, dilation: of each axis.
        before, after: the padding of each axis.
    """

    kernel: tuple[int, int]
    stride: tuple[int, int]
    dilation: tuple[int, int]
    before: tuple[int, int]
    after: tuple[int, int]

    @property
    def reach(self) -> tuple[int, int]:
        """The extent of the window in each axis."""
        (a, b), (c, d) = self.kernel, self.dilation
        return (a - 1) * c + 1, (b - 1) * d + 1

    def padding(self, sizes: Sequence[int], outputs: Sequence[int]) -> str:
        """The schema's name of the padding; empty if it has none for it."""
        if not any((*self.before, *self.after)):
            return "VALID"
        for axis in range(2):
            wanted = max((outputs[axis] - 1) * self.stride[axis] + self.reach[axis] - sizes[axis], 0)
            is_complete = outputs[axis] == -(-sizes[axis] // self.stride[axis])
            if not is_complete or (self.before[axis], self.after[axis]) != (wanted // 2, wanted - wanted // 2):
                return ""
        return "SAME"


def spatial(e: Emitter, name: str) -> Tensor:
    """A value `[N, C, H, W]` or `[N, C, W]` as `[N, H, W, C]`; one axis becomes the width.

    Raises:
        Unsupported: it has more axes.
    """
    rank = len(e.shape(name))
    if rank not in (3, 4):
        raise Unsupported(f"windows of {rank - 2} axes are not supported", "Use windows of one or two axes")
    tensor = e.tensor(name, channels_last(rank))
    return e.reshaped(tensor, (tensor.shape[0], 1, *tensor.shape[1:])) if rank == 3 else tensor


def give_spatial(e: Emitter, name: str, tensor: Tensor) -> None:
    """Says that a tensor `[N, H, W, C]` is a value."""
    rank = len(e.shape(name))
    order = channels_last(rank)
    e.give(name, e.reshaped(tensor, tuple(e.shape(name)[axis] for axis in order)), order)


def geometry(node: Node, sizes: Sequence[int], kernel: Sequence[int], outputs: Sequence[int]) -> Geometry:
    """The windows of a node over `[H, W]` or `[W]`."""
    count = len(kernel)
    stride = node.integers("strides", (1,) * count)
    dilation = node.integers("dilations", (1,) * count)
    auto = node.text("auto_pad", "NOTSET")
    pads = node.integers("pads", (0,) * (2 * count))
    if auto == "VALID":
        pads = (0,) * (2 * count)
    elif auto != "NOTSET":
        totals = [
            max((out - 1) * step + (k - 1) * d + 1 - size, 0)
            for out, step, k, d, size in zip(outputs, stride, kernel, dilation, sizes, strict=True)
        ]
        small = [total // 2 for total in totals]
        large = [total - half for total, half in zip(totals, small, strict=True)]
        pads = (*small, *large) if auto == "SAME_UPPER" else (*large, *small)
    return Geometry(
        _two(tuple(kernel), 1), _two(stride, 1), _two(dilation, 1), _two(pads[:count], 0), _two(pads[count:], 0)
    )


def _two(values: tuple[int, ...], default: int) -> tuple[int, int]:
    return (default, values[0]) if len(values) == 1 else (values[0], values[1])


def padded(e: Emitter, x: Tensor, before: Sequence[int], after: Sequence[int], value: float | None = None) -> Tensor:
    """A tensor `[N, H, W, C]` with more rows and columns: zeros, or the least number where `value` is given."""
    pairs = [(0, 0), *zip(before, after, strict=True), (0, 0)]
    if not any(any(pair) for pair in pairs):
        return x
    shape = [size + sum(pair) for size, pair in zip(x.shape, pairs, strict=True)]
    paddings = e.constant(np.array(pairs, np.int32))
    if value is None:
        return e.add("PAD", [x, paddings], shape, x.dtype, x.quantization)
    least = value if x.dtype is DType.F32 else x.dtype.limits[0]
    filling = e.constant(np.array([least], x.dtype.numpy), x.quantization)
    return e.add("PADV2", [x, paddings, filling], shape, x.dtype, x.quantization)


def _missing(g: Geometry, sizes: Sequence[int], outputs: Sequence[int]) -> tuple[int, int]:
    """What is to be padded after each axis so that all windows fit, as rounding up asks for."""
    made = []
    for axis in range(2):
        needed = (outputs[axis] - 1) * g.stride[axis] + g.reach[axis]
        made.append(max(g.after[axis], needed - sizes[axis] - g.before[axis]))
    return made[0], made[1]


def _conv(e: Emitter, node: Node) -> None:
    x = spatial(e, node.inputs[0])
    name, result = node.inputs[1], node.outputs[0]
    if not e.graph.values[name].is_constant:
        raise Unsupported("its weights are computed by the model", "Use constant weights")
    shape = e.shape(name)
    g = geometry(node, e.shape(node.inputs[0])[2:], shape[2:], e.shape(result)[2:])
    channels, groups = x.shape[3], node.integer("group", 1)
    outputs = (1, 1, *e.shape(result)[2:])[-2:]
    padding = g.padding(x.shape[1:3], outputs)
    is_depthwise = groups == channels and groups > 1
    weights = _filter(e, name, is_depthwise=is_depthwise)
    bias = real_constant(e, node.inputs[2]) if node.input(2) else None
    if node.input(2) and bias is None:
        raise Unsupported("its bias is computed by the model", "Use a constant bias")
    parts = layer(e, node, x, weights, bias, axis=3 if is_depthwise else 0)
    x = parts.input if padding else padded(e, parts.input, g.before, g.after)
    options: dict[str, Any] = {"stride_h": g.stride[0], "stride_w": g.stride[1], "padding": padding or "VALID"}
    options |= {"dilation_h_factor": g.dilation[0], "dilation_w_factor": g.dilation[1]}
    if is_depthwise:
        options["depth_multiplier"] = shape[0] // channels
    tensor = e.add(
        "DEPTHWISE_CONV_2D" if is_depthwise else "CONV_2D",
        [x, parts.filter, parts.bias],
        (x.shape[0], *outputs, shape[0]),
        parts.dtype,
        parts.quantization,
        fused_activation_function=node.activation,
        **options,
    )
    give_spatial(e, result, tensor)


def _filter(e: Emitter, name: str, *, is_depthwise: bool) -> Tensor:
    """Weights `[O, I, (H,) W]` as `[O, H, W, I]`, or of a depthwise convolution as `[1, H, W, O]`."""
    rank = len(e.shape(name))
    order = (1, *range(2, rank), 0) if is_depthwise else channels_last(rank)
    tensor = e.tensor(name, order)
    if rank == 4:
        return tensor
    assert tensor.data is not None  # noqa: S101 (weights are constants; said for the type checker)
    data = tensor.data[:, None]
    meant = tensor.quantization
    if meant is not None and meant.is_per_channel and is_depthwise:
        meant = replace(meant, axis=3)
    return e.constant(data, meant)


def _conv_transpose(e: Emitter, node: Node) -> None:
    x = spatial(e, node.inputs[0])
    name, result = node.inputs[1], node.outputs[0]
    if not e.graph.values[name].is_constant or (node.input(2) and real_constant(e, node.inputs[2]) is None):
        raise Unsupported("its weights are computed by the model", "Use constant weights")
    sizes, outputs = e.shape(node.inputs[0])[2:], e.shape(result)[2:]
    kernel = e.shape(name)[2:]
    stride, dilation = (node.integers(key, (1,) * len(kernel)) for key in ("strides", "dilations"))
    weights = _transposed_filter(e, name, node.integer("group", 1), _two(dilation, 1))
    bias = real_constant(e, node.inputs[2]) if node.input(2) else None
    parts = layer(e, node, x, weights, bias)
    steps = _two(stride, 1)
    reach = weights.shape[1:3]
    full = [(size - 1) * step + k for size, step, k in zip(x.shape[1:3], steps, reach, strict=True)]
    before = _two(
        _starts(node, sizes, outputs, stride, [(k - 1) * d + 1 for k, d in zip(kernel, dilation, strict=True)]), 0
    )
    wanted = _two(tuple(outputs), 1)
    enough = tuple(max(size, first + out) for size, first, out in zip(full, before, wanted, strict=True))
    shape = (x.shape[0], *enough, parts.filter.shape[0])
    tensor = e.add(
        "TRANSPOSE_CONV",
        [e.numbers(shape), parts.filter, parts.input, parts.bias],
        shape,
        parts.dtype,
        parts.quantization,
        padding="VALID",
        stride_h=steps[0],
        stride_w=steps[1],
        fused_activation_function=node.activation,
    )
    if enough != wanted:
        final = (x.shape[0], *wanted, shape[3])
        begin = e.numbers((0, *before, 0))
        tensor = e.add("SLICE", [tensor, begin, e.numbers(final)], final, tensor.dtype, tensor.quantization)
    give_spatial(e, result, tensor)


def _starts(
    node: Node, sizes: Sequence[int], outputs: Sequence[int], stride: Sequence[int], reach: Sequence[int]
) -> tuple[int, ...]:
    """How much of the full result is left out before each axis."""
    count = len(sizes)
    auto = node.text("auto_pad", "NOTSET")
    extra = node.integers("output_padding", (0,) * count)
    if auto == "NOTSET" and "output_shape" not in node.attributes:
        return node.integers("pads", (0,) * (2 * count))[:count]
    totals = [
        max(step * (size - 1) + more + k - out, 0)
        for step, size, more, k, out in zip(stride, sizes, extra, reach, outputs, strict=True)
    ]
    return tuple(total - total // 2 if auto == "SAME_LOWER" else total // 2 for total in totals)


def _transposed_filter(e: Emitter, name: str, groups: int, dilation: tuple[int, int]) -> Tensor:
    """Weights `[I, O / groups, (H,) W]` as `[O, H, W, I]`: what groups and dilation leave out is zero."""
    tensor = e.tensor(name)
    data, meant = np.asarray(tensor.data), tensor.quantization
    if (
        meant is not None
        and (meant.is_per_channel or meant.zero_point)
        and (groups > 1 or meant.axis != 1 or any(meant.zero_points))
    ):
        data, meant = np.asarray(e.dequantized(tensor).data), None
    data = data[:, :, None] if data.ndim == 3 else data
    inputs, outputs, height, width = data.shape
    shape = (outputs * groups, (height - 1) * dilation[0] + 1, (width - 1) * dilation[1] + 1, inputs)
    made = np.zeros(shape, data.dtype)
    per_group = inputs // groups
    for group in range(groups):
        rows = slice(group * outputs, (group + 1) * outputs)
        columns = slice(group * per_group, (group + 1) * per_group)
        part = data[columns].transpose(1, 2, 3, 0)
        made[rows, :: dilation[0], :: dilation[1], columns] = part
    if meant is not None and meant.is_per_channel:
        meant = replace(meant, axis=0)
    return e.constant(made, meant)


def _max_pool(e: Emitter, node: Node) -> None:
    if len([name for name in node.outputs if name]) > 1:
        raise Unsupported("its second output, the places of the largest elements, is not supported", "Leave it out")
    g, x, outputs = _pool(e, node, any_dilation=True)
    if g.dilation == (1, 1):
        _give_pool(e, node, "MAX_POOL_2D", x, g, outputs, _LOWEST)
    else:
        _give_dilated(e, node, x, g, outputs)


def _give_dilated(e: Emitter, node: Node, x: Tensor, g: Geometry, outputs: tuple[int, int]) -> None:
    """The largest elements of windows with gaps: of one picture for each place of the window."""
    x = padded(e, x, g.before, _missing(g, x.shape[1:3], outputs), _LOWEST)
    spans = [(size - 1) * stride + 1 for size, stride in zip(outputs, g.stride, strict=True)]
    largest: Tensor | None = None
    for row, column in np.ndindex(g.kernel):
        starts = (row * g.dilation[0], column * g.dilation[1])
        chosen = [range(x.shape[0]), *map(_stretch, starts, spans, g.stride), range(x.shape[3])]
        part = ranged(e, x, chosen)
        largest = part if largest is None else e.like("MAXIMUM", [largest, part])
    assert largest is not None  # noqa: S101 (a window has a place; said for the type checker)
    give_spatial(e, node.outputs[0], _limited(e, largest, node.activation))


def _stretch(start: int, span: int, step: int) -> range:
    return range(start, start + span, step)


def _limited(e: Emitter, x: Tensor, activation: str) -> Tensor:
    """A tensor after an activation."""
    return x if activation == "NONE" else e.like(activation, [x])


def _pool(e: Emitter, node: Node, *, any_dilation: bool = False) -> tuple[Geometry, Tensor, tuple[int, int]]:
    """The windows of a pool, its input, and the sizes of its output."""
    x = spatial(e, node.inputs[0])
    sizes, outputs = e.shape(node.inputs[0])[2:], e.shape(node.outputs[0])[2:]
    kernel = node.integers("kernel_shape")
    g = geometry(node, sizes, kernel, outputs)
    if g.dilation != (1, 1) and not any_dilation:
        raise Unsupported(f"a dilation of {list(node.integers('dilations'))} is not supported", "Use a dilation of 1")
    return g, x, _two(tuple(outputs), 1)


def _give_pool(
    e: Emitter, node: Node, operator: str, x: Tensor, g: Geometry, outputs: tuple[int, int], value: float | None
) -> Tensor:
    """Emits a pool; where the schema has no name for the padding, a PAD comes before it."""
    padding = g.padding(x.shape[1:3], outputs)
    if not padding or (operator != "MAX_POOL_2D" and padding == "SAME" and value is None):
        padding = ""
    if not padding or (padding == "VALID" and any(_missing(g, x.shape[1:3], outputs))):
        x, padding = padded(e, x, g.before, _missing(g, x.shape[1:3], outputs), value), "VALID"
    tensor = _pooled(e, operator, x, g, outputs, padding, node.activation)
    give_spatial(e, node.outputs[0], tensor)
    return tensor


def _pooled(
    e: Emitter,
    operator: str,
    x: Tensor,
    g: Geometry,
    outputs: tuple[int, int],
    padding: str = "VALID",
    activation: str = "NONE",
) -> Tensor:
    """Emits a pool whose padding has a name in the schema."""
    return e.add(
        operator,
        [x],
        (x.shape[0], *outputs, x.shape[3]),
        x.dtype,
        x.quantization,
        padding=padding,
        stride_h=g.stride[0],
        stride_w=g.stride[1],
        filter_height=g.kernel[0],
        filter_width=g.kernel[1],
        fused_activation_function=activation,
    )


def _average_pool(e: Emitter, node: Node) -> None:
    g, x, outputs = _pool(e, node)
    is_plain = not any((*g.before, *_missing(g, x.shape[1:3], outputs)))
    goal = target(e, node.outputs[0])
    is_summed = is_plain or (bool(node.integer("count_include_pad", 0)) and not node.integer("ceil_mode", 0))
    if goal is not None and goal != x.quantization and is_summed and are_integers([x], goal):
        give_spatial(e, node.outputs[0], _summed(e, node, x, g, outputs, goal))
        return
    is_same = g.padding(x.shape[1:3], outputs) == "SAME" and not node.integer("count_include_pad", 0)
    if is_plain or is_same:
        _give_pool(e, node, "AVERAGE_POOL_2D", x, g, outputs, 0.0)
        return
    # Zeros are counted here; then each mean is brought to the number of elements that count.
    after = _missing(g, x.shape[1:3], outputs)
    counts = _counts(g, x.shape[1:3], outputs, after, is_padding_counted=bool(node.integer("count_include_pad", 0)))
    summed = padded(e, e.dequantized(x), g.before, after)
    tensor = _pooled(e, "AVERAGE_POOL_2D", summed, g, outputs)
    factors = (g.kernel[0] * g.kernel[1] / counts).astype(np.float32).reshape(1, *outputs, 1)
    if (factors != 1).any() or node.activation != "NONE":
        tensor = e.like("MUL", [tensor, e.constant(factors)], fused_activation_function=node.activation)
    give_spatial(e, node.outputs[0], tensor)


def _summed(e: Emitter, node: Node, x: Tensor, g: Geometry, outputs: tuple[int, int], goal: Quantization) -> Tensor:
    """Means in another scale: a depthwise convolution with ones rounds once, a pool and a QUANTIZE would twice."""
    channels = x.shape[3]
    count = g.kernel[0] * g.kernel[1]
    ones = np.ones((1, *g.kernel, channels), np.int8)
    weights = e.constant(ones, Quantization((float(np.float32(1 / count)),), (0,), dtype=DType.S8))
    padding = g.padding(x.shape[1:3], outputs)
    return e.add(
        "DEPTHWISE_CONV_2D",
        [x if padding else padded(e, x, g.before, g.after), weights, None],
        (x.shape[0], *outputs, channels),
        goal.dtype,
        goal,
        padding=padding or "VALID",
        stride_h=g.stride[0],
        stride_w=g.stride[1],
        depth_multiplier=1,
        fused_activation_function=node.activation,
    )


def _counts(
    g: Geometry, sizes: Sequence[int], outputs: Sequence[int], after: Sequence[int], *, is_padding_counted: bool
) -> Numbers:
    """How many elements count in each window `[OH, OW]`."""
    along = []
    for axis in range(2):
        counted = np.zeros(g.before[axis] + sizes[axis] + after[axis])
        counted[g.before[axis] : g.before[axis] + sizes[axis]] = 1
        if is_padding_counted:
            counted[: g.before[axis] + sizes[axis] + g.after[axis]] = 1
        starts = np.arange(outputs[axis]) * g.stride[axis]
        along.append(np.array([counted[start : start + g.kernel[axis]].sum() for start in starts]))
    counts: Numbers = np.maximum(np.outer(*along), 1)
    return counts


def _global_average(e: Emitter, node: Node) -> None:
    _reduced(e, node, "MEAN")


def _global_max(e: Emitter, node: Node) -> None:
    _reduced(e, node, "REDUCE_MAX")


def _reduced(e: Emitter, node: Node, operator: str) -> None:
    x = spatial(e, node.inputs[0])
    goal = target(e, node.outputs[0]) if operator == "MEAN" else x.quantization
    if not are_integers([x], goal, (DType.S8, DType.S16) if operator == "MEAN" else (DType.S8,)):
        x, goal = e.dequantized(x), None
    shape = (x.shape[0], 1, 1, x.shape[3])
    tensor = e.add(operator, [x, e.numbers((1, 2))], shape, x.dtype, goal, keep_dims=True)
    give_spatial(e, node.outputs[0], tensor)


def _lp_pool(e: Emitter, node: Node) -> None:
    power = node.integer("p", 2)
    g, x, outputs = _pool(e, node)
    x = padded(e, e.dequantized(x), g.before, _missing(g, x.shape[1:3], outputs))
    raised = x if power == 2 else Real(e, x).magnitude_power(power).tensor
    pooled = _pooled(e, "L2_POOL_2D" if power == 2 else "AVERAGE_POOL_2D", raised, g, outputs)
    count = g.kernel[0] * g.kernel[1]  # the mean becomes the sum
    result = Real(e, pooled) * float(np.sqrt(count)) if power == 2 else (Real(e, pooled) * count).root(power)
    give_spatial(e, node.outputs[0], result.tensor)


def _global_lp_pool(e: Emitter, node: Node) -> None:
    power = node.integer("p", 2)
    x = Real(e, e.dequantized(spatial(e, node.inputs[0])))
    give_spatial(e, node.outputs[0], x.magnitude_power(power).reduced("SUM", (1, 2)).root(power).tensor)


_ONE_OR_TWO = "Windows have one or two axes."
_AXES = "Windows have one or two axes, without dilation."
WINDOWS: Mapping[str, Lowering] = {
    "AveragePool": Lowering(_average_pool, ("AVERAGE_POOL_2D", "DEPTHWISE_CONV_2D", "PAD", "MUL"), True, _AXES),
    "Conv": Lowering(
        _conv,
        ("CONV_2D", "DEPTHWISE_CONV_2D", "PAD"),
        True,
        "Windows have one or two axes; weights and bias are constants.",
    ),
    "ConvTranspose": Lowering(
        _conv_transpose,
        ("TRANSPOSE_CONV", "SLICE"),
        True,
        "Windows have one or two axes; weights and bias are constants.",
    ),
    "GlobalAveragePool": Lowering(_global_average, ("MEAN",), True, _ONE_OR_TWO),
    "GlobalLpPool": Lowering(_global_lp_pool, ("ABS", "MUL", "SUM", "SQRT", "LOG", "EXP"), False, _ONE_OR_TWO),
    "GlobalMaxPool": Lowering(_global_max, ("REDUCE_MAX",), True, _ONE_OR_TWO),
    "LpPool": Lowering(_lp_pool, ("L2_POOL_2D", "AVERAGE_POOL_2D", "PAD", "ABS", "MUL", "LOG", "EXP"), False, _AXES),
    "MaxPool": Lowering(
        _max_pool,
        ("MAX_POOL_2D", "PADV2", "STRIDED_SLICE", "MAXIMUM"),
        True,
        "Windows have one or two axes; it has one output.",
    ),
}
"""By ONNX's name of the operator."""
