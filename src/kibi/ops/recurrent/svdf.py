"""SVDF."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from kibi.dtypes import Array, DType
from kibi.ir import KernelCall, NodeView, OperatorError, RowAccess, Rows, StatefulOperator
from kibi.kernels.params import PARAMS
from kibi.ops import checks
from kibi.ops.attributes import Activation
from kibi.ops.overlap import least_distance
from kibi.ops.registry import register
from kibi.ops.sums.accumulator import folded_bias, integer_matmul
from kibi.ops.sums.float_sums import add_products
from kibi.quant import Multiplier, requantize, wrap_s32

_KERNELS = {DType.S8: "kibi_svdf_s8", DType.S16: "kibi_svdf_s8_s16", DType.F32: "kibi_svdf_f32"}
"""By the state's type."""
_BIAS_TOLERANCE = 1e-5


@dataclass(frozen=True, slots=True)
class Svdf(StatefulOperator):
    """A layer that filters its results over time: a unit sums `rank` filters, each a feature weighted over its last values.

    Input [B, K] s8, weights_feature [F, K] s8, weights_time [F, M] s8 or s16, bias [F / rank] s32, state [B, F * M] of
    weights_time's type → output [B, F / rank] s8. Or all are f32. Integers have no activation. Source: TFLM
    `micro/kernels/svdf_common.cc`.
    """

    name: ClassVar[str] = "SVDF"
    inputs: ClassVar[tuple[str, ...]] = ("input", "weights_feature", "weights_time", "bias?", "state")
    states: ClassVar[tuple[str, ...]] = ("state",)
    kernels: ClassVar[tuple[str, ...]] = tuple(_KERNELS.values())
    types: ClassVar[tuple[DType, ...]] = (DType.S8, DType.F32)

    rank: int = 1
    activation: Activation = Activation.NONE

    def infer(self, view: NodeView) -> tuple[tuple[int, ...], DType]:
        """Shape `[B, F / rank]`, the input's type."""
        checks.positive("rank", (self.rank,))
        batches, depth = checks.rank(view, "input", 2)
        filters, width = checks.rank(view, "weights_feature", 2)
        memory = checks.rank(view, "weights_time", 2)
        if filters % self.rank:
            what = f"{filters} filters do not fall into units of rank {self.rank}"
            raise OperatorError(what, operand="weights_feature")
        _check_shape("weights_feature", (filters, depth), (filters, width))
        _check_shape("weights_time", (filters, memory[1]), memory)
        _check_shape("state", (batches, filters * memory[1]), view["state"].type.shape)
        if view["input"].type.dtype is DType.S8:
            _check_integers(view, filters // self.rank)
        else:
            for operand in ("weights_feature", "weights_time", "state"):
                checks.dtype(view, operand, DType.F32)
            _check_bias(view, filters // self.rank, DType.F32)
        return (batches, filters // self.rank), view["input"].type.dtype

    def steps(self, view: NodeView) -> int:
        """All at once: vectors of several batches are one row."""
        del view
        return 1

    def accesses(self, view: NodeView) -> tuple[RowAccess, ...]:
        """The whole input."""
        return (RowAccess.every(view["input"].type.rows, 1),)

    def stateful_reference(self, view: NodeView) -> Callable[[Rows, Sequence[Array]], Array]:
        """Rule N36, or N24 of floats: new results of the filters, then the weighted sums of those that are kept."""
        layer = self._float_layer(view) if view["input"].type.dtype is DType.F32 else self._integer_layer(view)
        batches, depth = view["input"].type.shape
        memory = view["weights_time"].type.shape[1]

        def output(rows: Rows, states: Sequence[Array]) -> Array:
            state = states[0].reshape(batches, -1, memory)
            state[:, :, :-1] = state[:, :, 1:].copy()
            features, sums = layer
            state[:, :, -1] = features(np.asarray(rows[0][0]).reshape(batches, depth))
            return sums(state)

        return output

    def kernel_call(self, view: NodeView) -> KernelCall:
        """The kernel of the state's type."""
        dtype = view["state"].type.dtype
        batches, depth = view["input"].type.shape
        filters, memory = view["weights_time"].type.shape
        units = filters // self.rank
        params = PARAMS[_KERNELS[dtype]](
            weights_feature=view.constant("weights_feature").reshape(-1),
            weights_time=view.constant("weights_time").reshape(-1),
            bias=_bias(view, units),
            batches=batches,
            depth=depth,
            units=units,
            filters_per_unit=self.rank,
            memory=memory,
            **(self._clamp_params() if dtype is DType.F32 else _scaling_params(view)),
        )
        # A vector is read until the last of its units is computed.
        reads = ((batch * depth, (batch + 1) * units - 1) for batch in range(batches))
        distance = view.output.type.dtype.size_bytes * least_distance(reads)
        return KernelCall(_KERNELS[dtype], params, inplace_distance_bytes=(distance,))

    def macs(self, view: NodeView) -> int:
        """Counts for each filter the input's elements and those that it keeps."""
        batches, depth = view["input"].type.shape
        filters, memory = view["weights_time"].type.shape
        return batches * filters * (depth + memory)

    def _integer_layer(self, view: NodeView) -> tuple[Callable[[Array], Array], Callable[[Array], Array]]:
        """Returns two functions: from input to the filters' new results `[B, F]`, and from all results `[B, F, M]` to outputs."""
        matrix = view.constant("weights_feature").astype(np.int32).T
        times = view.constant("weights_time").astype(np.int64)
        bias = _bias(view, len(times) // self.rank).astype(np.int64)
        feature, result = _factors(view)
        dtype, zero = view["state"].type.dtype, view["state"].quantization.zero_point
        source_zero, output_zero = (view[name].quantization.zero_point for name in ("input", "output"))

        def features(vectors: Array) -> Array:
            products = wrap_s32(integer_matmul(vectors.astype(np.int32) - source_zero, matrix))
            scaled = np.clip(requantize(products, feature.value, feature.shift), *dtype.limits)
            return (scaled + zero).astype(dtype.numpy)

        def outputs(state: Array) -> Array:
            weighted = ((state.astype(np.int64) - zero) * times).sum(axis=2)
            sums = wrap_s32(weighted.reshape(len(state), -1, self.rank).sum(axis=2) + bias)
            return np.clip(wrap_s32(requantize(sums, result.value, result.shift) + output_zero), -128, 127)

        return features, outputs

    def _float_layer(self, view: NodeView) -> tuple[Callable[[Array], Array], Callable[[Array], Array]]:
        """The same of floats."""
        matrix = view.constant("weights_feature").astype(np.float32).T
        times = view.constant("weights_time").astype(np.float32)
        bias = _bias(view, len(times) // self.rank).astype(np.float32)

        def features(vectors: Array) -> Array:
            start = np.zeros((len(vectors), len(times)), np.float32)
            return add_products(start, vectors.astype(np.float32).T[:, :, None], matrix[:, None])

        def outputs(state: Array) -> Array:
            start = np.zeros(state.shape[:2], np.float32)
            values = np.moveaxis(state.astype(np.float32), 2, 0)
            weighted = add_products(start, values, times.T[:, None]).reshape(len(state), -1, self.rank)
            sums = np.broadcast_to(bias, weighted.shape[:2])
            with np.errstate(all="ignore"):
                for rank in range(self.rank):
                    sums = sums + weighted[:, :, rank]
            return self._activated(sums)

        return features, outputs

    def _limits(self) -> tuple[float, float, float]:
        """The range that outputs of floats are clamped to, without an end where infinities stay, and what a NaN becomes (rule N36).

        Source: TFLM `micro/kernels/activation_utils.h`, `ActivationValFloat`: of a NaN and a bound, its minimum and its maximum
        are the bound, and the upper bound comes first.
        """
        if self.activation is Activation.RELU:
            return 0.0, np.inf, 0.0
        low, high = self.activation.plain_limits(DType.F32)
        return low, high, high

    def _activated(self, sums: Array) -> Array:
        """Returns sums of floats after the activation; without one, unchanged."""
        if self.activation is Activation.NONE:
            return sums
        low, high, instead_of_nan = (np.float32(bound) for bound in self._limits())
        clamped = np.where(sums < low, low, np.where(high < sums, high, sums))
        return np.where(np.isnan(sums), instead_of_nan, clamped)

    def _clamp_params(self) -> dict[str, Any]:
        """The struct fields that only the kernel of floats has."""
        low, high, instead_of_nan = self._limits()
        return {
            "has_activation": int(self.activation is not Activation.NONE),
            "activation_min": low,
            "activation_max": high,
            "activation_of_nan": instead_of_nan,
        }


def _check_shape(operand: str, wanted: tuple[int, ...], found: tuple[int, ...]) -> None:
    if found != wanted:
        what = f"{operand} has shape {list(found)}, but {list(wanted)} is required"
        raise OperatorError(what, operand=operand)


def _check_bias(view: NodeView, units: int, dtype: DType) -> None:
    bias = view.find("bias")
    if bias is not None:
        checks.dtype(view, "bias", dtype)
        _check_shape("bias", (units,), bias.type.shape)


def _check_integers(view: NodeView, units: int) -> None:
    """Types and quantization of an integer layer."""
    checks.dtype(view, "weights_feature", DType.S8)
    dtype = _state_type(view)
    for operand in ("input", "output"):
        checks.per_tensor(view, operand)
    for operand in ("weights_feature", "weights_time"):
        checks.symmetric(view, operand)
    (checks.per_tensor if dtype is DType.S8 else checks.symmetric)(view, "state")
    _check_bias(view, units, DType.S32)
    bias = view.find("bias")
    if bias is not None:
        wanted = float(_product(view["state"].quantization.scale, view["weights_time"].quantization.scale))
        if abs(checks.per_tensor(view, "bias").scale - wanted) >= _BIAS_TOLERANCE:
            what = f"bias has scale {bias.quantization.scale:.6g}, but that of the sums is {wanted:.6g}"
            raise OperatorError(what, "Quantize the model again", "bias")
    _factors(view)


def _state_type(view: NodeView) -> DType:
    """The type of the state, which is that of the weights over time; TFLM would read the one as the other."""
    checks.dtype(view, "weights_time", DType.S8, DType.S16)
    checks.dtype(view, "state", view["weights_time"].type.dtype)
    return view["state"].type.dtype


def _product(first: float, second: float) -> np.float32:
    return np.float32(first) * np.float32(second)


def _factors(view: NodeView) -> tuple[Multiplier, Multiplier]:
    """Rule N36: from products to the state, and from sums to the output; of scales, computed in float32."""
    scales = {
        operand: np.float32(view[operand].quantization.scale) for operand in (*view.op.inputs[:3], "state", "output")
    }
    with np.errstate(all="ignore"):
        feature = scales["input"] * scales["weights_feature"] / scales["state"]
        result = scales["state"] * scales["weights_time"] / scales["output"]
    return checks.factor(float(feature)), checks.factor(float(result))


def _bias(view: NodeView, units: int) -> Array:
    """The bias, zeros where it is left out."""
    dtype = np.float32 if view["input"].type.dtype is DType.F32 else np.int32
    bias = view.find("bias")
    return np.zeros(units, dtype) if bias is None or bias.data is None else bias.data.astype(dtype)


def _scaling_params(view: NodeView) -> dict[str, Any]:
    """The struct fields that only kernels of integers have."""
    weights = view.constant("weights_feature")
    feature, result = _factors(view)
    zeros = np.zeros(len(weights), np.int32)
    state, is_s8 = view["state"].quantization, view["state"].type.dtype is DType.S8
    return {
        "feature_bias": folded_bias(zeros, weights, view["input"].quantization.zero_point),
        **({"state_zero_point": state.zero_point} if is_s8 else {}),
        "feature_multiplier": feature.value,
        "feature_shift": feature.shift,
        "output_multiplier": result.value,
        "output_shift": result.shift,
        "output_zero_point": view.output.quantization.zero_point,
    }


register(Svdf)
