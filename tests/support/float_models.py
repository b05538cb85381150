"""Drawn models of float32 of one operator each; `operator_models` mixes them with those of integers."""

from collections.abc import Callable, Mapping

from kibi.dtypes import DType
from kibi.frontends.tflite.builder import Attribute, ModelBuilder
from tests.support.case import Case, drawn_shape, factors, one
from tests.support.choices import Choices, flip, floats
from tests.support.drawn_geometry import Axis, window
from tests.support.drawn_values import ACTIVATIONS


def _bias(c: Choices, b: ModelBuilder, channels: int, *, may_skip: bool = True) -> tuple[int, ...]:
    """The bias as an operand; none, or, where `may_skip`, a -1 for one that is left out."""
    kind = c.one_of(("there", "there", "none", "left out") if may_skip else ("there", "there", "none"))
    if kind == "there":
        return (b.constant(floats(c, (channels,))),)
    return () if kind == "none" else (-1,)


def _convolution(c: Choices, name: str) -> Case:
    """CONV_2D or DEPTHWISE_CONV_2D."""
    b, batches = ModelBuilder(), c.one_of((1, 1, 2))
    padding, y, x = window(c, dilates=True)
    attributes: dict[str, Attribute] = {}
    if name == "CONV_2D":
        depth, groups = c.one_of(((c.integer(1, 9), 1), (c.integer(1, 3), c.integer(1, 3))))
        channels, outputs = depth * groups, groups * c.integer(1, 9 // groups)
        filter_shape = (outputs, y.kernel, x.kernel, depth)
    else:
        channels, multiplier = c.integer(1, 9), c.one_of((1, 1, 2, 3, 4))
        outputs = channels * multiplier
        filter_shape = (1, y.kernel, x.kernel, outputs)
        attributes["depth_multiplier"] = multiplier
    source = b.input([batches, y.size, x.size, channels], DType.F32)
    kernel = b.constant(floats(c, filter_shape))
    bias = _bias(c, b, outputs, may_skip=name == "CONV_2D")
    output = b.tensor([batches, y.output, x.output, outputs], DType.F32)
    return one(
        name,
        b,
        [source, kernel, *bias],
        output,
        [floats(c, (batches, y.size, x.size, channels))],
        padding=padding,
        stride_h=y.stride,
        stride_w=x.stride,
        dilation_h_factor=y.dilation,
        dilation_w_factor=x.dilation,
        fused_activation_function=c.one_of(ACTIVATIONS),
        **attributes,
    )


def conv_2d(c: Choices) -> Case:
    """CONV_2D of any geometry, grouped or not."""
    return _convolution(c, "CONV_2D")


def depthwise_conv_2d(c: Choices) -> Case:
    """DEPTHWISE_CONV_2D of any geometry and depth multiplier."""
    return _convolution(c, "DEPTHWISE_CONV_2D")


def fully_connected(c: Choices) -> Case:
    """FULLY_CONNECTED on vectors that lie along the last axis, or anyhow in the input."""
    b, rank = ModelBuilder(), c.one_of((c.integer(1, 4), 4))
    depth, outputs, keeps = c.one_of((c.integer(1, 12), 24 * c.integer(1, 8))), c.integer(1, 9), flip(c)
    if keeps:
        shape = (*drawn_shape(c, rank - 1, 3), depth)
        output_shape = (*shape[:-1], outputs)
    else:
        batches = c.integer(1, 4)
        shape, output_shape = factors(c, batches * depth, rank), (batches, outputs)
    source, kernel = b.input(shape, DType.F32), b.constant(floats(c, (outputs, depth)))
    bias = _bias(c, b, outputs)
    output = b.tensor(output_shape, DType.F32)
    return one(
        "FULLY_CONNECTED", b, [source, kernel, *bias], output, [floats(c, shape)],
        keep_num_dims=keeps, fused_activation_function=c.one_of(ACTIVATIONS),
    )  # fmt: skip


def _pool(c: Choices, name: str) -> Case:
    b, batches, channels = ModelBuilder(), c.one_of((1, 1, 2)), c.integer(1, 9)
    padding, y, x = window(c, dilates=False)
    if c.one_of((False, False, True)):
        y = Axis.covered(c, padding)
    shape = (batches, y.size, x.size, channels)
    source, output = b.input(shape, DType.F32), b.tensor([batches, y.output, x.output, channels], DType.F32)
    return one(
        name,
        b,
        [source],
        output,
        [floats(c, shape)],
        padding=padding,
        stride_h=y.stride,
        stride_w=x.stride,
        filter_height=y.kernel,
        filter_width=x.kernel,
        fused_activation_function=c.one_of(ACTIVATIONS),
    )


def average_pool_2d(c: Choices) -> Case:
    """AVERAGE_POOL_2D of any geometry."""
    return _pool(c, "AVERAGE_POOL_2D")


def l2_pool_2d(c: Choices) -> Case:
    """L2_POOL_2D of any geometry."""
    return _pool(c, "L2_POOL_2D")


def max_pool_2d(c: Choices) -> Case:
    """MAX_POOL_2D of any geometry."""
    return _pool(c, "MAX_POOL_2D")


def softmax(c: Choices) -> Case:
    """SOFTMAX along the last axis, of any sharpness."""
    b, rank = ModelBuilder(), c.integer(1, 4)
    shape = (*drawn_shape(c, rank - 1, 4), c.one_of((c.integer(1, 12), c.integer(1, 300))))
    beta = c.one_of((1.0, 0.5, 2.0, 10.0, c.integer(1, 1000) / 128))
    source, output = b.input(shape, DType.F32), b.tensor(shape, DType.F32)
    return one("SOFTMAX", b, [source], output, [floats(c, shape, c.one_of((4.0, 100.0)))], beta=beta)


FLOAT_MODELS: Mapping[str, Callable[[Choices], Case]] = {
    "AVERAGE_POOL_2D": average_pool_2d,
    "CONV_2D": conv_2d,
    "DEPTHWISE_CONV_2D": depthwise_conv_2d,
    "FULLY_CONNECTED": fully_connected,
    "MAX_POOL_2D": max_pool_2d,
    "SOFTMAX": softmax,
}
"""How models of floats are drawn, of operators that have them beside others."""
