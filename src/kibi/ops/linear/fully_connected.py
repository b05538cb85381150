"""FULLY_CONNECTED."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from math import gcd
from typing import Any, ClassVar

import numpy as np

from kibi.dtypes import Array, DType
from kibi.ir import Accumulation, KernelCall, NodeView, OperatorError, RowAccess, Rows
from kibi.kernels.params import PARAMS
from kibi.ops import checks
from kibi.ops.attributes import ActivatedOperator, Activation
from kibi.ops.overlap import least_distance
from kibi.ops.registry import register
from kibi.ops.sums import float_sums
from kibi.ops.sums.accumulator import Requantization, folded_bias, integer_matmul
from kibi.ops.sums.codebook import codebook_params, filter_codebook
from kibi.ops.sums.int4 import INT4_CHANNELS, has_int4_filter, packed_int4
from kibi.ops.sums.sums_s16 import ScalingS16, check_layer, is_s16
from kibi.ops.windows.conv2d import check_integer_layer, is_float
from kibi.quant import wrap_s32

_FOUR = 4
_OF_FOURS = "KIBI_FULLY_CONNECTED_S16_ACCUMULATE_OF_FOURS"
"""The part of the kernel that computes four channels at once."""


@dataclass(frozen=True, slots=True)
class FullyConnected(ActivatedOperator):
    """Matrix product: input of B * K elements s8, filter [O, K] s8, bias [O] s32 → output [B, O] s8.

    The filter is symmetric, per tensor or per output channel. Or input and output are s16, and the bias is s64 or s32; without
    one, `narrow_sums` says whether sums have 32 bits. Or all four are f32. With `keep_dims` the output keeps the input's leading
    axes. Source: TFLM `kernels/internal/reference/integer_ops/fully_connected.h`; of floats
    `kernels/internal/reference/fully_connected.h`.
    """

    name: ClassVar[str] = "FULLY_CONNECTED"
    inputs: ClassVar[tuple[str, ...]] = ("input", "filter", "bias?")
    kernels: ClassVar[tuple[str, ...]] = (
        "kibi_fully_connected_s8", "kibi_fully_connected_s8_accumulate", "kibi_fully_connected_s16",
        "kibi_fully_connected_s16_accumulate", "kibi_fully_connected_f32", "kibi_fully_connected_f32_accumulate",
        "kibi_fully_connected_s8_codebook", "kibi_fully_connected_s8_int4", "kibi_fully_connected_s8_int4_accumulate",
    )  # fmt: skip
    types: ClassVar[tuple[DType, ...]] = (DType.S8, DType.S16, DType.F32)
    is_fast: ClassVar[bool] = True

    activation: Activation = Activation.NONE
    keep_dims: bool = False
    narrow_sums: bool = False

    def infer(self, view: NodeView) -> tuple[tuple[int, ...], DType]:
        """Shape `[B, O]`, or the input's with O in the last place; any leading axes that TFLM accepts."""
        channels, depth = checks.rank(view, "filter", 2)
        if is_float(view):
            float_sums.check_layer(view, channels)
        elif is_s16(view):
            checks.per_tensor(view, "input")
            checks.per_tensor(view, "output")
            biases = (DType.S64, DType.S32)
            check_layer(view, channels, 0, self.activation, biases, narrow_sums=self.narrow_sums)
        else:
            check_integer_layer(view, channels, 0, self.activation)
        shape = view["input"].type.shape
        elements = view["input"].type.elements
        if elements % depth or (self.keep_dims and shape[-1] != depth):
            what = f"input of shape {list(shape)} does not fall into vectors of {depth}, the filter's second axis"
            raise OperatorError(what, operand="input")
        if self.keep_dims:
            return (*shape[:-1], channels), view["input"].type.dtype
        # TFLM does not look at the output's leading axes; only their product matters.
        declared = view.output.type.shape
        flat = (elements // depth, channels)
        fits = declared[-1:] == (channels,) and view.output.type.elements == elements // depth * channels
        return declared if fits else flat, view["input"].type.dtype

    def steps(self, view: NodeView) -> int:
        """One for each row where input and output fall into the same rows, or where it accumulates; else all at once."""
        if self.accumulates(view):
            return view["input"].type.rows
        return view.output.type.rows if _is_by_row(view) else 1

    def accumulates(self, view: NodeView) -> bool:
        """True if a vector spans several rows, and its sums take less than the rows that need not wait for the last.

        Rows of a variable wait in any case.
        """
        if _is_one_piece(view):
            return False
        source, depth = view["input"].type, view["filter"].type.shape[1]
        spans_rows = depth > source.row_elements and depth % source.row_elements == 0
        waiting_bytes = source.size_bytes - source.row_bytes
        return spans_rows and _sums_bytes(view) < waiting_bytes

    def accesses(self, view: NodeView) -> tuple[RowAccess, ...]:
        """Row after row, or all of the input's rows cut into pieces that fit both rows and vectors; those of a variable in one."""
        source = view["input"].type
        if _is_one_piece(view):
            return (replace(RowAccess.every(source.rows, 1), is_joined=True),)
        if _is_by_row(view) or self.accumulates(view):
            return (RowAccess.same(source.rows),)
        parts = source.row_elements // _piece(view)
        return (RowAccess.every(source.rows * parts, 1, parts),)

    def reference(self, view: NodeView) -> Callable[[Rows], Array]:
        """Sum of (input - zero point) * filter, plus bias, requantized and clamped; rule N27 of s16, N24 of floats."""
        if is_float(view):
            return float_sums.vector_rows(view, self.activation)
        matrix = view.constant("filter").astype(np.int32).T
        zero_point = view["input"].quantization.zero_point
        scaling = self._scaling(view)

        def row(rows: Rows) -> Array:
            vectors = np.concatenate([np.asarray(piece).reshape(-1) for piece in rows[0]])
            centred = vectors.astype(np.int32).reshape(-1, len(matrix)) - zero_point
            return scaling.apply(integer_matmul(centred, matrix))

        return row

    def accumulation(self, view: NodeView) -> Accumulation:
        """The same, a row of a vector after the other."""
        if is_float(view):
            return float_sums.vector_accumulation(view, self.activation)
        channels = view["filter"].type.shape[0]
        piece = view["input"].type.row_elements
        parts = view.constant("filter").astype(np.int32).T.reshape(-1, piece, channels)
        zero_point = view["input"].quantization.zero_point
        scaling = self._scaling(view)

        def add(sums: Array, rows: Rows, step: int) -> None:
            vector, part = divmod(step, len(parts))
            own = sums[vector * channels : (vector + 1) * channels]
            centred = np.asarray(rows[0][0]).astype(np.int32) - zero_point
            total = own.astype(np.int64) + integer_matmul(centred, parts[part])
            own[:] = total if is_s16(view) else wrap_s32(total)

        start = np.zeros(view.output.type.elements, np.int64 if is_s16(view) else np.int32)
        return Accumulation(start, add, lambda sums: scaling.apply(sums.reshape(-1, channels)))

    def kernel_call(self, view: NodeView) -> KernelCall:
        """The kernel that is given whole vectors, in pieces or several in a row; or the one that accumulates."""
        weights = view.constant("filter").astype(view["filter"].type.dtype.numpy)
        channels, depth = weights.shape
        piece = view["input"].type.row_elements if _is_by_row(view) else _piece(view)
        accumulates = self.accumulates(view)
        vectors = view.output.type.elements // channels // (1 if accumulates else self.steps(view))
        shared = {
            **self._layer_params(view),
            "piece": min(piece, depth),
            "pieces": depth // min(piece, depth),
            "vectors": vectors,
            "output_channels": channels,
        }
        kernel, packed, block = self._filter(view, weights.reshape(channels, shared["pieces"], -1))
        if accumulates:
            # The last call has read its row before it writes.
            params = PARAMS[kernel](**packed, **shared)
            has_fours = is_s16(view) and min(channels, shared["piece"]) >= _FOUR
            return KernelCall(
                kernel, params, _sums_bytes(view), takes_step=True, inplace_distance_bytes=(0,),
                features=frozenset({_OF_FOURS} if has_fours else ()), least_features=frozenset(),
            )  # fmt: skip
        params = PARAMS[kernel](**packed, **shared, vectors_per_row=max(1, piece // depth))
        # A vector is read again for each block of channels.
        last = (channels - 1) // block * block
        reads = ((vector * depth, vector * channels + last) for vector in range(vectors))
        distance = view["input"].type.dtype.size_bytes * least_distance(reads)
        return KernelCall(kernel, params, inplace_distance_bytes=(distance if _is_by_row(view) else None,))

    def _filter(self, view: NodeView, weights: Array) -> tuple[str, dict[str, Any], int]:
        """The kernel for the form that a layer's filter has in flash.

        Args:
            view: the node.
            weights: `[O, pieces, elements of a piece]`.

        Returns:
            Its name, the struct fields of the filter, and how many output channels are computed together to the end.
        """
        accumulates = self.accumulates(view)
        if has_int4_filter(view):
            return self.kernels[-1 if accumulates else -2], {"filter": packed_int4(weights)}, INT4_CHANNELS
        depth = {} if accumulates else {"depth": weights[0].size}
        found = None if accumulates else filter_codebook(view)
        if found is not None:
            return self.kernels[-3], {**codebook_params(found, (0, 1)), **depth}, 1
        dtype = view["input"].type.dtype
        # Of s8 four, or one after the last four; else always one.
        block = 4 if len(weights) % 4 == 0 and dtype is DType.S8 else 1
        kernel = self.kernels[2 * self.types.index(dtype) + int(accumulates)]
        return kernel, {"filter": weights.reshape(-1), **depth}, block

    def channel_axes(self, view: NodeView) -> Mapping[str, int]:
        """The first axis of filter and bias, but of a filter that is decoded."""
        return {} if view["filter"].codebook_in_use is not None else {"filter": 0, "bias": 0}

    def macs(self, view: NodeView) -> int:
        """The filter's depth for each output element."""
        return view.output.type.elements * view["filter"].type.shape[1]

    def _layer_params(self, view: NodeView) -> dict[str, Any]:
        """The struct fields of the bias and of what is done with sums."""
        if is_float(view):
            return {"bias": float_sums.bias_of(view), **float_sums.activation_params(self.activation)}
        weights, scaling, zero_point = (
            view.constant("filter"),
            self._scaling(view),
            view["input"].quantization.zero_point,
        )
        if isinstance(scaling, ScalingS16):
            bias = scaling.bias - zero_point * weights.astype(np.int64).sum(axis=1)
            rounding = {"is_wide": int(scaling.is_wide), "output_zero_point": scaling.zero_point}
            return {"bias": bias, **rounding, **scaling.params()}
        return {"bias": folded_bias(scaling.bias, weights, zero_point), **scaling.params()}

    def _scaling(self, view: NodeView) -> Requantization | ScalingS16:
        if is_s16(view):
            return ScalingS16.of(view, self.activation, narrow_sums=self.narrow_sums)
        return Requantization.of(view, self.activation)


def _is_by_row(view: NodeView) -> bool:
    """True if output row `y` is made of input row `y`."""
    source, output, depth = view["input"].type, view.output.type, view["filter"].type.shape[1]
    return source.rows == output.rows and source.row_elements % depth == 0


def _sums_bytes(view: NodeView) -> int:
    """Bytes of a sum for each output element: of 64 bits for s16, else of 32."""
    return (8 if is_s16(view) else 4) * view.output.type.elements


def _is_one_piece(view: NodeView) -> bool:
    """True if vectors are cut across the rows of a variable, which are stored one after another."""
    return view["input"].is_state and view["input"].type.rows > 1 and not _is_by_row(view)


def _piece(view: NodeView) -> int:
    """Elements of the pieces that the input's rows are cut into: they fill vectors and rows evenly."""
    depth = view["filter"].type.shape[1]
    row = view["input"].type.elements if _is_one_piece(view) else view["input"].type.row_elements
    return row if row % depth == 0 else gcd(row, depth)


register(FullyConnected)
