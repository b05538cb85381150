"""The recorded figures that a check compares with: a JSON file beside kibi.toml, which belongs into version control."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Final

from kibi.errors import InputError
from kibi.files import read_text, write_file
from kibi.gate.figures import KINDS, LARGEST
from kibi.gate.results import Layer, Measured, figures_of
from kibi.text.json import JsonText, json_text

FORMAT: Final = 1
_MOST_BYTES = 64 << 20
_MOST_ENTRIES = 100_000
_MOST_TEXT = 1 << 16
_MOST_PARTS = 100
_REMEDY = "Record it again with `kibi check --write`, or take it back from version control"


@dataclass(frozen=True, slots=True)
class Baseline:
    """Recorded figures.

    Attributes:
        entries: of each model in each place.
    """

    entries: tuple[Measured, ...]

    def entry(self, model: str, place: str) -> Measured | None:
        """What is recorded of a model in a place, or None."""
        return next((each for each in self.entries if (each.model, each.place) == (model, place)), None)


def load_baseline(path: Path) -> Baseline | None:
    """Reads recorded figures; None where there is no such file.

    Raises:
        InputError: it cannot be read, or is damaged.
    """
    if not path.exists():
        return None
    return read_baseline(read_text(path, _MOST_BYTES, InputError, f"{_REMEDY}."), str(path))


def write_baseline(path: Path, measured: Sequence[Measured]) -> None:
    """Writes recorded figures: the file is complete, or as it was before.

    Raises:
        OutputError: it cannot be written.
    """
    write_file(path, baseline_text(measured).text.encode())


def baseline_text(measured: Sequence[Measured]) -> JsonText:
    """Recorded figures as JSON, with one line for each fact, so that version control shows what changed."""
    entries = [
        {**asdict(each), "figures": _figures_record(each), "parts": dict(each.parts), "peak": _peak_record(each)}
        for each in measured
    ]
    return json_text({"format": FORMAT, "entries": entries}, indent=1)


def _peak_record(measured: Measured) -> list[dict[str, Any]]:
    return [{"name": name, "bytes": size_bytes} for name, size_bytes in measured.peak]


def _figures_record(measured: Measured) -> dict[str, float]:
    return {name: value if KINDS[name].unit == "part" else int(value) for name, value in measured.figures}


def read_baseline(text: str, source: str) -> Baseline:
    """Reads recorded figures from JSON.

    Args:
        text: the file's text.
        source: its name, for errors.

    Raises:
        InputError: it is no such record; the text says where.
    """
    try:
        table = json.loads(text)
        return Baseline(tuple(_entry(each) for each in _list(_fields(table, ("format", "entries"))["entries"])))
    except (ValueError, RecursionError) as error:
        what = "it is nested too deep" if isinstance(error, RecursionError) else str(error)
        raise InputError(f"{source}: the baseline is damaged: {what}. {_REMEDY}.") from None


def _fields(value: object, names: Sequence[str]) -> dict[str, Any]:
    """An object with these keys alone.

    Raises:
        ValueError: it is something else.
    """
    if not isinstance(value, dict) or set(value) != set(names):
        raise ValueError(f"an object with {', '.join(names)} was expected")
    if value.get("format", FORMAT) != FORMAT:
        raise ValueError(f"its format is {str(value['format'])[:20]}, not {FORMAT}")
    return value


def _entry(value: object) -> Measured:
    given = _fields(value, [each.name for each in fields(Measured)])
    figures = given["figures"]
    if not isinstance(figures, dict) or not set(figures) <= set(KINDS):
        raise ValueError("figures with known names were expected")
    if not isinstance(given["parts"], dict) or len(given["parts"]) > _MOST_PARTS:
        raise ValueError("parts with names were expected")
    layers = [_layer(each) for each in _list(given["layers"])]
    peak = [_fields(each, ("name", "bytes")) for each in _list(given["peak"])]
    return Measured(
        model=_text(given["model"]),
        place=_text(given["place"]),
        model_sha256=_text(given["model_sha256"]),
        tools=_text(given["tools"]),
        options=_text(given["options"]),
        figures=figures_of({name: _number(each) for name, each in figures.items()}),
        parts=tuple((_text(name), _count(each)) for name, each in given["parts"].items()),
        layers=tuple(layers),
        peak=tuple((_text(each["name"]), _count(each["bytes"])) for each in peak),
    )


def _layer(value: object) -> Layer:
    given = _fields(value, [each.name for each in fields(Layer)])
    return Layer(
        name=_text(given["name"]),
        op=_text(given["op"]),
        kernel=_text(given["kernel"]),
        instructions=_count(given["instructions"]),
        constant_bytes=_count(given["constant_bytes"]),
        scratch_bytes=_count(given["scratch_bytes"]),
    )


def _list(value: object) -> list[Any]:
    if not isinstance(value, list) or len(value) > _MOST_ENTRIES:
        raise ValueError("a list was expected")
    return value


def _text(value: object) -> str:
    if not isinstance(value, str) or len(value) > _MOST_TEXT:
        raise ValueError("a text was expected")
    return value


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= LARGEST:
        raise ValueError("a number from 0 was expected")
    return float(value)


def _count(value: object) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= LARGEST:
        raise ValueError("a whole number from 0 was expected")
    return value
