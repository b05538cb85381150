"""A plan is written into a copy of a model file, and nothing else of the file changes its meaning."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest
import tflite
from hypothesis import given, settings
from hypothesis import strategies as st

from kibi.dtypes import DType
from kibi.errors import KibiError, ModelError, PlanError
from kibi.frontends.tflite import parse_tflite
from kibi.frontends.tflite.builder import ModelBuilder
from kibi.frontends.tflite.embed import embed_offline_plan
from kibi.frontends.tflite.offline_plan import read_offline_plan
from kibi.frontends.tflite.outline import read_outline
from kibi.tflm import Oracle
from kibi.tflm.arena import arena_uses, kernel_scratch
from kibi.tflm.embedding import embed_plan
from tests.support.amount import share
from tests.support.offline_models import NAME, branches, with_offsets
from tests.support.zoo import catalog, model_path, seeded_runs

_OFFSETS = (0, 256, 512, 768, 832, 0)
_IMPROVED = {
    "aeq_branching_conv_fc": (448, 384),
    "cfu_hps_74ops": (237552, 236272),
    "derived_ic_lut4_decode": (53248, 51456),
    "mlperf_vww_fp32": (294912, 221184),
    "mlperf_vww_int8": (73728, 55296),
    "mww_v1_alexa": (21216, 14208),
    "mww_v2_okay_nabu": (4096, 2944),
    "mww_v2_vad": (1536, 1248),
    "openmv_blazeface_front_128": (442368, 344064),
    "tinymaix_mbnet96_025_q": (73728, 55296),
}
"""TFLM's head in bytes before and after; models that change no operator's scratch."""


def _names(data: bytes) -> list[bytes]:
    model = tflite.Model.GetRootAs(data)
    return [model.Metadata(index).Name() for index in range(model.MetadataLength())]


def _contents(data: bytes) -> list[bytes]:
    model = tflite.Model.GetRootAs(data)
    return [bytes(np.asarray(model.Buffers(index).DataAsNumpy())) for index in range(model.BuffersLength())]


def _places(data: bytes) -> list[int]:
    """Where the data of each buffer that has some begin."""
    model = tflite.Model.GetRootAs(data)
    buffers = [model.Buffers(index) for index in range(model.BuffersLength())]
    return [each._tab.Vector(each._tab.Offset(4)) for each in buffers if each.DataLength()]


def _with_weights() -> bytes:
    """A model with constants of odd sizes."""
    builder = ModelBuilder()
    x = builder.input((1, 3), DType.S8, 0.5, 0)
    for width in (5, 7):
        shape = builder.constant(np.ones((width, 3), np.int8), 0.25, 0)
        y = builder.tensor((1, width), DType.S8, 0.5, 0)
        builder.operator("FULLY_CONNECTED", [x, shape, -1], [y])
    builder.metadata("kept", b"as it was")
    return builder.finish([y])


def test_embed_writes_what_is_read_back() -> None:
    """Offsets go in and come out."""
    made = embed_offline_plan(branches(), "m.tflite", _OFFSETS)
    assert read_offline_plan(made, "m.tflite") == _OFFSETS


def test_embed_keeps_every_old_byte_where_the_order_stays() -> None:
    """The new part is in front, and the old bytes move by a multiple of what buffers are aligned to."""
    data = _with_weights()
    made = embed_offline_plan(data, "m.tflite", [-1] * 5)
    start = made.index(data)
    assert start % 64 == 0
    assert not any(made[start + len(data) :])
    assert [place + start for place in _places(data)] == _places(made)[: len(_places(data))]
    assert all(place % 16 == 0 for place in _places(made))


def test_embed_keeps_other_metadata_buffers_and_the_graph() -> None:
    """The graph that is loaded is the same, with every constant."""
    data = _with_weights()
    made = embed_offline_plan(data, "m.tflite", [-1] * 5)
    assert _names(made) == [b"kept", NAME.encode()]
    assert _contents(made)[:-1] == _contents(data)
    old, new = parse_tflite(data, "m.tflite"), parse_tflite(made, "m.tflite")
    assert new == old
    for before, after in zip(old.tensors, new.tensors, strict=True):
        np.testing.assert_array_equal(before.data, after.data)


def test_embed_replaces_a_plan_that_is_there() -> None:
    """One plan is left, the new one."""
    once = embed_offline_plan(with_offsets((0,) * 6), "m.tflite", (16,) * 6)
    twice = embed_offline_plan(once, "m.tflite", _OFFSETS)
    assert _names(once) == _names(twice) == [NAME.encode()]
    assert read_offline_plan(twice, "m.tflite") == _OFFSETS


def test_embed_in_another_order_moves_operators_only() -> None:
    """Each operator keeps its operands and attributes."""
    data = branches()
    order = (1, 3, 0, 2, 4)
    old = parse_tflite(data, "m.tflite")
    new = parse_tflite(embed_offline_plan(data, "m.tflite", _OFFSETS, order), "m.tflite")
    assert new.tensors == old.tensors
    assert [(node.op, node.inputs, node.outputs) for node in new.nodes] == [
        (old.nodes[number].op, old.nodes[number].inputs, old.nodes[number].outputs) for number in order
    ]


@pytest.mark.parametrize(
    ("offsets", "order", "text"),
    [
        (_OFFSETS[1:], None, "5 offsets were given for 6 tensors"),
        (_OFFSETS, (0, 1, 2, 3, 3), "does not name each of the 5 operators once"),
        (_OFFSETS, (0, 1), "does not name each of the 5 operators once"),
    ],
)
def test_embed_of_what_does_not_fit_is_refused(offsets: Sequence[int], order: Sequence[int] | None, text: str) -> None:
    """The error says what is wrong."""
    with pytest.raises(ModelError, match=text):
        embed_offline_plan(branches(), "m.tflite", offsets, order)


def test_embed_leaves_out_offsets_that_tflm_would_give_to_variables_of_other_subgraphs() -> None:
    """TFLM counts tensors from the start of the list for each subgraph when it looks for variables."""
    builder = ModelBuilder()
    tensors = [builder.input((1, 4), DType.S8, 0.5, 0), *(builder.tensor((1, 4), DType.S8, 0.5, 0) for _ in range(2))]
    for read, made in pairwise(tensors):
        builder.operator("RELU", [read], [made])
    builder.end_subgraph([2])
    other = builder.input((1, 4), DType.S8, 0.5, 0)
    builder.tensor((1, 4), DType.S8, 0.5, 0, variable=True)
    data = builder.finish([other])
    copy = embed_offline_plan(data, "m.tflite", (0, 16, 32))
    assert read_offline_plan(copy, "m.tflite") == (0, -1, 32, -1, -1)


def test_embed_plan_takes_turns_out_of_branches() -> None:
    """The order changes where that needs less, and only where it is allowed to."""
    made = embed_plan(branches(), "m.tflite")
    assert (made.before.arena_bytes, made.plan.arena_bytes) == (768, 576)
    assert made.is_reordered
    kept = embed_plan(branches(), "m.tflite", reorders=False)
    assert kept.plan.arena_bytes == 768
    assert not kept.is_reordered


def test_embed_plan_keeps_room_for_scratch() -> None:
    """Bytes that a kernel asks for while its operator runs are nobody's then."""
    made = embed_plan(branches(), "m.tflite", scratch_bytes={0: 1000})
    step = next(place for place, run in enumerate(made.plan.runs) if run.node == 0)
    live = sorted((each.offset, each.size_bytes) for each in made.plan.buffers if each.start <= step < each.end)
    assert [size for _, size in live].count(1000) == 1
    assert all(low + size <= high for (low, size), (high, _) in pairwise(live))


