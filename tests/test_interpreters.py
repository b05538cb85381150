"""`kibi.Interpreter` with both engines: the same interface, the same bits."""

from pathlib import Path

import numpy as np
import pytest

import kibi
from kibi.dtypes import Array
from kibi.eager.handlers import Handler
from kibi.engines.batch import BatchEngine
from kibi.engines.host_process import HostProcess, Results
from kibi.errors import CompilerWarning, InputError
from kibi.interpreters import MOST_IN_PYTHON
from kibi.ir import Graph
from kibi.runtime import seeded_inputs
from kibi.runtime.interpreter import Interpreter as PythonInterpreter
from kibi.toolchain import compilers
from tests.engines.counting import counting_bytes
from tests.engines.networks import pooled_network, residual_network, two_input_network

SHAPE = [1, 6, 5, 2]


def _counting(folder: Path) -> Graph:
    """A sum of all inputs so far."""
    (folder / "counting.tflite").write_bytes(counting_bytes(SHAPE))
    return kibi.load(folder / "counting.tflite")


def _same(found: list[Array], expected: list[Array]) -> None:
    assert [each.tobytes() for each in found] == [each.tobytes() for each in expected]


def test_host_engine_is_an_interpreter_with_the_same_bits() -> None:
    """Inputs in a list, by name, and set one by one; outputs by number."""
    graph = two_input_network()
    python = kibi.Interpreter(graph)
    with kibi.Interpreter(graph, engine="host") as host:
        assert isinstance(host, PythonInterpreter)
        assert (python.engine, host.engine) == ("python", "host")
        for seed in range(3):
            inputs = seeded_inputs(graph, seed)
            expected = python.run(inputs)
            _same(host.run(inputs), expected)
            for number, array in enumerate(inputs):
                host.set_input(array, number)
            _same(host.invoke(), expected)
            _same([host.get_output(0), host.get_tensor(graph.outputs[0])], [expected[0], expected[0]])
            names = [graph.tensors[index].name for index in graph.inputs]
            _same(host.run(dict(zip(names, inputs, strict=True))), expected)


def test_host_engine_keeps_variables_until_a_reset(tmp_path: Path) -> None:
    """Run after run, as the Python runtime; a closed one begins anew."""
    graph = _counting(tmp_path)
    python, host = kibi.Interpreter(graph), kibi.Interpreter(graph, engine="host")
    inputs = [np.full(SHAPE, 3, np.int8)]
    outputs = [python.run(inputs) for _ in range(4)]
    assert [int(each[0].flat[0]) for each in outputs] == [3, 6, 9, 12]
    for again in (host.reset, host.close):
        for expected in outputs:
            _same(host.run(inputs), expected)
        again()
    _same(host.run(inputs), outputs[0])
    host.close()


@pytest.mark.parametrize("granularity", ["tensor", "row"])
def test_host_engine_takes_rows(granularity: str) -> None:
    """The same row is expected after each that was pushed, and the outputs are those of complete inputs."""
    graph = two_input_network()
    plan = kibi.plan(graph, "host", granularity=granularity, input="streamed")
    python = kibi.Interpreter(graph, plan)
    with kibi.Interpreter(graph, plan, engine="host") as host:
        for seed in range(2):
            inputs = seeded_inputs(graph, seed)
            while (expected := python.expected_row) is not None:
                assert host.expected_row == expected
                number, row = expected
                kind = graph.tensors[graph.inputs[number]].type
                values = inputs[number].reshape(kind.rows, *kind.row_shape)[row]
                with pytest.raises(InputError):
                    host.push_row(values, 1 - number)
                for engine in (python, host):
                    engine.push_row(values, number)
            assert host.expected_row is None
            _same(host.invoke(), python.invoke())
            _same(host.run(inputs), python.run(inputs))


def test_run_forgets_rows_that_were_pushed() -> None:
    """And a reset does so, too."""
    graph = residual_network()
    plan = kibi.plan(graph, "host", input="streamed")
    inputs = seeded_inputs(graph, 0)
    kind = graph.tensors[graph.inputs[0]].type
    with kibi.Interpreter(graph, plan, engine="host") as host:
        expected = kibi.run(graph, plan, inputs)
        for forget in (host.reset, lambda: _same(host.run(inputs), expected)):
            host.push_row(inputs[0].reshape(kind.rows, *kind.row_shape)[5])
            assert host.expected_row == (0, 1)
            forget()
            assert host.expected_row == (0, 0)
        host.push_row(inputs[0].reshape(kind.rows, *kind.row_shape)[0])
        with pytest.raises(InputError, match="row 1 of input 0 is missing"):
            host.invoke()


