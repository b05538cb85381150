"""Many inputs in child processes: the bits of the Python runtime, and every way in which a process may end."""

import os
import signal
from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import kibi
from kibi.dtypes import Array
from kibi.engines.batch import CHECKED_INPUTS, BatchEngine
from kibi.engines.host_process import HostCode, HostProcess
from kibi.errors import InputError, InternalError, LimitError, MismatchError, ToolchainError
from kibi.ir import Graph
from kibi.planner import PlannedModel, Region
from kibi.runtime import seeded_inputs
from kibi.toolchain import build_shared
from tests.engines.counting import counting_bytes
from tests.engines.early_ending import DEPTH, early_ending_model
from tests.engines.networks import pooled_network, residual_network, two_input_network
from tests.support.amount import sample
from tests.support.zoo import requires_zoo, zoo_path

MODELS = {"residual": residual_network(), "two inputs": two_input_network(), "pooled": pooled_network("MEAN")}
REAL = ("mlperf_kws_int8", "mww_v2_okay_nabu", "tflm_mnist_lstm_int8", "mlperf_ad_fp32")
SHAPE = [1, 6, 5, 2]


def _counting(folder: Path) -> Graph:
    """A sum of all inputs so far."""
    (folder / "counting.tflite").write_bytes(counting_bytes(SHAPE))
    return kibi.load(folder / "counting.tflite")


def _engine(graph: Graph, workers: int | None = None, **wishes: Any) -> BatchEngine:
    return BatchEngine(graph, kibi.plan(graph, "host", **wishes), workers=workers)


def _code(graph: Graph) -> HostCode:
    return HostCode.of(PlannedModel.of(graph, kibi.plan(graph, "host", granularity="tensor")))


def _arrays(graph: Graph, count: int) -> list[Array]:
    """Seeded inputs, one array `[N, *shape]` for each input."""
    runs = [seeded_inputs(graph, seed) for seed in range(count)]
    return [np.stack([run[number] for run in runs]) for number in range(len(graph.inputs))]


WISHES = ({"granularity": "tensor"}, {"input": "streamed"}, {"input": "external"})
USUAL = [("residual", WISHES[0]), ("two inputs", WISHES[1]), ("pooled", WISHES[2])]


@pytest.mark.share(3, part=1)
@pytest.mark.parametrize(("name", "wishes"), sample(product(MODELS, WISHES), USUAL), ids=str)
def test_batch_gives_the_bits_of_the_python_runtime(name: str, wishes: dict[str, str]) -> None:
    """Stored, pushed row by row, or in external buffers; one input and two; in the order of the inputs."""
    graph = MODELS[name]
    inputs = _arrays(graph, 37)
    with _engine(graph, 2, **wishes) as engine:
        made = engine.run_batch(inputs, count=37)
    assert made.ended.all()
    for number in range(37):
        expected = kibi.run(graph, None, [array[number] for array in inputs])
        for found, wanted in zip(made.outputs, expected, strict=True):
            assert found[number].tobytes() == wanted.tobytes()


@pytest.mark.slow
def test_plan_of_another_target_is_run_too() -> None:
    """A plan for a Cortex-M4 names kernels of that core; C on this machine computes the same bits with its own."""
    graph = MODELS["residual"]
    inputs = _arrays(graph, 5)
    with BatchEngine(graph, kibi.plan(graph, "cortex-m4"), workers=1) as engine:
        made = engine.run_batch(inputs, count=5)
    assert made.outputs[0][4].tobytes() == kibi.run(graph, None, [array[4] for array in inputs])[0].tobytes()


BOARD = (Region("fast", 300, 1.0), Region("slow", 4096, 4.0), Region("flash", 1 << 20, 9.0, False, True))


@pytest.mark.parametrize(
    "wishes", [{"regions": BOARD}, {"weights": "read:read_weights", "bandwidth": 1_000_000}], ids=["regions", "slow"]
)
def test_plans_with_several_memories_are_run_too(wishes: dict[str, Any]) -> None:
    """Buffers in several regions, and weights that are read into windows of the arena."""
    graph = residual_network(height=20)
    inputs = _arrays(graph, 5)
    with _engine(graph, 1, granularity="row", **wishes) as engine:
        made = engine.run_batch(inputs, count=5)
    for number in range(5):
        expected = kibi.run(graph, None, [array[number] for array in inputs])
        assert made.outputs[0][number].tobytes() == expected[0].tobytes()


