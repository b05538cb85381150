"""Layers of s8 whose filter stays in flash as int4: what their kernels are given in place of it. Rule N50."""

import numpy as np
from numpy.typing import NDArray

from kibi.dtypes import Array, DType
from kibi.ir import NodeView

INT4_CHANNELS = 4
"""Output channels that share words."""
_PLACES = np.array([0, 16, 8, 24])
"""The lowest bit of each of a block's channels in a word; the second of two elements is four bits above the first."""
_LEAST, _MOST = -8, 7


def has_int4_filter(view: NodeView) -> bool:
    """True if a layer's filter may stay int4: the file has it so, the input is s8, and no pass has made it wider."""
    tensor = view["filter"]
    if not tensor.is_int4 or tensor.data is None or view["input"].type.dtype is not DType.S8:
        return False
    return bool(tensor.data.min() >= _LEAST and tensor.data.max() <= _MOST)


def packed_int4(weights: Array) -> NDArray[np.int32]:
    """Returns weights as `kibi_int4_s8.h` says.

    Args:
        weights: `[O, pieces, elements]` s8, of -8 … 7; a word has two elements of the same piece.
    """
    channels, pieces, elements = weights.shape
    raised = np.zeros((-channels % INT4_CHANNELS + channels, pieces, -elements % 2 + elements), np.uint32)
    raised[:channels, :, :elements] = weights.astype(np.int32) - _LEAST
    pairs = raised.reshape(-1, INT4_CHANNELS, pieces, raised.shape[2] // 2, 2)
    words = pairs[..., 0] | pairs[..., 1] << np.uint32(4)
    placed = words << _PLACES.astype(np.uint32)[:, None, None]
    packed: NDArray[np.uint32] = np.bitwise_or.reduce(placed, axis=1).reshape(-1)
    return packed.view(np.int32)


def packed_int4_fours(weights: Array) -> NDArray[np.int32]:
    """Returns weights in words for four elements, as `kibi_int4_s8.h` says.

    Args:
        weights: `[O, pieces, elements]` s8, of -8 … 7; a word has elements of the same piece.
    """
    channels, pieces, elements = weights.shape
    padding = ((0, -channels % INT4_CHANNELS), (0, 0), (0, -elements % 4))
    blocks = np.pad(weights.astype(np.int64), padding).reshape(-1, INT4_CHANNELS, pieces, -(-elements // 4), 2, 2)
    blocks[:, :-1] -= _LEAST
    halves = ((blocks & 15) << np.array([0, 4, 8, 12])[:, None, None, None, None]).sum(axis=1)
    words: NDArray[np.uint32] = (halves[..., 0, :] | halves[..., 1, :] << 16).astype(np.uint32)
    return words.reshape(-1).view(np.int32)


def unpacked_int4(words: Array, shape: tuple[int, int, int]) -> NDArray[np.int8]:
    """Returns the weights of words.

    Args:
        words: s32, as `packed_int4` returns them.
        shape: of the weights, as it takes them.
    """
    channels, pieces, elements = shape
    blocks = words.view(np.uint32).reshape(-1, 1, pieces, -(-elements // 2), 1)
    places = _PLACES[:, None, None, None] + np.array([0, 4])
    weights: NDArray[np.int8] = (blocks >> places.astype(np.uint32) & 15).astype(np.int8) + np.int8(_LEAST)
    return weights.reshape(-1, pieces, 2 * weights.shape[3])[:channels, :, :elements]
