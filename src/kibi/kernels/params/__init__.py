"""The parameters of kernels, a class for each C struct; the modules are families of kernels.

`PARAMS` has the class of each of Kibi's own kernels, by the kernel's name.
"""

from collections.abc import Mapping
from types import MappingProxyType

from kibi.kernels.params import (
    binary,
    control,
    conv2d,
    conv2d_packed,
    conv2d_s16_packed,
    conv2d_winograd,
    convolution_lanes,
    depthwise_conv2d,
    detection,
    fully_connected,
    fully_connected_packed,
    halves,
    movement,
    normalization,
    odd_channels,
    pooling,
    recurrent,
    reductions,
    resize,
    signal,
    transpose_conv,
    unary,
    vectors,
)
from kibi.kernels.params.description import Field, FieldKind, Params, array, number, subgraph

_FAMILIES = (
    binary, control, convolution_lanes, conv2d, conv2d_packed, conv2d_s16_packed, conv2d_winograd, depthwise_conv2d,
    transpose_conv, detection, fully_connected, fully_connected_packed, halves, movement, normalization, odd_channels, pooling,
    recurrent, reductions, resize, signal, unary, vectors,
)  # fmt: skip
PARAMS: Mapping[str, type[Params]] = MappingProxyType(
    {
        kernel: kind
        for family in _FAMILIES
        for kind in vars(family).values()
        if isinstance(kind, type) and issubclass(kind, Params)
        for kernel in kind.kernels
    }
)


def struct_name(kernel: str) -> str:
    """Returns the name of the parameter struct of a kernel in C; a custom kernel has one of its own."""
    return PARAMS[kernel].struct if kernel in PARAMS else f"{kernel}_params"


__all__ = ["PARAMS", "Field", "FieldKind", "Params", "array", "number", "struct_name", "subgraph"]