@pytest.mark.parametrize("input_mode", ["stored", "streamed"])
def test_inferences_that_end_early_have_no_outputs(tmp_path: Path, input_mode: str) -> None:
    """In a sequence each sixth one comes to its end; independent inputs never do."""
    (tmp_path / "stream.tflite").write_bytes(early_ending_model())
    graph = kibi.load(tmp_path / "stream.tflite")
    plan = kibi.plan(graph, "host", input=input_mode)
    inputs = np.random.default_rng(0).integers(-128, 128, (14, 1, 1, 1, DEPTH)).astype(np.int8)
    interpreter = kibi.Interpreter(graph, plan)
    expected = [interpreter.run([each]) for each in inputs]
    assert 0 < sum(map(bool, expected)) < 14
    with BatchEngine(graph, plan, workers=2) as engine:
        made = engine.run_batch([inputs], count=14, keep_state=True)
        assert made.ended.tolist() == list(map(bool, expected))
        for number, outputs in enumerate(expected):
            if outputs:
                assert made.outputs[0][number].tobytes() == outputs[0].tobytes()
            else:
                assert not made.outputs[0][number].any()
        assert not engine.run_batch([inputs], count=14).ended.any()


def test_independent_inputs_begin_with_the_first_values_of_variables(tmp_path: Path) -> None:
    """The same input gives the same output at each place; a batch that keeps state is a sequence on one core."""
    graph = _counting(tmp_path)
    one = np.full((20, *SHAPE), 1, np.int8)
    with _engine(graph, 2) as engine:
        assert np.unique(engine.run_batch([one], count=20).outputs[0]).size == 1
    interpreter = kibi.Interpreter(graph)
    expected = [interpreter.run([each])[0] for each in one]
    assert int(expected[19].flat[0]) == 20
    with _engine(graph, 2) as engine:
        found = engine.run_batch([one], count=20, keep_state=True).outputs[0]
    np.testing.assert_array_equal(found, np.stack(expected))


def test_no_inputs_give_empty_arrays() -> None:
    """The shapes stay."""
    with _engine(MODELS["pooled"]) as engine:
        made = engine.run_batch(_arrays(MODELS["pooled"], 1), count=0)
    assert [array.shape[0] for array in made.outputs] == [0] * len(MODELS["pooled"].outputs)
    assert made.outputs[0].shape[1:] == MODELS["pooled"].tensors[MODELS["pooled"].outputs[0]].type.shape


def test_stream_takes_no_more_batches_ahead_than_two_for_each_core() -> None:
    """So the memory does not depend on how many there are."""
    graph = MODELS["pooled"]
    array = _arrays(graph, 1)
    taken = 0

    def batches() -> Iterator[list[Array]]:
        nonlocal taken
        for _ in range(40):
            taken += 1
            yield array

    with _engine(graph, 2) as engine:
        for done, _ in enumerate(engine.stream(batches())):
            assert taken <= done + 1 + 2 * 2
    assert taken == 40


def test_other_bits_than_those_of_python_end_in_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first inputs are compared, whichever of them it is."""
    graph = MODELS["residual"]
    engine = _engine(graph, 1)
    run = HostProcess.run

    def other(self: HostProcess, inputs: list[Array], **options: int) -> object:
        made = run(self, inputs, **options)  # type: ignore[arg-type]  # as it is called
        wrong = made.outputs[0].copy()
        wrong[CHECKED_INPUTS - 1].reshape(-1)[2] ^= 1
        return replace(made, outputs=(wrong, *made.outputs[1:]))

    monkeypatch.setattr(HostProcess, "run", other)
    with pytest.raises(MismatchError, match=r"1 of .* elements of output .* differ"):
        engine.run_batch(_arrays(graph, 9), count=9)


def _library(folder: Path, invoke: str) -> HostCode:
    """Code with the functions of a model, whose inference does what is given."""
    model = _code(MODELS["pooled"]).model
    name = model.graph.name
    (folder / "own.c").write_text(
        f"""
