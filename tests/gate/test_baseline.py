"""The recorded figures: written and read back, and refused when damaged; and the causes that they show."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from kibi.errors import InputError
from kibi.gate.baseline import baseline_text, load_baseline, read_baseline, write_baseline
from kibi.gate.causes import causes
from kibi.gate.figures import KINDS
from kibi.gate.results import Figure, Layer
from tests.gate.reports import LAYERS, measured


def test_figures_come_back_as_they_were_written(tmp_path: Path) -> None:
    """Whole numbers are whole in the file."""
    path = tmp_path / "base.json"
    assert load_baseline(path) is None
    own = measured({"ram": 130.0, "accuracy": 0.97})
    write_baseline(path, [own])
    found = load_baseline(path)
    assert found is not None
    assert found.entry("m", "rp2040") == own
    assert found.entry("m", "cortex-m4") is None
    assert '"ram": 130,' in path.read_text()


@pytest.mark.parametrize(
    "change",
    [
        lambda record: record.clear(),
        lambda record: record.update(format=2),
        lambda record: record.update(entries=3),
        lambda record: record["entries"][0].pop("tools"),
        lambda record: record["entries"][0].update(further=1),
        lambda record: record["entries"][0].update(options=[]),
        lambda record: record["entries"][0]["figures"].update(rom=1),
        lambda record: record["entries"][0]["figures"].update(ram=-1),
        lambda record: record["entries"][0]["figures"].update(ram="1"),
        lambda record: record["entries"][0]["figures"].update(ram=float("nan")),
        lambda record: record["entries"][0]["figures"].update(ram=True),
        lambda record: record["entries"][0].update(parts=[1]),
        lambda record: record["entries"][0]["parts"].update(code=1.5),
        lambda record: record["entries"][0]["layers"].append(1),
        lambda record: record["entries"][0]["layers"][0].update(instructions=1 << 70),
        lambda record: record["entries"][0]["layers"][0].update(name=None),
        lambda record: record["entries"][0]["peak"][0].update(bytes="x"),
    ],
)
def test_damaged_figures_are_refused(change: object) -> None:
    """With the file's name and what to do."""
    record = json.loads(baseline_text([measured()]).text)
    change(record)  # type: ignore[operator]  # a lambda of the list above
    with pytest.raises(InputError, match=r"base\.json: the baseline is damaged: .*kibi check --write"):
        read_baseline(json.dumps(record), "base.json")


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000, "null", "9" * 5000])
def test_text_that_is_no_record_is_refused(text: str) -> None:
    """Nested or long, too."""
    with pytest.raises(InputError, match=r"base\.json: the baseline is damaged"):
        read_baseline(text, "base.json")


def _figure(name: str, value: float, recorded: float | None = None) -> Figure:
    return Figure(KINDS[name], value, None, "budget", recorded, recorded)


def test_layers_that_grew_are_the_cause_the_largest_first() -> None:
    """With the change of their kernel; those that shrank are not told."""
    layers = (
        Layer("stem", "CONV_2D", "kibi_slow", 300, 40, 8),
        Layer("scores", "FULLY_CONNECTED", "kibi_b", 20, 60, 0),
        Layer("added", "RELU", "kibi_c", 500, 0, 0),
    )
    now = replace(measured({"instructions": 820.0}), layers=layers)
    found = causes([_figure("instructions", 820.0, 150.0)], now, measured())
    assert [(each.name, each.before, each.after) for each in found] == [("added", None, 500), ("stem", 100, 300)]
    assert found[1].text == "100 to 300 instructions (+200); kernel kibi_a became kibi_slow"


def test_flash_is_explained_by_parts_weights_and_new_kernels() -> None:
    """Each is told by itself."""
    layers = (replace(LAYERS[0], constant_bytes=90, kernel="kibi_new"), LAYERS[1])
    parts = {"code": 260, "plan tables": 0, "weights": 150}
    now = replace(measured({"flash": 410.0}), layers=layers, parts=tuple(parts.items()))
    found = causes([_figure("flash", 410.0, 300.0)], now, measured())
    assert [(each.name, each.text) for each in found] == [
        ("code", "200 to 260 bytes (+60)"),
        ("weights", "100 to 150 bytes (+50)"),
        ("stem", "40 to 90 bytes of weights (+50); kernel kibi_a became kibi_new"),
        ("kibi_new", "1 layer; a new kernel"),
    ]


def test_stack_is_explained_by_new_kernels() -> None:
    """Whose frames are the deepest is not counted; which are new is known."""
    now = replace(measured({"stack": 40.0}), layers=(replace(LAYERS[0], kernel="kibi_new"), LAYERS[1]))
    found = causes([_figure("stack", 40.0, 30.0)], now, measured())
    assert [(each.name, each.text) for each in found] == [("kibi_new", "1 layer; a new kernel")]


def test_arena_is_explained_by_who_holds_more_at_the_fullest_step() -> None:
    """And RAM by its parts, too."""
    now = replace(measured({"ram": 150.0}), peak=(("stem", 90), ("input", 30)), parts=(("arena", 120), ("stack", 30)))
    found = causes([_figure("ram", 150.0, 130.0)], now, measured())
    assert [(each.name, each.text) for each in found] == [
        ("arena", "100 to 120 bytes (+20)"),
        ("stem", "70 to 90 bytes at the fullest step (+20)"),
    ]


def test_what_takes_most_explains_a_budget_without_a_baseline() -> None:
    """Also where the recorded figure was no better."""
    for recorded in (None, measured()):
        found = causes([Figure(KINDS["instructions"], 150.0, 100.0)], measured(), recorded)
        assert [each.text for each in found] == ["100 instructions", "50 instructions"]


def test_layers_of_one_name_are_told_apart() -> None:
    """By their order."""
    twice = (LAYERS[0], LAYERS[0])
    now = replace(measured({"instructions": 210.0}), layers=(LAYERS[0], replace(LAYERS[0], instructions=110)))
    found = causes([_figure("instructions", 210.0, 200.0)], now, measured(layers=twice))
    assert [(each.before, each.after) for each in found] == [(100, 110)]
