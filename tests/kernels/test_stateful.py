"""Kernels with states on emulated cores: outputs and states are the reference's, inference after inference."""

from pathlib import Path

import numpy as np
import pytest

import kibi
from kibi.engines import HostEngine
from kibi.ir import KernelCall, NodeView
from kibi.kernels.params.recurrent import (
    LstmS8BlocksParams,
    LstmS8Params,
    SvdfS8BlocksParams,
    SvdfS8Params,
    SvdfS8S16BlocksParams,
    SvdfS8S16Params,
)
from kibi.quant import requantize
from kibi.runtime import seeded_inputs
from kibi.selection.lstm_blocks import LSTM_BLOCKS
from kibi.selection.svdf_blocks import SVDF_BLOCKS
from tests.kernels.emulated import WIDE_KERNELS, Bench, Kernels, linked
from tests.ops.comparison import assert_same, graph_of
from tests.support.amount import IS_EXHAUSTIVE, amount
from tests.support.choices import Seeded
from tests.support.operator_models import OPERATOR_MODELS, Case
from tests.support.remembering_models import integer_lstm, integer_svdf
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


def _check(kernels: Kernels, view: NodeView, case: Case, seed: int, variant: KernelCall | None = None) -> None:
    """From states of any values; arrays of states end where their memory does; `variant` replaces the general call."""
    rng, call = np.random.default_rng(seed), variant or view.op.kernel_call(view)
    bench = Bench(kernels, rng)
    (access,), (source,) = view.op.accesses(view), view.row_tensors
    places = [view[name].type for name in view.op.states]
    expected = [
        np.asarray(rng.integers(-100, 100, kind.elements) / (8 if kind.dtype.name == "F32" else 1), kind.dtype.numpy)
        for kind in places
    ]
    # Kernels in blocks move words of it.
    words = [each.view(np.int32) if variant is not None and each.nbytes % 4 == 0 else each for each in expected]
    addresses = [bench.place(f"state {k}", each, writable=True) for k, each in enumerate(words)]
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


def _packed(view: NodeView) -> KernelCall | None:
    call = view.op.kernel_call(view)
    return next((each.pack(call) for each in (LSTM_BLOCKS, *SVDF_BLOCKS) if each.of == call.kernel), None)


def test_lstms_in_blocks_equal_the_reference(kernels: Kernels) -> None:
    """Vectors of one to five fours and every rest, a unit or several, batches and times; sums, cells and gates at their ends."""
    tried = 0
    for seed in range(amount(60, 400)):
        c = Seeded(seed)
        shape = (c.one_of((1, 1, 2)), c.integer(1, 3), c.integer(1, 21))
        case = integer_lstm(
            c, shape, shape[0], c.one_of((1, 2, 3, 4, 5, 8, 11, 13, 17, 20)), time_major=False, least_weight=-127
        )
        (view,) = graph_of(case).views
        packed = _packed(view)
        if packed is not None:
            _check(kernels, view, case, seed, packed)
            tried += 1
    assert tried >= amount(12, 80)


def _lstm(**fields: object) -> KernelCall:
    """The general call of a layer that packs, with other fields."""
    for seed in range(100):
        c = Seeded(seed)
        (view,) = graph_of(integer_lstm(c, (1, 2, 6), 1, 3, time_major=False, least_weight=-127)).views
        if _packed(view) is not None:
            call = view.op.kernel_call(view)
            return KernelCall(call.kernel, call.params_as(LstmS8Params).replaced(**fields))
    raise AssertionError


@pytest.mark.parametrize(
    "fields",
    [
        {"input_shift": np.array([0, 0, 7, 0], np.int8)}, {"recurrent_shift": np.array([-24, -1, -1, -1], np.int8)},
        {"update_shift": 0}, {"output_shift": 3}, {"update_shift": -31}, {"output_shift": -30, "output_zero_point": 100},
        {"forget_shift": -15}, {"forget_multiplier": (1 << 30) + 1}, {"input_bias": np.full(12, 1 << 23, np.int32)},
        {"input_to_cell": np.full(18, -128, np.int8)},
    ],
    ids=lambda fields: next(iter(fields)) + str(np.ravel(next(iter(fields.values())))[0]),
)  # fmt: skip
def test_lstms_that_blocks_cannot_compute_are_refused(fields: dict[str, object]) -> None:
    """Sums that are shifted too far, or are too large; a forget gate in other units; a half of weights beyond 16 bits."""
    assert LSTM_BLOCKS.pack(_lstm()) is not None
    assert LSTM_BLOCKS.pack(_lstm(**fields)) is None


def test_scales_of_gates_round_as_the_rule_does() -> None:
    """One product, one shift: for sums of every size, those of a half among them, and every shift."""
    rng = np.random.default_rng(0)
    for shift in range(-23, 7):
        multiplier = np.array([1 << 30, (1 << 31) - 1, 0, int(rng.integers(1 << 30, 1 << 31))], np.int32)
        packed = LSTM_BLOCKS.pack(_lstm(input_multiplier=multiplier, input_shift=np.full(4, shift, np.int8)))
        assert packed is not None
        scales = packed.params_as(LstmS8BlocksParams).scales.reshape(2, 4, 4)[0].astype(np.int64)
        bits = rng.integers(1, 24, 20_000)
        sums = np.concatenate(
            [rng.integers(-(1 << bits), 1 << bits), np.arange(-3000, 3000), [1 - (1 << 23), (1 << 23) - 1]]
        )
        for factor, added, mask, shifted in scales:
            high = (256 * sums * factor >> 32) + added + np.where(sums < 0, mask, 0)
            assert max(abs(high.min()), high.max()) < 1 << 31
            rule = requantize(sums, int(factor), shift)
            np.testing.assert_array_equal(np.clip(high >> shifted, -32768, 32767), np.clip(rule, -32768, 32767))


