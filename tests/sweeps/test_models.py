"""The models of a sweep: patterns, lists and generators."""

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from kibi.errors import InputError
from kibi.sweeps.models import Item, generated, models_of_items, models_of_patterns
from tests.sweeps import evaluations
from tests.sweeps.work import small_model

if TYPE_CHECKING:
    from collections.abc import Iterable


def test_patterns_give_files_in_order_and_broken_ones_have_reasons(tmp_path: Path) -> None:
    """Folders are left out; a path without a pattern that does not exist is a model that cannot be read."""
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "c.tflite").write_bytes(small_model(3))
    (tmp_path / "a.tflite").write_bytes(b"no model at all")
    (tmp_path / "[x].tflite").write_bytes(small_model(4))
    found = list(models_of_patterns(["**/*.tflite", "[x].tflite", "none.tflite"], tmp_path))
    assert [model.name for model in found] == ["[x].tflite", "a.tflite", "deep/c.tflite", "[x].tflite", "none.tflite"]
    assert [bool(model.data) for model in found] == [True, False, True, True, False]
    assert "a.tflite" in found[1].refusal
    assert "no such file" in found[4].refusal
    assert found[0].sha256 == found[3].sha256
    assert found[1].sha256 == ""


def test_pattern_that_matches_nothing_is_refused(tmp_path: Path) -> None:
    """All of them are told before the first model, with the folder."""
    (tmp_path / "a.tflite").write_bytes(small_model(3))
    models = models_of_patterns(["a.tflite", "b/*.tflite", "c*"], tmp_path)
    with pytest.raises(InputError, match=r"(?s)no file matches 'b/\*\.tflite'.*no file matches 'c\*'"):
        next(models)
    with pytest.raises(InputError, match="is empty"):
        list(models_of_patterns([""], tmp_path))


def test_item_of_a_list_is_counted_from_its_start(tmp_path: Path) -> None:
    """Also after patterns."""
    (tmp_path / "a.tflite").write_bytes(small_model(3))
    items: list[Item] = ["*.tflite", ("b", "a.tflite", {}), 5]  # type: ignore[list-item]
    models = models_of_items(items, "list", tmp_path, has_patterns=True)
    assert [next(models).name, next(models).name] == ["a.tflite", "b"]
    with pytest.raises(InputError, match="list, item 3: it is a int"):
        next(models)


def test_items_are_paths_or_tuples_and_numbers_of_numpy_are_plain(tmp_path: Path) -> None:
    """A path, the path of a tuple, bytes."""
    (tmp_path / "a.tflite").write_bytes(small_model(3))
    items: list[Item] = ["a.tflite", ("b", "a.tflite", {"width": np.int64(5)}), ("c", small_model(4), {"rate": 0.5})]  # type: ignore[dict-item]
    found = list(models_of_items(items, "list", tmp_path))
    assert [model.name for model in found] == ["a.tflite", "b", "c"]
    assert found[0].data == found[1].data
    assert found[1].parameters == (("width", 5),)
    assert type(found[1].parameters[0][1]) is int


@pytest.mark.parametrize(
    ("item", "word"),
    [
        (5, "item 1: it is a int"),
        (("a", b"x"), "it is a tuple"),
        (("", b"x", {}), "the name is ''"),
        (("a", 5, {}), "the model is a int"),
        (("a", b"x", []), "the parameters are a list"),
        (("a", b"x", {"b c": 1}), "'b c'"),
        (("a", b"x", {5: 1}), "'5'"),
        (("a", b"x", {"b": 1 << 63}), "b is"),
        (("a", b"x", {"b": float("nan")}), "b is 'nan'"),
        (("a", b"x", {"b": [1]}), "b is"),
        (("a", b"x", {"b": "y" * 1001}), "b is"),
    ],
)
def test_item_of_another_form_is_refused_with_its_number(item: object, word: str) -> None:
    """And with what it should be."""
    items: Iterable[Item] = [item]  # type: ignore[list-item]
    with pytest.raises(InputError) as caught:
        list(models_of_items(items, "gen", Path()))
    assert "gen, item 1" in str(caught.value)
    assert word in str(caught.value)


def test_model_without_bytes_has_a_reason() -> None:
    """The sweep goes on."""
    (found,) = models_of_items([("a", b"", {})], "gen", Path())
    assert "no bytes" in found.refusal


def test_generator_that_fails_says_at_which_item() -> None:
    """What it gave before counts."""
    models = models_of_items(evaluations.stops(), "gen", Path())  # type: ignore[arg-type]
    assert next(models).name == "first"
    with pytest.raises(InputError, match="gen: ValueError instead of item 2: no more ideas"):
        next(models)


def test_generator_with_other_arguments_is_refused() -> None:
    """The text is Python's own; so is one that gives nothing to iterate over."""
    with pytest.raises(InputError, match="unexpected keyword argument 'widths'"):
        generated(evaluations.architectures, "gen", {"widths": 5})
    with pytest.raises(InputError, match="gen gave a bytes"):
        generated(lambda: b"x", "gen", {})
