"""DEPTHWISE_CONV_2D with a multiplier above 1: one output channel of every input channel at a time, with the kernels for one."""

from collections.abc import Callable

import numpy as np

from kibi.ir import KernelCall
from kibi.kernels.params.conv2d import Conv2DS8Params
from kibi.kernels.params.depthwise_conv2d import (
    Depthwise3x3MultipliedParams,
    DepthwiseColumnsMultipliedParams,
    DepthwiseMultipliedParams,
    DepthwiseS8Params,
)
from kibi.kernels.params.needed_parts import needed_parts
from kibi.ops.overlap import least_distance
from kibi.ops.windows.depthwise_conv2d import fast_parts, least_parts
from kibi.ops.windows.window import Window
from kibi.selection import depthwise_3x3, depthwise_columns
from kibi.selection.convolution_call import window_of
from kibi.selection.depthwise_blocks import BLOCK
from kibi.selection.sums import MOST_SIZE
from kibi.selection.variant import Goal, Variant

MADE_BYTES, MOST_BYTES = 64, 256
"""Of scratch, about, for outputs of neighbouring pixels that are computed at once; and for speed."""


def pack(call: KernelCall) -> KernelCall | None:
    """Packs a call of `kibi_conv2d_s8` with as many groups as input channels; None for others, and for fewer than four channels."""
    layer = call.params_as(Conv2DS8Params)
    pixels = _pixels(layer, call.scratch_bytes)
    if not pixels:
        return None
    passes = _passes(layer)
    params = DepthwiseMultipliedParams(
        filter=np.concatenate([each.filter for each in passes]),
        bias=np.concatenate([each.bias for each in passes]),
        multiplier=np.concatenate([each.multiplier for each in passes]),
        shift=np.concatenate([each.shift for each in passes]),
        channels=layer.input_channels,
        depth_multiplier=len(passes),
        input_zero_point=passes[0].input_zero_point,
        pixels=pixels,
        **layer.scalars_for(DepthwiseMultipliedParams),
    )
    window = window_of(call)
    # It calls the kernel for multiplier 1, whose parts it needs.
    return KernelCall(
        "kibi_depthwise_conv2d_s8_multiplied", params, pixels * layer.input_channels,
        inplace_distance_bytes=(passes_distance(window, layer.output_channels, pixels),),
        features=fast_parts(window) | least_parts(window), least_features=least_parts(window),
    )  # fmt: skip


def pack_3x3(call: KernelCall) -> KernelCall | None:
    """The same for windows of three by three; None also where `depthwise_3x3.pack` refuses a layer with one of the multiples."""
    return _packed(call, depthwise_3x3.pack, Depthwise3x3MultipliedParams)


def pack_columns(call: KernelCall) -> KernelCall | None:
    """The same in blocks of four channels; None also where `depthwise_columns.pack` refuses a layer with one of the multiples."""
    layer = call.params_as(Conv2DS8Params)
    if (layer.output_width - 1) * layer.stride > MOST_SIZE:
        return None
    return _packed(call, depthwise_columns.pack, DepthwiseColumnsMultipliedParams)


def _packed(
    call: KernelCall,
    pack_pass: Callable[[KernelCall], KernelCall | None],
    kind: type[Depthwise3x3MultipliedParams | DepthwiseColumnsMultipliedParams],
) -> KernelCall | None:
    """Packs each pass for a kernel for multiplier 1; None if one of them does not fit it, or `pack` refuses the call."""
    layer = call.params_as(Conv2DS8Params)
    pixels = _pixels(layer, call.scratch_bytes)
    if not pixels:
        return None
    blocks = []
    for each in _passes(layer):
        packed = pack_pass(KernelCall("kibi_depthwise_conv2d_s8", each))
        if packed is None or packed.params is None:
            return None
        blocks.append(packed.constants["blocks"])
    params = kind(
        blocks=np.concatenate(blocks),
        channels=layer.input_channels,
        depth_multiplier=len(blocks),
        input_zero_point=int(layer.padding[0]),
        pixels=pixels,
        **layer.scalars_for(kind),
    )
    (kernel,) = kind.kernels
    scratch_bytes = pixels * layer.input_channels
    distances = (passes_distance(window_of(call), layer.output_channels, pixels),)
    return KernelCall(kernel, params, scratch_bytes, inplace_distance_bytes=distances, features=needed_parts(params))


def _is_multiplied(layer: Conv2DS8Params) -> bool:
    """True for layers that the kernels can compute."""
    return layer.groups == layer.input_channels and layer.output_channels > layer.input_channels >= BLOCK


def _pixels(layer: Conv2DS8Params, most_bytes: int) -> int:
    """The pixels that are computed at once, in so many bytes of scratch; 0 for too few bytes, and for other layers."""
    bounded = min(most_bytes, max(MOST_BYTES, layer.input_channels))
    return min(layer.output_width, bounded // layer.input_channels) if _is_multiplied(layer) else 0


def _passes(layer: Conv2DS8Params) -> list[DepthwiseS8Params]:
    """Layers with multiplier 1: of the first output channel of each input channel, of the second one, and so on."""
    channels = layer.input_channels
    count = layer.output_channels // channels
    filters = layer.filter.reshape(layer.output_channels, -1)
    return [
        DepthwiseS8Params(
            filter=np.ascontiguousarray(filters[m::count].T).reshape(-1),
            bias=layer.bias[m::count],
            multiplier=layer.multiplier[m::count],
            shift=layer.shift[m::count],
            channels=channels,
            input_zero_point=int(layer.padding[0]),
            **layer.scalars_for(DepthwiseS8Params),
        )
        for m in range(count)
    ]


def passes_distance(window: Window, outputs: int, pixels: int) -> int:
    """The least distance in place, in elements: windows of pixels are read again after the first of their outputs were written."""
    width = window.output_width
    return least_distance(
        (window.first_inside(x) * window.channels, min(x // pixels * pixels + pixels, width) * outputs)
        for x in range(width)
    )


def _scratch(call: KernelCall, goal: Goal) -> int:
    """The bytes of scratch for the outputs of neighbouring pixels; more for speed."""
    layer = call.params_as(Conv2DS8Params)
    most_bytes = max(MOST_BYTES if goal is Goal.SPEED else MADE_BYTES, layer.input_channels)
    return _pixels(layer, most_bytes) * layer.input_channels


DEPTHWISE_MULTIPLIED = (
    Variant(
        "kibi_depthwise_conv2d_s8_3x3_multiplied", "kibi_conv2d_s8", "armv7em", frozenset(Goal), pack_3x3,
        scratch_bytes=_scratch,
    ),
    Variant(
        "kibi_depthwise_conv2d_s8_columns_multiplied", "kibi_conv2d_s8", "armv7em", frozenset(Goal), pack_columns,
        scratch_bytes=_scratch,
    ),
    Variant(
        "kibi_depthwise_conv2d_s8_multiplied", "kibi_conv2d_s8", "portable", frozenset(Goal), pack,
        scratch_bytes=_scratch,
    ),
)  # fmt: skip
