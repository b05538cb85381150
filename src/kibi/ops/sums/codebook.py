"""Layers whose s8 filter stays in flash as indices into tables: what their kernels are given in place of it.

Source of the encoding: TFLM `kernels/decompress_common.cc`, `kernels/decode_state_lut.cc`.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from kibi.dtypes import DType
from kibi.ir import NodeView
from kibi.ir.codebook import Codebook, pack


def filter_codebook(view: NodeView) -> Codebook | None:
    """Returns the codebook of a layer's filter; None where it has none, or is not of s8."""
    tensor = view["filter"]
    return tensor.codebook_in_use if tensor.type.dtype is DType.S8 else None


def codebook_params(found: Codebook, axes: Sequence[int]) -> dict[str, Any]:
    """The struct fields that replace a filter.

    Args:
        found: the look-up.
        axes: the order in which the kernel reads the filter's axes; the first one, of the channels, stays first.
    """
    indices = found.indices
    if list(axes) != sorted(axes):
        indices = pack(np.ascontiguousarray(found.unpacked.transpose(axes)), found.bits)
    each = found.tables.shape[1] if len(found.tables) > 1 else 0
    return {
        "indices": np.ascontiguousarray(indices).view(np.int8),
        "tables": found.tables.astype(np.int8).reshape(-1),
        "bits": found.bits,
        "values": each,
    }