def _svdf(
    c: Seeded, depth: int, units: int, memory: int, batches: int = 1, *, is_s16: bool = False
) -> tuple[NodeView, Case]:
    """A layer as trained ones are."""
    case = integer_svdf(c, (batches, depth), 1, units, memory, is_usual=not is_s16, is_usual_s16=is_s16)
    return graph_of(case).views[0], case


def _drawn_svdf(seed: int, *, is_s16: bool) -> tuple[NodeView, Case]:
    c = Seeded(seed)
    sizes = c.integer(1, 21), c.one_of((4, 8, 12)), c.one_of((8, 8, 12, 16, 32)), c.one_of((1, 1, 2))
    return _svdf(c, *sizes, is_s16=is_s16)


def test_svdfs_in_blocks_equal_the_reference(kernels: Kernels) -> None:
    """Vectors of one to five fours and every rest, blocks, memories of eight and more, batches, both forms of weights."""
    found, mixed = set[tuple[int, bool]](), 0
    for seed in range(amount(60, 500)):
        view, case = _drawn_svdf(seed, is_s16=False)
        packed = _packed(view)
        if packed is not None:
            _check(kernels, view, case, seed, packed)
            params = packed.params_as(SvdfS8BlocksParams)
            found.add((params.paired_blocks * 4 // params.units, params.output_switch % 256 > 0))
            mixed += 0 < params.paired_blocks * 4 < params.units
    assert found == {(0, False), (0, True), (1, False), (1, True)}
    assert mixed > 2


def test_svdfs_with_states_of_s16_in_blocks_equal_the_reference(kernels: Kernels) -> None:
    """The same; results are shifted to the left, to the right, and not at all."""
    found, mixed = set[tuple[int, int]](), 0
    for seed in range(amount(60, 500)):
        view, case = _drawn_svdf(seed, is_s16=True)
        packed = _packed(view)
        if packed is not None:
            _check(kernels, view, case, seed, packed)
            params = packed.params_as(SvdfS8S16BlocksParams)
            found.add((params.paired_blocks * 4 // params.units, int(np.sign(params.result_shift))))
            mixed += 0 < params.paired_blocks * 4 < params.units
    assert found == {(form, sign) for form in (0, 1) for sign in (-1, 0, 1)}
    assert mixed > 2


@pytest.mark.parametrize(("filters", "rank"), [(6, 1), (7, 1), (6, 2), (9, 3)])
def test_svdfs_whose_filters_are_no_fours_read_their_own_weights(kernels: Kernels, filters: int, rank: int) -> None:
    """The last four filters are computed once more; weights end where their memory does."""
    for seed in range(2):
        case = integer_svdf(Seeded(seed), (2, 5), rank, filters, 10)
        _check(kernels, graph_of(case).views[0], case, seed)


@pytest.mark.parametrize("is_s16", [False, True], ids=["s8", "s16"])
@pytest.mark.parametrize("seed", range(amount(2, 20)))
def test_plain_c_of_svdfs_in_blocks_equals_the_reference(seed: int, is_s16: bool, tmp_path: Path) -> None:
    """On this machine, run after run: packed pairs, bytes, elements after whole fours, long memories."""
    drawn = (_svdf(Seeded(100 * seed + turn), 6 + seed, 8, (12, 8)[seed % 2], is_s16=is_s16) for turn in range(100))
    graph = graph_of(next(case for view, case in drawn if _packed(view) is not None))
    plan = kibi.plan(graph, target="cortex-m4")
    assert plan.kernels == (("kibi_svdf_s8_blocks", "kibi_svdf_s8_s16_blocks")[is_s16],)
    engine, wanted = HostEngine(kibi.compile(graph, plan, tmp_path)), kibi.Interpreter(graph, plan)
    for turn in range(10):
        inputs = seeded_inputs(graph, turn)
        assert_same(graph, engine.run(inputs), wanted.run(inputs))


_UNFIT: tuple[dict[str, object], ...] = (
    {"filters_per_unit": 2, "units": 4}, {"units": 6}, {"memory": 10}, {"memory": 4}, {"output_shift": 1},
)  # fmt: skip


def test_svdfs_that_blocks_cannot_compute_are_refused() -> None:
    """Several filters a unit, units or memories that are no fours, short memories, sums that are shifted to the left."""
    found = (_svdf(Seeded(seed), 5, 8, 12)[0] for seed in range(100))
    view = next(view for view in found if _packed(view) is not None)
    given = view.op.kernel_call(view).params_as(SvdfS8Params)
    others: tuple[dict[str, object], ...] = ({"feature_shift": 0},)
    for fields in (*_UNFIT, *others):
        assert SVDF_BLOCKS[0].pack(KernelCall("kibi_svdf_s8", given.replaced(**fields))) is None


def test_svdfs_with_states_of_s16_that_blocks_cannot_compute_are_refused() -> None:
    """The same; results that are shifted too far to the left, sums beyond 24 bits, a small multiplier of outputs."""
    found = (_svdf(Seeded(seed), 5, 8, 12, is_s16=True)[0] for seed in range(100))
    view = next(view for view in found if _packed(view) is not None)
    given = view.op.kernel_call(view).params_as(SvdfS8S16Params)
    others: tuple[dict[str, object], ...] = (
        {"feature_shift": 7}, {"feature_bias": np.full(8, 1 << 23, np.int32)}, {"output_multiplier": (1 << 30) - 1},
    )  # fmt: skip
    for fields in (*_UNFIT, *others):
        assert SVDF_BLOCKS[1].pack(KernelCall("kibi_svdf_s8_s16", given.replaced(**fields))) is None
