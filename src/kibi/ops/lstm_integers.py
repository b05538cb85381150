"""An LSTM of integers: rule N37, as UNIDIRECTIONAL_SEQUENCE_LSTM computes it."""

from collections.abc import Callable
from dataclasses import dataclass
from math import log2

import numpy as np
from numpy.typing import NDArray

from kibi.dtypes import Array, DType
from kibi.ir import OperatorError, Param, Site
from kibi.ops import checks
from kibi.ops.accumulator import folded_bias, integer_matmul
from kibi.quant import Multiplier, logistic_s16, requantize, requantize_wide, tanh_s16, wrap_s32

GATES = ("input", "forget", "cell", "output")
"""In the order of the file, and of the kernels' arrays."""
_GATE_SCALE, _UNIT_SCALE = 2.0**-12, 2.0**-15
"""Of the sums of a gate, and of what the logistic function and the tangent give."""
_MOST_SHIFT = 14
_S16 = DType.S16.limits

Int64 = NDArray[np.int64]


def _cut(values: Int64) -> Int64:
    return np.clip(values, *_S16)


def _logistic(sums: Int64) -> Int64:
    """Of the sums of a gate."""
    return logistic_s16(sums, 3, 0)


def _tanh(sums: Int64) -> Int64:
    """Of the sums of a gate."""
    return tanh_s16(sums, 3, 0)


@dataclass(frozen=True, slots=True)
class _Scaling:
    """The factors of products of gates, the ends of cells, and what a cell is multiplied with and shifted by for its tangent."""

    forget: Multiplier
    update: Multiplier
    output: Multiplier
    cell_range: tuple[int, int]
    tanh_multiplier: int
    tanh_shift: int

    @staticmethod
    def of(site: Site, cell_clip: float) -> "_Scaling":
        """Of a node whose operands were checked.

        Raises:
            OperatorError: the cells' scale, or a factor, is out of proportion.
        """
        cell, hidden = site["cell_state"].quantization.scale, site["output_state"].quantization.scale
        # TFLM takes the nearest power of two for the scale, and of that the distance to 2**-12.
        shift = round(log2(cell or 2.0**-149)) + 12
        if not -15 <= shift <= _MOST_SHIFT:
            what = f"cell_state has scale {cell:.4g}, but 2**-27 to 2**{_MOST_SHIFT - 12} is required"
            raise OperatorError(what, "Quantize the model again", "cell_state")
        most = int(min(cell_clip / cell, 32767.0))
        return _Scaling(
            checks.factor(_UNIT_SCALE * cell / cell),
            checks.factor(_UNIT_SCALE * _UNIT_SCALE / cell),
            checks.factor(_UNIT_SCALE * _UNIT_SCALE / hidden),
            (-most, most) if cell_clip > 0 else _S16,
            3 << max(shift, 0),
            max(-shift, 0),
        )

    def cells(self, cells: Int64, forget: Int64, entry: Int64, update: Int64) -> Int64:
        """The new cells."""
        kept = _cut(requantize(forget * cells, self.forget.value, self.forget.shift))
        added = _cut(requantize(entry * update, self.update.value, self.update.shift))
        return np.clip(_cut(kept + added), *self.cell_range)

    def hidden(self, cells: Int64, gate: Int64, zero_point: int, dtype: DType) -> Int64:
        """The new hidden state."""
        shown = tanh_s16(cells, self.tanh_multiplier, self.tanh_shift)
        scaled = requantize(shown * gate, self.output.value, self.output.shift)
        return np.clip(wrap_s32(scaled + zero_point), *dtype.limits)

    def params(self) -> tuple[Param, ...]:
        """The struct fields."""
        factors = (("forget", self.forget), ("update", self.update), ("output", self.output))
        multipliers = (Param(f"{name}_multiplier", factor.value) for name, factor in factors)
        shifts = (Param(f"{name}_shift", factor.shift) for name, factor in factors)
        low, high = self.cell_range
        return (
            *multipliers,
            *shifts,
            Param("cell_min", low),
            Param("cell_max", high),
            Param("tanh_multiplier", self.tanh_multiplier),
            Param("tanh_shift", self.tanh_shift),
        )


def _factors(site: Site, source: str, kind: str) -> list[Multiplier]:
    """For each gate the factor of its sums: scale of the vectors times that of the weights, in units of 2**-12.

    Raises:
        OperatorError: one is out of proportion.
    """
    scale = site[source].quantization.scale
    found = [checks.factor(scale * site[f"{kind}_to_{gate}"].quantization.scale / _GATE_SCALE) for gate in GATES]
    if site["input"].type.dtype is DType.S16 and max(factor.shift for factor in found) > 7:
        what = f"the scales of {source} and weights give a factor of 2**7 or more"
        raise OperatorError(what, "Quantize the model again with representative data", source)
    return found