#include <stddef.h>
static signed char memory[65536];
static int runs;
int {name}_init(void *model, void *arena, size_t bytes);
void *{name}_input(void *model, unsigned index);
void *{name}_output(void *model, unsigned index);
int {name}_invoke(void *model);
int {name}_init(void *model, void *arena, size_t bytes) {{ (void)model; (void)arena; return bytes ? 0 : -2; }}
void *{name}_input(void *model, unsigned index) {{ (void)model; return memory + 16 * index; }}
void *{name}_output(void *model, unsigned index) {{ (void)model; return memory + 16 * index; }}
int {name}_invoke(void *model) {{ (void)model; ++runs; {invoke} return 0; }}
"""
    )
    return HostCode(model, build_shared([folder / "own.c"]))


def _run(code: HostCode, count: int) -> None:
    process = HostProcess(code)
    try:
        process.run(_arrays(MODELS["pooled"], count), count=count, first=100)
    finally:
        process.close()


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="Windows has no signals")
def test_crash_of_the_code_is_an_error_that_names_the_inputs(tmp_path: Path) -> None:
    """The session lives on."""
    with pytest.raises(InternalError, match=r"SIG[A-Z]+, for one of the inputs 100 to 102"):
        _run(_library(tmp_path, "__builtin_trap();"), 3)


def test_write_outside_of_its_memory_is_an_error(tmp_path: Path) -> None:
    """The bytes around each block are looked at after each batch."""
    with pytest.raises(InternalError, match="wrote outside its memory"):
        _run(_library(tmp_path, "((char *)model)[-1] = 0;"), 1)


@pytest.mark.parametrize(("status", "kind"), [(-5, InternalError), (-6, LimitError)])
def test_error_of_the_code_names_the_input(tmp_path: Path, status: int, kind: type[Exception]) -> None:
    """Its status becomes the error that the other engines raise."""
    with pytest.raises(kind, match="for input 101"):
        _run(_library(tmp_path, f"if (runs == 2) {{ return {status}; }}"), 3)


def test_endless_inference_ends_with_the_process(tmp_path: Path) -> None:
    """Whoever closes the process need not wait for the code."""
    process = HostProcess(_library(tmp_path, "for (volatile int i = 0; runs; i = !i) {}"))
    child = process._process.pid
    assert process._process.stdin is not None
    process._process.stdin.write(b"\0" * 3)
    process.close()
    with pytest.raises(ProcessLookupError):
        os.kill(child, 0)


def test_engine_goes_on_after_an_error() -> None:
    """Its processes are started anew."""
    graph = MODELS["pooled"]
    inputs = _arrays(graph, 6)
    with _engine(graph, 2) as engine:
        before = engine.run_batch(inputs, count=6).outputs[0]

        def broken() -> Iterator[list[Array]]:
            yield inputs
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            list(engine.stream(broken()))
        np.testing.assert_array_equal(engine.run_batch(inputs, count=6).outputs[0], before)


def test_number_of_processes_is_checked() -> None:
    """At least one."""
    with pytest.raises(InputError, match="at least 1"):
        _engine(MODELS["pooled"], 0)


def test_library_that_is_gone_is_an_error(tmp_path: Path) -> None:
    """The bytes are checked each time a process starts."""
    model = _code(MODELS["pooled"]).model
    with pytest.raises(ToolchainError, match="cannot load"):
        HostProcess(HostCode(model, tmp_path / "none.so"))


@requires_zoo
@pytest.mark.parametrize("name", sample(product(REAL), [("mww_v2_okay_nabu",)]))
def test_batch_of_a_real_model_gives_the_bits_of_the_python_runtime(name: str) -> None:
    """Convolutions, variables, recurrent layers, floats."""
    graph = kibi.simplify(kibi.load(zoo_path() / "models" / f"{name}.tflite"))
    inputs = _arrays(graph, 9)
    plan = kibi.plan(graph, "host", granularity="tensor")
    with BatchEngine(graph, plan) as engine:
        made = engine.run_batch(inputs, count=9)
    interpreter = kibi.Interpreter(graph, plan)
    for number in (0, 5, 8):
        interpreter.reset()
        for found, wanted in zip(made.outputs, interpreter.run([array[number] for array in inputs]), strict=True):
            assert found[number].tobytes() == wanted.tobytes()