@pytest.mark.parametrize("engine", ["python", "host"])
def test_batch_is_many_first_inferences(tmp_path: Path, engine: str) -> None:
    """Variables have their first values for each input, and afterwards."""
    graph = _counting(tmp_path)
    one = np.full((7, *SHAPE), 1, np.int8)
    with kibi.Interpreter(graph, engine=engine, workers=2) as interpreter:
        first = interpreter.run([one[0]])[0]
        for given in ([one], {"x": one}):
            found = interpreter.run_batch(given)
            assert found[0].shape == (7, *SHAPE)
            assert all(each.tobytes() == first.tobytes() for each in found[0])
        _same(interpreter.run([one[0]]), [first])
        assert interpreter.run_batch([one[:0]])[0].shape == (0, *SHAPE)
        for wrong in ([one[:, :, 1:]], [one.astype(np.int16)], [one, one], [one[0]], [np.int8(3)], {"z": one}):
            with pytest.raises(InputError):
                interpreter.run_batch(wrong)  # type: ignore[arg-type]  # among them what is no list of arrays


def test_batches_of_more_than_a_handful_run_as_c(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no engine is chosen, and nothing is watched; Python runs the others."""
    graph = _counting(tmp_path)
    counts: list[int] = []
    run = BatchEngine.run_batch

    def counted(engine: BatchEngine, inputs: list[Array], *, count: int) -> Results:
        counts.append(count)
        return run(engine, inputs, count=count)

    monkeypatch.setattr(BatchEngine, "run_batch", counted)
    nine = np.full((MOST_IN_PYTHON + 1, *SHAPE), 1, np.int8)
    with kibi.Interpreter(graph, engine="python") as python:
        expected = python.run_batch([nine])
    with kibi.Interpreter(graph, workers=1) as interpreter:
        _same(interpreter.run_batch([nine]), expected)
        _same(interpreter.run_batch([nine[1:]]), [expected[0][1:]])
        with interpreter.profile():
            _same(interpreter.run_batch([nine]), expected)
        assert interpreter.engine == "python"
    assert counts == [len(nine)]


def test_batches_run_in_python_where_there_is_no_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A warning says it once, and what to install."""
    monkeypatch.setattr(compilers, "has_host_compiler", lambda: False)
    nine = np.full((MOST_IN_PYTHON + 1, *SHAPE), 1, np.int8)
    with kibi.Interpreter(_counting(tmp_path)) as interpreter:
        with pytest.warns(CompilerWarning, match="Python runs all 9 inputs.*pip install ziglang"):
            found = interpreter.run_batch([nine])
        _same(interpreter.run_batch([nine]), found)


def test_events_of_host_inferences_are_those_of_python() -> None:
    """Begin, rows, end."""

    class Log(Handler):
        def __init__(self) -> None:
            self.names: list[str] = []

        def notify(self, event: object) -> None:
            self.names.append(str(event))

    for input_mode in ("stored", "streamed"):
        graph = pooled_network("MEAN")
        plan = kibi.plan(graph, "host", input=input_mode)
        names = []
        for engine in ("python", "host"):
            log = Log()
            with kibi.Interpreter(graph, plan, engine=engine, handler=log) as interpreter:
                interpreter.run(seeded_inputs(graph, 0))
            names.append(log.names)
        assert names[0] == names[1]
        assert len(names[0]) >= 1


def test_what_needs_memory_of_python_is_refused() -> None:
    """An error says which engine it is for."""
    graph = residual_network()
    inputs = seeded_inputs(graph, 0)
    with pytest.raises(InputError, match="arena of the caller is for engine='python'"):
        kibi.Interpreter(graph, None, bytearray(100_000), engine="host")
    with pytest.raises(InputError, match="there is no engine 'c'"):
        kibi.Interpreter(graph, engine="c")
    with kibi.Interpreter(graph, engine="host", allocate=False) as host:
        with pytest.raises(InputError, match="is for engine='python'"):
            host.register_preallocated(graph.inputs[0], inputs[0].copy())
        with pytest.raises(InputError, match="Call `allocate`"):
            host.run(inputs)
        host.allocate()
        with pytest.raises(InputError, match="observer is for engine='python'"):
            host.run(inputs, print)
        with pytest.raises(InputError, match="profile is for engine='python'"), host.profile():
            pass
        with pytest.raises(InputError, match="tensor between the steps"):
            host.tensors  # noqa: B018 - the property raises
        _same(host.run(inputs), kibi.run(graph, None, inputs))


def test_interruption_of_host_inference_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    """The next inference begins anew, in a new process."""
    graph = residual_network()
    inputs = seeded_inputs(graph, 0)
    with kibi.Interpreter(graph, engine="host") as host:
        expected = host.run(inputs)

        def interrupted(*_: object, **__: object) -> None:
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr(HostProcess, "run", interrupted)
            with pytest.raises(KeyboardInterrupt):
                host.run(inputs)
        _same(host.run(inputs), expected)
