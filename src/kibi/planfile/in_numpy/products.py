"""Sums of products of all types, and what becomes of them: what convolutions and fully connected layers share."""

from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
from numpy.typing import NDArray

from kibi.dtypes import Array, DType
from kibi.ops.sums.float_sums import add_products
from kibi.planfile.in_numpy.call import Call, Numbers, types_of
from kibi.quant import requantize, requantize_wide, wrap_s32


@dataclass(frozen=True, slots=True)
class Scaling:
    """What a layer of s8 or s16 does with the sums of its channels.

    Attributes:
        bias, multiplier, shift: of each channel.
        fraction_bits: of each channel, 0 where outputs are rounded twice; else rule N53 holds, `multiplier` is the factor, and
            `shift` what 256 times a sum is to be raised by; None: 0 of all.
    """

    bias: Numbers
    multiplier: Numbers
    shift: Numbers
    fraction_bits: Numbers | None = None

    def outputs(self, sums: Numbers) -> Numbers:
        """Returns what sums `[..., O]` of s32 with their biases become, before the zero point is added and ranges cut."""
        if self.fraction_bits is None:
            return requantize(sums, self.multiplier, self.shift)
        bits = self.fraction_bits
        twice = requantize(sums, self.multiplier, np.where(bits, -1, self.shift))
        raised = (sums << 8) + np.where(bits, self.shift, 0)
        once = (raised * self.multiplier >> 32) >> bits
        return np.where(bits, once, twice)

    @staticmethod
    def of(call: Call, channels: int) -> "Scaling":
        """Returns the scaling that a kernel's parameters have for each channel."""
        return Scaling(*(call.array(name, channels) for name in ("bias", "multiplier", "shift")))


@dataclass(frozen=True, slots=True)
class Geometry:
    """How the windows of an output row lie on the input's rows; what a kernel fixes is not among its parameters."""

    input_width: int
    channels: int
    output_width: int
    kernel_rows: int
    kernel_width: int
    stride: int
    dilation: int
    pad: int

    @staticmethod
    def of(p: SimpleNamespace) -> "Geometry":
        """Returns the geometry of a convolution's kernel."""
        return Geometry(
            p.input_width,
            getattr(p, "input_channels", getattr(p, "channels", 1)),
            p.output_width,
            getattr(p, "kernel_rows", 3),
            getattr(p, "kernel_width", 3),
            getattr(p, "stride", 1),
            getattr(p, "dilation", 1),
            p.pad,
        )


def windows(call: Call, kind: DType, fill: int) -> tuple[Numbers, NDArray[np.bool_]]:
    """Returns what the windows of an output row see, and what of it is inside of the input.

    Args:
        call: of a convolution.
        kind: of the elements.
        fill: what windows see outside.

    Returns:
        [output_width, kernel_rows, kernel_width, channels] and the same without channels.
    """
    g = Geometry.of(call.numbers)
    size = g.input_width * g.channels
    found = [call.optional(number, size, kind.numpy.str) for number in range(g.kernel_rows)]
    outside = np.full(size, fill, kind.numpy)
    rows = np.stack([outside if row is None else row for row in found]).reshape(g.kernel_rows, g.input_width, -1)
    is_there = np.array([row is not None for row in found])
    columns = np.arange(g.output_width)[:, None] * g.stride - g.pad + np.arange(g.kernel_width) * g.dilation
    inside = (columns >= 0) & (columns < g.input_width)
    seen = rows[:, np.clip(columns, 0, g.input_width - 1)]
    seen = np.where(inside[None, :, :, None], seen, kind.numpy.type(fill)).transpose(1, 0, 2, 3)
    return seen, inside[:, None, :] & is_there[None, :, None]


def products(
    values: Numbers, weights: Numbers, counts: NDArray[np.bool_] | None = None, start: Numbers | None = None
) -> Numbers:
    """Returns sums of products, [B, M, O]: of integers exact as s64; of f32 one after another, each rounded: rule N24.

    Args:
        values: [B, M, K].
        weights: [B, K, O].
        counts: [K, B or 1, M or 1], which products of f32 are added; None: all are.
        start: [B, M, O], what sums begin with; None: zeros.
    """
    if values.dtype.kind != "f":
        # Doubles hold the sums exactly: they are below 2**53.
        sums = (values.astype(np.float64) @ weights.astype(np.float64)).astype(np.int64)
        return sums if start is None else sums + start
    shape = (*values.shape[:2], weights.shape[2])
    return add_products(
        np.zeros(shape, np.float32) if start is None else start,
        np.moveaxis(values, 2, 0)[..., None],
        np.moveaxis(weights, 1, 0)[:, :, None],
        None if counts is None else counts[..., None],
    )


def convolve(call: Call, weights: Numbers, groups: int, fill: int) -> Numbers:
    """Returns the sums of a convolution, [output_width, O], without bias.

    Args:
        call: of the kernel.
        weights: [O, kernel_rows, kernel_width, channels / groups].
        groups: of channels, which have sums of their own.
        fill: what windows see outside of the input.
    """
    kind, _ = types_of(call.kernel)
    seen, inside = windows(call, kind, fill)
    outputs, *taps, depth = weights.shape
    size = int(np.prod(taps)) * depth
    width = len(seen)
    values = seen.reshape(width, -1, groups, depth).transpose(2, 0, 1, 3).reshape(groups, width, size)
    each = weights.reshape(groups, outputs // groups, size).transpose(0, 2, 1)
    counts = None
    if kind is DType.F32 and not inside.all():
        counts = np.repeat(inside.reshape(width, -1), depth, axis=1).T[:, None]
    return products(values, each, counts).transpose(1, 0, 2).reshape(width, outputs)


def vectors_of(call: Call, kind: DType) -> Numbers:
    """Returns the input vectors of a fully connected layer, [1, vectors, depth]."""
    p = call.numbers
    row_elements = getattr(p, "row_elements", None) or p.vectors_per_row * p.piece
    count = p.vectors * p.piece // row_elements * p.pieces
    rows = [call.row(number, row_elements, kind.numpy.str) for number in range(count)]
    return np.concatenate(rows).reshape(1, p.vectors, p.piece * p.pieces)


def cut(values: Numbers, low: float, high: float) -> Numbers:
    """Returns values of f32, cut: the upper bound last; a NaN stays one, and a zero keeps its sign."""
    raised = np.where(values < np.float32(low), np.float32(low), values)
    return np.where(raised > np.float32(high), np.float32(high), raised)


def finish(call: Call, sums: Array, scaling: Scaling | None = None) -> None:
    """Makes outputs of sums, [..., O], and writes them.

    Args:
        call: of the kernel, whose parameters have the range of outputs and what is not in `scaling`.
        sums: without bias.
        scaling: of the channels; None: that of the parameters.
    """
    p, (_, kind) = call.numbers, types_of(call.kernel)
    if kind is DType.F32:
        call.write(cut(sums + call.array("bias", sums.shape[-1]), p.activation_min, p.activation_max))
        return
    own = Scaling.of(call, sums.shape[-1]) if scaling is None else scaling
    whole = sums.astype(np.int64) + own.bias
    if kind is DType.S16 and getattr(p, "is_wide", True):
        scaled = requantize_wide(whole, own.multiplier, own.shift)
    else:
        scaled = own.outputs(wrap_s32(whole))
    zero_point = p.rounding >> 1 if hasattr(p, "rounding") else getattr(p, "output_zero_point", 0)
    moved = wrap_s32(scaled + zero_point)
    call.write(np.clip(moved, p.activation_min, p.activation_max).astype(kind.numpy))