def check(site: Site, cell_clip: float) -> None:
    """Types and quantization of an LSTM of integers whose shapes are right.

    Raises:
        OperatorError: one breaks the rule.
    """
    dtype = site["input"].type.dtype
    checks.dtype(site, "output_state", dtype)
    checks.dtype(site, "cell_state", DType.S16)
    own = checks.per_tensor if dtype is DType.S8 else checks.symmetric
    for operand in ("input", "output_state", "output"):
        own(site, operand)
    if site.output.quantization != site["output_state"].quantization:
        what = "output and output_state have different quantizations; TFLM takes the one for the other"
        raise OperatorError(what, "Quantize the model again", "output")
    checks.symmetric(site, "cell_state")
    for gate in GATES:
        for kind in ("input", "recurrent"):
            checks.dtype(site, f"{kind}_to_{gate}", DType.S8)
            checks.symmetric(site, f"{kind}_to_{gate}")
        checks.dtype(site, f"{gate}_bias", DType.S32 if dtype is DType.S8 else DType.S64)
    _factors(site, "input", "input")
    _factors(site, "output_state", "recurrent")
    _Scaling.of(site, cell_clip)


def step(site: Site, cell_clip: float) -> Callable[[Array, Array, Array], Array]:
    """A function from a vector `[K]`, a hidden state `[U]` and cells `[U]`, changed in place, to the new hidden state."""
    dtype, scaling = site["input"].type.dtype, _Scaling.of(site, cell_clip)
    sums = [_gate_sums(site, number) for number in range(len(GATES))]
    zero_point = site["output_state"].quantization.zero_point

    def new(vector: Array, hidden: Array, cells: Array) -> Array:
        own, forget, update, output = (gate(vector, hidden) for gate in sums)
        before = cells.astype(np.int64)
        cells[:] = scaling.cells(before, _logistic(forget), _logistic(own), _tanh(update))
        return scaling.hidden(cells.astype(np.int64), _logistic(output), zero_point, dtype)

    return new


def _gate_sums(site: Site, number: int) -> Callable[[Array, Array], Int64]:
    """The sums of a gate in units of 2**-12: that of the vector and that of the hidden state, each scaled by itself."""
    gate, is_wide = GATES[number], site["input"].type.dtype is DType.S16
    bias = site.constant(f"{gate}_bias").astype(np.int64)
    scale = requantize_wide if is_wide else requantize

    def part(source: str, kind: str, start: Int64 | int) -> Callable[[Array], Int64]:
        matrix = site.constant(f"{kind}_to_{gate}").astype(np.int32).T
        factor, zero_point = _factors(site, source, kind)[number], site[source].quantization.zero_point

        def scaled(vector: Array) -> Int64:
            total = integer_matmul(vector.astype(np.int32) - zero_point, matrix) + start
            return _cut(scale(total if is_wide else wrap_s32(total), factor.value, factor.shift))

        return scaled

    own, recurrent = part("input", "input", bias), part("output_state", "recurrent", 0)
    return lambda vector, hidden: _cut(own(vector) + recurrent(hidden))


def params(site: Site, cell_clip: float) -> tuple[Param, ...]:
    """The struct fields that only kernels of integers have."""
    made: list[Param] = []
    for kind, source in (("input", "input"), ("recurrent", "output_state")):
        factors = _factors(site, source, kind)
        made.append(Param(f"{kind}_multiplier", np.array([factor.value for factor in factors], np.int32)))
        made.append(Param(f"{kind}_shift", np.array([factor.shift for factor in factors], np.int8)))
    if site["input"].type.dtype is DType.S8:
        made += [
            Param("input_bias", np.concatenate([_folded(site, gate, "input", "input") for gate in GATES])),
            Param(
                "recurrent_bias", np.concatenate([_folded(site, gate, "recurrent", "output_state") for gate in GATES])
            ),
            Param("output_zero_point", site["output_state"].quantization.zero_point),
        ]
    else:
        biases = [site.constant(f"{gate}_bias").astype(np.int64) for gate in GATES]
        made.append(Param("input_bias", np.concatenate(biases)))
    return (*made, *_Scaling.of(site, cell_clip).params())


def _folded(site: Site, gate: str, kind: str, source: str) -> Array:
    """The bias of a gate, or zeros for the hidden state's part, with the zero point folded in: rule N8."""
    weights = site.constant(f"{kind}_to_{gate}")
    bias = site.constant(f"{gate}_bias") if kind == "input" else np.zeros(len(weights))
    return folded_bias(bias.astype(np.int32), weights, site[source].quantization.zero_point)
