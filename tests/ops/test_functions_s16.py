"""Functions of every s16: what TFLM gives, Python gives, and C gives on this machine and on the emulated core."""

import shutil
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import kibi
from kibi.dtypes import DType
from kibi.errors import ModelError
from kibi.frontends.tflite import parse_tflite
from kibi.frontends.tflite.builder import ModelBuilder
from kibi.planner import plan
from kibi.runtime import Interpreter
from kibi.targets import target
from kibi.tflm import Oracle
from tests.ops.batch import Batch
from tests.ops.comparison import assert_same

_EVERY = np.arange(-(1 << 15), 1 << 15).astype(np.int16).reshape(-1, 64)
_NOT_NEGATIVE = _EVERY[512:]
_UNIT = 2.0**-15
_LARGE = (8 / 3, 5.33, 5.34, 8.0, 100.0, 9999.0, 174_762.0)
"""Input scales from which on TFLM's debug builds stop; from the third on products wrap in 32 bits."""
_ROOTS = (
    *((0.00486517, 2.9932513e-05), (0.00038488783, 4.646688e-05), (0.003826767, 4.2492014e-05)),
    *((0.0107, 0.0131), (3.05e-5, 0.0053), (0.3, 2.0**11), (1.0, 2.0**-31), (7e-5, 1e-9), (2.0**-30, 1.1e-10)),
)
"""Scales whose factors round otherwise in float32, are ordinary, are small, and are so large that what is shifted left wraps."""
_FUNCTIONS = [
    *((name, scale, _UNIT) for name in ("LOGISTIC", "TANH") for scale in _LARGE),
    *(("RSQRT", *scales) for scales in _ROOTS),
]


def _model(name: str, scale: float, output_scale: float) -> bytes:
    """An operator on every s16 that TFLM takes."""
    b, shape = ModelBuilder(), _inputs(name).shape
    x, y = b.input(shape, DType.S16, scale, 0), b.tensor(shape, DType.S16, output_scale, 0)
    b.operator(name, [x], [y])
    return b.finish([y])


def _inputs(name: str) -> NDArray[np.int16]:
    """At a negative root TFLM stops the inference."""
    return _NOT_NEGATIVE if name == "RSQRT" else _EVERY


@pytest.mark.parametrize(("name", "scale", "output_scale"), _FUNCTIONS)
def test_function_of_every_s16_equals_tflm(name: str, scale: float, output_scale: float, oracle: Oracle) -> None:
    """All inputs agree, also where TFLM's products wrap."""
    model, data = _model(name, scale, output_scale), _inputs(name)
    graph = parse_tflite(model, "m.tflite")
    assert_same(graph, Interpreter(graph).run([data]), oracle.run(model, [[data]])[0].outputs)


def test_functions_of_every_s16_give_the_same_in_c(tmp_path: Path) -> None:
    """Under sanitizers, which stop at an overflow that is not meant."""
    graphs = [parse_tflite(_model(*each), "m.tflite") for each in _FUNCTIONS]
    compiler = "gcc" if shutil.which("gcc") else "zig"
    plans = [plan(graph, target("host")) for graph in graphs]
    batch = Batch(graphs, plans, tmp_path, compiler=compiler, level="0", sanitize=True)
    inputs = [_inputs(name) for name, *_ in _FUNCTIONS]
    for graph, data, outcome in zip(graphs, inputs, batch.run([[data] for data in inputs]), strict=True):
        assert_same(graph, outcome.outputs[0], Interpreter(graph).run([data]))


@pytest.mark.parametrize("processor", ["cortex-m0plus", "cortex-m4"])
@pytest.mark.parametrize(
    ("name", "scale", "output_scale"), [("LOGISTIC", 100.0, _UNIT), ("TANH", 8.0, _UNIT), ("RSQRT", 3.05e-5, 0.0053)]
)
def test_functions_of_every_s16_give_the_same_on_the_device(
    name: str, scale: float, output_scale: float, processor: str
) -> None:
    """The emulated core gives what Python gives."""
    graph = parse_tflite(_model(name, scale, output_scale), "m.tflite")
    assert kibi.verify(graph, target=processor, inputs=[[_inputs(name)]], runs=1).is_exact


@pytest.mark.parametrize("name", ["LOGISTIC", "TANH"])
def test_load_function_with_a_multiplier_beyond_32_bits_is_refused(name: str) -> None:
    """A double that does not fit an integer is one that C++ converts as it likes."""
    wanted = f"{name}: input has scale 200000: TFLM converts a multiplier of 2.458e\\+09 to int32, which C\\+\\+ leaves undefined"
    with pytest.raises(ModelError, match=wanted):
        parse_tflite(_model(name, 2e5, _UNIT), "m.tflite")


@pytest.mark.parametrize("dtype", [DType.S8, DType.S16], ids=str)
@pytest.mark.parametrize(
    ("power", "wanted"),
    [
        (-13, r"factor of 0.0001221, but 2\*\*-12 or more is required: TFLM shifts it by more than 31 bits"),
        (50, r"factor of 1.126e\+15, but less than 2\*\*50 is required"),
    ],
)
def test_load_root_whose_factor_is_shifted_too_far_is_refused(dtype: DType, power: int, wanted: str) -> None:
    """C++ leaves shifts by more bits than there are undefined; next to the bounds the model loads."""
    nearer = power + 1 if power < 0 else power - 1
    assert parse_tflite(_root(dtype, 1.0, 2.0**-nearer), "m.tflite").nodes
    with pytest.raises(ModelError, match=wanted):
        parse_tflite(_root(dtype, 1.0, 2.0**-power), "m.tflite")


def test_load_root_of_s16_without_scales_is_refused() -> None:
    """TFLM runs it, with a factor that it never sets."""
    with pytest.raises(
        ModelError, match="RSQRT: input has no scale: TFLM then multiplies by a factor that it never sets"
    ):
        parse_tflite(_root(DType.S16, None, None), "m.tflite")


def test_root_of_a_negative_s16_is_the_largest() -> None:
    """Like that of 0; TFLM stops the inference."""
    data = np.array([-(1 << 15), -1, 0, 4], np.int16)
    graph = parse_tflite(_root(DType.S16, 1.0, 0.001), "m.tflite")
    assert Interpreter(graph).run([data])[0].tolist() == [32767, 32767, 32767, 500]


def _root(dtype: DType, scale: float | None, output_scale: float | None) -> bytes:
    """RSQRT of four elements."""
    b, zero_point = ModelBuilder(), None if scale is None else 0
    x, y = b.input((4,), dtype, scale, zero_point), b.tensor((4,), dtype, output_scale, zero_point)
    b.operator("RSQRT", [x], [y])
    return b.finish([y])
