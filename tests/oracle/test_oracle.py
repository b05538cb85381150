"""The oracle: TFLM in a child process answers as in the zoo, and its failures end as errors."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from kibi.dtypes import Array, DType
from kibi.errors import InputError, OracleError
from kibi.frontends.tflite.builder import ModelBuilder
from kibi.tflm import Oracle
from tests.support.oracle import requires_oracle
from tests.support.zoo import GOLDEN_RUNS, catalog, digest, fingerprint, goldens, model_path, requires_zoo, seeded_runs


def _relu() -> bytes:
    """Two operators, x → RELU → y → RELU6 → z, each tensor `[1, 4]` s8 of scale 1."""
    builder = ModelBuilder()
    x = builder.input([1, 4], DType.S8, 1.0, 0)
    y, z = (builder.tensor([1, 4], DType.S8, 1.0, 0) for _ in range(2))
    builder.operator("RELU", [x], [y])
    builder.operator("RELU6", [y], [z])
    return builder.finish([z])


def _broken() -> bytes:
    """An operator whose input is a tensor that the model does not have."""
    builder = ModelBuilder()
    builder.input([1, 4], DType.S8, 1.0, 0)
    y = builder.tensor([1, 4], DType.S8, 1.0, 0)
    builder.operator("RELU", [1 << 28], [y])
    return builder.finish([y])


def _svdf() -> bytes:
    """A filter with a state that remembers three inputs `[1, 1]` s8 and sums them; all scales are 1."""
    builder = ModelBuilder()
    x = builder.input([1, 1], DType.S8, 1.0, 0)
    feature = builder.constant(np.ones([1, 1], np.int8), 1.0, 0)
    times = builder.constant(np.ones([1, 3], np.int16), 1.0, 0)
    bias = builder.constant(np.zeros([1], np.int32), 1.0, 0)
    state = builder.tensor([1, 3], DType.S16, 1.0, 0, variable=True)
    y = builder.tensor([1, 1], DType.S8, 1.0, 0)
    builder.operator("SVDF", [x, feature, times, bias, state], [y], rank=1, fused_activation_function="RELU")
    return builder.finish([y])


def _s8(*values: int) -> Array:
    return np.array([values], np.int8)


def test_run_gives_each_run_s_outputs(oracle: Oracle) -> None:
    """Several runs of one call give one result each, in order."""
    results = oracle.run(_relu(), [[_s8(-1, 0, 1, 9)], [_s8(5, 6, 7, -8)]])
    assert [run.outputs[0].tolist() for run in results] == [[[0, 0, 1, 6]], [[5, 6, 6, 0]]]
    assert [dict(run.tensors) for run in results] == [{}, {}]


def test_run_with_intermediates_gives_every_computed_tensor(oracle: Oracle) -> None:
    """Inputs, intermediates and outputs come by their index, and outputs are as without."""
    inputs = _s8(-1, 0, 7, 9)
    (run,) = oracle.run(_relu(), [[inputs]], intermediates=True)
    assert {index: array.tolist() for index, array in run.tensors.items()} == {
        0: [[-1, 0, 7, 9]],
        1: [[0, 0, 7, 9]],
        2: [[0, 0, 6, 6]],
    }
    np.testing.assert_array_equal(run.outputs[0], oracle.run(_relu(), [[inputs]])[0].outputs[0])


def test_run_state_carries_over_within_a_call_only(oracle: Oracle) -> None:
    """The runs of one call share an interpreter's state; the next call starts afresh."""
    runs = [[_s8(value)] for value in (1, 10, 20, 40)]
    for _ in range(2):
        assert [int(run.outputs[0].item()) for run in oracle.run(_svdf(), runs)] == [1, 11, 31, 70]


def test_run_a_model_file_equals_its_bytes(oracle: Oracle, tmp_path: Path) -> None:
    """A path gives what the file's bytes give."""
    path = tmp_path / "relu.tflite"
    path.write_bytes(_relu())
    assert oracle.run(path, [[_s8(1, 2, 3, -4)]])[0].outputs[0].tolist() == [[1, 2, 3, 0]]


def test_run_a_missing_file_is_an_input_error(oracle: Oracle, tmp_path: Path) -> None:
    """A path that cannot be read is named."""
    with pytest.raises(InputError, match=r"absent\.tflite cannot be read"):
        oracle.run(tmp_path / "absent.tflite", [])


@requires_oracle
def test_run_after_a_crash_works() -> None:
    """A model that crashes TFLM is an error that says so, and the next run has a new process."""
    with Oracle() as oracle:
        with pytest.raises(OracleError, match=r"crashed with SIG"):
            oracle.run(_broken(), [[_s8(0, 0, 0, 0)]])
        assert oracle.run(_relu(), [[_s8(1, 2, 3, 4)]])[0].outputs[0].tolist() == [[1, 2, 3, 4]]


