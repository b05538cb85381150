"""Every real model and operator file that Kibi can read: in all engines, against TFLM's answers."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

import kibi
from kibi.dtypes import Array
from kibi.engines import DeviceEngine, Engine, HostEngine
from kibi.errors import ModelError
from kibi.frontends.tflite.importers import RESOLVED
from kibi.ir import Graph
from kibi.ops import operators
from tests.support import zoo

pytestmark = zoo.requires_zoo


def _digests(engine: Engine, runs: Sequence[Sequence[Array]]) -> list[tuple[str, ...]]:
    return [tuple(map(zoo.digest, engine.run(inputs))) for inputs in runs]


def _read(path: Path) -> Graph:
    try:
        return kibi.load(path)
    except ModelError as error:
        pytest.skip(f"not supported: {error.problems[0].what}")


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", sorted(n for n, e in zoo.catalog().items() if set(e.operators) <= {*operators(), *RESOLVED})
)
def test_model_equals_tflm_in_all_engines(name: str, tmp_path: Path) -> None:
    """All six seeded runs in Python and host C, the first and the fourth on the emulated core."""
    entry = zoo.catalog()[name]
    model = _read(entry.path)
    assert not entry.refusal, "TFLM refuses this model, so there is nothing to be equal to"
    library = kibi.compile(model, kibi.plan(model), tmp_path)
    runs, expected = list(zoo.seeded_runs(name)), list(entry.output_digests)
    assert _digests(kibi.Interpreter(model, library.model.plan), runs) == expected
    assert _digests(HostEngine(library), runs) == expected
    some = range(4) if model.variables else (0, 3)  # what a model remembers it needs in order
    assert _digests(DeviceEngine(library), [runs[k] for k in some]) == [expected[k] for k in some]


_RUNNABLE = sorted(n for n, e in zoo.catalog().items() if set(e.operators) <= {*operators(), *RESOLVED})


@pytest.mark.slow
@pytest.mark.parametrize("core", ["cortex-m0plus", "cortex-m3", "cortex-m4", "cortex-m33"])
@pytest.mark.parametrize("name", _RUNNABLE)
def test_simplified_model_equals_tflm_on_every_core(name: str, core: str, tmp_path: Path) -> None:
    """After the lossless passes, with the kernels for each core: two seeded runs."""
    entry = zoo.catalog()[name]
    model = kibi.simplify(_read(entry.path))
    library = kibi.compile(model, kibi.plan(model, core), tmp_path)
    runs = list(zoo.seeded_runs(name))
    assert _digests(DeviceEngine(library), runs[:2]) == list(entry.output_digests[:2])


@pytest.mark.slow
@pytest.mark.parametrize("goal", ["speed", "flash"])
@pytest.mark.parametrize("name", _RUNNABLE)
def test_simplified_model_for_each_goal_equals_tflm(name: str, goal: str, tmp_path: Path) -> None:
    """With plans and kernels for speed, and with the general kernels: two seeded runs."""
    entry = zoo.catalog()[name]
    model = kibi.simplify(_read(entry.path))
    library = kibi.compile(model, kibi.plan(model, optimize=goal), tmp_path, optimize=goal)
    runs = list(zoo.seeded_runs(name))
    assert _digests(DeviceEngine(library), runs[:2]) == list(entry.output_digests[:2])


def _operator_files() -> dict[str, tuple[Path, list[list[str]]]]:
    index = zoo.zoo_path() / "ops.json"
    entries = json.loads(index.read_text(encoding="utf-8")) if index.is_file() else {}
    return {
        name: (zoo.zoo_path() / entry["file"], entry["tflm_output_sha256_16"])
        for name, entry in entries.items()
        if entry["tflm_runs"] and entry["ops"] and set(entry["ops"]) <= set(operators())
    }


@pytest.mark.parametrize("name", sorted(_operator_files()))
def test_operator_file_equals_tflm(name: str) -> None:
    """The three seeded runs of a real single-operator file."""
    path, expected = _operator_files()[name]
    model = _read(path)
    interpreter = kibi.Interpreter(model)
    for run in range(3):
        outputs = interpreter.run([zoo.noise(model.tensors[i].type, run, k) for k, i in enumerate(model.inputs)])
        assert list(map(zoo.digest, outputs)) == expected[run]
