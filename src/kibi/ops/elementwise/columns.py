"""Columns of images that are computed element by element."""

from kibi.ir import ColumnReach, NodeView

_IMAGE = 4
"""Axes of an image: `[N, H, W, C]`."""


def same_columns(view: NodeView) -> ColumnReach | None:
    """Returns that each column of the output reads the same one of each input.

    None where the output is no image, an input has another shape, or a constant has more than one column.
    """
    shape = view.output.type.shape
    if len(shape) != _IMAGE:
        return None
    for tensor in view.row_tensors:
        its = tensor.type.shape
        if its != shape if not tensor.is_constant else len(its) > 1 and its[-2] != 1:
            return None
    return ColumnReach()