@requires_oracle
def test_run_after_the_process_was_killed_works() -> None:
    """A process that ended between two calls is replaced without a word."""
    with Oracle() as oracle:
        oracle.run(_relu(), [])
        assert oracle._child is not None
        os.kill(oracle._child.process.pid, signal.SIGKILL)
        oracle._child.process.wait()
        assert oracle.run(_relu(), [[_s8(1, 2, 3, 4)]])[0].outputs[0].tolist() == [[1, 2, 3, 4]]


@pytest.mark.parametrize("arena_bytes", [0, 64, 1000])
def test_run_in_a_tiny_arena_is_an_oracle_error(oracle: Oracle, arena_bytes: int) -> None:
    """An arena that cannot hold the model is an error, whether TFLM refuses or crashes, and the next run works."""
    with pytest.raises(OracleError):
        oracle.run(_relu(), [[_s8(1, 2, 3, 4)]], arena_bytes=arena_bytes)
    assert oracle.run(_relu(), [[_s8(1, 2, 3, 4)]], arena_bytes=4096)


@pytest.mark.parametrize("model", [b"", b"TFL3", b"\xff" * 64, b"not a model at all, but text\n" * 9])
def test_run_malformed_bytes_is_an_oracle_error(oracle: Oracle, model: bytes) -> None:
    """Bytes that are no model end as an error."""
    with pytest.raises(OracleError):
        oracle.run(model, [[_s8(1, 2, 3, 4)]])


def test_run_an_unknown_operator_tells_what_tflm_printed(oracle: Oracle) -> None:
    """TFLM's own words are in the error."""
    builder = ModelBuilder()
    x = builder.input([1, 4], DType.S8, 1.0, 0)
    y = builder.tensor([1, 4], DType.S8, 1.0, 0)
    builder.operator("CUSTOM", [x], [y], custom_code="NoSuchOperator", custom_options=b"\x01\x02")
    with pytest.raises(OracleError, match=r"refused(.|\n)*printed:\n(.|\n)*registration"):
        oracle.run(builder.finish([y]), [])


@pytest.mark.parametrize(
    "inputs", [[], [_s8(1, 2, 3, 4), _s8(1, 2, 3, 4)], [_s8(1, 2)], [np.zeros([1, 4], np.float32)]]
)
def test_run_inputs_that_do_not_fit_are_an_oracle_error(oracle: Oracle, inputs: list[Array]) -> None:
    """Too few inputs, too many, a wrong shape and a wrong type are refused, never used."""
    with pytest.raises(OracleError, match="refused"):
        oracle.run(_relu(), [inputs])


@requires_oracle
def test_run_past_its_time_is_an_oracle_error() -> None:
    """A process that gives no answer in time is stopped."""
    with Oracle(timeout_seconds=1e-3) as oracle, pytest.raises(OracleError, match=r"no answer within 0\.001 s"):
        oracle.run(_relu(), [])


def test_run_without_tflm_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where TFLM is not installed the error tells the command that installs it."""
    monkeypatch.setattr("kibi.tflm.oracle.available", lambda: False)
    with Oracle() as oracle, pytest.raises(OracleError, match="pip install"):
        oracle.run(_relu(), [])


def test_import_loads_neither_tflm_nor_the_oracle() -> None:
    """`import kibi` leaves the oracle alone, and the oracle leaves TFLM to its child."""
    code = (
        "import kibi, sys; assert 'kibi.tflm' not in sys.modules; "
        "import kibi.tflm; kibi.tflm.available(); assert 'tflite_micro' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@requires_zoo
@pytest.mark.parametrize("name", ["tflm_hello_int8", "mlperf_kws_int8"])
def test_run_zoo_models_give_the_catalog_s_digests(oracle: Oracle, name: str) -> None:
    """The six seeded runs have the outputs that the catalog recorded."""
    results = oracle.run(model_path(name), seeded_runs(name))
    assert tuple(tuple(map(digest, run.outputs)) for run in results) == catalog()[name].output_digests


@requires_zoo
@pytest.mark.parametrize("name", ["tflm_hello_int8", "mlperf_kws_int8"])
def test_run_zoo_models_intermediates_give_the_goldens(oracle: Oracle, name: str) -> None:
    """Every intermediate tensor of the recorded runs is the recorded one."""
    runs = seeded_runs(name)
    results = oracle.run(model_path(name), [runs[position] for position in GOLDEN_RUNS], intermediates=True)
    found = tuple({index: fingerprint(array) for index, array in run.tensors.items()} for run in results)
    assert found == goldens(name)