def test_embed_plan_of_operators_that_kibi_does_not_run() -> None:
    """Names, operands and sizes are enough; operators on the same variable keep their order."""
    builder = ModelBuilder()
    x = builder.input((1, 64), DType.S8, 0.5, 0)
    state = builder.tensor((1, 64), DType.S8, 0.5, 0, variable=True)
    made = [builder.tensor((1, 64), DType.S8, 0.5, 0) for _ in range(3)]
    builder.operator("CUSTOM", [x, state], [made[0]], custom_code="First")
    builder.operator("CUSTOM", [x, state], [made[1]], custom_code="Second")
    builder.operator("ADD", made[:2], [made[2]])
    data = builder.finish([made[2]])
    outline = read_outline(data, "m.tflite")
    assert [node.op.name for node in outline.graph.nodes] == ["CUSTOM:First", "CUSTOM:Second", "ADD"]
    assert outline.before == ((0, 1),)
    offsets = read_offline_plan(embed_plan(data, "m.tflite").data, "m.tflite")
    assert offsets is not None
    assert offsets[state] == -1
    assert min(offsets[index] for index in (x, *made)) == 0


@given(st.integers(0, 10**6), st.integers(0, 255))
@settings(max_examples=150)
def test_embed_of_a_damaged_file_ends_in_an_error_or_a_file(place: int, value: int) -> None:
    """Never in anything else."""
    data = bytearray(_with_weights() if place % 2 else with_offsets(_OFFSETS))
    data[place % len(data)] = value
    try:
        embedding = embed_plan(bytes(data), "m.tflite")
    except KibiError:
        return
    read_offline_plan(embedding.data, "m.tflite")


