"""Layers that remember: UNIDIRECTIONAL_SEQUENCE_LSTM and SVDF."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibi.dtypes import Array, DType
from kibi.ops.recurrent.lstm_floats import gate_sums, hidden_of
from kibi.ops.recurrent.lstm_integers import GATES, CellScaling, cut
from kibi.planfile.in_numpy.call import Call, Numbers, types_of
from kibi.planfile.in_numpy.products import cut as cut_floats
from kibi.planfile.in_numpy.products import products
from kibi.planfile.in_numpy.registry import kernel
from kibi.quant import Multiplier, requantize, requantize_wide, wrap_s32

Step = Callable[[Array, Array, Array], Array]
"""From a vector [depth], a hidden state [units] and cells [units], which change in place, to the new hidden state."""


@kernel("kibi_lstm_s8", "kibi_lstm_s16", "kibi_lstm_f32")
def lstm(call: Call) -> None:
    """UNIDIRECTIONAL_SEQUENCE_LSTM: vector after vector of each batch."""
    p, (kind, _) = call.numbers, types_of(call.kernel)
    step = call.once(lambda: _float_step(call) if kind is DType.F32 else _integer_step(call, kind))
    hidden = call.state(0, p.batches * p.units, kind.numpy.str).reshape(p.batches, p.units)
    cells = call.state(1, p.batches * p.units, "<f4" if kind is DType.F32 else "<i2").reshape(p.batches, p.units)
    made = []
    for number in range(p.batches * p.times):
        batch = number // p.times
        hidden[batch] = step(call.row(number, p.depth, kind.numpy.str), hidden[batch], cells[batch])
        made.append(hidden[batch].copy())
    call.write(np.concatenate(made))


def _weights(call: Call, source: str, depth: int) -> NDArray[Any]:
    """The weights of all gates, [depth, 4 * units]."""
    gates = [call.array(f"{source}_to_{gate}", call.numbers.units, depth) for gate in GATES]
    return np.concatenate(gates).T


def _float_step(call: Call) -> Step:
    p = call.numbers
    inputs, recurrent = _weights(call, "input", p.depth), _weights(call, "recurrent", p.units)
    bias = call.array("input_bias", len(GATES) * p.units)
    low, high = np.float32(p.cell_min), np.float32(p.cell_max)

    def step(vector: Array, hidden: Array, cells: Array) -> Array:
        sums = gate_sums(vector.astype(np.float32), hidden.astype(np.float32), inputs, recurrent, bias)
        return hidden_of(sums.reshape(len(GATES), -1), cells, low, high)

    return step


def _integer_step(call: Call, kind: DType) -> Step:
    p = call.numbers
    scaling = CellScaling(
        Multiplier(p.forget_multiplier, p.forget_shift),
        Multiplier(p.update_multiplier, p.update_shift),
        Multiplier(p.output_multiplier, p.output_shift),
        (p.cell_min, p.cell_max),
        p.tanh_multiplier,
        p.tanh_shift,
    )
    parts = []
    for source, depth in (("input", p.depth), ("recurrent", p.units)):
        name, count = f"{source}_bias", len(GATES) * p.units
        bias = call.array(name, count) if name in call.pointers else np.zeros(count, np.int64)
        factors = [np.repeat(call.array(f"{source}_{part}", len(GATES)), p.units) for part in ("multiplier", "shift")]
        parts.append((_weights(call, source, depth), bias, *factors))

    def step(vector: Array, hidden: Array, cells: Array) -> Array:
        gates = []
        for values, (weights, bias, multiplier, shift) in zip((vector, hidden), parts, strict=True):
            sums = products(values[None, None], weights[None])[0, 0] + bias
            is_wide = kind is DType.S16
            gates.append(
                cut(
                    requantize_wide(sums, multiplier, shift)
                    if is_wide
                    else requantize(wrap_s32(sums), multiplier, shift)
                )
            )
        zero_point = getattr(p, "output_zero_point", 0)
        return scaling.step(cut(gates[0] + gates[1]).reshape(len(GATES), -1), cells, zero_point, kind)

    return step


def _remembered(call: Call, kind: str, results: Callable[[Numbers], Numbers]) -> Numbers:
    """Returns the results that filters keep, [batches, filters, memory], the new ones among them."""
    p, (source, _) = call.numbers, types_of(call.kernel)
    filters = p.units * p.filters_per_unit
    state = call.state(0, p.batches * filters * p.memory, kind).reshape(p.batches, filters, p.memory)
    vectors = np.array(call.row(0, p.batches * p.depth, source.numpy.str)).reshape(p.batches, p.depth)
    state[:, :, :-1] = state[:, :, 1:].copy()
    state[:, :, -1] = results(vectors)
    return np.array(state)


@kernel("kibi_svdf_s8", "kibi_svdf_s8_s16")
def svdf(call: Call) -> None:
    """SVDF of integers: rule N36."""
    p, (_, kept) = call.numbers, types_of(call.kernel)
    filters, zero = p.units * p.filters_per_unit, getattr(p, "state_zero_point", 0)
    weights, bias = call.array("weights_feature", filters, p.depth), call.array("feature_bias", filters)

    def results(vectors: Numbers) -> Numbers:
        sums = products(vectors[None], weights.T[None])[0] + bias
        scaled = requantize(wrap_s32(sums), p.feature_multiplier, p.feature_shift)
        return (np.clip(scaled, *kept.limits) + zero).astype(kept.numpy)

    state = _remembered(call, kept.numpy.str, results).astype(np.int64) - zero
    weighted = (state * call.array("weights_time", filters, p.memory)).sum(axis=2)
    sums = weighted.reshape(p.batches, p.units, p.filters_per_unit).sum(axis=2) + call.array("bias", p.units)
    scaled = requantize(wrap_s32(sums), p.output_multiplier, p.output_shift)
    call.write(np.clip(wrap_s32(scaled + p.output_zero_point), *DType.S8.limits).astype(np.int8))


@kernel("kibi_svdf_f32")
def svdf_floats(call: Call) -> None:
    """SVDF of f32: rule N24."""
    p = call.numbers
    filters = p.units * p.filters_per_unit
    weights = call.array("weights_feature", filters, p.depth)
    state = _remembered(call, "<f4", lambda vectors: products(vectors[None], weights.T[None])[0])
    times = call.array("weights_time", filters, p.memory)
    # [filters, batches, memory] by the filters' own weights
    weighted = products(state.transpose(1, 0, 2), times[:, :, None])[..., 0].T
    each = weighted.reshape(p.batches, p.units, p.filters_per_unit)
    sums = np.broadcast_to(call.array("bias", p.units), each.shape[:2])
    for rank in range(p.filters_per_unit):
        sums = sums + each[:, :, rank]
    if p.has_activation:
        cut_sums = cut_floats(sums, p.activation_min, p.activation_max)
        sums = np.where(np.isnan(sums), np.float32(p.activation_of_nan), cut_sums)
    call.write(sums)
