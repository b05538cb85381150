"""Plans that follow given offsets, and what TensorFlow Lite Micro's own planner does."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import kibi
from kibi.dtypes import DType
from kibi.errors import InputError, ModelError, PlanError
from kibi.frontends.tflite import parse_tflite
from kibi.frontends.tflite.builder import ModelBuilder
from kibi.frontends.tflite.offline_plan import read_offline_plan
from kibi.frontends.tflite.outline import read_outline
from kibi.ir import Graph
from kibi.planner import validate
from kibi.targets import target
from kibi.tflm.offline_plan import plan_offline
from kibi.tflm.tflm_plan import offsets_of, tflm_own_plan, tflm_plan
from tests.support.offline_models import branches, with_offsets
from tests.support.zoo import catalog, model_path

_TARGET = target("cortex-m4")
_OFFSETS = (0, 256, 512, 768, 832, 0)
_WITH_SCRATCH = {
    "cfu_hps_74ops", "cfu_hps_presence", "derived_hello_lut3_legacy", "derived_ic_lut4_legacy", "derived_mnistcnn_a8w4",
    "tflm_dtln_noise", "tflm_kws_scrambled", "tflm_kws_scrambled_8bit", "tflm_mnist_lstm_float", "tflm_mnist_lstm_int8",
}  # fmt: skip
"""Models whose head is more than their tensors, or that carry a plan of their own."""


def _graph() -> Graph:
    return parse_tflite(branches(), "m.tflite")


def test_given_offsets_are_honoured() -> None:
    """Every tensor lies where it must, and the plan is right."""
    graph = _graph()
    plan = plan_offline(graph, _TARGET, _OFFSETS)
    assert offsets_of(plan, 6) == _OFFSETS
    assert plan.arena_bytes == 896
    assert plan.lower_bound_bytes <= 768
    assert not plan.proven_optimal
    validate(graph, plan)


def test_tensors_without_an_offset_go_around_the_others() -> None:
    """-1 takes no byte of what is told where to lie."""
    graph = _graph()
    plan = plan_offline(graph, _TARGET, (256, -1, 512, -1, -1, -1))
    assert [plan.buffers_of(index)[0].offset for index in (0, 2)] == [256, 512]
    assert plan.arena_bytes == 768
    validate(graph, plan)


@given(st.lists(st.sampled_from((-1, 0, 64, 256, 512, 600, 768)), min_size=6, max_size=6))
@settings(max_examples=100)
def test_any_offsets_give_a_valid_plan_or_name_what_is_in_the_way(offsets: list[int]) -> None:
    """There is no third."""
    graph = _graph()
    try:
        plan = plan_offline(graph, _TARGET, offsets)
    except PlanError:
        with pytest.raises(PlanError, match="share bytes"):
            plan_offline(graph, _TARGET, offsets)
        return
    validate(graph, plan)
    assert all(wanted in (-1, given) for wanted, given in zip(offsets, offsets_of(plan, 6), strict=True))


def test_overlapping_live_offsets_are_refused_with_names() -> None:
    """All pairs at once, with the bytes and the steps."""
    with pytest.raises(PlanError) as caught:
        plan_offline(_graph(), _TARGET, (0, 128, 512, 500, -1, -1))
    text = str(caught.value)
    assert "tensors 'x' (at 0) and 'a' (at 128) share bytes 128 to 255 while both live, in steps 0 to 15" in text
    assert "tensors 'b' (at 512) and 'pa' (at 500) share bytes 512 to 563" in text


def test_wrong_count_is_refused() -> None:
    """The error says how many there must be."""
    with pytest.raises(PlanError, match="has 6 tensors, but 5 offsets are given"):
        plan_offline(_graph(), _TARGET, _OFFSETS[1:])


def test_negative_and_misaligned_offsets_are_refused() -> None:
    """Elements of more than one byte are aligned."""
    with pytest.raises(PlanError, match=r"tensor 'a' is at -2; offsets are not negative"):
        plan_offline(_graph(), _TARGET, (0, -2, *_OFFSETS[2:]))
    with pytest.raises(PlanError, match="tensor 'a' is at 1073741824; no arena has more than"):
        plan_offline(_graph(), _TARGET, (0, 1 << 30, *_OFFSETS[2:]))
    builder = ModelBuilder()
    x = builder.input((1, 4), DType.S8, 0.5, 0, name="x")
    wide = builder.tensor((1, 4), DType.F32, name="wide")
    builder.operator("DEQUANTIZE", [x], [wide])
    with pytest.raises(PlanError, match="tensor 'wide' is at 2; offsets are multiples of 4"):
        plan_offline(parse_tflite(builder.finish([wide]), "m.tflite"), _TARGET, (16, 2))


def test_plan_of_the_file_is_followed_on_request(tmp_path_factory: pytest.TempPathFactory) -> None:
    """`kibi.plan(model, use_embedded_plan=True)` reads it, and the interpreter computes the same bits in it."""
    path = tmp_path_factory.mktemp("offline") / "m.tflite"
    path.write_bytes(with_offsets(_OFFSETS))
    model = kibi.load(path)
    plan = kibi.plan(model, use_embedded_plan=True)
    assert offsets_of(plan, 6) == _OFFSETS
    noise = np.random.default_rng(0).integers(-128, 128, (1, 8, 8, 4), np.int8)
    np.testing.assert_array_equal(kibi.run(model, plan, [noise])[0], kibi.run(model, None, [noise])[0])
    with pytest.raises(PlanError, match="needs 896 bytes, 800 are allowed"):
        kibi.plan(model, use_embedded_plan=True, ram=800)
    with pytest.raises(PlanError, match="ask for nothing else"):
        kibi.plan(model, use_embedded_plan=True, input="streamed")


def test_file_without_a_plan_cannot_be_followed(tmp_path_factory: pytest.TempPathFactory) -> None:
    """The error says how to get one; so does that for a wrong one."""
    path = tmp_path_factory.mktemp("offline") / "m.tflite"
    path.write_bytes(branches())
    with pytest.raises(PlanError, match="kibi plan --write-embedded-plan"):
        kibi.plan(kibi.load(path), use_embedded_plan=True)
    path.write_bytes(with_offsets(_OFFSETS, count=7))
    with pytest.raises(ModelError, match="7 offsets"):
        kibi.plan(kibi.load(path), use_embedded_plan=True)
    with pytest.raises(PlanError, match="carries no plan"):
        kibi.plan(_graph(), use_embedded_plan=True)
    with pytest.raises(InputError, match="not loaded from a file"):
        kibi.embed(_graph(), path)


def test_embedded_plan_is_followed_by_the_interpreter(tmp_path_factory: pytest.TempPathFactory) -> None:
    """What `kibi.embed` writes, `kibi.plan` reads: the same offsets, the same bits."""
    folder = tmp_path_factory.mktemp("embed")
    (folder / "m.tflite").write_bytes(branches())
    model = kibi.load(folder / "m.tflite")
    made = kibi.embed(model, folder / "out.tflite")
    copy = kibi.load(folder / "out.tflite")
    plan = kibi.plan(copy, use_embedded_plan=True)
    assert offsets_of(plan, 6) == offsets_of(made.plan, 6)
    assert plan.arena_bytes == made.plan.arena_bytes == 576
    noise = np.random.default_rng(0).integers(-128, 128, (1, 8, 8, 4), np.int8)
    np.testing.assert_array_equal(kibi.run(copy, plan, [noise])[0], kibi.run(model, None, [noise])[0])


def test_tflm_plan_is_a_valid_plan_of_aligned_tensors() -> None:
    """Kibi's own validator agrees with it, on the graph and on the outline."""
    for graph in (_graph(), read_outline(branches(), "m.tflite").graph):
        for plan in (tflm_plan(graph), tflm_own_plan(graph)):
            validate(graph, plan)
            assert all(buffer.offset % 16 == 0 for buffer in plan.buffers)


@pytest.mark.zoo
def test_own_plan_of_every_zoo_model_is_what_tflm_does() -> None:
    """Byte for byte, where kernels ask for no scratch."""
    for name, entry in catalog().items():
        if entry.head_bytes is None or name in _WITH_SCRATCH:
            continue
        graph = read_outline(model_path(name).read_bytes(), name).graph
        assert tflm_own_plan(graph).arena_bytes == entry.head_bytes, name


@pytest.mark.zoo
@pytest.mark.parametrize("name", ["cfu_hps_74ops", "cfu_hps_presence"])
def test_own_plan_follows_the_one_in_the_file_as_tflm_does(name: str) -> None:
    """Offsets that a converter wrote, and the rest around them."""
    data = model_path(name).read_bytes()
    plan = tflm_own_plan(read_outline(data, name).graph, read_offline_plan(data, name))
    assert plan.arena_bytes == catalog()[name].head_bytes
