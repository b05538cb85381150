"""Kernels with states on emulated cores: outputs and states are the reference's, inference after inference."""

import numpy as np
import pytest

from kibi.ir import NodeView
from tests.kernels.emulated import WIDE_KERNELS, Bench, Kernels, linked
from tests.ops.comparison import graph_of
from tests.support.amount import IS_EXHAUSTIVE, amount
from tests.support.choices import Seeded
from tests.support.operator_models import OPERATOR_MODELS, Case
from tests.toolchain.tools import check_cross

_KERNELS = {
    "SVDF": ("kibi_svdf_s8", "kibi_svdf_s8_s16", "kibi_svdf_f32"),
    "UNIDIRECTIONAL_SEQUENCE_LSTM": ("kibi_lstm_s8", "kibi_lstm_s16", "kibi_lstm_f32"),
}
_BUILDS = (
    ("cortex-m4", "zig", "s"),
    ("cortex-m4", "gcc", "2"),
    ("cortex-m33", "zig", "2"),
    ("cortex-m0plus", "zig", "s"),
)
_DRAWN = amount(14, 200)


@pytest.fixture(params=_BUILDS if IS_EXHAUSTIVE else _BUILDS[:1], ids=" ".join)
def kernels(request: pytest.FixtureRequest) -> Kernels:
    """The kernels, for a core by a compiler."""
    target, compiler, level = request.param
    if compiler == "gcc":
        check_cross()
    return linked(WIDE_KERNELS, target, compiler, level)


def _check(kernels: Kernels, view: NodeView, case: Case, seed: int) -> None:
    """From states of any values; arrays of states end where their memory does."""
    rng, call = np.random.default_rng(seed), view.op.kernel_call(view)
    bench = Bench(kernels, rng)
    (access,), (source,) = view.op.accesses(view), view.row_tensors
    places = [view[name].type for name in view.op.states]
    expected = [
        np.asarray(rng.integers(-100, 100, kind.elements) / (8 if kind.dtype.name == "F32" else 1), kind.dtype.numpy)
        for kind in places
    ]
    addresses = [bench.place(f"state {k}", each, writable=True) for k, each in enumerate(expected)]
    states, params, scratch = bench.rows(addresses), bench.params(call), bench.scratch(call.scratch_bytes)
    made, reference = view.output.type, view.op.stateful_reference(view)
    data = bench.place("input", case.inputs[0], writable=True)
    output = bench.place("output", np.zeros(made.elements, made.dtype.numpy), writable=True)
    rows = bench.rows([0] * len(access.positions(0)))
    part = source.type.row_bytes // access.parts
    for (inputs,) in case.runs:
        bench.write(data, inputs)
        elements = inputs.reshape(-1, source.type.row_elements // access.parts)
        for step in range(view.steps):
            positions = [at for at in access.positions(step) if at is not None]
            bench.write_rows(rows, [data + at * part for at in positions])
            made_rows = view.made_rows(step)
            bench.call(call.kernel, output + made_rows[0] * made.row_bytes, rows, params, scratch, states)
            wanted = np.asarray(reference([[elements[at] for at in positions]], expected), made.dtype.numpy)
            found = bench.read(output + made_rows[0] * made.row_bytes, wanted.nbytes).view(made.dtype.numpy)
            np.testing.assert_array_equal(found, wanted.reshape(-1))
        for address, state in zip(addresses, expected, strict=True):
            np.testing.assert_array_equal(bench.read(address, state.nbytes).view(state.dtype), state.reshape(-1))


@pytest.mark.parametrize("operator", sorted(_KERNELS))
def test_drawn_models_equal_the_reference(kernels: Kernels, operator: str) -> None:
    """Units, ranks and memories of every size, several batches; no byte outside is touched."""
    found = set[str]()
    for seed in range(_DRAWN):
        case = OPERATOR_MODELS[operator](Seeded(seed))
        (view,) = graph_of(case).views
        _check(kernels, view, case, seed)
        found.add(view.op.kernel_call(view).kernel)
    assert found == set(_KERNELS[operator])
