"""An LSTM of floats, in TFLM's order, as UNIDIRECTIONAL_SEQUENCE_LSTM computes it."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kibi.dtypes import Array, DType
from kibi.ir import NodeView
from kibi.ops import checks
from kibi.ops.attributes import Activation
from kibi.ops.elementwise.logistic import logistic_of_floats
from kibi.ops.recurrent.lstm_integers import GATES
from kibi.ops.sums.float_sums import add_products, clamp, finished
from kibi.quant import tanh_f32

Float32 = NDArray[np.float32]

_UPDATE = GATES.index("cell")
"""The gate that takes the tangent, not the logistic function."""


def check(view: NodeView) -> None:
    """Types of an LSTM of floats.

    Raises:
        OperatorError: one is no f32.
    """
    weights = (f"{kind}_to_{gate}" for kind in ("input", "recurrent") for gate in GATES)
    for operand in (*weights, *(f"{gate}_bias" for gate in GATES), "output_state", "cell_state"):
        checks.dtype(view, operand, DType.F32)


def _cell_range(cell_clip: float) -> tuple[float, float]:
    return (-cell_clip, cell_clip) if cell_clip > 0 else (-np.inf, np.inf)


def step(view: NodeView, cell_clip: float) -> Callable[[Array, Array, Array], Array]:
    """A function from a vector `[K]`, a hidden state `[U]` and cells `[U]`, changed in place, to the new hidden state."""
    sums = _sums(view)
    low, high = (np.float32(end) for end in _cell_range(cell_clip))

    def new(vector: Array, hidden: Array, cells: Array) -> Array:
        gates = sums(vector.astype(np.float32), hidden.astype(np.float32)).reshape(len(GATES), -1)
        return hidden_of(gates, cells, low, high)

    return new


def hidden_of(gates: Float32, cells: Array, low: np.float32, high: np.float32) -> Float32:
    """The new hidden state from the sums of gates, `[4, U]`; cells `[U]`, cut to low … high, are changed in place."""
    with np.errstate(all="ignore"):
        own, forget, _, output = logistic_of_floats(gates)
        update = tanh_f32(gates[_UPDATE])
        kept = finite(forget * cells.astype(np.float32))
        added = finite(own * update)
        now = np.maximum(np.minimum(kept + added, high), low)
        cells[:] = now
        return finite(tanh_f32(now) * output)


def finite(values: Float32) -> Float32:
    """Infinities become the largest finite numbers, as where TFLM clamps without an activation."""
    return clamp(values, Activation.NONE)


def _sums(view: NodeView) -> Callable[[Float32, Float32], Float32]:
    """The sums of all gates, one gate after another: rule N24 of the vector and biases, and of the hidden state by itself."""
    inputs, recurrent = (
        np.concatenate([view.constant(f"{kind}_to_{gate}") for gate in GATES]).astype(np.float32).T.copy()
        for kind in ("input", "recurrent")
    )
    bias = np.concatenate([view.constant(f"{gate}_bias") for gate in GATES]).astype(np.float32)
    return lambda vector, hidden: gate_sums(vector, hidden, inputs, recurrent, bias)


def gate_sums(vector: Float32, hidden: Float32, inputs: Float32, recurrent: Float32, bias: Float32) -> Float32:
    """The sums of all gates, `[4 * U]`, from weights `[K, 4 * U]` and `[U, 4 * U]`, and biases `[4 * U]`."""
    zeros = np.zeros(len(bias), np.float32)
    own = finished(add_products(zeros, vector[:, None], inputs), bias, Activation.NONE)
    return own + finite(add_products(zeros, hidden[:, None], recurrent))


def params(view: NodeView, cell_clip: float) -> dict[str, Any]:
    """The struct fields that only the kernel of floats has."""
    low, high = _cell_range(cell_clip)
    biases = [view.constant(f"{gate}_bias").astype(np.float32) for gate in GATES]
    return {"input_bias": np.concatenate(biases), "cell_min": low, "cell_max": high}
