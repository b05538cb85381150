"""Every real model that Kibi can read: in all engines, on all cores, for all goals, against TFLM's answers."""

from collections.abc import Sequence
from pathlib import Path

import pytest

import kibi
from kibi.dtypes import Array
from kibi.engines import DeviceEngine, Engine, HostEngine
from kibi.errors import ModelError
from kibi.ir import Graph
from kibi.targets import targets
from tests.debugger.qemu import emulated_everywhere
from tests.support import zoo

pytestmark = zoo.requires_zoo


def _digests(engine: Engine, runs: Sequence[Sequence[Array]]) -> list[tuple[str, ...]]:
    return [tuple(map(zoo.digest, engine.run(inputs))) for inputs in runs]


def _read(path: Path) -> Graph:
    try:
        return kibi.load(path)
    except ModelError as error:
        pytest.skip(f"not supported: {error.problems[0].what}")


_RUNNABLE = sorted(name for name, entry in zoo.catalog().items() if not entry.refusal)


@pytest.mark.slow
@pytest.mark.parametrize("name", _RUNNABLE)
def test_model_equals_tflm_in_all_engines(name: str, tmp_path: Path) -> None:
    """All six seeded runs in Python and host C, the first and the fourth on the emulated core."""
    entry = zoo.catalog()[name]
    model = _read(entry.path)
    library = kibi.compile(model, kibi.plan(model), tmp_path)
    runs, expected = list(zoo.seeded_runs(name)), list(entry.output_digests)
    assert _digests(kibi.Interpreter(model, library.model.plan), runs) == expected
    assert _digests(HostEngine(library), runs) == expected
    some = range(4) if model.variables else (0, 3)  # what a model remembers it needs in order
    assert _digests(DeviceEngine(library), [runs[k] for k in some]) == [expected[k] for k in some]


@pytest.mark.slow
@pytest.mark.parametrize("core", [each.name for each in targets() if each.is_emulated])
@pytest.mark.parametrize("name", _RUNNABLE)
def test_simplified_model_equals_tflm_on_every_core(name: str, core: str, tmp_path: Path) -> None:
    """After the lossless passes, with the kernels for each core: two seeded runs in host C and on each emulator that has it."""
    processors = emulated_everywhere(core)
    entry = zoo.catalog()[name]
    model = kibi.simplify(_read(entry.path))
    plan = kibi.plan(model, core)
    runs = list(zoo.seeded_runs(name))
    for processor in processors:
        folder = tmp_path / processor.runner.value
        folder.mkdir()
        library = kibi.compile(model, plan, folder, target=processor)
        for engine in (HostEngine(library), DeviceEngine(library)):
            assert _digests(engine, runs[:2]) == list(entry.output_digests[:2]), (engine, processor.runner)


@pytest.mark.slow
@pytest.mark.parametrize("goal", ["speed", "flash"])
@pytest.mark.parametrize("name", _RUNNABLE)
def test_simplified_model_for_each_goal_equals_tflm(name: str, goal: str, tmp_path: Path) -> None:
    """With plans and kernels for speed, and with the general kernels: two seeded runs."""
    entry = zoo.catalog()[name]
    model = kibi.simplify(_read(entry.path))
    library = kibi.compile(model, kibi.plan(model, goal=goal), tmp_path, goal=goal)
    runs = list(zoo.seeded_runs(name))
    assert _digests(DeviceEngine(library), runs[:2]) == list(entry.output_digests[:2])
