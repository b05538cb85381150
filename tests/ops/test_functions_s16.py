"""Functions of every s16: what TFLM gives, Python gives, and C gives on this machine and on the emulated core."""

import shutil
from pathlib import Path

import numpy as np
import pytest

import kibi
from kibi.dtypes import DType
from kibi.errors import ModelError
from kibi.frontends.tflite import parse_tflite
from kibi.oracle import Oracle
from kibi.planner import plan
from kibi.runtime import Interpreter
from kibi.targets import target
from tests.ops.batch import Batch
from tests.ops.comparison import assert_same
from tests.support.tflite_builder import ModelBuilder

_EVERY = np.arange(-(1 << 15), 1 << 15).astype(np.int16).reshape(-1, 64)
_UNIT = 2.0**-15
_LARGE = (8 / 3, 5.33, 5.34, 8.0, 100.0, 9999.0, 174_762.0)
"""Input scales from which on TFLM's debug builds stop; from the third on products wrap in 32 bits."""
_FUNCTIONS = [(name, scale, _UNIT) for name in ("LOGISTIC", "TANH") for scale in _LARGE]


def _model(name: str, scale: float, output_scale: float) -> bytes:
    """An operator on every s16."""
    b = ModelBuilder()
    x, y = b.input(_EVERY.shape, DType.S16, scale, 0), b.tensor(_EVERY.shape, DType.S16, output_scale, 0)
    b.operator(name, [x], [y])
    return b.finish([y])


@pytest.mark.parametrize(("name", "scale", "output_scale"), _FUNCTIONS)
def test_function_of_every_s16_equals_tflm(name: str, scale: float, output_scale: float, oracle: Oracle) -> None:
    """All 65,536 inputs agree, also where TFLM's products wrap."""
    model = _model(name, scale, output_scale)
    graph = parse_tflite(model, "m.tflite")
    assert_same(graph, Interpreter(graph).run([_EVERY]), oracle.run(model, [[_EVERY]])[0].outputs)


def test_functions_of_every_s16_give_the_same_in_c(tmp_path: Path) -> None:
    """Under sanitizers, which stop at an overflow that is not meant."""
    graphs = [parse_tflite(_model(*each), "m.tflite") for each in _FUNCTIONS]
    compiler = "gcc" if shutil.which("gcc") else "zig"
    plans = [plan(graph, target("host")) for graph in graphs]
    batch = Batch(graphs, plans, tmp_path, compiler=compiler, optimize="1", sanitize=True)
    for graph, outcome in zip(graphs, batch.run([[_EVERY]] * len(graphs)), strict=True):
        assert_same(graph, outcome.outputs[0], Interpreter(graph).run([_EVERY]))


@pytest.mark.parametrize("processor", ["cortex-m0plus", "cortex-m4"])
@pytest.mark.parametrize(("name", "scale", "output_scale"), [("LOGISTIC", 100.0, _UNIT), ("TANH", 8.0, _UNIT)])
def test_functions_of_every_s16_give_the_same_on_the_device(
    name: str, scale: float, output_scale: float, processor: str
) -> None:
    """The emulated core gives what Python gives."""
    graph = parse_tflite(_model(name, scale, output_scale), "m.tflite")
    assert kibi.verify(graph, target=processor, inputs=[[_EVERY]], runs=1).is_exact


@pytest.mark.parametrize("name", ["LOGISTIC", "TANH"])
def test_load_function_with_a_multiplier_beyond_32_bits_is_refused(name: str) -> None:
    """A double that does not fit an integer is one that C++ converts as it likes."""
    wanted = f"{name}: input has scale 200000: TFLM converts a multiplier of 2.458e\\+09 to int32, which C\\+\\+ leaves undefined"
    with pytest.raises(ModelError, match=wanted):
        parse_tflite(_model(name, 2e5, _UNIT), "m.tflite")
