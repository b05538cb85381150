"""Specifications: what they say, and what is wrong with bad ones."""

from pathlib import Path

import pytest

from kibi.errors import InputError
from kibi.sweeps.spec import load_spec, read_spec
from tests.sweeps.work import small_model

_EVALUATIONS = Path(__file__).with_name("evaluations.py")
_FULL = f"""
models = ["*.tflite"]
generator = "{_EVALUATIONS}:architectures"
quantizations = ["int8", "int16"]
targets = ["cortex-m4", "cortex-m0plus"]
goals = ["balanced", "flash"]
levels = ["s", "3"]
weights = ["flash", "rice"]
granularities = ["row", "tensor"]
compiler = "zig"
seed = 7
evaluate = "tests.sweeps.evaluations:size"
maximize = "accuracy"
[arguments]
lengths = [3, 4]
[budget]
ram_bytes = 8192
accuracy = 0.5
"""


def test_full_specification_has_every_part(tmp_path: Path) -> None:
    """Files come first, then the generator's models for each quantization; settings are all combinations."""
    (tmp_path / "b.tflite").write_bytes(small_model(8))
    (tmp_path / "a.tflite").write_bytes(small_model(9))
    spec = read_spec(_FULL, "spec.toml", tmp_path)
    models = list(spec.models())
    names = ["relu_3_int8", "relu_4_int8", "relu_3_int16", "relu_4_int16"]
    assert [model.name for model in models] == ["a.tflite", "b.tflite", *names]
    assert models[-1].parameters == (("length", 4), ("quantization", "int16"))
    assert models[0].data == small_model(9)
    assert len(spec.grid.settings) == 2**5
    assert {setting.seed for setting in spec.grid.settings} == {7}
    assert (spec.objective.name, spec.objective.is_maximized) == ("accuracy", True)
    assert spec.budget.limits == (("ram_bytes", 8192.0), ("accuracy", 0.5))
    assert spec.evaluate is not None
    assert spec.evaluate.load()(b"1234") == {"accuracy": 0.25, "bytes": 4}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("models = [", ("at end of document", "Write TOML")),
        ("", ("models are missing", "Give `models`")),
        ('model = ["a"]', ("no key 'model'", "Keys are: models, generator")),
        ("models = []", ("models is '[]'", "Give a list of texts")),
        ('models = "a.tflite"', ("models is 'a.tflite'", "Give a list")),
        ('models = ["a"]\ntargets = ["cortex-m99"]', ("targets", "cortex-m99")),
        ('models = ["a"]\ntargets = ["host"]', ("targets", "not emulated", "cortex-m4")),
        ('models = ["a"]\ngoals = ["tiny"]', ("goals", "tiny")),
        ('models = ["a"]\nlevels = ["9"]', ("levels", "'9'", "0, 1, 2, 3, s")),
        ('models = ["a"]\nlevels = ["s", "s"]', ("levels has a value twice",)),
        ('models = ["a"]\nweights = ["read:f"]', ("weights", "read:f", "kibi measure")),
        ('models = ["a"]\nweights = ["zip"]', ("weights", "zip")),
        ('models = ["a"]\ngranularities = ["byte"]', ("granularities", "byte")),
        ('models = ["a"]\ncompiler = "tcc"', ("compiler", "tcc", "zig, gcc")),
        ('models = ["a"]\nseed = -1', ("seed", "out of range")),
        ('models = ["a"]\nseed = true', ("seed is 'True'", "whole number")),
        ('models = ["a"]\nbudget = 5', ("budget is '5'", "[budget]")),
        ('models = ["a"]\n[budget]\nram_bytes = "8k"', ("ram_bytes", "8k", "Give a number")),
        ('models = ["a"]\n[budget]\nram_bytes = inf', ("ram_bytes", "inf")),
        ('models = ["a"]\n[budget]\n"a b" = 1', ("'a b'",)),
        ('models = ["a"]\nmaximize = "x"\nminimize = "y"', ("maximize and minimize",)),
        ('models = ["a"]\nmaximize = "accuracy"', ("maximize is 'accuracy'", "ram_bytes", "need `evaluate`")),
        ('models = ["a"]\n[budget]\nram = 1', ("budget: a limit is 'ram'", "ram_bytes")),
        ('models = ["a"]\nquantizations = ["int8"]', ("quantizations", "Give `generator`")),
        ('models = ["a"]\n[arguments]\nx = 1', ("arguments", "Give `generator`")),
        ('models = ["a"]\nevaluate = "nothing"', ("evaluate", "names no function", "file.py:function")),
        ('models = ["a"]\nevaluate = "missing.py:f"', ("evaluate", "missing.py", "No such file")),
        ('models = ["a"]\nevaluate = "no.such.module:f"', ("evaluate", "no module", "no.such.module")),
        ('models = ["a"]\nevaluate = "tests.sweeps.evaluations:f"', ("evaluate", "no such function")),
        ('models = ["a"]\nevaluate = "tests.sweeps.evaluations:NOT_A_FUNCTION"', ("evaluate", "no such function")),
    ],
)
def test_bad_specification_is_refused_with_file_key_reason_and_remedy(
    tmp_path: Path, text: str, words: tuple[str, ...]
) -> None:
    """For every key."""
    with pytest.raises(InputError) as caught:
        read_spec(text, "spec.toml", tmp_path)
    for word in ("spec.toml", *words):
        assert word in str(caught.value)


