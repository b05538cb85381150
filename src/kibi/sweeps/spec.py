"""The specification of a sweep as text: a TOML file that says which models, which settings, and what is best.

models = ["models/*.tflite"]           # paths and patterns, relative to this file
generator = "search.py:architectures"  # or beside them a function that yields (name, bytes or path, parameters)
quantizations = ["int8", "int16"]      # the generator is called for each, with quantization=…
targets = ["cortex-m4"]                # and goals, levels, weights, granularities; compiler, seed
evaluate = "search.py:accuracy"        # a function from the bytes of a model to figures by their names
maximize = "accuracy"                  # or minimize

[arguments]                            # of the generator
[budget]                               # the most that a cost or a figure may be
ram_bytes = 8192
"""

import math
import os
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from kibi.errors import InputError, listed
from kibi.files import read_text
from kibi.sweeps.best import Budget, Objective
from kibi.sweeps.functions import NamedFunction, named_function
from kibi.sweeps.models import Model, check_name, generated, models_of_items, models_of_patterns
from kibi.sweeps.rows import COST_NAMES
from kibi.sweeps.settings import Grid

_MOST_BYTES = 1 << 20
_GRID = tuple(each.name for each in fields(Grid))
_TEXTS = ("generator", "evaluate", "maximize", "minimize")
_TABLES = ("arguments", "budget")
_KEYS = ("models", "generator", "quantizations", *_GRID, "evaluate", "maximize", "minimize", *_TABLES)


@dataclass(frozen=True, slots=True)
class Spec:
    """What a sweep measures, and what is best.

    Attributes:
        folder: what paths are relative to.
        patterns: paths and patterns of models.
        generator: a function that yields architectures, or None.
        arguments: of the generator, by name.
        quantizations: the generator is called for each; empty: it is called once, without.
        grid: the settings.
        evaluate: a function from the bytes of a model to figures, or None.
        budget, objective: what is best.
    """

    folder: Path
    patterns: tuple[str, ...]
    generator: NamedFunction | None
    arguments: tuple[tuple[str, Any], ...]
    quantizations: tuple[str, ...]
    grid: Grid
    evaluate: NamedFunction | None
    budget: Budget
    objective: Objective

    def models(self) -> Iterator[Model]:
        """Yields the models: those of the patterns, then those of the generator.

        Raises:
            InputError: a pattern matches nothing, or the generator gives something else.
        """
        yield from models_of_patterns(self.patterns, self.folder)
        if self.generator is None:
            return
        for quantization in self.quantizations or (None,):
            given = {} if quantization is None else {"quantization": quantization}
            items = generated(self.generator.load(), self.generator.text, {**dict(self.arguments), **given})
            for model in models_of_items(items, self.generator.text, self.folder):
                named = {**dict(model.parameters), **given}
                yield Model(model.name, tuple(named.items()), model.data, model.refusal)


def load_spec(path: str | os.PathLike[str]) -> Spec:
    """Reads a specification from a file.

    Raises:
        InputError: there is no such file, or it is no specification; the text lists all that is wrong.
    """
    text = read_text(path, _MOST_BYTES, InputError, "Give the path of a TOML file that describes a sweep.")
    return read_spec(text, os.fspath(path), Path(path).parent)


def read_spec(text: str, source: str, folder: Path) -> Spec:
    """Reads a specification.

    Args:
        text: TOML.
        source: the name of the file, for errors.
        folder: what paths are relative to.

    Raises:
        InputError: the text is no specification; with file, key, reason and remedy of all that is wrong.
    """
    try:
        table = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, ValueError, RecursionError) as error:
        raise InputError(f"{source}: {error}. Write TOML, as Kibi's page on sweeps shows.") from None
    told = [*_form_problems(table)]
    problems, wrong = [problem for _, problem in told], {key for key, _ in told}
    sound = {key: value for key, value in table.items() if key not in wrong}
    found: dict[str, Any] = {}
    for part, make in (
        ("grid", lambda: _grid(sound)),
        ("generator", lambda: _function(sound, "generator", folder)),
        ("evaluate", lambda: _function(sound, "evaluate", folder)),
        ("budget", lambda: _budget(sound)),
        ("objective", lambda: _objective(sound)),
    ):
        try:
            found[part] = make()
        except InputError as error:
            problems.append(str(error).rstrip("."))
    if problems:
        count = f"{len(problems)} problem{'s' if len(problems) > 1 else ''}"
        raise InputError("\n".join([f"{source}: {count}", *listed([f"{problem}." for problem in problems])]))
    return Spec(
        folder=folder,
        patterns=tuple(table.get("models", ())),
        arguments=tuple(table.get("arguments", {}).items()),
        quantizations=tuple(table.get("quantizations", ())),
        **found,
    )


