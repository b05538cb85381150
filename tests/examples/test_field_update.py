"""The device in the field: cut three times while it gets a delta, it runs version 2 in the end, with that version's bits."""

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import kibi

_FOLDER = Path(__file__).parents[2] / "examples" / "field_update"


@pytest.fixture(scope="module")
def example() -> ModuleType:
    """The script as a module."""
    spec = importlib.util.spec_from_file_location("field_update", _FOLDER / "field_update.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["field_update"] = module
    spec.loader.exec_module(module)
    return module


def test_device_gets_version_2_over_a_bad_line(example: ModuleType, tmp_path: Path) -> None:
    """Whatever is lost and cut, each start gives version 1 or version 2, whole; the answers are those of the plan files."""
    made = example.models(tmp_path)
    device = example.Device(example.firmware(made, tmp_path / "core"))
    device.start()
    assert device.counter == -24  # there is no model yet
    first = example.Package.whole(made.versions[0], model=made.package.model, counter=1, target=made.package.target)
    example.send(device, first, example.Line(0))
    device.call("confirm")
    device.start()
    answers = []
    for file in made.versions:
        opened = kibi.open_plan(file)
        shape = file.inputs[0].shape
        answers.append([int(np.argmax(opened.run([each.reshape(shape)])[0])) for each in example.pictures()])
    assert (device.counter, example.answers(device)) == (1, answers[0])
    told = example.send(device, made.package, example.Line(1), example.CUTS)
    assert sum(line.startswith("power lost") for line in told) == len(example.CUTS) == 3
    assert made.package.base_bytes
    assert (device.counter, example.answers(device)) == (2, answers[1])
    device.call("confirm")
    for _ in range(5):
        device.start()
        assert device.counter == 2


def test_model_that_nobody_confirms_is_rolled_back(example: ModuleType, tmp_path: Path) -> None:
    """After three starts on trial, version 1 runs again."""
    made = example.models(tmp_path)
    device = example.Device(example.firmware(made, tmp_path / "core"))
    device.start()
    first = example.Package.whole(made.versions[0], model=made.package.model, counter=1, target=made.package.target)
    example.send(device, first, example.Line(0))
    device.call("confirm")
    device.start()
    example.send(device, made.package, example.Line(2))
    counters = [device.counter]
    for _ in range(4):
        device.start()
        counters.append(device.counter)
    assert counters == [2, 2, 2, 1, 1]
