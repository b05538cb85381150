"""Layers of float32: sums of products in the order in which TFLM adds them, each step rounded to float32.

CONV_2D, DEPTHWISE_CONV_2D and FULLY_CONNECTED share it. No product is fused with a sum, no sum is split: the bits follow from
the order alone.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibi.dtypes import Array, DType
from kibi.ir import Accumulation, KernelCall, NodeView, OperatorError, Rows
from kibi.kernels.params.conv2d import Conv2DF32Params
from kibi.ops import checks
from kibi.ops.attributes import Activation
from kibi.ops.overlap import grouped_distance
from kibi.ops.windows.window import Window

Float32 = NDArray[np.float32]

_AT_ONCE = 64
"""Products of each output that are computed at once."""
FLOAT_BLOCK = 4
"""Output channels that kernels of floats compute at once."""
_FLOAT_BYTES = DType.F32.size_bytes


def check_layer(view: NodeView, channels: int) -> None:
    """The types of a float layer: filter and bias f32, one bias element for each of `channels`.

    Raises:
        OperatorError: another type, as in hybrid models, which TFLM refuses; or a bias of another size.
    """
    checks.dtype(view, "filter", DType.F32)
    bias = view.find("bias")
    if bias is None:
        return
    checks.dtype(view, "bias", DType.F32)
    if bias.type.elements != channels:
        what = f"bias has shape {list(bias.type.shape)}, but {channels} elements are required"
        raise OperatorError(what, operand="bias")


def bias_of(view: NodeView) -> Float32:
    """The bias `[O]`; zeros where the node has none, which change no sum: it starts at 0, and is never -0."""
    bias = view.find("bias")
    zeros = np.zeros(view.output.type.shape[-1], np.float32)
    return zeros if bias is None or bias.data is None else bias.data.reshape(-1).astype(np.float32)


def clamp(values: Array, activation: Activation) -> Float32:
    """Rule N24: as `std::max` and then `std::min` with the bounds: the sign of a zero stays, and a NaN does."""
    low, high = _bounds(activation)
    raised = np.where(values < low, low, values)
    clamped: Float32 = np.where(high < raised, high, raised)
    return clamped


@cache
def _bounds(activation: Activation) -> tuple[np.float32, np.float32]:
    low, high = activation.plain_limits(DType.F32)
    return np.float32(low), np.float32(high)


def activation_params(activation: Activation) -> dict[str, float]:
    """The struct fields of the bounds."""
    low, high = activation.plain_limits(DType.F32)
    return {"activation_min": low, "activation_max": high}


def add_products(
    totals: Float32, values: Float32, weights: Float32, counts: NDArray[np.bool_] | None = None
) -> Float32:
    """Rule N24: totals, plus the first value times its weight, rounded, plus the second, and so on.

    Args:
        totals: of any shape that the products `[K, …]` without their first axis broadcast to.
        values: `[K, …]`.
        weights: `[K, …]`, which values are broadcast to, and the other way round.
        counts: `[K, …]`, which products are added; all where it is None. Others are left out, even where they are NaN.
    """
    with np.errstate(all="ignore"):  # what is infinite, or no number, is so in C, too
        for first in range(0, len(weights), _AT_ONCE):
            part = slice(first, first + _AT_ONCE)
            products = values[part] * weights[part]
            totals = add_in_order(totals, products, None if counts is None else counts[part])
    return totals


def add_in_order(totals: Float32, terms: Float32, counts: NDArray[np.bool_] | None = None) -> Float32:
    """Totals, plus the first of the terms `[K, …]`, rounded, plus the second, and so on; `counts` as in `add_products`.

    Totals begin at 0, so that adding a 0 for a term that is left out changes none: no sum is ever -0.
    """
    with np.errstate(all="ignore"):
        kept = terms if counts is None else np.where(counts, terms, np.float32(0))
        started = np.concatenate([(totals + kept[0])[None], kept[1:]])
        sums: Float32 = np.add.accumulate(started, axis=0)[-1]  # one after another, never pairwise
    return sums


def convolution_rows(
    view: NodeView, window: Window, weights: Float32, activation: Activation
) -> Callable[[Rows], Array]:
    """A function that computes one row `[output width, O]` from the window's rows; None is a row outside.

    Args:
        view: the node.
        window: its geometry.
        weights: `[O, kernel rows, kernel width, C / groups]`.
        activation: the fused activation.
    """
    outputs, _, _, depth = weights.shape
    groups = window.channels // depth
    xs = np.arange(window.output_width)[:, None] * window.stride_width - window.pad_width
    columns = xs + np.arange(window.kernel_width)[None, :] * window.dilation_width
    inside = (columns >= 0) & (columns < window.input_width)
    picked = np.where(inside, columns, 0)
    counted = None if inside.all() else np.repeat(inside.T, depth, axis=0)[:, :, None, None]
    # [kernel row, kernel column * channel, x, group, output of the group]
    taps = weights.reshape(groups, outputs // groups, window.kernel_rows, -1).transpose(2, 3, 0, 1)[:, :, None]
    bias = bias_of(view)

    def row(rows: Rows) -> Array:
        totals = np.zeros((window.output_width, groups, outputs // groups), np.float32)
        for part, weighting in zip(rows[0], taps, strict=True):
            if part is None:
                continue
            pixels = np.asarray(part, np.float32).reshape(window.input_width, groups, depth)[picked]
            values = pixels.transpose(1, 3, 0, 2).reshape(-1, window.output_width, groups, 1)
            totals = add_products(totals, values, weighting, counted)
        return finished(totals.reshape(window.output_width, outputs), bias, activation)

    return row


def vector_rows(view: NodeView, activation: Activation) -> Callable[[Rows], Array]:
    """A function that multiplies vectors, which follow one another in a step's rows, with the filter `[O, K]`."""
    weights = np.ascontiguousarray(view.constant("filter").astype(np.float32).T)
    bias = bias_of(view)

    def row(rows: Rows) -> Array:
        elements = np.concatenate([np.asarray(piece, np.float32).reshape(-1) for piece in rows[0]])
        vectors = elements.reshape(-1, len(weights)).T
        totals = np.zeros((vectors.shape[1], weights.shape[1]), np.float32)
        return finished(add_products(totals, vectors[:, :, None], weights[:, None]), bias, activation)

    return row


