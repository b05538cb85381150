"""Models whose inferences may end early: no outputs then, and the states of the file's order, in all engines and in TFLM."""

from pathlib import Path

import numpy as np
import pytest

import kibi
from kibi import tflm as oracle
from kibi.dtypes import Array
from kibi.engines import DeviceEngine, HostEngine
from kibi.errors import InputError
from kibi.ir import early_exits
from tests.engines.early_ending import DEPTH, early_ending_model
from tests.support.offline_models import packed
from tests.support.oracle import requires_oracle

_RUNS = 9


@pytest.fixture
def model(tmp_path: Path) -> kibi.Graph:
    """The network, from a file."""
    path = tmp_path / "stream.tflite"
    path.write_bytes(early_ending_model())
    return kibi.load(path)


def _inputs() -> list[list[Array]]:
    rng = np.random.default_rng(0)
    return [[rng.integers(-128, 128, (1, 1, 1, DEPTH)).astype(np.int8)] for _ in range(_RUNS)]


@requires_oracle
@pytest.mark.parametrize("wish", [{"granularity": "tensor"}, {"granularity": "row"}, {"input": "streamed"}], ids=str)
def test_outputs_come_when_there_was_enough_input_and_equal_tflm(
    model: kibi.Graph, wish: dict[str, str], tmp_path: Path
) -> None:
    """Python, host C and the device give outputs in the sixth inference alone, those of TFLM, and again after a reset."""
    with oracle.Oracle() as tflm:
        wanted = tflm.run(early_ending_model(), _inputs())[5].outputs[0]
    plan = kibi.plan(model, **wish)  # type: ignore[arg-type]  # wishes are strings
    library = kibi.compile(model, plan, tmp_path / "lib")
    interpreter, host, device = kibi.Interpreter(model, plan), HostEngine(library), DeviceEngine(library)
    for engine in (interpreter, host, device):
        found = [engine.run(inputs) for inputs in _inputs()]
        assert [len(outputs) for outputs in found] == [0, 0, 0, 0, 0, 1, 0, 0, 0]
        np.testing.assert_array_equal(found[5][0], wanted)
    interpreter.reset()
    host.call("reset")
    for inputs in _inputs()[:6]:
        again = interpreter.run(inputs), host.run(inputs)
    for outputs in again:
        np.testing.assert_array_equal(outputs[0], wanted)


@pytest.mark.parametrize("mode", ["stored", "streamed"])
def test_inferences_that_end_early_do_so_in_slices(model: kibi.Graph, mode: str, tmp_path: Path) -> None:
    """With a lease and checkpoints, too, by slices of each size: outputs in the sixth inference alone, the same bits."""
    plan = kibi.plan(model, input=mode)
    library = kibi.compile(model, plan, tmp_path / "lib", slices=True, lease=True, checkpoints=mode == "stored")
    for size in (1, 2, 100):
        interpreter, host, device = kibi.Interpreter(model, plan), HostEngine(library), DeviceEngine(library)
        for inputs in _inputs():
            wanted = interpreter.run(inputs)
            for engine in (host, device):
                found = engine.run(inputs, slice_steps=size)
                assert [each.tobytes() for each in found] == [each.tobytes() for each in wanted]


def test_plan_of_the_file_knows_nothing_of_states(tmp_path: Path) -> None:
    """Offsets are for the file's tensors: the states that the importer adds lie elsewhere."""
    path = tmp_path / "offline.tflite"
    path.write_bytes(early_ending_model(packed([-1] * 9)))
    model = kibi.load(path)
    assert len(model.tensors) > 9
    found = [kibi.Interpreter(model, kibi.plan(model, use_embedded_plan=True)).run(inputs) for inputs in _inputs()[:1]]
    assert found == [[]]


def test_what_changes_states_keeps_its_side_of_an_operator_that_ends_inferences(model: kibi.Graph) -> None:
    """In every order the first buffer runs before the second may end the inference, and the third behind it."""
    buffers = [number for number, node in enumerate(model.nodes) if node.op.name == "CIRCULAR_BUFFER"]
    assert early_exits(model) == tuple(buffers[1:])
    for granularity in ("tensor", "row"):
        order = kibi.plan(model, granularity=granularity).steps
        places = [[place for place, (node, _) in enumerate(order) if node == number] for number in buffers]
        assert max(places[0]) < min(places[1]) < max(places[1]) < min(places[2])


def test_rows_that_are_pushed_end_with_no_outputs(model: kibi.Graph) -> None:
    """Nothing more is expected when an operator ends the inference; `invoke` then gives no outputs."""
    interpreter = kibi.Interpreter(model, kibi.plan(model, input="streamed"))
    row = _inputs()[0][0]
    interpreter.push_row(row)
    assert interpreter.expected_row is None
    with pytest.raises(InputError):
        interpreter.push_row(row)
    assert interpreter.invoke() == []
    assert interpreter.expected_row == (0, 0)


def test_measured_and_verified_with_its_states(model: kibi.Graph) -> None:
    """What is compared is the same inference on all engines: states carry over on each."""
    assert kibi.measure(kibi.compile(model, None, model.path.parent / "m")).bit_exact  # type: ignore[union-attr]  # a file
    assert not kibi.verify(model, inputs=_inputs()).differences
