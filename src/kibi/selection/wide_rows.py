"""Layers whose rows a kernel makes in one call, where they are stored one after another.

Where windows are single pixels, these rows are one long row. Windows of three by three make two rows at a time.
"""

from collections.abc import Callable
from dataclasses import replace
from types import MappingProxyType

from kibi.ir import KernelCall, NodeView
from kibi.kernels.params.conv2d import Conv2DS8Params
from kibi.kernels.params.conv2d_winograd import Conv2DRowPairsParams
from kibi.ops.windows.convolution_blocks import apart_scratch_bytes
from kibi.selection.conv2d_blocks import CONV2D_BLOCKS
from kibi.selection.conv2d_halves import CONV2D_HALVES, MOST_PIXELS
from kibi.selection.conv2d_row_pairs import row_pairs, saves
from kibi.selection.conv2d_vectors import CONV2D_VECTORS
from kibi.selection.conv2d_vectors import MOST_PIXELS as PIXELS_OF_VECTORS
from kibi.selection.conv2d_winograd import CONV2D_WINOGRAD
from kibi.selection.convolution_call import window_of
from kibi.selection.sums import MOST_SIZE
from kibi.selection.variant import Goal, Variant
from kibi.targets import Target


def _apart(call: KernelCall) -> int | None:
    return apart_scratch_bytes(window_of(call)) or None


def _of_halves(call: KernelCall) -> int | None:
    return CONV2D_HALVES.scratch_bytes(call, Goal.BALANCED) or None


def _of_vectors(call: KernelCall) -> int:
    return CONV2D_VECTORS.scratch_bytes(call, Goal.BALANCED)


_KERNELS: MappingProxyType[str, tuple[Variant, int, Callable[[KernelCall], int | None]]] = MappingProxyType(
    {
        "helium": (CONV2D_VECTORS, PIXELS_OF_VECTORS, _of_vectors),
        "armv7em": (CONV2D_BLOCKS, 4, _apart),
        "riscv": (CONV2D_HALVES, MOST_PIXELS, _of_halves),
    }
)
"""For a kernel set: the kernel, pixels of its fastest block, of which whole ones in a row gain nothing, and its scratch; None where
it does not make the layer."""


def wide_call(view: NodeView, general: KernelCall, target: Target, goal: Goal, kernel: str) -> KernelCall | None:
    """Returns the call that makes all rows of a node, from a pointer to the first of each; None if no such call is faster.

    Args:
        view: the node.
        general: its general call.
        target: the processor.
        goal: of the code; two rows at a time are for speed alone, as their weights take more flash.
        kernel: what makes single rows; two at a time take the place of Winograd's F(2,3).
    """
    if not isinstance(general.params, Conv2DS8Params) or len(view.accesses) != 1:
        return None
    if goal is Goal.SPEED and kernel == CONV2D_WINOGRAD.kernel:
        call = row_pairs(view, general)
        if call is not None and saves(call.params_as(Conv2DRowPairsParams)):
            return call
    return _long_row(view, general, target)


def _long_row(view: NodeView, general: KernelCall, target: Target) -> KernelCall | None:
    """The call that makes all rows of a node as one; None where a row depends on others, or nothing is gained."""
    kernels = [_KERNELS[each] for each in target.kernel_sets if each in _KERNELS]
    if not kernels:
        return None
    (variant, block, scratch), (access,), layer = kernels[0], view.accesses, general.params_as(Conv2DS8Params)
    windows = (layer.kernel_rows, layer.kernel_width, layer.stride, layer.groups, access.stride, access.output_rows)
    width = layer.output_width * view.steps
    is_plain = windows == (1, 1, 1, 1, 1, view.steps) and layer.pad == access.start == 0
    if not is_plain or layer.input_width != layer.output_width or layer.output_width % block == 0:
        return None
    if width > MOST_SIZE or access.rows != view.steps:
        return None
    wide = KernelCall(
        "kibi_conv2d_s8", layer.replaced(input_width=width, output_width=width), input_range=general.input_range
    )
    scratch_bytes = scratch(wide)
    return None if scratch_bytes is None else variant.pack(replace(wide, scratch_bytes=scratch_bytes))
