"""UNIDIRECTIONAL_SEQUENCE_LSTM."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from kibi.dtypes import Array, DType
from kibi.ir import KernelCall, OperatorError, RowAccess, Rows, Site, StatefulOperator
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

    def infer(self, site: Site) -> tuple[tuple[int, ...], DType]:
        """The input's shape with U in the last place, the input's type."""
        for operand, what in _REFUSED.items():
            if site.find(operand) is not None:
                remedy = "Export an LSTM as Keras has it, without variants"
                raise OperatorError(f"{what} not supported, neither by TFLM", remedy, operand)
        *_, depth = checks.rank(site, "input", 3)
        units = checks.rank(site, "input_to_forget", 2)[0]
        for gate in GATES:
            _check_shape(site, f"input_to_{gate}", units, depth)
            _check_shape(site, f"recurrent_to_{gate}", units, units)
            _check_shape(site, f"{gate}_bias", units)
        _check_shape(site, "output_state", self._batches(site), units)
        cells = site["cell_state"].type
        if cells.elements != self._batches(site) * units:
            what = (
                f"cell_state has shape {list(cells.shape)}, but {self._batches(site)} * {units} elements are required"
            )
            raise OperatorError(what, operand="cell_state")
        if _is_float(site):
            lstm_floats.check(site)
        else:
            lstm_integers.check(site, self.cell_clip)
        return (*site["input"].type.shape[:2], units), site["input"].type.dtype

    def _batches(self, site: Site) -> int:
        return site["input"].type.shape[1 if self.time_major else 0]

    def steps(self, site: Site) -> int:
        """One for each step in time; all at once where several batches follow one another."""
        times = site["input"].type.shape[0 if self.time_major else 1]
        return times if self.time_major or self._batches(site) == 1 else 1

    def accesses(self, site: Site) -> tuple[RowAccess, ...]:
        """The vectors of a step: a row is one vector."""
        rows, steps = site["input"].type.rows, self.steps(site)
        return (RowAccess(rows, steps, count=rows // steps, stride=rows // steps),)

    def stateful_reference(self, site: Site) -> Callable[[Rows, Sequence[Array]], Array]:
        """Rule N37, vector after vector; of floats with rules N24, N25 and N32."""
        batches = self._batches(site)
        step = (lstm_floats if _is_float(site) else lstm_integers).step(site, self.cell_clip)
        dtype = site["input"].type.dtype.numpy

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

    def kernel_call(self, site: Site) -> KernelCall:
        """The type's kernel."""
        dtype, batches = site["input"].type.dtype, self._batches(site)
        vectors = site["input"].type.rows // self.steps(site)
        units, depth = site["input_to_forget"].type.shape
        weights = (f"{kind}_to_{gate}" for kind in ("input", "recurrent") for gate in GATES)
        kernel = f"kibi_lstm_{dtype}"
        params = PARAMS[kernel](
            **{operand: site.constant(operand).reshape(-1) for operand in weights},
            batches=batches,
            times=vectors // batches,
            depth=depth,
            units=units,
            **(lstm_floats if _is_float(site) else lstm_integers).params(site, self.cell_clip),
        )
        # A vector is read until the last of its units is computed.
        distance = dtype.size_bytes * least_distance((0, (number + 1) * units - 1) for number in range(vectors))
        return KernelCall(kernel, params, inplace_distance_bytes=(distance,))

    def macs(self, site: Site) -> int:
        """Of each vector, the weights of four gates."""
        units, depth = site["input_to_forget"].type.shape
        return site["input"].type.rows * len(GATES) * units * (depth + units)


def _is_float(site: Site) -> bool:
    return site["input"].type.dtype is DType.F32


def _check_shape(site: Site, operand: str, *wanted: int) -> None:
    found = site[operand].type.shape
    if found != wanted:
        what = f"{operand} has shape {list(found)}, but {list(wanted)} is required"
        raise OperatorError(what, operand=operand)


register(UnidirectionalSequenceLstm)
