"""kibi.toml: what it may say, and what is refused, all at once."""

import re
from fractions import Fraction
from pathlib import Path

import pytest

from kibi.errors import InputError
from kibi.gate.figures import KINDS, growth_of
from kibi.gate.spec import MODEL_KEYS, load_spec, read_spec

SPEC = """
growth = "1%"
baseline = "records/base.json"

[[model]]
path = "models/a.tflite"
boards = ["nucleo-f446re", "rp2040"]
targets = ["cortex-m33"]
goal = "speed"

[model.budget]
ram = "4 KiB"
instructions = "2.5M"
equal_bits = true

[model.budget.rp2040]
instructions = 7_000_000

[[model]]
path = "models/b.tflite"
name = "second"
growth = "0.5%"
"""


def test_models_have_places_with_budgets_of_their_own() -> None:
    """A budget is for all places; what is under a place's name is for that place, and counts there."""
    spec = read_spec(SPEC, Path("there/kibi.toml"))
    first, second = spec.models
    assert (spec.baseline, first.path) == (Path("there/records/base.json"), Path("there/models/a.tflite"))
    assert [place.name for place in first.places] == ["nucleo-f446re", "rp2040", "cortex-m33"]
    assert dict(first.places[0].limits) == {"ram": 4096.0, "instructions": 2_500_000.0, "equal_bits": 1.0}
    assert dict(first.places[1].limits)["instructions"] == 7_000_000.0
    assert first.places[1].target.clock_hz == 133_000_000
    assert (first.name, first.line, first.options.goal) == ("a", 5, "speed")
    assert (first.growth, second.growth) == (Fraction(1, 100), Fraction(1, 200))
    assert (second.name, second.line) == ("second", 19)
    assert [place.name for place in second.places] == ["cortex-m4"]


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("growth =", "grwth =", "no key 'grwth'. Did you mean 'growth'"),
        ('"1%"', "0.01", "growth is 0.01. Give a percentage as text"),
        ('"records/base.json"', '"../base.json"', "baseline is '../base.json'. Give the name of a file beside kibi.toml"),
        ('"records/base.json"', '"/etc/base.json"', "baseline is '/etc/base.json'"),
        ('path = "models/a.tflite"', "", "path is missing"),
        ("goal =", "gaol =", "no key 'gaol'. Did you mean 'goal'"),
        ('"speed"', '"sped"', "goal is 'sped'. Did you mean 'speed'"),
        ('"rp2040"]', '"rp2041"]', "unknown board 'rp2041'. Did you mean 'rp2040'"),
        ('"rp2040"]', '"esp32s3"]', "has the core xtensa-lx7, which is not emulated"),
        ('"rp2040"]', '"nucleo-f446re"]', "a board or target is there twice"),
        ('"cortex-m33"', '"host"', "'host' is not emulated"),
        ('"cortex-m33"', '"cortex-m34"', "unknown target 'cortex-m34'"),
        ("ram =", "rom =", "budget: there is no key 'rom'. Did you mean 'ram'"),
        ('"4 KiB"', '"4 parsecs"', "ram is '4 parsecs'. Give a whole number"),
        ('"4 KiB"', "-1", "ram is -1. Give a whole number"),
        ('"4 KiB"', "true", "ram is true. Give a whole number"),
        ("equal_bits = true", "equal_bits = false", "equal_bits is false. Write true, or leave it out"),
        ("equal_bits = true", "accuracy = 90", "accuracy is 90. Give a number from 0 to 1"),
        ("equal_bits = true", "accuracy = 0.9", "a budget of accuracy needs data"),
        ("[model.budget.rp2040]", "[model.budget.rp2350]", "'rp2350' is no board or target of this model. Did you mean 'rp2040'"),
        ('name = "second"', 'name = "a"', "two models are called 'a'"),
        ('name = "second"', 'data = "os:system"', "data is 'os:system'. Give a .npz or .npy file, or a folder"),
        ('name = "second"', 'truth = "labels.txt"', "truth and most are about data"),
        ('name = "second"', "runs = 0", "runs is 0. Give a whole number from 1"),
        ('name = "second"', "recompute = 0.9", "recompute is 0.9. Give a number from 1 to 100"),
        ('name = "second"', "recompute = nan", "recompute is nan. Give a number from 1 to 100"),
        ('name = "second"', 'name = "\\u0000"', "name is"),
        ('name = "second"', "boards = []", "boards is []. Give a list of names"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_refused_with_model_key_and_remedy(old: str, new: str, problem: str) -> None:
    """Unknown names come with similar ones."""
    assert old in SPEC
    with pytest.raises(InputError) as caught:
        read_spec(SPEC.replace(old, new, 1), Path("kibi.toml"))
    assert problem in str(caught.value)
    assert str(caught.value).startswith("kibi.toml: ")


def test_baseline_does_not_lead_out_of_the_folder_by_a_link(tmp_path: Path) -> None:
    """It is written to, and the folder may be a stranger's."""
    (tmp_path / "project").mkdir()
    (tmp_path / "project" / "records").symlink_to(tmp_path)
    with pytest.raises(InputError, match=r"baseline is 'records/base\.json'"):
        read_spec(SPEC, tmp_path / "project" / "kibi.toml")


def test_all_problems_are_told_at_once() -> None:
    """Each model's, too."""
    with pytest.raises(InputError, match=r"^kibi.toml: 3 problems\n"):
        read_spec(SPEC.replace("goal", "gaol").replace("ram", "rom").replace('"0.5%"', "1"), Path("kibi.toml"))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "model = 3",
        "[[model]",
        "model = []",
        "model = [1]",
        "x = " + "[" * 20_000,
        "[[model]]\nbudget = 1\npath='m'",
    ],
)
def test_text_that_lists_no_models_is_refused(text: str) -> None:
    """Broken TOML, too."""
    with pytest.raises(InputError, match=r"kibi\.toml"):
        read_spec(text, Path("kibi.toml"))


