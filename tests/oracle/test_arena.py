"""How much of its arena TFLM takes, and what its kernels ask for."""

import pytest

from kibi.frontends.tflite.excerpt import single_operator
from kibi.frontends.tflite.outline import read_outline
from kibi.tflm.arena import ArenaUse, arena_uses, kernel_scratch
from tests.support.offline_models import branches, with_offsets
from tests.support.zoo import model_path

pytestmark = pytest.mark.oracle


def test_arena_use_is_what_tflm_reports() -> None:
    """Head and tail of each model, in their order."""
    first, second = arena_uses([branches(), with_offsets((0, 256, 512, 768, 832, 1024))])
    assert first is not None
    assert second is not None
    assert (first.head_bytes, second.head_bytes) == (768, 1088)
    assert first.used_bytes == first.head_bytes + first.tail_bytes


def test_arena_use_of_a_refused_or_fatal_model_is_none() -> None:
    """The models behind it have their answers all the same."""
    good = branches()
    refused = with_offsets((0,) * 5, count=5)
    fatal = b"\xff\xff\xff\x7fTFL3" + bytes(100)
    answers = arena_uses([good, refused, fatal, good])
    assert [isinstance(answer, ArenaUse) for answer in answers] == [True, False, False, True]


def test_operator_alone_takes_its_own_tensors_only() -> None:
    """All others have lost their elements."""
    data = branches()
    alone = single_operator(data, "m.tflite", 2)
    graph = read_outline(alone, "m.tflite").graph
    assert [node.op.name for node in graph.nodes] == ["MAX_POOL_2D"]
    assert [graph.tensors[index].type.size_bytes for index in (1, 3)] == [256, 64]
    (use,) = arena_uses([alone])
    assert use is not None
    assert use.head_bytes == 320


def test_kernels_without_scratch_ask_for_none() -> None:
    """Nothing is made up."""
    assert kernel_scratch(branches(), "m.tflite") == {}


@pytest.mark.zoo
def test_kernels_with_scratch_say_how_much() -> None:
    """An FFT that works in a copy, in a real model."""
    assert kernel_scratch(model_path("tflm_audio_pre_int8").read_bytes(), "audio") == {3: 1024}
