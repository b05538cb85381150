"""An LSTM of integers: rule N37, as UNIDIRECTIONAL_SEQUENCE_LSTM computes it."""

from collections.abc import Callable
from dataclasses import dataclass
from math import log2
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibi.dtypes import Array, DType
from kibi.ir import NodeView, OperatorError
from kibi.ops import checks
from kibi.ops.sums.accumulator import folded_bias
from kibi.quant import Multiplier, logistic_s16, requantize, requantize_wide, tanh_s16, wrap_s32

GATES = ("input", "forget", "cell", "output")
"""In the order of the file, and of the kernels' arrays."""
_UPDATE = GATES.index("cell")
"""The gate that takes the tangent, not the logistic function."""
_GATE_SCALE, _UNIT_SCALE = 2.0**-12, 2.0**-15
"""Of the sums of a gate, and of what the logistic function and the tangent give."""
_MOST_SHIFT = 14
_S16 = DType.S16.limits

Int64 = NDArray[np.int64]


def cut(values: Int64) -> Int64:
    """Values in the range of s16."""
    low, high = _S16
    return np.minimum(np.maximum(values, low), high)


def _logistic(sums: Int64) -> Int64:
    """Returns the logistic function of a gate's sums."""
    return logistic_s16(sums, 3, 0)


def _tanh(sums: Int64) -> Int64:
    """Returns the hyperbolic tangent of a gate's sums."""
    return tanh_s16(sums, 3, 0)


@dataclass(frozen=True, slots=True)
class CellScaling:
    """The factors of products of gates, the ends of cells, and what a cell is multiplied with and shifted by for its tangent."""

    forget: Multiplier
    update: Multiplier
    output: Multiplier
    cell_range: tuple[int, int]
    tanh_multiplier: int
    tanh_shift: int

    @staticmethod
    def of(view: NodeView, cell_clip: float) -> "CellScaling":
        """Returns the layer of a node whose operands were checked.

        Raises:
            OperatorError: the cells' scale, or a factor, is out of proportion.
        """
        cell, hidden = view["cell_state"].quantization.scale, view["output_state"].quantization.scale
        # TFLM takes the nearest power of two for the scale, and of that the distance to 2**-12.
        shift = round(log2(cell or 2.0**-149)) + 12
        if not -15 <= shift <= _MOST_SHIFT:
            what = f"cell_state has scale {cell:.4g}, but 2**-27 to 2**{_MOST_SHIFT - 12} is required"
            raise OperatorError(what, "Quantize the model again", "cell_state")
        most = int(min(cell_clip / cell, 32767.0))
        return CellScaling(
            checks.factor(_UNIT_SCALE * cell / cell),
            checks.factor(_UNIT_SCALE * _UNIT_SCALE / cell),
            checks.factor(_UNIT_SCALE * _UNIT_SCALE / hidden),
            (-most, most) if cell_clip > 0 else _S16,
            3 << max(shift, 0),
            max(-shift, 0),
        )

    def cells(self, cells: Int64, forget: Int64, entry: Int64, update: Int64) -> Int64:
        """The new cells."""
        kept = cut(requantize(forget * cells, self.forget.value, self.forget.shift))
        added = cut(requantize(entry * update, self.update.value, self.update.shift))
        low, high = self.cell_range
        return np.minimum(np.maximum(cut(kept + added), low), high)

    def hidden(self, cells: Int64, gate: Int64, zero_point: int, dtype: DType) -> Int64:
        """The new hidden state."""
        shown = tanh_s16(cells, self.tanh_multiplier, self.tanh_shift)
        scaled = requantize(shown * gate, self.output.value, self.output.shift)
        low, high = dtype.limits
        return np.minimum(np.maximum(wrap_s32(scaled + zero_point), low), high)

    def step(self, gates: Int64, cells: Array, zero_point: int, dtype: DType) -> Int64:
        """The new hidden state from the sums of gates, `[4, U]`; cells `[U]` are changed in place."""
        own, forget, _, output = _logistic(gates)
        cells[:] = self.cells(cells.astype(np.int64), forget, own, _tanh(gates[_UPDATE]))
        return self.hidden(cells.astype(np.int64), output, zero_point, dtype)

    def params(self) -> dict[str, int]:
        """The struct fields."""
        low, high = self.cell_range
        return {
            "forget_multiplier": self.forget.value,
            "forget_shift": self.forget.shift,
            "update_multiplier": self.update.value,
            "update_shift": self.update.shift,
            "output_multiplier": self.output.value,
            "output_shift": self.output.shift,
            "cell_min": low,
            "cell_max": high,
            "tanh_multiplier": self.tanh_multiplier,
            "tanh_shift": self.tanh_shift,
        }