def _form_problems(table: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yields keys, and what is wrong with them or the types of their values."""
    for key in sorted(set(table) - {*_KEYS}):
        yield key, f"there is no key {key!r}. Keys are: {', '.join(_KEYS)}"
    for key in _KEYS:
        if key in table and (problem := _type_problem(key, table[key])):
            yield key, f"{key} is {str(table[key])[:60]!r}. {problem}"
    if "models" not in table and "generator" not in table:
        yield "models", "models are missing. Give `models` with paths or patterns, or `generator`"
    if "generator" not in table:
        for key in ("quantizations", "arguments"):
            if key in table:
                what = f"{key} need a generator"
                yield key, f"{what}. Give `generator`, or list the files in `models`"
    if "maximize" in table and "minimize" in table:
        yield "minimize", "maximize and minimize are both there. Give one of them"
    quantizations = table.get("quantizations", [])
    if isinstance(quantizations, list) and len({*map(str, quantizations)}) < len(quantizations):
        yield "quantizations", "quantizations has a value twice. Give each once"
    if isinstance(table.get("arguments"), dict) and "quantization" in table["arguments"] and "quantizations" in table:
        yield "arguments", "arguments has a quantization, and there are quantizations. Leave one of them out"


def _type_problem(key: str, value: object) -> str:
    if key == "seed":
        return "" if _is_whole(value) else "Give a whole number"
    if key in _TABLES:
        return "" if isinstance(value, dict) else f"Write a table, under a line [{key}]"
    if key in (*_TEXTS, "compiler"):
        return "" if isinstance(value, str) and value else "Give a text in quotes"
    is_list = isinstance(value, list) and value and all(isinstance(each, str) and each for each in value)
    return "" if is_list else 'Give a list of texts, as in ["one", "two"]'


def _grid(table: Mapping[str, Any]) -> Grid:
    given = {name: table[name] for name in _GRID if name in table}
    axes: dict[str, Any] = {name: tuple(each) if isinstance(each, list) else each for name, each in given.items()}
    return Grid(**axes)


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _function(table: Mapping[str, Any], key: str, folder: Path) -> NamedFunction | None:
    """Finds a function, and imports it now, so that a mistake ends the sweep before it begins.

    Raises:
        InputError: it cannot be imported.
    """
    if key not in table:
        return None
    try:
        found = named_function(table[key], folder)
        found.load()
    except InputError as error:
        raise InputError(f"{key}: {error}") from error
    return found


def _budget(table: Mapping[str, Any]) -> Budget:
    given = table.get("budget", {})
    for name, limit in given.items():
        _check_value(name, "budget: a limit", table)
        is_number = isinstance(limit, int | float) and not isinstance(limit, bool)
        if not (is_number and math.isfinite(limit)):
            raise InputError(f"budget: {name} is {str(limit)[:40]!r}. Give a number.")
    return Budget(tuple((name, float(limit)) for name, limit in given.items()))


def _objective(table: Mapping[str, Any]) -> Objective:
    for key in ("maximize", "minimize"):
        if key in table:
            _check_value(table[key], key, table)
            return Objective(table[key], key == "maximize")
    return Objective()


def _check_value(name: str, what: str, table: Mapping[str, Any]) -> None:
    """Checks the name of a cost or a figure; which figures there are is known when a model was evaluated.

    Raises:
        InputError: it is no name, or the name of no cost, and there is no evaluation.
    """
    check_name(name, what)
    if "evaluate" not in table and name not in COST_NAMES:
        raise InputError(f"{what} is {name!r}. Costs are {', '.join(COST_NAMES)}; figures need `evaluate`.")