def test_file_without_an_end_is_refused() -> None:
    """No more is read than a specification may have."""
    for path in ("/dev/zero", "no-such.toml"):
        with pytest.raises(InputError, match="Give the path of a TOML file"):
            load_spec(path)


@pytest.mark.parametrize(
    ("name", "value", "amount"),
    [
        ("ram", "16 KiB", 16384.0), ("ram", "16k", 16384.0), ("ram", "1.5 MB", 1572864.0), ("ram", 0, 0.0),
        ("ram", "16 kHz", None), ("ram", "", None), ("ram", 1.5, None), ("ram", "9" * 19, None), ("ram", 1 << 60, None),
        ("instructions", "2.5M", 2_500_000.0), ("instructions", "1_000", 1000.0), ("accuracy", 0.5, 0.5),
        ("accuracy", "0.5", None), ("accuracy", float("nan"), None),
    ],
)  # fmt: skip
def test_amounts_are_read_as_people_write_them(name: str, value: object, amount: float | None) -> None:
    """K of bytes is 1,024, of instructions 1,000."""
    assert KINDS[name].amount(value) == amount


def test_growth_is_a_percentage() -> None:
    """As text alone: 0.01 could be a hundredth or a hundredth of a percent."""
    assert [growth_of(each) for each in ("1%", "0.5 %", "0%", "1", 1, "-1%", "%")] == [
        Fraction(1, 100),
        Fraction(1, 200),
        0,
        *[None] * 4,
    ]


def test_growth_allows_exactly_its_part() -> None:
    """No rounding of binary fractions takes a byte away: 1,000 and 0.1 % are 1,001."""
    growth = growth_of("0.1%")
    assert growth is not None
    assert KINDS["ram"].worst(1000.0, growth) == 1001.0
    assert KINDS["ram"].worst(999.0, growth) == 999.0
    assert KINDS["accuracy"].worst(0.5, growth) == 0.4995


def test_page_explains_every_key() -> None:
    """Those of the file, of a model and of a budget, and no others."""
    page = (Path(__file__).resolve().parents[2] / "docs" / "gate.md").read_text(encoding="utf-8")
    section = page.partition("## kibi.toml")[2].partition("\n## ")[0]
    cells = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]
    named = {name for cell in cells for name in re.findall(r"`([a-z_]+)`", cell)}
    assert named == {"growth", "baseline", *MODEL_KEYS, *KINDS} - {"budget"}
