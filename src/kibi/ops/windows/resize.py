"""The shared part of the two operators that resize images: the type rule."""

import numpy as np

from kibi.dtypes import DType
from kibi.ir import NodeView, OperatorError
from kibi.ops import checks


def resized_shape(view: NodeView) -> tuple[int, int, int, int]:
    """The output's shape, from the constant `size`: `[N, OH, OW, C]`.

    Raises:
        OperatorError: the input has no rank of 4, or the size is not two numbers of at least 1.
    """
    batches, _, _, channels = checks.rank(view, "input", 4)
    checks.dtype(view, "size", DType.S32)
    size = view.constant("size").astype(np.int64)
    if size.shape != (2,) or (size < 1).any():
        raise OperatorError(f"size {size.tolist()} must be two numbers of at least 1", operand="size")
    return batches, int(size[0]), int(size[1]), channels
