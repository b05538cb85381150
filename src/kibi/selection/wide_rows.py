"""Layers whose windows are single pixels: rows that are stored one after another are one long row for their kernel."""

from kibi.ir import KernelCall, NodeView
from kibi.kernels.params.conv2d import Conv2DS8Params
from kibi.ops.windows.convolution_blocks import apart_scratch_bytes
from kibi.selection.conv2d_blocks import CONV2D_BLOCKS
from kibi.selection.convolution_call import window_of
from kibi.selection.sums import MOST_SIZE
from kibi.targets import Target

_BLOCK = 4
"""Pixels of the fastest block; rows of whole blocks gain nothing."""


def wide_general(view: NodeView, general: KernelCall) -> KernelCall | None:
    """Returns the general call that makes all rows of a node as one; None where a row depends on others, or nothing is gained.

    Args:
        view: the node.
        general: its general call.
    """
    if not isinstance(general.params, Conv2DS8Params) or len(view.accesses) != 1:
        return None
    layer, (access,) = general.params, view.accesses
    windows = (layer.kernel_rows, layer.kernel_width, layer.stride, layer.groups, access.stride, access.output_rows)
    width = layer.output_width * view.steps
    is_plain = windows == (1, 1, 1, 1, 1, view.steps) and layer.pad == access.start == 0
    if not is_plain or layer.input_width != layer.output_width or layer.output_width % _BLOCK == 0:
        return None
    if width > MOST_SIZE or access.rows != view.steps:
        return None
    params = layer.replaced(input_width=width, output_width=width)
    wide = KernelCall("kibi_conv2d_s8", params)
    scratch_bytes = apart_scratch_bytes(window_of(wide))
    return KernelCall("kibi_conv2d_s8", params, scratch_bytes) if scratch_bytes else None


def wide_call(wide: KernelCall, target: Target) -> KernelCall | None:
    """Packs the general call of a long row for the kernel in blocks; None where the target lacks it, or it refuses the layer."""
    return CONV2D_BLOCKS.pack(wide) if CONV2D_BLOCKS.kernel_set in target.kernel_sets else None
