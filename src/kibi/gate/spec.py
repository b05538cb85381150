"""What is to be checked, as text: kibi.toml, which names models, boards and budgets. Its paths are relative to it.

Whatever the file holds, reading it runs nothing: it cannot name Python functions.
"""

import os
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from pathlib import Path, PurePath
from typing import Any

from kibi.errors import InputError, TargetError, did_you_mean, listed
from kibi.files import read_text
from kibi.gate.figures import KINDS, growth_of
from kibi.targets import Board, Target, board, target
from kibi.toolchain.compilers import COMPILERS

_MOST_BYTES = 1 << 20
_MOST_MODELS = 1000
_MOST_PLACES = 100
_MOST_NAME = 200
_MOST_RUNS = 1000
_MOST_INPUTS = 1 << 31
_MOST_FACTOR = 100
_KEYS = ("growth", "baseline", "model")
_TEXTS = ("path", "name", "data", "truth", "signature")
_LISTS = ("boards", "targets")
_NUMBERS = {"most": _MOST_INPUTS, "runs": _MOST_RUNS}
_CHOICES = {
    "goal": ("balanced", "speed", "flash"), "granularity": ("row", "tensor"), "weights": ("flash", "rice"),
    "level": ("0", "1", "2", "3", "s"), "compiler": COMPILERS,
}  # fmt: skip
MODEL_KEYS = (*_TEXTS, *_LISTS, *_CHOICES, *_NUMBERS, "recompute", "growth", "budget")
_HEAD = re.compile(r"^[ \t]*\[\[[ \t]*model[ \t]*\]\]", re.MULTILINE)
DEFAULT_TARGET = "cortex-m4"
DEFAULT_BASELINE = "kibi-baseline.json"


@dataclass(frozen=True, slots=True)
class Place:
    """Where a model is to run.

    Attributes:
        name: of the board or the target, as kibi.toml has it.
        target: the processor, at the board's clock.
        board: None for a target.
        limits: the budget there: names of figures and values, in the order of `KINDS`.
    """

    name: str
    target: Target
    board: Board | None
    limits: tuple[tuple[str, float], ...]


@dataclass(frozen=True, slots=True)
class Options:
    """How a model is planned and compiled; the words are those of the command line."""

    goal: str = "balanced"
    granularity: str = "row"
    weights: str = "flash"
    level: str = "s"
    compiler: str = "zig"
    signature: str | None = None
    recompute: float | None = None

    @property
    def text(self) -> str:
        """All that are given, for the record."""
        return ", ".join(f"{name} {value}" for name, value in asdict(self).items() if value is not None)


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """One model.

    Attributes:
        name: in tables and in the baseline.
        path: of its file.
        line: the line of kibi.toml at which it begins, from 1.
        places: where it is to run.
        options: how it is planned and compiled.
        data, truth: an evaluation's data and labels, or None.
        most: how many inputs of the data at most, or None.
        runs: how many random inputs are compared bit by bit.
        growth: the part by which a figure may be worse than the recorded one.
    """

    name: str
    path: Path
    line: int
    places: tuple[Place, ...]
    options: Options
    data: Path | None
    truth: Path | None
    most: int | None
    runs: int
    growth: Fraction


@dataclass(frozen=True, slots=True)
class Spec:
    """All that is to be checked.

    Attributes:
        path: of kibi.toml.
        baseline: the path of the recorded figures.
        models: the models in order.
    """

    path: Path
    baseline: Path
    models: tuple[ModelSpec, ...]


def load_spec(path: str | os.PathLike[str]) -> Spec:
    """Reads what is to be checked from a file.

    Raises:
        InputError: there is no such file, or it is wrong; the text lists all that is.
    """
    text = read_text(path, _MOST_BYTES, InputError, "Give the path of a TOML file with models and budgets: kibi.toml.")
    return read_spec(text, Path(path))


def read_spec(text: str, path: Path) -> Spec:
    """Reads what is to be checked.

    Args:
        text: TOML.
        path: of the file, for errors and for what paths in it are relative to.

    Raises:
        InputError: the text is wrong; with file, model, key, reason and remedy of all that is.
    """
    try:
        table = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, ValueError, RecursionError) as error:
        raise InputError(f"{path}: {error}. Write TOML, as Kibi's page on the gate shows.") from None
    told = list(_table_problems(table, path.parent))
    problems = [problem for _, problem in told]
    sound = _without(table, told)
    lines = [text.count("\n", 0, found.start()) + 1 for found in _HEAD.finditer(text)]
    growth = growth_of(sound.get("growth", "0%")) or Fraction(0)
    models: list[ModelSpec] = []
    for number, entry in enumerate(sound.get("model", ())):
        where = f"model {str(entry.get('name', entry.get('path', number + 1)))[:60]!r}"
        wrong = list(_model_problems(entry))
        found = [problem for _, problem in wrong]
        if "path" not in dict(wrong):
            line = lines[number] if number < len(lines) else 1
            models.append(_model(_without(entry, wrong), path.parent, line, growth, found))
        problems += [f"{where}: {problem}" for problem in found]
    problems += _doubled(models)
    if problems:
        count = f"{len(problems)} problem{'s' if len(problems) > 1 else ''}"
        raise InputError("\n".join([f"{path}: {count}", *listed([f"{problem}." for problem in problems])]))
    return Spec(path, path.parent / table.get("baseline", DEFAULT_BASELINE), tuple(models))