def _factors(view: NodeView, source: str, kind: str) -> list[Multiplier]:
    """Returns for each gate the factor of its sums: scale of the vectors times that of the weights, in units of 2**-12.

    Raises:
        OperatorError: one is out of proportion.
    """
    scale = view[source].quantization.scale
    found = [checks.factor(scale * view[f"{kind}_to_{gate}"].quantization.scale / _GATE_SCALE) for gate in GATES]
    if view["input"].type.dtype is DType.S16 and max(factor.shift for factor in found) > 7:
        what = f"the scales of {source} and weights give a factor of 2**7 or more"
        raise OperatorError(what, "Quantize the model again with representative data", source)
    return found


def check(view: NodeView, cell_clip: float) -> None:
    """Types and quantization of an LSTM of integers whose shapes are right.

    Raises:
        OperatorError: one breaks the rule.
    """
    dtype = view["input"].type.dtype
    checks.dtype(view, "output_state", dtype)
    checks.dtype(view, "cell_state", DType.S16)
    own = checks.per_tensor if dtype is DType.S8 else checks.symmetric
    for operand in ("input", "output_state", "output"):
        own(view, operand)
    if view.output.quantization != view["output_state"].quantization:
        what = "output and output_state have different quantizations; TFLM takes the one for the other"
        raise OperatorError(what, "Quantize the model again", "output")
    checks.symmetric(view, "cell_state")
    for gate in GATES:
        for kind in ("input", "recurrent"):
            checks.dtype(view, f"{kind}_to_{gate}", DType.S8)
            checks.symmetric(view, f"{kind}_to_{gate}")
        checks.dtype(view, f"{gate}_bias", DType.S32 if dtype is DType.S8 else DType.S64)
    _factors(view, "input", "input")
    _factors(view, "output_state", "recurrent")
    CellScaling.of(view, cell_clip)


def step(view: NodeView, cell_clip: float) -> Callable[[Array, Array, Array], Array]:
    """A function from a vector `[K]`, a hidden state `[U]` and cells `[U]`, changed in place, to the new hidden state."""
    dtype, scaling = view["input"].type.dtype, CellScaling.of(view, cell_clip)
    biases = np.concatenate([view.constant(f"{gate}_bias") for gate in GATES]).astype(np.int64)
    inputs, recurrent = _sums(view, "input", "input"), _sums(view, "output_state", "recurrent")
    zero_point = view["output_state"].quantization.zero_point

    def new(vector: Array, hidden: Array, cells: Array) -> Array:
        gates = cut(inputs(vector, biases) + recurrent(hidden, 0)).reshape(len(GATES), -1)
        return scaling.step(gates, cells, zero_point, dtype)

    return new


def _sums(view: NodeView, source: str, kind: str) -> Callable[[Array, Int64 | int], Int64]:
    """From a vector, and what its sums start with, to the sums of all gates in units of 2**-12, one gate after another."""
    is_wide = view["input"].type.dtype is DType.S16
    weights = [view.constant(f"{kind}_to_{gate}") for gate in GATES]
    # As doubles, which hold every sum below 2**53: NumPy multiplies them far faster.
    matrix = np.concatenate(weights).astype(np.float64).T.copy()
    factors, zero_point = _factors(view, source, kind), view[source].quantization.zero_point
    multipliers, shifts = (
        np.repeat(np.array(values, np.int64), len(weights[0]))
        for values in ([factor.value for factor in factors], [factor.shift for factor in factors])
    )

    def scaled(vector: Array, start: Int64 | int) -> Int64:
        total = ((vector.astype(np.float64) - zero_point) @ matrix).astype(np.int64) + start
        if is_wide:
            return cut(requantize_wide(total, multipliers, shifts))
        return cut(requantize(wrap_s32(total), multipliers, shifts))

    return scaled


def params(view: NodeView, cell_clip: float) -> dict[str, Any]:
    """The struct fields that only kernels of integers have."""
    made: dict[str, Any] = dict(CellScaling.of(view, cell_clip).params())
    for kind, source in (("input", "input"), ("recurrent", "output_state")):
        factors = _factors(view, source, kind)
        made[f"{kind}_multiplier"] = np.array([factor.value for factor in factors], np.int32)
        made[f"{kind}_shift"] = np.array([factor.shift for factor in factors], np.int8)
    if view["input"].type.dtype is DType.S8:
        made["input_bias"] = np.concatenate([_folded(view, gate, "input", "input") for gate in GATES])
        made["recurrent_bias"] = np.concatenate([_folded(view, gate, "recurrent", "output_state") for gate in GATES])
        made["output_zero_point"] = view["output_state"].quantization.zero_point
    else:
        made["input_bias"] = np.concatenate([view.constant(f"{gate}_bias").astype(np.int64) for gate in GATES])
    return made


def _folded(view: NodeView, gate: str, kind: str, source: str) -> Array:
    """The bias of a gate, or zeros for the hidden state's part, with the zero point folded in: rule N8."""
    weights = view.constant(f"{kind}_to_{gate}")
    bias = view.constant(f"{gate}_bias") if kind == "input" else np.zeros(len(weights))
    return folded_bias(bias.astype(np.int32), weights, view[source].quantization.zero_point)
