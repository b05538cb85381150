"""Fast kernels for layers some of whose channels they cannot compute: odd ones, which a general rule computes one by one.

A channel is odd if its sums are too large for the kernel, or are not shifted to the right. Without these kernels, one such channel
sends the whole layer to the general kernel.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibi.dtypes import Array
from kibi.ir import KernelCall
from kibi.kernels.params import PARAMS
from kibi.kernels.params.conv2d import Conv2DS8Params
from kibi.kernels.params.depthwise_conv2d import DepthwiseS8Params
from kibi.kernels.params.fully_connected import FullyConnectedS8Params
from kibi.selection.conv2d_3x3x1 import CONV2D_3X3X1
from kibi.selection.conv2d_blocks import CONV2D_BLOCKS
from kibi.selection.conv2d_columns import CONV2D_COLUMNS
from kibi.selection.conv2d_pieces import CONV2D_PIECES
from kibi.selection.conv2d_winograd import CONV2D_WINOGRAD
from kibi.selection.convolution_call import inputs_of
from kibi.selection.depthwise_3x3 import DEPTHWISE_3X3
from kibi.selection.depthwise_columns import DEPTHWISE_COLUMNS
from kibi.selection.fully_connected_blocks import FULLY_CONNECTED_BLOCKS, Vectors, vectors_of, vectors_of_window
from kibi.selection.normalized_sums import LEAST_MULTIPLIER
from kibi.selection.packed_pairs import SUM_LIMIT as PAIRS_LIMIT
from kibi.selection.sums import ALL_INPUTS, channels_of, odd_channels
from kibi.selection.variant import Goal, Variant

_PART = 6
"""Of the channels, at most one in so many is odd: with more, the general kernel takes fewer instructions."""
_DOUBLED_LIMIT = 1 << 30
"""Sums of kernels that double them stay below it in magnitude."""
_WORD = 4


_General = Conv2DS8Params | DepthwiseS8Params | FullyConnectedS8Params


@dataclass(frozen=True, slots=True, eq=False)
class _Layer:
    """The channels of a general call.

    Attributes:
        params: of the call.
        weights: `[O, K]`, in the order in which an odd channel's are read.
        bias: `[O]`.
        outputs: of one channel in a step.
        inputs: the least and the largest element of the input.
    """

    params: _General
    weights: Array
    bias: Array
    outputs: int
    inputs: tuple[int, int] = ALL_INPUTS

    def odd_channels(self, limit: int, least_multiplier: int) -> NDArray[np.int64]:
        """The numbers of the odd channels; none where there are too many."""
        channels = channels_of(self.params, self.weights, self.bias, limit=limit, inputs=self.inputs)
        odd = odd_channels(channels, limit=limit, least_multiplier=least_multiplier)
        return odd if len(odd) <= len(self.weights) // _PART else odd[:0]

    def made_bytes(self, odd: NDArray[np.int64]) -> int:
        """Scratch for the outputs of odd channels, in whole words."""
        return -(-len(odd) * self.outputs // _WORD) * _WORD

    def described(self, odd: NDArray[np.int64]) -> dict[str, Any]:
        """The fields of odd channels."""
        weights = np.ascontiguousarray(self.weights[odd]).astype(np.int8)
        return {
            "odd_filter": weights.reshape(-1),
            "odd_numbers": odd.astype(np.int32),
            "odd_bias": self.bias[odd].astype(np.int32),
            "odd_multiplier": self.params.multiplier[odd],
            "odd_shift": self.params.shift[odd],
            "odd_count": len(odd),
        }

    def without(self, odd: NDArray[np.int64]) -> _General:
        """The parameters with nothing in the odd channels: no weights, no bias, and the scaling of a channel that is not odd."""
        count = len(self.params.bias)
        even = int(np.setdiff1d(np.arange(count), odd)[0])
        arrays = (self.params.filter, self.params.bias, self.params.multiplier, self.params.shift)
        weights, bias, multiplier, shift = (each.copy() for each in arrays)
        bias[odd], multiplier[odd], shift[odd] = 0, multiplier[even], shift[even]
        if isinstance(self.params, DepthwiseS8Params):
            weights.reshape(-1, count)[:, odd] = 0
        else:
            weights.reshape(count, -1)[odd] = 0
        return self.params.replaced(filter=weights, bias=bias, multiplier=multiplier, shift=shift)


def _of_convolution(call: KernelCall) -> _Layer | None:
    params = call.params_as(Conv2DS8Params)
    if params.groups > 1:
        return None
    weights = params.filter.reshape(params.output_channels, -1)
    return _Layer(params, weights, params.bias, params.output_width, inputs_of(call))


def _of_depthwise(call: KernelCall) -> _Layer | None:
    params = call.params_as(DepthwiseS8Params)
    return _Layer(params, params.filter.reshape(-1, params.channels).T, params.bias, params.output_width)


def _of_vectors(call: KernelCall) -> _Layer | None:
    return _layer_of(call.params_as(FullyConnectedS8Params), vectors_of(call))


def _of_window(call: KernelCall) -> _Layer | None:
    read = vectors_of_window(call)
    return None if read is None else _layer_of(call.params_as(Conv2DS8Params), read)


def _layer_of(params: _General, read: Vectors) -> _Layer:
    return _Layer(params, read.weights.reshape(len(read.weights), -1), read.bias, read.vectors)


def _with_odd_channels(
    fast: Variant, layer_of: Callable[[KernelCall], _Layer | None], limit: int, least_multiplier: int = 0
) -> Variant:
    """Returns the variant of a fast one that leaves odd channels to a general rule.

    Args:
        fast: the variant.
        layer_of: the channels of a call that it packs; None for calls that it never packs.
        limit: of the sums of the fast kernel.
        least_multiplier: of the fast kernel.
    """
    kernel = f"{fast.kernel}_odd"

    def pack(call: KernelCall) -> KernelCall | None:
        """Packs odd channels by themselves, and the others with none in their places; None without odd ones, or with many."""
        layer = layer_of(call)
        odd = None if layer is None else layer.odd_channels(limit, least_multiplier)
        if layer is None or odd is None or not len(odd):
            return None
        left_bytes = max(0, call.scratch_bytes - layer.made_bytes(odd))
        made = fast.pack(replace(call, params=layer.without(odd), scratch_bytes=left_bytes))
        if made is None:
            return None
        values = {**made.by_name, **layer.described(odd)}
        scratch_bytes = made.scratch_bytes + layer.made_bytes(odd)
        return replace(made, kernel=kernel, params=PARAMS[kernel](**values), scratch_bytes=scratch_bytes)

    def scratch_bytes(call: KernelCall, goal: Goal) -> int:
        """The scratch of the fast kernel, and the outputs of odd channels."""
        layer = layer_of(call)
        odd = None if layer is None else layer.odd_channels(limit, least_multiplier)
        if layer is None or odd is None or not len(odd):
            return 0
        return fast.scratch_bytes(call, goal) + layer.made_bytes(odd)

    gives_way_to = f"{fast.gives_way_to}_odd" if fast.gives_way_to else ""
    goals = fast.goals if fast not in FULLY_CONNECTED_BLOCKS else frozenset({Goal.SPEED})
    return Variant(kernel, fast.of, fast.kernel_set, goals, pack, gives_way_to, scratch_bytes, fast.is_frugal)


ODD_CHANNELS: tuple[Variant, ...] = (
    _with_odd_channels(CONV2D_3X3X1, _of_convolution, _DOUBLED_LIMIT, LEAST_MULTIPLIER),
    _with_odd_channels(CONV2D_WINOGRAD, _of_convolution, _DOUBLED_LIMIT),
    _with_odd_channels(CONV2D_COLUMNS, _of_convolution, PAIRS_LIMIT),
    _with_odd_channels(CONV2D_BLOCKS, _of_convolution, PAIRS_LIMIT),
    _with_odd_channels(CONV2D_PIECES, _of_convolution, PAIRS_LIMIT),
    *(_with_odd_channels(each, _of_depthwise, _DOUBLED_LIMIT, LEAST_MULTIPLIER) for each in DEPTHWISE_3X3),
    _with_odd_channels(DEPTHWISE_COLUMNS, _of_depthwise, _DOUBLED_LIMIT, LEAST_MULTIPLIER),
    _with_odd_channels(FULLY_CONNECTED_BLOCKS[0], _of_vectors, PAIRS_LIMIT),
    _with_odd_channels(FULLY_CONNECTED_BLOCKS[1], _of_window, PAIRS_LIMIT),
)
"""The variants with odd channels, in the order in which they are tried. Weights of vectors are read once: twice their bytes for odd
channels are worth it for speed alone."""