def vector_accumulation(view: NodeView, activation: Activation) -> Accumulation:
    """The same for vectors that span several rows: one row after another."""
    channels = view["filter"].type.shape[0]
    piece = view["input"].type.row_elements
    parts = np.ascontiguousarray(view.constant("filter").astype(np.float32).T).reshape(-1, piece, channels)
    bias = bias_of(view)

    def add(sums: Array, rows: Rows, step: int) -> None:
        vector, part = divmod(step, len(parts))
        own = sums[vector * channels : (vector + 1) * channels]
        values = np.asarray(rows[0][0], np.float32).reshape(-1, 1)
        own[:] = add_products(own.astype(np.float32), values, parts[part])

    start = np.zeros(view.output.type.elements, np.float32)
    return Accumulation(
        start, add, lambda sums: finished(sums.reshape(-1, channels).astype(np.float32), bias, activation)
    )


def finished(totals: Float32, bias: Float32, activation: Activation) -> Float32:
    """Outputs `[…, O]` from sums of products: the bias comes last."""
    with np.errstate(all="ignore"):
        return clamp(totals + bias, activation)


def convolution_params(view: NodeView, window: Window, weights: Float32, activation: Activation) -> dict[str, Any]:
    """The struct fields that the kernels of both convolutions share; `weights` in the order of the kernel."""
    return {
        "filter": np.ascontiguousarray(weights).reshape(-1),
        "bias": bias_of(view),
        "input_width": window.input_width,
        "input_channels": window.channels,
        "output_width": window.output_width,
        "kernel_rows": window.kernel_rows,
        "kernel_width": window.kernel_width,
        "stride": window.stride_width,
        "dilation": window.dilation_width,
        "pad": window.pad_width,
        **activation_params(activation),
    }


_IN_REGISTERS = {(3, 3): "KIBI_CONV2D_F32_OF_3X3X1", (3, 9): "KIBI_CONV2D_F32_OF_3X3X3"}
"""Parts of the kernel by the rows of a window and the elements of each."""


def convolution_call(view: NodeView, window: Window, weights: Float32, activation: Activation) -> KernelCall:
    """The call of `kibi_conv2d_f32`; arguments as in `convolution_rows`."""
    outputs, depth = len(weights), weights.shape[3]
    groups = window.channels // depth
    shared = convolution_params(view, window, weights, activation)
    params = Conv2DF32Params(**shared, output_channels=outputs, groups=groups)
    distance = _FLOAT_BYTES * grouped_distance(window, outputs, depth)
    # The parts that save instructions where a group has four output channels, and where small windows fit the registers.
    fours = frozenset({"KIBI_CONV2D_F32_OF_FOURS"} if outputs // groups >= FLOAT_BLOCK else ())
    is_small = bool(fours) and groups == window.dilation_width == 1 and outputs % FLOAT_BLOCK == 0
    small = _IN_REGISTERS.get((window.kernel_rows, window.kernel_width * depth)) if is_small else None
    return KernelCall(
        "kibi_conv2d_f32",
        params,
        inplace_distance_bytes=(distance,),
        features=fours | ({small} if small else set()),
        least_features=fours,
    )
