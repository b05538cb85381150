"""DEPTHWISE_CONV_2D of f32 and s16 with a multiplier above 1: one output channel of every input channel at a time, as of s8."""

from dataclasses import replace

import numpy as np

from kibi.dtypes import DType
from kibi.ir import KernelCall
from kibi.kernels.params.depthwise_conv2d import (
    DepthwiseF32MultipliedParams,
    DepthwiseF32Params,
    DepthwiseS16BlocksMultipliedParams,
    DepthwiseS16Params,
)
from kibi.kernels.params.description import Params
from kibi.ops.windows.depthwise_conv2d import float_parts
from kibi.selection import depthwise_s16_blocks
from kibi.selection.convolution_call import window_of_layer
from kibi.selection.depthwise_blocks import BLOCK
from kibi.selection.depthwise_multiplied import MADE_BYTES, MOST_BYTES, passes_distance
from kibi.selection.variant import Goal, Variant

_Layer = DepthwiseF32Params | DepthwiseS16Params


def pack_f32(call: KernelCall) -> KernelCall | None:
    """Packs a call of `kibi_depthwise_conv2d_f32`; returns None where the general kernel computes four channels at once."""
    layer = call.params_as(DepthwiseF32Params)
    pixels = _pixels(layer, call.scratch_bytes)
    if not pixels or layer.depth_multiplier % BLOCK == 0:
        return None
    passes = _passes(layer)
    params = DepthwiseF32MultipliedParams(
        filter=np.concatenate([each.filter for each in passes]),
        bias=np.concatenate([each.bias for each in passes]),
        pixels=pixels,
        **layer.scalars_for(DepthwiseF32MultipliedParams),
    )
    return _call(call, params, pixels, float_parts(layer.input_channels, 1))


def pack_s16(call: KernelCall) -> KernelCall | None:
    """Packs a call of `kibi_depthwise_conv2d_s16`; None also where `depthwise_s16_blocks.pack` refuses one of the multiples."""
    layer = call.params_as(DepthwiseS16Params)
    pixels = _pixels(layer, call.scratch_bytes)
    if not pixels:
        return None
    blocks = []
    for each in _passes(layer):
        packed = depthwise_s16_blocks.pack(replace(call, params=each))
        if packed is None:
            return None
        blocks.append(packed.constants["blocks"])
    params = DepthwiseS16BlocksMultipliedParams(
        blocks=np.concatenate(blocks),
        channels=layer.input_channels,
        pixels=pixels,
        **layer.scalars_for(DepthwiseS16BlocksMultipliedParams),
    )
    return _call(call, params, pixels, frozenset())


def _layer(call: KernelCall) -> _Layer:
    """The parameters of a layer of f32 or of s16."""
    return call.params if isinstance(call.params, DepthwiseF32Params) else call.params_as(DepthwiseS16Params)


def _element_bytes(layer: _Layer) -> int:
    return (DType.F32 if isinstance(layer, DepthwiseF32Params) else DType.S16).size_bytes


def _passes(layer: _Layer) -> list[_Layer]:
    """Layers with multiplier 1: of the first output channel of each input channel, of the second one, and so on."""
    count = layer.depth_multiplier
    return [
        layer.replaced(
            depth_multiplier=1,
            # Of the filter output channels are the innermost axis, and of the others the only one.
            **{name: np.ascontiguousarray(values[m::count]) for name, values in layer.constants.items()},
        )
        for m in range(count)
    ]


def _call(call: KernelCall, params: Params, pixels: int, features: frozenset[str]) -> KernelCall:
    """The call of the kernel that these parameters are for; windows of pixels are read again in each pass."""
    layer, (kernel,) = _layer(call), type(params).kernels
    element_bytes, outputs = _element_bytes(layer), layer.input_channels * layer.depth_multiplier
    distance = element_bytes * passes_distance(window_of_layer(layer), outputs, pixels)
    scratch_bytes = element_bytes * pixels * layer.input_channels
    return KernelCall(kernel, params, scratch_bytes, inplace_distance_bytes=(distance,), features=features)


def _pixels(layer: _Layer, most_bytes: int) -> int:
    """The pixels that are computed at once, in so many bytes of scratch; 0 for too few bytes, and for other layers."""
    if layer.depth_multiplier == 1 or layer.input_channels < BLOCK:
        return 0
    pixel_bytes = _element_bytes(layer) * layer.input_channels
    return min(layer.output_width, min(most_bytes, max(MOST_BYTES, pixel_bytes)) // pixel_bytes)


def _scratch(call: KernelCall, goal: Goal) -> int:
    """The bytes of scratch for the outputs of neighbouring pixels; more for speed."""
    layer = _layer(call)
    pixel_bytes = _element_bytes(layer) * layer.input_channels
    return pixel_bytes * _pixels(layer, max(MOST_BYTES if goal is Goal.SPEED else MADE_BYTES, pixel_bytes))


DEPTHWISE_MULTIPLIED_WIDE = (
    Variant(
        "kibi_depthwise_conv2d_f32_multiplied", "kibi_depthwise_conv2d_f32", "armv7em",
        frozenset({Goal.BALANCED, Goal.SPEED}), pack_f32, scratch_bytes=_scratch,
    ),
    Variant(
        "kibi_depthwise_conv2d_s16_blocks_multiplied", "kibi_depthwise_conv2d_s16", "armv7em", frozenset(Goal), pack_s16,
        scratch_bytes=_scratch,
    ),
)  # fmt: skip
