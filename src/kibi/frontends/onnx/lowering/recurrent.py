"""LSTM, GRU and RNN: each step of the sequence becomes operators of its own, which share their weights.

A `.tflite` file's own LSTM keeps its state from one inference to the next; ONNX's begins anew in each.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from kibi.dtypes import DType
from kibi.frontends.onnx.draft import Tensor
from kibi.frontends.onnx.emitter import Emitter
from kibi.frontends.onnx.graph import Node, Numbers
from kibi.frontends.onnx.lowering.entry import Lowering
from kibi.frontends.onnx.problems import Unsupported
from kibi.frontends.onnx.real import Real
from kibi.frontends.onnx.weights import real_constant

_KNOWN: Mapping[str, Callable[[Real], Real]] = {
    "relu": lambda x: x.each("RELU"),
    "sigmoid": lambda x: x.each("LOGISTIC"),
    "tanh": lambda x: x.each("TANH"),
}
_STEPS = {"forward": (1,), "reverse": (-1,), "bidirectional": (1, -1)}


@dataclass(frozen=True, slots=True)
class _Weights:
    """The constants of one direction.

    Attributes:
        input: `[G * H, I]`.
        recurrent: `[G * H, H]`.
        input_bias, recurrent_bias: `[G * H]`.
        peepholes: `[3 * H]` of an LSTM; None without.
    """

    input: Numbers
    recurrent: Numbers
    input_bias: Numbers
    recurrent_bias: Numbers
    peepholes: Numbers | None

    @property
    def hidden(self) -> int:
        """H."""
        return int(self.recurrent.shape[1])


@dataclass(frozen=True, slots=True)
class _Cell:
    """A kind of recurrent layer.

    Attributes:
        gates: how many, G.
        activations: the default ones.
        step: from the cell's maker, the projected input `[B, G * H]`, and the states, to the states after it.
        bias: what of the recurrent bias is added with the input's.
    """

    gates: int
    activations: tuple[str, ...]
    step: Callable[["_Direction", Real, list[Real | None]], list[Real]]
    bias: Callable[[_Weights, Node], Numbers]


@dataclass(frozen=True, slots=True)
class _Direction:
    """One direction of a node.

    Attributes:
        e: the emitter.
        node: the node.
        weights: the constants.
        activations: functions, in ONNX's order.
    """

    e: Emitter
    node: Node
    weights: _Weights
    activations: tuple[Callable[[Real], Real], ...]

    def dense(self, x: Real, weights: Numbers, bias: Numbers | None) -> Real:
        """A product with a matrix `[O, K]`, along the last axis."""
        constants = [self.e.constant(np.ascontiguousarray(weights, np.float32))]
        constants += [] if bias is None else [self.e.constant(np.ascontiguousarray(bias, np.float32))]
        shape = (*x.tensor.shape[:-1], len(weights))
        operands = [x.tensor, *constants] if bias is not None else [x.tensor, *constants, None]
        keeps = len(shape) > 2
        return Real(self.e, self.e.add("FULLY_CONNECTED", operands, shape, DType.F32, keep_num_dims=keeps))

    def gate(self, whole: Real, number: int) -> Real:
        """The part `[B, H]` of a gate."""
        size = self.weights.hidden
        rows = whole.tensor.shape[0]
        begin, shape = self.e.numbers((0, number * size)), (rows, size)
        return Real(self.e, self.e.add("SLICE", [whole.tensor, begin, self.e.numbers(shape)], shape, DType.F32))

    def of_gate(self, number: int, weights: Numbers) -> Numbers:
        """The rows of constants that belong to a gate."""
        size = self.weights.hidden
        rows: Numbers = weights[number * size : (number + 1) * size]
        return rows

    def clipped(self, x: Real) -> Real:
        """A sum before its activation, within the limits that the node states."""
        limit = self.node.real("clip", 0.0)
        return x.larger(-limit).smaller(limit) if limit > 0 else x

    def peeked(self, x: Real, cell: Real | None, number: int) -> Real:
        """A sum with the cell's state times a peephole's weights."""
        holes = self.weights.peepholes
        return x if holes is None or cell is None else x + cell * x.constant(self.of_gate(number, holes))


def _rnn_step(d: _Direction, x: Real, states: list[Real | None]) -> list[Real]:
    (hidden,) = states
    total = x if hidden is None else x + d.dense(hidden, d.weights.recurrent, None)
    return [d.activations[0](d.clipped(total))]


def _gru_step(d: _Direction, x: Real, states: list[Real | None]) -> list[Real]:
    (hidden,) = states
    f, g = d.activations
    recurrent, bias = d.weights.recurrent, d.weights.recurrent_bias
    first = [d.gate(x, number) for number in range(3)]
    if hidden is not None:
        first[:2] = [first[number] + d.dense(hidden, d.of_gate(number, recurrent), None) for number in range(2)]
    update, reset = (f(d.clipped(total)) for total in first[:2])
    third, third_bias = d.of_gate(2, recurrent), d.of_gate(2, bias)
    if d.node.integer("linear_before_reset", 0):
        inner = x.constant(third_bias) if hidden is None else d.dense(hidden, third, third_bias)
        first[2] = first[2] + reset * inner
    elif hidden is not None:
        first[2] = first[2] + d.dense(reset * hidden, third, None)
    candidate = g(d.clipped(first[2]))
    result = (1.0 - update) * candidate
    return [result if hidden is None else result + update * hidden]


def _lstm_step(d: _Direction, x: Real, states: list[Real | None]) -> list[Real]:
    hidden, cell = states
    f, g, h = d.activations
    total = x if hidden is None else x + d.dense(hidden, d.weights.recurrent, None)
    parts = [d.gate(total, number) for number in range(4)]  # input, output, forget, cell
    enter = f(d.clipped(d.peeked(parts[0], cell, 0)))
    forget = 1.0 - enter if d.node.integer("input_forget", 0) else f(d.clipped(d.peeked(parts[2], cell, 2)))
    new = enter * g(d.clipped(parts[3]))
    after = new if cell is None else forget * cell + new
    leave = f(d.clipped(d.peeked(parts[1], after, 1)))
    return [leave * h(after), after]


def _both(weights: _Weights, node: Node) -> Numbers:
    del node
    total: Numbers = weights.input_bias + weights.recurrent_bias
    return total


def _gru_bias(weights: _Weights, node: Node) -> Numbers:
    """The recurrent bias of the last gate is inside of the product with the reset gate, if the node says so."""
    if not node.integer("linear_before_reset", 0):
        return _both(weights, node)
    kept = weights.recurrent_bias.copy()
    kept[2 * weights.hidden :] = 0
    total: Numbers = weights.input_bias + kept
    return total


_RNN = _Cell(1, ("Tanh",), _rnn_step, _both)
_GRU = _Cell(3, ("Sigmoid", "Tanh"), _gru_step, _gru_bias)
_LSTM = _Cell(4, ("Sigmoid", "Tanh", "Tanh"), _lstm_step, _both)


def _recurrent(kind: _Cell) -> Callable[[Emitter, Node], None]:
    def convert(e: Emitter, node: Node) -> None:
        is_batch_first = bool(node.integer("layout", 0))
        x = e.real(node.inputs[0])
        x = e.transposed(x, (1, 0, 2)) if is_batch_first else x
        _check_lengths(e, node, x.shape[0], x.shape[1])
        steps = _STEPS[node.text("direction", "forward")]
        outputs: list[list[Real]] = []
        finals: list[list[Real]] = []
        for number, step in enumerate(steps):
            d = _direction(e, node, kind, number)
            states = _initial(e, node, number, kind, is_batch_first=is_batch_first)
            made = _run(d, kind, Real(e, x), states, range(x.shape[0])[::step])
            outputs.append([each[0] for each in made[::step]])
            finals.append(made[-1])
        _give(e, node, outputs, finals, is_batch_first=is_batch_first)

    return convert


def _direction(e: Emitter, node: Node, kind: _Cell, number: int) -> _Direction:
    parts = [real_constant(e, name) if name else None for name in (*node.inputs[1:3], node.input(3), node.input(7))]
    if parts[0] is None or parts[1] is None or (node.input(3) and parts[2] is None):
        raise Unsupported("its weights are computed by the model", "Use constant weights")
    size = kind.gates * parts[1].shape[2]
    bias = np.zeros(2 * size, np.float32) if parts[2] is None else parts[2][number]
    holes = None if parts[3] is None else parts[3][number]
    weights = _Weights(parts[0][number], parts[1][number], bias[:size], bias[size:], holes)
    count = len(kind.activations)
    listed = node.attributes.get("activations", ())
    names = [each.decode() if isinstance(each, bytes) else str(each) for each in listed] or list(kind.activations) * 2
    chosen = [name.lower() for name in names[number * count : (number + 1) * count]]
    if not all(name in _KNOWN for name in chosen) or len(chosen) != count:
        raise Unsupported(f"activations {', '.join(names)} are not supported", "Use Relu, Sigmoid and Tanh")
    return _Direction(e, node, weights, tuple(_KNOWN[name] for name in chosen))


def _check_lengths(e: Emitter, node: Node, steps: int, batch: int) -> None:
    name = node.input(4)
    if not name:
        return
    lengths = e.graph.data(name)
    if lengths is None or (lengths != steps).any() or lengths.size != batch:
        raise Unsupported("sequences of different lengths are not supported", "Leave sequence_lens out")


def _initial(e: Emitter, node: Node, number: int, kind: _Cell, *, is_batch_first: bool) -> list[Real | None]:
    """The states before the first step; None where they are zero."""
    found: list[Real | None] = []
    for name in (node.input(5), node.input(6))[: 2 if kind is _LSTM else 1]:
        data = real_constant(e, name) if name else None
        if not name or (data is not None and not data.any()):
            found.append(None)
            continue
        state = e.real(name)
        state = e.transposed(state, (1, 0, 2)) if is_batch_first else state
        _, batch, size = state.shape
        if state.data is not None:
            found.append(Real(e, e.constant(np.ascontiguousarray(state.data[number]))))
            continue
        shape = (1, batch, size)
        part = e.add("SLICE", [state, e.numbers((number, 0, 0)), e.numbers(shape)], shape, DType.F32)
        found.append(Real(e, e.reshaped(part, (batch, size))))
    return found


def _run(d: _Direction, kind: _Cell, x: Real, states: list[Real | None], steps: Sequence[int]) -> list[list[Real]]:
    """The states after each step."""
    projected = d.dense(x, d.weights.input, kind.bias(d.weights, d.node))
    _, batch, size = projected.tensor.shape
    made: list[list[Real]] = []
    for step in steps:
        begin, shape = d.e.numbers((step, 0, 0)), (1, batch, size)
        row = d.e.add("SLICE", [projected.tensor, begin, d.e.numbers(shape)], shape, DType.F32)
        after = kind.step(d, Real(d.e, d.e.reshaped(row, (batch, size))), states)
        made.append(after)
        states = list(after)
    return made


def _give(e: Emitter, node: Node, outputs: list[list[Real]], finals: list[list[Real]], *, is_batch_first: bool) -> None:
    """Says what the outputs are: all hidden states `[T, D, B, H]`, and the last states `[D, B, H]`."""
    directions, steps = len(outputs), len(outputs[0])
    batch, size = outputs[0][0].tensor.shape
    for place, name in enumerate(node.outputs):
        if not name or (name not in e.consumers and name not in e.graph.outputs):
            continue
        if place == 0:
            rows = [outputs[number][step].tensor for step in range(steps) for number in range(directions)]
            whole = e.reshaped(_stacked(e, rows), (steps, directions, batch, size))
            whole = e.transposed(whole, (2, 0, 1, 3)) if is_batch_first else whole
        else:
            rows = [final[place - 1].tensor for final in finals]
            whole = e.reshaped(_stacked(e, rows), (directions, batch, size))
            whole = e.transposed(whole, (1, 0, 2)) if is_batch_first else whole
        e.give(name, whole)


_MOST_JOINED = 64


def _stacked(e: Emitter, rows: Sequence[Tensor]) -> Tensor:
    """Tensors `[B, H]` one after another."""
    while len(rows) > 1:
        parts = [rows[start : start + _MOST_JOINED] for start in range(0, len(rows), _MOST_JOINED)]
        rows = [_joined(e, part) for part in parts]
    return rows[0]


def _joined(e: Emitter, rows: Sequence[Tensor]) -> Tensor:
    if len(rows) == 1:
        return rows[0]
    shape = (sum(each.shape[0] for each in rows), rows[0].shape[1])
    return e.add("CONCATENATION", rows, shape, DType.F32, axis=0)


_LIMITS = (
    "Sequences of one length; weights are constants; activations are Relu, Sigmoid and Tanh. "
    "Computed as float32, each step by itself."
)
RECURRENT: Mapping[str, Lowering] = {
    "GRU": Lowering(
        _recurrent(_GRU),
        ("FULLY_CONNECTED", "SLICE", "ADD", "LOGISTIC", "MUL", "TANH", "SUB", "CONCATENATION"),
        False,
        _LIMITS,
    ),
    "LSTM": Lowering(
        _recurrent(_LSTM),
        ("FULLY_CONNECTED", "SLICE", "ADD", "LOGISTIC", "MUL", "TANH", "CONCATENATION"),
        False,
        _LIMITS,
    ),
    "RNN": Lowering(_recurrent(_RNN), ("FULLY_CONNECTED", "SLICE", "ADD", "TANH", "CONCATENATION"), False, _LIMITS),
}
"""By ONNX's name of the operator."""
