"""Reductions of more than four axes, whose neighbours become one."""

import shutil
from pathlib import Path

import numpy as np
import pytest

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
from tests.support.amount import sample

_AXES = ([0], [4], [1, 2], [0, 1], [2, 3], [1, 3], [-1, -2], [0, 2, 4], [0, 1, 2, 3, 4])
_TYPES = [
    *((name, dtype) for name in ("MEAN", "SUM") for dtype in (DType.S8, DType.S16, DType.F32)),
    *((name, dtype) for name in ("REDUCE_MAX", "REDUCE_MIN") for dtype in (DType.S8, DType.F32)),
    ("REDUCE_ALL", DType.BOOL),
]


def _model(
    name: str,
    dtype: DType,
    shape: tuple[int, ...],
    axes: list[int],
    *,
    keeps: bool,
    output: tuple[int, ...] | None = None,
) -> bytes:
    b = ModelBuilder()
    quantization = {DType.S8: (0.1, 3), DType.S16: (0.01, 0)}.get(dtype, (None, None))
    named = {axis % len(shape) for axis in axes}
    made = tuple(1 if axis in named else size for axis, size in enumerate(shape) if keeps or axis not in named)
    x, y = b.input(shape, dtype, *quantization), b.tensor(made if output is None else output, dtype, *quantization)
    b.operator(name, [x, b.constant(np.array(axes, np.int32))], [y], keep_dims=keeps)
    return b.finish([y])


@pytest.mark.share(3, part=2)
@pytest.mark.parametrize(("name", "dtype"), sample(_TYPES))
def test_reduction_of_five_axes_equals_tflm(name: str, dtype: DType, oracle: Oracle) -> None:
    """Axes apart and side by side, kept and dropped, some of one element."""
    rng = np.random.default_rng(5)
    for shape in ((1, 4, 2, 3, 2), (2, 3, 1, 2, 2), (1, 3, 1, 1, 2)):
        data = rng.integers(0, 2, shape).astype(bool) if dtype is DType.BOOL else rng.normal(0, 20, shape)
        data = data.astype(dtype.numpy)
        for axes in _AXES:
            for keeps in (False, True):
                model = _model(name, dtype, shape, axes, keeps=keeps)
                (wanted,) = oracle.run(model, [[data]])[0].outputs
                (found,) = Interpreter(parse_tflite(model, "m.tflite")).run([data])
                assert (found.shape, found.tobytes()) == (wanted.shape, wanted.tobytes()), (shape, axes, keeps)


_ALTERNATING = (
    ((2, 3, 2, 3, 2), [1, 3]),
    ((2, 3, 4, 3, 2), [0, 2, 4]),
    ((1, 2, 3, 1, 2, 3, 2), [1, 4, 6]),
    ((2, 3, 2, 3, 2, 3), [0, 2, -2]),
    ((2, 3, 2, 2, 2, 3, 2), [0, 2, 4, 6]),
    ((2, 3, 2, 2, 2, 3, 2, 2), [1, 3, 5, 7]),
)
"""Shapes and axes that leave from five to eight axes after neighbours have become one."""


@pytest.mark.share(3, part=1)
@pytest.mark.parametrize(("name", "dtype"), sample(_TYPES))
def test_reduction_of_axes_that_alternate_equals_tflm_in_python_and_c(
    name: str, dtype: DType, oracle: Oracle, tmp_path: Path
) -> None:
    """Kept axes and reduced ones change places until four are left; sums of floats keep their order."""
    rng = np.random.default_rng(6)
    graphs, inputs, outputs = [], [], []
    for number, (shape, axes) in enumerate(_ALTERNATING):
        data = rng.integers(0, 2, shape).astype(bool) if dtype is DType.BOOL else rng.normal(0, 20, shape)
        data = data.astype(dtype.numpy)
        model = _model(name, dtype, shape, axes, keeps=number % 2 == 1)
        graphs.append(parse_tflite(model, "m.tflite"))
        inputs.append([data])
        outputs.append(oracle.run(model, [[data]])[0].outputs)
        assert_same(graphs[-1], Interpreter(graphs[-1]).run([data]), outputs[-1])
    compiler, plans = "gcc" if shutil.which("gcc") else "zig", [plan(graph, target("host")) for graph in graphs]
    batch = Batch(graphs, plans, tmp_path, compiler=compiler, level="0", sanitize=True)
    for graph, outcome, wanted in zip(graphs, batch.run(inputs), outputs, strict=True):
        assert_same(graph, outcome.outputs[0], wanted)


@pytest.mark.parametrize(
    ("name", "dtype"),
    sample([("MEAN", DType.S8), ("SUM", DType.F32), ("REDUCE_ALL", DType.BOOL)], [("MEAN", DType.S8)]),
)
def test_reduction_of_axes_that_alternate_gives_the_same_on_the_device(name: str, dtype: DType) -> None:
    """The emulated core gives what Python gives."""
    shape, axes = _ALTERNATING[3]
    graph = parse_tflite(_model(name, dtype, shape, axes, keeps=False), "m.tflite")
    assert kibi.verify(graph, target="cortex-m0plus", runs=2).is_exact


def test_reduction_of_five_axes_with_an_output_of_another_shape_is_refused() -> None:
    """The shape that the file gives the output is checked against the input's."""
    model = _model("MEAN", DType.F32, (1, 4, 2, 3, 2), [1], keeps=False, output=(1, 3, 2, 2))
    with pytest.raises(ModelError, match="its inputs give"):
        parse_tflite(model, "m.tflite")
