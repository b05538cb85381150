"""Models that choose what they run."""

import numpy as np

from kibi.dtypes import DType
from kibi.frontends.tflite.builder import ModelBuilder

_SHAPE = [1, 6, 5, 2]
_QUANTIZATION = (0.1, 3)


def branches(*, pools_first: bool, condition: str = "given") -> bytes:
    """IF of a pooling and a clamp, in one order or the other, on a boolean input or on one that is never above a bound."""
    b = ModelBuilder()
    if condition == "given":
        holds = b.input([1], DType.BOOL)
    else:
        value, holds = b.input([1], DType.F32), b.tensor([1], DType.BOOL)
        b.operator("GREATER", [value, b.constant(np.array([1e30], np.float32))], [holds])
    x, y = b.input(_SHAPE, DType.S8, *_QUANTIZATION), b.tensor(_SHAPE, DType.S8, *_QUANTIZATION)
    b.operator("IF", [holds, x], [y], then_subgraph_index=1, else_subgraph_index=2)
    outputs = [y]
    for pools in (pools_first, not pools_first):
        b.end_subgraph(outputs)
        passed, made = b.input(_SHAPE, DType.S8, *_QUANTIZATION), b.tensor(_SHAPE, DType.S8, *_QUANTIZATION)
        options: dict[str, int | str] = {"padding": "SAME", "stride_w": 1, "stride_h": 1}
        options |= {"filter_width": 3, "filter_height": 3}
        b.operator("MAX_POOL_2D" if pools else "RELU", [passed], [made], options if pools else {})
        outputs = [made]
    return b.finish(outputs)