def test_embedded_model_has_the_same_bits_in_less_arena(oracle: Oracle) -> None:
    """TFLM itself takes the bytes that the plan says."""
    data = branches()
    made = embed_plan(data, "m.tflite")
    before, after = arena_uses([data, made.data])
    assert before is not None
    assert after is not None
    assert (before.head_bytes, after.head_bytes) == (made.before.arena_bytes, made.plan.arena_bytes)
    assert after.tail_bytes == before.tail_bytes
    noise = np.random.default_rng(0).integers(-128, 128, (1, 8, 8, 4), np.int8)
    (old,), (new,) = oracle.run(data, [[noise]]), oracle.run(made.data, [[noise]])
    np.testing.assert_array_equal(old.outputs[0], new.outputs[0])


@pytest.mark.zoo
@pytest.mark.parametrize("name", share(_IMPROVED, 0))
def test_embedded_zoo_model_has_the_same_bits_in_less_arena(name: str, oracle: Oracle) -> None:
    """Every model that gains does so in TFLM's own build, by as much as the plan says."""
    data = model_path(name).read_bytes()
    made = embed_plan(data, name)
    heads = [use and use.head_bytes for use in arena_uses([data, made.data])]
    assert tuple(heads) == (made.before.arena_bytes, made.plan.arena_bytes) == _IMPROVED[name]
    runs = [list(inputs) for inputs in seeded_runs(name)[:2]]
    for old, new in zip(oracle.run(data, runs), oracle.run(made.data, runs), strict=True):
        for one, other in zip(old.outputs, new.outputs, strict=True):
            assert one.tobytes() == other.tobytes()


@pytest.mark.zoo
@pytest.mark.oracle
@pytest.mark.parametrize("name", ["tflm_audio_pre_int8", "tflm_kws_scrambled"])
def test_embedded_model_with_scratch_needs_no_more_where_room_is_kept(name: str) -> None:
    """Scratch that is known beforehand never costs more than without a plan."""
    data = model_path(name).read_bytes()
    made = embed_plan(data, name, scratch_bytes=kernel_scratch(data, name))
    before, after = arena_uses([data, made.data])
    assert before is not None
    assert after is not None
    assert after.head_bytes == made.plan.arena_bytes <= before.head_bytes


@pytest.mark.zoo
def test_embed_plan_of_every_zoo_model_is_never_larger() -> None:
    """Whatever operators it has; but a plan for an accelerator, whose tensors share bytes, is not replaced."""
    with pytest.raises(PlanError, match="share bytes while both live"):
        embed_plan(model_path("tflm_person_detect_vela").read_bytes(), "vela")
    for name in sorted(catalog().keys() - {"tflm_person_detect_vela"}):
        made = embed_plan(model_path(name).read_bytes(), name)
        assert made.plan.arena_bytes <= made.before.arena_bytes, name