def test_all_problems_are_told_at_once(tmp_path: Path) -> None:
    """Not only the first."""
    with pytest.raises(InputError) as caught:
        read_spec(
            'models = ["a"]\ntargets = ["x"]\ngoals = ["y"]\nevaluate = "z"\n[budget]\nq = "w"', "s.toml", tmp_path
        )
    lines = str(caught.value).split("\n")
    assert lines[0] == "s.toml: 3 problems"
    assert "targets" in lines[1]
    assert "goals" in lines[1]
    assert "evaluate" in lines[2]
    assert "budget" in lines[3]


def test_problems_of_keys_do_not_hide_those_of_values(tmp_path: Path) -> None:
    """Each is told once."""
    with pytest.raises(InputError) as caught:
        read_spec('models = ["a"]\nlevel = ["s"]\ngoals = 5\ntargets = ["x"]', "s.toml", tmp_path)
    assert str(caught.value).startswith("s.toml: 3 problems\n  - there is no key 'level'")
    assert str(caught.value).count("goals") == 2  # in the list of keys, and as what is wrong


def test_specification_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    """Missing, binary, and a folder."""
    (tmp_path / "binary.toml").write_bytes(b"\xff\x00")
    for name, word in (("missing.toml", "No such file"), ("binary.toml", "UTF-8"), (".", "directory")):
        with pytest.raises(InputError, match=word):
            load_spec(tmp_path / name)


def test_source_that_fails_when_it_is_imported_is_refused(tmp_path: Path) -> None:
    """With the reason, before anything is measured."""
    (tmp_path / "own.py").write_text("import no_such_library\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"own\.py:f: ModuleNotFoundError: No module named 'no_such_library'"):
        read_spec('models = ["a"]\nevaluate = "own.py:f"', "spec.toml", tmp_path)


def test_module_whose_package_fails_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """To find a module, Python imports the packages that it is in."""
    (tmp_path / "kibi_test_package").mkdir()
    (tmp_path / "kibi_test_package" / "__init__.py").write_text("raise SystemExit(1)\n", encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(InputError, match=r"kibi_test_package\.part:f': SystemExit: 1"):
        read_spec('models = ["a"]\nevaluate = "kibi_test_package.part:f"', "spec.toml", tmp_path)


def test_functions_of_a_file_may_import_its_neighbours_and_depend_on_their_text(tmp_path: Path) -> None:
    """The digest of a function changes with every Python file beside it."""
    (tmp_path / "kibi_test_neighbour.py").write_text("LENGTH = 3\n", encoding="utf-8")
    text = "from kibi_test_neighbour import LENGTH\n\ndef f(data):\n    return {'length': LENGTH}\n"
    (tmp_path / "own.py").write_text(text, encoding="utf-8")
    spec = 'models = ["a"]\nevaluate = "own.py:f"'
    first = read_spec(spec, "spec.toml", tmp_path).evaluate
    assert first is not None
    assert first.load()(b"") == {"length": 3}
    (tmp_path / "kibi_test_neighbour.py").write_text("LENGTH = 4\n", encoding="utf-8")
    second = read_spec(spec, "spec.toml", tmp_path).evaluate
    assert second is not None
    assert second.sha256 != first.sha256
