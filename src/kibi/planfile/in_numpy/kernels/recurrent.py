"""Layers that remember: UNIDIRECTIONAL_SEQUENCE_LSTM and SVDF."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibi.dtypes import Array, DType
from kibi.ops.recurrent.lstm_floats import gate_sums, hidden_of
from kibi.ops.recurrent.lstm_integers import GATES, CellScaling, cut
from kibi.planfile.in_numpy.call import Call, Numbers, types_of
from kibi.planfile.in_numpy.products import Scaling, products
from kibi.planfile.in_numpy.products import cut as cut_floats
from kibi.planfile.in_numpy.registry import kernel
from kibi.planfile.in_numpy.unpacking import packed_pairs, raised_bias
from kibi.quant import Multiplier, requantize, requantize_wide, wrap_s32

Step = Callable[[Array, Array, Array], Array]
"""From a vector [depth], a hidden state [units] and cells [units], which change in place, to the new hidden state."""


@kernel("kibi_lstm_s8", "kibi_lstm_s16", "kibi_lstm_f32", "kibi_lstm_s8_blocks")
def lstm(call: Call) -> None:
    """UNIDIRECTIONAL_SEQUENCE_LSTM: vector after vector of each batch."""
    p, (kind, _) = call.numbers, types_of(call.kernel)
    step = call.once(lambda: _STEPS[call.kernel](call))
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


def _integer_step(call: Call) -> Step:
    p, (kind, _) = call.numbers, types_of(call.kernel)
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
        factors = (np.repeat(call.array(f"{source}_{part}", len(GATES)), p.units) for part in ("multiplier", "shift"))
        parts.append(_Part(_weights(call, source, depth), Scaling(bias, *factors)))
    return _step_of(parts, scaling, getattr(p, "output_zero_point", 0), kind)


@dataclass(frozen=True, slots=True)
class _Part:
    """What the gates get from one vector: weights [depth, 4 * units], and the scaling of their sums."""

    weights: Numbers
    scaling: Scaling

    def gates(self, vector: Array, kind: DType) -> Numbers:
        sums = products(vector[None, None], self.weights[None])[0, 0] + self.scaling.bias
        multiplier, shift = self.scaling.multiplier, self.scaling.shift
        if kind is DType.S16:
            return cut(requantize_wide(sums, multiplier, shift))
        return cut(requantize(wrap_s32(sums), multiplier, shift))


def _step_of(parts: Sequence[_Part], scaling: CellScaling, zero_point: int, kind: DType) -> Step:
    def step(vector: Array, hidden: Array, cells: Array) -> Array:
        own, recurrent = (part.gates(values, kind) for part, values in zip(parts, (vector, hidden), strict=True))
        return scaling.step(cut(own + recurrent).reshape(len(GATES), -1), cells, zero_point, kind)

    return step


def _blocks_step(call: Call) -> Step:
    p, gates = call.numbers, len(GATES)
    counts = (p.depth, p.units)
    blocks = call.array("weights", p.units, gates * (2 + sum(-(-count // 4) for count in counts)))
    scales = call.array("scales", 2, gates, 4).astype(np.int64)
    parts, start = [], 0
    for count, (multiplier, _, _, shift) in zip(counts, scales.transpose(0, 2, 1), strict=True):
        fours = -(-count // 4)
        block = blocks[:, start : start + gates * (1 + fours)].reshape(p.units, 1 + fours, gates)
        start += gates * (1 + fours)
        words = block.transpose(2, 0, 1).reshape(gates * p.units, 1 + fours)
        columns, bias = _rest_last(words[:, 0], words[:, 1:], count % 4)
        factors = (np.repeat(each, p.units) for each in (multiplier, 7 - shift))
        parts.append(_Part(columns.T, Scaling(bias, *factors)))
    zero_point = (p.output_rounding - (1 << p.output_shift - 1)) >> p.output_shift
    scaling = CellScaling(
        Multiplier(1 << 30, -14),
        Multiplier(p.update_multiplier, -p.update_shift),
        Multiplier(p.output_multiplier, -p.output_shift),
        (p.cell_min, p.cell_max),
        p.tanh_multiplier,
        p.tanh_shift,
    )
    return _step_of(parts, scaling, zero_point, DType.S8)


_STEPS = {
    "kibi_lstm_s8": _integer_step,
    "kibi_lstm_s16": _integer_step,
    "kibi_lstm_f32": _float_step,
    "kibi_lstm_s8_blocks": _blocks_step,
}


def _remembered(call: Call, kind: str, results: Callable[[Numbers], Numbers]) -> Numbers:
    """Returns the results that filters keep, [batches, filters, memory], the new ones among them."""
    p, (source, _) = call.numbers, types_of(call.kernel)
    filters = p.units * getattr(p, "filters_per_unit", 1)
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


def _unpacked_blocks(call: Call, kept: int) -> tuple[Numbers, Numbers, NDArray[np.int32]]:
    """Reads blocks of four units of SVDF.

    Args:
        call: the call.
        kept: words that a unit has after those of all four, at least 1.

    Returns:
        The weights `[units, depth]`; what the sums over the input start from, times 256, with an addend, `[units]`; and
        the units' words `[units, kept]`.
    """
    p = call.numbers
    fours = -(-p.depth // 4)
    blocks = call.array("weights", p.units // 4, 4 * (1 + fours + kept) + 1)
    is_paired = np.repeat(blocks[:, 4] % 2 == 0, 4)
    blocks = np.delete(blocks, 4, axis=1)
    features = blocks[:, : 4 * (1 + fours)].reshape(-1, 1 + fours, 4).transpose(0, 2, 1).reshape(p.units, 1 + fours)
    words, rest = np.ascontiguousarray(features[:, 1:]), p.depth % 4
    bytes_of_words = words.view(np.int8).astype(np.int64)
    weights = np.where(
        is_paired[:, None], packed_pairs(words).reshape(p.units, -1), bytes_of_words.reshape(p.units, -1)
    )
    raised = features[:, 0] + 127 * is_paired * weights[:, 1::2].sum(axis=1)
    # Elements after whole fours are the first of the weights.
    weights = np.concatenate([weights[:, 4:], weights[:, :rest]], axis=1) if rest else weights
    return weights, raised, blocks[:, 4 * (1 + fours) :].reshape(p.units, kept)


@kernel("kibi_svdf_s8_blocks")
def svdf_blocks(call: Call) -> None:
    """SVDF of s8 from packed weights: rules N36 and N55."""
    p = call.numbers
    kept = p.memory // 4
    weights, raised, ordered = _unpacked_blocks(call, 1 + kept)
    start = kept - 2
    times = np.ascontiguousarray(np.delete(ordered, start, axis=1)).view(np.int8).astype(np.int64)

    def results(vectors: Numbers) -> Numbers:
        sums = wrap_s32(256 * products(vectors[None], weights.T[None])[0] + raised)
        scaled = np.where(sums < 0, 0, p.result_switch) + (sums * p.result_factor >> 32) >> 12
        newest: Numbers = (np.clip(scaled, -128, 127) + p.state_zero_point).astype(np.int8)
        return newest

    state = _remembered(call, "|i1", results).astype(np.int64)
    sums = wrap_s32(256 * (state * times).sum(axis=2) + ordered[:, start])
    added = p.output_switch & ~((sums & 0xFFFFFFFF) >> 27)
    scaled = added + (sums * p.output_factor >> 32) >> 8
    call.write(np.clip(scaled, -128, 127).astype(np.int8))


@kernel("kibi_svdf_s8_s16_blocks")
def svdf_s16_blocks(call: Call) -> None:
    """SVDF of s8 with a state of s16 from packed weights: rule N36."""
    p = call.numbers
    weights, raised, kept = _unpacked_blocks(call, 1 + p.memory // 2)
    times = np.ascontiguousarray(kept[:, 1:]).view(np.int16).astype(np.int64)

    def results(vectors: Numbers) -> Numbers:
        sums = wrap_s32(256 * products(vectors[None], weights.T[None])[0] + raised) >> 8
        newest: Numbers = np.clip(requantize(sums, p.result_multiplier, p.result_shift), -32768, 32767).astype(np.int16)
        return newest

    state = _remembered(call, "<i2", results).astype(np.int64)
    sums = wrap_s32((state * times).sum(axis=2) + kept[:, 0])
    scaled = requantize(sums, p.output_multiplier, p.output_shift) + p.output_zero_point
    call.write(np.clip(scaled, -128, 127).astype(np.int8))


def _rest_last(starts: Numbers, words: NDArray[np.int32], rest: int) -> tuple[Numbers, Numbers]:
    """Returns weights `[filters, elements]` and biases; in words, elements after whole fours are the first."""
    weights = packed_pairs(words)
    bias = raised_bias(starts, weights) >> 8
    columns = weights.reshape(len(words), -1)
    return (np.concatenate([columns[:, 4:], columns[:, :rest]], axis=1) if rest else columns), bias


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
