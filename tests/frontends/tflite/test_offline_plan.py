"""The plan that a model file carries is read, or refused with the place of what is wrong."""

import pytest

from kibi.errors import ModelError
from kibi.frontends.tflite.offline_plan import read_offline_plan
from tests.support.offline_models import NAME, branches, packed, with_offsets
from tests.support.zoo import model_path

_OFFSETS = (0, 256, 512, -1, 0, 64)


def test_offline_plan_gives_an_offset_or_minus_one_for_each_tensor() -> None:
    """What the file asks for comes out as it is."""
    assert read_offline_plan(with_offsets(_OFFSETS), "m.tflite") == _OFFSETS


def test_offline_plan_of_a_file_without_one_is_none() -> None:
    """Other metadata, and names that only begin alike, are no plan."""
    assert read_offline_plan(branches(), "m.tflite") is None
    assert read_offline_plan(branches(metadata=[(NAME + "2", packed(_OFFSETS)), ("a", b"")]), "m.tflite") is None


def test_offline_plan_of_several_is_the_last() -> None:
    """As for TFLM."""
    twice = [(NAME, packed(_OFFSETS[::-1])), (NAME, packed(_OFFSETS))]
    assert read_offline_plan(branches(metadata=twice), "m.tflite") == _OFFSETS


@pytest.mark.parametrize(
    ("contents", "text"),
    [
        (packed(_OFFSETS[1:]), "has 5 offsets, but the model has 6 tensors"),
        (packed(_OFFSETS, count=7), "has 7 offsets, but the model has 6 tensors"),
        (packed(_OFFSETS[1:], count=6), "announces 6 offsets, but its 32 bytes hold 5"),
        (b"\0" * 8, "has 8 bytes; its head alone has 12"),
        (b"", "has 0 bytes"),
        (packed((0, 1, -2, 0, -1, -9)), "tensor 'b': the offline plan gives it the offset -2"),
    ],
)
def test_offline_plan_that_does_not_fit_is_refused(contents: bytes, text: str) -> None:
    """The error says what is wrong, where, and what to do."""
    with pytest.raises(ModelError, match=text) as caught:
        read_offline_plan(branches(metadata=[(NAME, contents)]), "m.tflite")
    assert "kibi plan --write-embedded-plan" in str(caught.value)


def test_offline_plan_names_every_wrong_tensor() -> None:
    """All problems at once."""
    with pytest.raises(ModelError) as caught:
        read_offline_plan(with_offsets((0, 1, -2, 0, -1, -9)), "m.tflite")
    assert [problem.tensor for problem in caught.value.problems] == ["b", "y"]


def test_offline_plan_of_another_format_or_a_torn_file_is_a_model_error() -> None:
    """No matter where the file ends."""
    data = with_offsets(_OFFSETS)
    with pytest.raises(ModelError):
        read_offline_plan(b"not a model", "m.tflite")
    for size in range(8, len(data), 7):
        try:
            assert read_offline_plan(data[:size], "m.tflite") in (None, _OFFSETS)
        except ModelError:
            continue


@pytest.mark.zoo
def test_offline_plan_of_real_models_is_read() -> None:
    """Files of other tools: a converter's and Vela's."""
    data = model_path("tflm_person_detect_vela").read_bytes()
    assert read_offline_plan(data, "vela") == (0, -1, -1, 0, 0, 0)
    offsets = read_offline_plan(model_path("cfu_hps_74ops").read_bytes(), "hps")
    assert offsets is not None
    assert (len(offsets), max(offsets)) == (125, 237536)
