"""Drawn models of TRANSPOSE_CONV, of all its types."""

from collections.abc import Callable, Mapping

import numpy as np

from kibi.dtypes import Array, DType
from kibi.frontends.tflite.builder import ModelBuilder
from tests.support.case import Case, one
from tests.support.choices import Choices, elements, flip, floats, scale
from tests.support.drawn_values import ACTIVATIONS, SMALLEST_OUTPUT_SCALE, drawn_zero_point, values


def _axis(c: Choices, padding: str) -> tuple[int, int, int, int]:
    """Input size, kernel, stride and output size; the output now and then longer or shorter than the windows together."""
    size, kernel, stride = c.integer(1, 6), c.integer(1, 5), c.integer(1, 3)
    if padding == "SAME":
        output = size * stride - c.one_of((0, 0, c.integer(0, stride - 1)))
    else:
        output = (size - 1) * stride + kernel + c.one_of((0, 0, c.integer(0, stride - 1)))
    # TFLM takes any output at all.
    return size, kernel, stride, c.one_of((output, output, output, max(kernel, output + c.integer(-3, 3))))


def transpose_conv(c: Choices) -> Case:
    """TRANSPOSE_CONV of any geometry."""
    b, batches, dtype = ModelBuilder(), c.one_of((1, 1, 2)), c.one_of((DType.S8, DType.S16, DType.F32))
    padding = c.one_of(("SAME", "VALID"))
    y, x = _axis(c, padding), _axis(c, padding)
    if c.one_of((False, False, True)):
        y = (1, 1, 1, 1)
    depth, outputs = c.integer(1, 6), c.integer(1, 6)
    shape, output_shape = (batches, y[0], x[0], depth), (batches, y[3], x[3], outputs)
    filter_shape = (outputs, y[1], x[1], depth)
    sizes = b.constant(np.array(output_shape, np.int32))
    bias: tuple[int, ...] = ()
    data: Array
    if dtype is DType.F32:
        source, kernel = b.input(shape, dtype), b.constant(floats(c, filter_shape))
        if flip(c):
            bias = (b.constant(floats(c, (outputs,))),)
        output, data = b.tensor(output_shape, dtype), floats(c, shape)
    else:
        input_scale, filter_scales = scale(c, -12, 2), [scale(c, -8, -3)]
        if flip(c):
            filter_scales = [filter_scales[0] * 2.0 ** c.integer(-4, 0) for _ in range(outputs)]
        # A factor above 1 shifts a sum left before it multiplies; sums of 64 bits have room for 7 bits.
        power = c.integer(-20, 3 if dtype is DType.S8 else 6)
        output_scale = max(SMALLEST_OUTPUT_SCALE, float(np.float32(input_scale * max(filter_scales) * 2.0**-power)))
        zeros = [0] * len(filter_scales)
        source = b.input(shape, dtype, input_scale, drawn_zero_point(c, dtype))
        kernel = b.constant(elements(c, filter_shape), filter_scales, zeros)
        bias = _bias(c, b, dtype, outputs, [input_scale * each for each in filter_scales])
        output = b.tensor(output_shape, dtype, output_scale, drawn_zero_point(c, dtype))
        data = values(c, shape, dtype)
    return one(
        "TRANSPOSE_CONV", b, [sizes, kernel, source, *bias], output, [data], padding=padding, stride_h=y[2], stride_w=x[2],
        fused_activation_function=c.one_of(ACTIVATIONS),
    )  # fmt: skip


def _bias(c: Choices, b: ModelBuilder, dtype: DType, outputs: int, scales: list[float]) -> tuple[int, ...]:
    """The bias as an operand, or none: s32 of s8, where sums and bias together fit 32 bits; s64 or s16 of s16."""
    kind = DType.S32 if dtype is DType.S8 else c.one_of((DType.S64, DType.S16))
    most = c.one_of((1000, {DType.S16: (1 << 15) - 1, DType.S32: 1 << 24, DType.S64: (1 << 46) - 1}[kind]))
    rng = np.random.default_rng(c.integer(0, (1 << 32) - 1))
    drawn = rng.integers(-most, most, outputs, endpoint=True).astype(kind.numpy)
    narrow = [float(np.float32(each)) for each in scales]
    return (b.constant(drawn, narrow, [0] * len(narrow)),) if flip(c) else ()


TRANSPOSE_MODELS: Mapping[str, Callable[[Choices], Case]] = {"TRANSPOSE_CONV": transpose_conv}
"""How its models are drawn."""
