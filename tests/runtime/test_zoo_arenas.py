"""Arenas and metadata of Kibi's interpreter beside TFLM's, for every real model that Kibi loads."""

import importlib.util
import json
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import kibi
from kibi.errors import ModelError
from tests.support import zoo

_ROOT = Path(__file__).resolve().parents[2]
_LOADED_AT_LEAST = 32


@cache
def _benchmark() -> ModuleType:
    """The benchmark that makes the table of the documents; it belongs to no package."""
    path = _ROOT / "benchmarks" / "interpreters.py"
    spec = importlib.util.spec_from_file_location("kibi_benchmark_interpreters", path)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _tflm() -> Mapping[str, Mapping[str, Any]]:
    """TFLM's figures by the model's name, of those that it runs."""
    models = json.loads((zoo.zoo_path() / "catalog.json").read_text(encoding="utf-8"))["models"]
    return {model["name"]: model["tflm"] for model in models if model["tflm"]["runs"]}


@zoo.requires_zoo
@pytest.mark.slow
def test_interpreter_with_whole_tensors_is_never_larger_than_tflm() -> None:
    """Under TFLM's own restriction the arena is at most its head, and the descriptors at most its metadata."""
    loaded = 0
    for name, tflm in _tflm().items():
        try:
            model = kibi.load(zoo.model_path(name))
        except ModelError:
            continue
        interpreter = kibi.Interpreter(model, kibi.plan(model, granularity="tensor"))
        loaded += 1
        assert interpreter.arena_used_bytes <= tflm["head_bytes"], name
        assert interpreter.metadata_used_bytes <= tflm["smallest_arena_bytes_x86_64"] - tflm["head_bytes"], name
    assert loaded >= _LOADED_AT_LEAST


@pytest.mark.slow
@zoo.requires_zoo
def test_interpreter_by_the_row_is_never_larger_and_the_table_is_fresh() -> None:
    """What the benchmark measures is what the page shows; `python benchmarks/interpreters.py --docs` writes it."""
    benchmark = _benchmark()
    rows = list(benchmark.measured_rows())
    assert len(rows) >= _LOADED_AT_LEAST
    assert [row.model for row in rows if not row.is_never_larger] == []
    (found,) = benchmark.SECTION.findall(benchmark.PAGE.read_text(encoding="utf-8"))
    assert found == benchmark.markdown(rows)