def _without(table: Mapping[str, Any], told: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """What is left of a table without the keys that are wrong."""
    wrong = {key for key, _ in told}
    return {key: value for key, value in table.items() if key not in wrong}


def _table_problems(table: Mapping[str, Any], folder: Path) -> Iterator[tuple[str, str]]:
    """Yields keys, and what is wrong with them outside of models."""
    yield from _unknown(table, _KEYS)
    entries = table.get("model", [])
    if not isinstance(entries, list) or not entries or not all(isinstance(each, dict) for each in entries):
        yield "model", "there is no list of models. Write a line [[model]], and the model's keys after it"
    elif len(entries) > _MOST_MODELS:
        yield "model", f"there are {len(entries)} models. Give {_MOST_MODELS} at most"
    if "growth" in table and growth_of(table["growth"]) is None:
        yield "growth", f'growth is {_shown(table["growth"])}. Give a percentage as text, such as "1%"'
    if "baseline" in table and not _is_inside(table["baseline"], folder):
        what = "Give the name of a file beside kibi.toml, or in a folder there"
        yield "baseline", f"baseline is {_shown(table['baseline'])}. {what}"


def _is_inside(name: object, folder: Path) -> bool:
    """True if a text is a relative path that does not lead out of a folder, by a link neither: it is written to."""
    if not isinstance(name, str) or not _is_text(name):
        return False
    path = PurePath(name)
    if path.is_absolute() or path.drive or ".." in path.parts or not path.parts:
        return False
    try:
        return (folder / path).resolve().is_relative_to(folder.resolve())
    except (OSError, RuntimeError):  # links that lead to each other
        return False


def _model_problems(entry: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yields a model's keys, and what is wrong with them or the types of their values."""
    yield from _unknown(entry, MODEL_KEYS)
    if "path" not in entry:
        yield "path", 'path is missing. Give the path of a model, as in path = "model.tflite"'
    for key, value in entry.items():
        if key in MODEL_KEYS and (problem := _value_problem(key, value)):
            yield key, problem if key == "budget" else f"{key} is {_shown(value)}.{problem}"


def _value_problem(key: str, value: object) -> str:
    """What to do about a value of a wrong type, after a blank; empty if its type is right."""
    if key in _TEXTS:
        return "" if _is_text(value) else f" Give a text of {_MOST_NAME} characters at most"
    if key in _LISTS:
        is_list = isinstance(value, list) and 0 < len(value) <= _MOST_PLACES and all(map(_is_text, value))
        return "" if is_list else ' Give a list of names, as in ["rp2040"]'
    if key in _CHOICES:
        known = _CHOICES[key]
        return "" if value in known else f"{did_you_mean(str(value), known)} Give one of {', '.join(known)}"
    if key in _NUMBERS:
        is_number = _is_whole(value) and 1 <= value <= _NUMBERS[key]  # type: ignore[operator]  # a whole number
        return "" if is_number else f" Give a whole number from 1 to {_NUMBERS[key]:,}"
    if key == "recompute":
        is_factor = isinstance(value, int | float) and not isinstance(value, bool) and 1 <= value <= _MOST_FACTOR
        return "" if is_factor else f" Give a number from 1 to {_MOST_FACTOR}, as in 1.1 for a tenth more work"
    if key == "growth":
        return "" if growth_of(value) is not None else ' Give a percentage as text, such as "1%"'
    return "" if isinstance(value, dict) else "budget is no table. Write a line [model.budget], and its keys after it"


def _model(entry: Mapping[str, Any], folder: Path, line: int, growth: Fraction, problems: list[str]) -> ModelSpec:
    """Makes a model of a table whose types are right, and adds to the problems what is wrong with its names and budgets."""
    places = _places(entry, folder, problems)
    general, special = _budget(entry.get("budget", {}), [each.name for each in places], problems)
    places = [replace(each, limits=_ordered({**general, **special.get(each.name, {})})) for each in places]
    data = _data(entry, folder, problems)
    wanted = {name for each in places for name, _ in each.limits} & {"accuracy", "auc"}
    if wanted and data is None and "data" not in entry:
        problems.append(
            f"a budget of {' and '.join(sorted(wanted))} needs data. Give data, a .npz or .npy file or a folder"
        )
    chosen = {key: entry[key] for key in (*_CHOICES, "signature", "recompute") if key in entry}
    return ModelSpec(
        name=entry.get("name", PurePath(entry["path"]).stem),
        path=folder / entry["path"],
        line=line,
        places=tuple(places),
        options=Options(**chosen),
        data=data,
        truth=folder / entry["truth"] if "truth" in entry else None,
        most=entry.get("most"),
        runs=entry.get("runs", 3),
        growth=growth if "growth" not in entry else growth_of(entry["growth"]) or Fraction(0),
    )


def _data(entry: Mapping[str, Any], folder: Path, problems: list[str]) -> Path | None:
    """The path of the data; a name of a Python function is refused, because to read a file must not run one."""
    if "data" not in entry:
        if "truth" in entry or "most" in entry:
            problems.append("truth and most are about data. Give data, or leave them out")
        return None
    path: Path = folder / entry["data"]
    try:
        is_data = path.is_dir() or path.suffix.lower() in (".npz", ".npy")
    except (OSError, ValueError):
        is_data = False
    if not is_data:
        problems.append(f"data is {_shown(entry['data'])}. Give a .npz or .npy file, or a folder")
    return path


def _places(entry: Mapping[str, Any], folder: Path, problems: list[str]) -> list[Place]:
    """The boards and targets of a model, without budgets; the default target where it names none."""
    found = []
    for name in entry.get("boards", ()):
        try:
            made = board(folder / name if name.endswith(".toml") else name)
            if not made.is_supported:
                problems.append(
                    f"boards: {name!r} has the core {made.core}, which is not emulated: nothing can be measured on it"
                )
            found.append(Place(name, made.target, made, ()))
        except TargetError as error:
            problems.append(f"boards: {str(error).rstrip('.')}")
    names = entry.get("targets", () if "boards" in entry else (DEFAULT_TARGET,))
    for name in names:
        try:
            processor = target(name)
        except TargetError as error:
            problems.append(f"targets: {str(error).rstrip('.')}")
            continue
        if not processor.is_emulated:
            problems.append(f"targets: {name!r} is not emulated, so that nothing can be measured on it")
        found.append(Place(name, processor, None, ()))
    if len({each.name for each in found}) < len(found):
        problems.append("a board or target is there twice. Name each once")
    return found


def _budget(
    table: Mapping[str, Any], places: Sequence[str], problems: list[str]
) -> tuple[dict[str, float], dict[str, dict[str, float]]]:
    """The budget for all places, and those of single places, which come under their names."""
    general: dict[str, float] = {}
    special: dict[str, dict[str, float]] = {}
    for key, value in table.items():
        if isinstance(value, dict):
            if key not in places:
                problems.append(f"budget: {key[:60]!r} is no board or target of this model.{did_you_mean(key, places)}")
                continue
            special[key] = {}
            for name, limit in value.items():
                _take(special[key], name, limit, f"budget of {key}", problems)
        else:
            _take(general, key, value, "budget", problems)
    return general, special


def _take(limits: dict[str, float], name: str, value: object, where: str, problems: list[str]) -> None:
    """Takes one limit, or says what is wrong with it."""
    kind = KINDS.get(name)
    if kind is None:
        problems.append(
            f"{where}: there is no key {name[:60]!r}.{did_you_mean(name, KINDS)} Keys are: {', '.join(KINDS)}"
        )
    elif problem := kind.problem(value):
        problems.append(f"{where}: {name} is {_shown(value)}. {problem}")
    else:
        limits[name] = kind.amount(value) or 0.0


def _ordered(limits: Mapping[str, float]) -> tuple[tuple[str, float], ...]:
    return tuple((name, limits[name]) for name in KINDS if name in limits)


def _doubled(models: Sequence[ModelSpec]) -> Iterator[str]:
    """Yields names that two models have: the baseline could not tell them apart."""
    seen: set[str] = set()
    for each in models:
        if each.name in seen:
            yield f"two models are called {each.name[:60]!r}. Give one of them another name"
        seen.add(each.name)


def _unknown(table: Mapping[str, object], known: Sequence[str]) -> Iterator[tuple[str, str]]:
    for key in table:
        if key not in known:
            yield key, f"there is no key {key[:60]!r}.{did_you_mean(key, known)} Keys are: {', '.join(known)}"


def _is_text(value: object) -> bool:
    return isinstance(value, str) and 0 < len(value) <= _MOST_NAME and "\0" not in value


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _shown(value: object) -> str:
    text = str(value).lower() if isinstance(value, bool) else repr(value)
    return text if len(text) <= _MOST_NAME else f"{text[: _MOST_NAME - 1]}…"
