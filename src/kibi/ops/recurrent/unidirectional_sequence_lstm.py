"""UNIDIRECTIONAL_SEQUENCE_LSTM."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kibi.dtypes import Array, DType
from kibi.ir import KernelCall, NodeView, OperatorError, RowAccess, Rows, StatefulOperator
from kibi.kernels.params import PARAMS
from kibi.ops import checks
from kibi.ops.overlap import least_distance
from kibi.ops.recurrent import lstm_floats, lstm_integers
from kibi.ops.recurrent.lstm_integers import GATES
from kibi.ops.registry import register

_REFUSED = {
    **dict.fromkeys((f"cell_to_{gate}" for gate in ("input", "forget", "output")), "peephole connections are"),
    **dict.fromkeys(("projection", "projection_bias"), "a projection is"),
    **dict.fromkeys((f"{gate}_norm" for gate in GATES), "normalization inside the layer is"),
}
"""Operands that TFLM refuses."""


@dataclass(frozen=True, slots=True)
class UnidirectionalSequenceLstm(StatefulOperator):
    """A long short-term memory of the standard kind: four gates, a cell and a hidden state, which is the output.

    Input [B, T, K] s8, or [T, B, K] where `time_major`; weights input_to_… [U, K] and recurrent_to_… [U, U] s8, biases [U] s32,
    output_state [B, U] s8, cell_state [B, U] s16 → output [B, T, U] s8. Or input, output_state and output are s16, and biases
    s64. Or all are f32. Source: TFLM `micro/kernels/lstm_eval.h` and `lstm_eval_common.cc`.
    """

    name: ClassVar[str] = "UNIDIRECTIONAL_SEQUENCE_LSTM"
    inputs: ClassVar[tuple[str, ...]] = (
        "input",
        *(f"input_to_{gate}" for gate in ("input", "forget", "cell", "output")),
        *(f"recurrent_to_{gate}" for gate in ("input", "forget", "cell", "output")),
        *("cell_to_input?", "cell_to_forget?", "cell_to_output?"),
        *("input_bias", "forget_bias", "cell_bias", "output_bias"),
        *("projection?", "projection_bias?", "output_state", "cell_state"),
        *("input_norm?", "forget_norm?", "cell_norm?", "output_norm?"),
    )
    states: ClassVar[tuple[str, ...]] = ("output_state", "cell_state")
    kernels: ClassVar[tuple[str, ...]] = ("kibi_lstm_s8", "kibi_lstm_s16", "kibi_lstm_f32")
    types: ClassVar[tuple[DType, ...]] = (DType.S8, DType.S16, DType.F32)

    time_major: bool = False
    cell_clip: float = 0.0

    def infer(self, view: NodeView) -> tuple[tuple[int, ...], DType]:
        """The input's shape with U in the last place, the input's type."""
        for operand, what in _REFUSED.items():
            if view.find(operand) is not None:
                remedy = "Export an LSTM as Keras has it, without variants"
                raise OperatorError(f"{what} not supported, neither by TFLM", remedy, operand)
        *_, depth = checks.rank(view, "input", 3)
        units = checks.rank(view, "input_to_forget", 2)[0]
        for gate in GATES:
            _check_shape(view, f"input_to_{gate}", units, depth)
            _check_shape(view, f"recurrent_to_{gate}", units, units)
            _check_shape(view, f"{gate}_bias", units)
        _check_shape(view, "output_state", self._batches(view), units)
        cells = view["cell_state"].type
        if cells.elements != self._batches(view) * units:
            what = (
                f"cell_state has shape {list(cells.shape)}, but {self._batches(view)} * {units} elements are required"
            )
            raise OperatorError(what, operand="cell_state")
        if _is_float(view):
            lstm_floats.check(view)
        else:
            lstm_integers.check(view, self.cell_clip)
        return (*view["input"].type.shape[:2], units), view["input"].type.dtype

    def _batches(self, view: NodeView) -> int:
        return view["input"].type.shape[1 if self.time_major else 0]

    def steps(self, view: NodeView) -> int:
        """One for each step in time; all at once where several batches follow one another."""
        times = view["input"].type.shape[0 if self.time_major else 1]
        return times if self.time_major or self._batches(view) == 1 else 1

    def accesses(self, view: NodeView) -> tuple[RowAccess, ...]:
        """The vectors of a step: a row is one vector."""
        rows, steps = view["input"].type.rows, self.steps(view)
        return (RowAccess(rows, steps, count=rows // steps, stride=rows // steps),)

    def stateful_reference(self, view: NodeView) -> Callable[[Rows, Sequence[Array]], Array]:
        """Rule N37, vector after vector; of floats with rules N24, N25 and N32."""
        batches = self._batches(view)
        step = (lstm_floats if _is_float(view) else lstm_integers).step(view, self.cell_clip)
        dtype = view["input"].type.dtype.numpy

        def outputs(rows: Rows, states: Sequence[Array]) -> Array:
            hidden, cells = (state.reshape(batches, -1) for state in states)
            times = len(rows[0]) // batches
            made = []
            for number, vector in enumerate(rows[0]):
                batch = number // times
                hidden[batch] = step(np.asarray(vector).reshape(-1), hidden[batch], cells[batch]).astype(dtype)
                made.append(hidden[batch].copy())
            return np.concatenate(made)

        return outputs

    def kernel_call(self, view: NodeView) -> KernelCall:
        """The type's kernel."""
        dtype, batches = view["input"].type.dtype, self._batches(view)
        vectors = view["input"].type.rows // self.steps(view)
        units, depth = view["input_to_forget"].type.shape
        weights = (f"{kind}_to_{gate}" for kind in ("input", "recurrent") for gate in GATES)
        kernel = f"kibi_lstm_{dtype}"
        params = PARAMS[kernel](
            **{operand: view.constant(operand).reshape(-1) for operand in weights},
            batches=batches,
            times=vectors // batches,
            depth=depth,
            units=units,
            **(lstm_floats if _is_float(view) else lstm_integers).params(view, self.cell_clip),
        )
        # A vector is read until the last of its units is computed.
        distance = dtype.size_bytes * least_distance((0, (number + 1) * units - 1) for number in range(vectors))
        return KernelCall(kernel, params, inplace_distance_bytes=(distance,))

    def macs(self, view: NodeView) -> int:
        """Counts for each vector the weights of four gates."""
        units, depth = view["input_to_forget"].type.shape
        return view["input"].type.rows * len(GATES) * units * (depth + units)


def _is_float(view: NodeView) -> bool:
    return view["input"].type.dtype is DType.F32


def _check_shape(view: NodeView, operand: str, *wanted: int) -> None:
    found = view[operand].type.shape
    if found != wanted:
        what = f"{operand} has shape {list(found)}, but {list(wanted)} is required"
        raise OperatorError(what, operand=operand)


register(UnidirectionalSequenceLstm)
