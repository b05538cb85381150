"""Every real model and operator file that Kibi can read: equal to TFLM in Python, and operator files in host C, too."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import kibi
from kibi.dtypes import Array
from kibi.errors import ModelError
from kibi.ir import Graph
from kibi.planner import plan
from kibi.targets import target
from kibi.tflm import Oracle
from tests.ops.batch import Batch
from tests.support import zoo
from tests.support.amount import amount, sample, share

pytestmark = zoo.requires_zoo

_LARGE = frozenset(
    {
        "arm_kws_micronet_m", "cfu_hps_74ops", "cfu_hps_presence", "cfu_mnv2_160_035", "mcunet_det_person", "mcunet_vww",
        "mlonmcu_micro_kws_m", "mlperf_ic_fp32", "mlperf_ic_int8", "mlperf_vww_fp32", "mlperf_vww_int8",
        "mltk_rock_paper_scissors", "openmv_blazeface_front_128", "tflm_person_detect",
    }
)  # fmt: skip
"""Models that take longer in Python than the rest together: they are `slow`."""
_LEAST_SEANET = 127
"""SEANet files that run: all of them."""
_BY_ONE = frozenset(f"tflm_seanet/leaky_relu{number}" for number in (3, 11, 18, 19))
"""Those on which TFLM itself differs from the goldens that it ships, by 1."""


@cache
def _loaded(path: Path) -> Graph | None:
    try:
        return kibi.load(path)
    except ModelError:
        return None


def _graph(path: Path) -> Graph:
    """A model; refusals are tested with the frontend."""
    graph = _loaded(path)
    if graph is None:
        pytest.skip("refused")
    return graph


_MODELS = [(name,) for name, entry in zoo.catalog().items() if not entry.refusal]
_USUAL = [each for each in _MODELS if each[0] not in _LARGE]


def _ulps(graph: Graph) -> int:
    """By how many units in the last place floats may differ: 0 where no C library decides."""
    return max((node.op.ulps for node in graph.nodes), default=0)


def _assert_equal(graph: Graph, path: Path, runs: Sequence[Sequence[Array]], digests: Sequence[Sequence[str]]) -> None:
    """Outputs in Python have TFLM's digests, or, where operators may differ by a last place, are that near to TFLM's own."""
    interpreter = kibi.Interpreter(graph, kibi.plan(graph, "host", granularity="tensor"))
    outputs = [interpreter.run(inputs) for inputs in runs]
    if [tuple(map(zoo.digest, each)) for each in outputs] == [tuple(each) for each in digests]:
        return
    assert _ulps(graph), f"{path.name}: outputs differ from TFLM's"
    with Oracle() as oracle:
        wanted = [run.outputs for run in oracle.run(path, runs)]
    for got, its in zip(outputs, wanted, strict=True):
        for mine, other in zip(got, its, strict=True):
            if mine.dtype == np.float32:
                np.testing.assert_array_max_ulp(mine.astype(np.float32), other.astype(np.float32), _ulps(graph))
            else:
                np.testing.assert_array_equal(mine, other)


@pytest.mark.share(2, part=0)
@pytest.mark.parametrize("name", sample(_MODELS, _USUAL[::2]))
def test_model_equals_tflm(name: str) -> None:
    """All six seeded runs in Python, one after another in one interpreter, so that states carry over."""
    entry = zoo.catalog()[name]
    _assert_equal(_graph(entry.path), entry.path, list(zoo.seeded_runs(name)), entry.output_digests)


@pytest.mark.parametrize("name", sample(_MODELS, _USUAL[1::2]))
def test_model_makes_the_tensors_that_tflm_makes(name: str) -> None:
    """Of two runs every tensor that Kibi computes has the hash that TFLM's has."""
    graph = _graph(zoo.catalog()[name].path)
    if _ulps(graph):
        pytest.skip("it may differ in last places")
    interpreter = kibi.Interpreter(graph, kibi.plan(graph, "host", granularity="tensor"))
    runs = list(zoo.seeded_runs(name))
    for number, golden in zip(zoo.GOLDEN_RUNS, zoo.goldens(name), strict=False):
        seen: dict[int, Array] = {}
        interpreter.run(runs[number], lambda index, array, seen=seen: seen.update({index: array}))  # type: ignore[misc]
        made = {index for node in graph.nodes for index in node.outputs} & set(golden)
        assert {index: zoo.fingerprint(seen[index]) for index in made} == {index: golden[index] for index in made}


def _noise(graph: Graph, run: int) -> list[Array]:
    return [zoo.noise(graph.tensors[index].type, run, place) for place, index in enumerate(graph.inputs)]


_FILES = [name for name, entry in zoo.operator_files().items() if entry.runs]


@pytest.mark.share(2, part=1)
@pytest.mark.parametrize("name", share(_FILES, 0, 2))
def test_operator_file_equals_tflm(name: str) -> None:
    """The three seeded runs of a real file of one or a few operators."""
    entry = zoo.operator_files()[name]
    graph = _graph(entry.path)
    _assert_equal(graph, entry.path, [_noise(graph, run) for run in range(3)], entry.output_digests)


def test_operator_files_in_host_c_equal_tflm(tmp_path: Path) -> None:
    """One program of files that load: the first of the seeded runs, twice from the start, has TFLM's digests."""
    names = [name for name in _FILES[:: amount(11, 1)] if _loaded(zoo.operator_files()[name].path) is not None]
    graphs = [_graph(zoo.operator_files()[name].path) for name in names]
    plans = [plan(graph, target("host")) for graph in graphs]
    batch = Batch(graphs, plans, tmp_path, compiler="zig", level="0")
    for name, graph, outcome in zip(names, graphs, batch.run([_noise(graph, 0) for graph in graphs]), strict=True):
        expected = zoo.operator_files()[name].output_digests[0]
        for outputs in outcome.outputs:
            assert tuple(map(zoo.digest, outputs)) == expected or _ulps(graph), name


def _read_csv(path: Path, like: Array) -> Array:
    return np.loadtxt(path, delimiter=",", dtype=np.int64).astype(like.dtype).reshape(like.shape)


def _seanet(name: str, graph: Graph) -> tuple[list[Array], Array]:
    """The inputs and the output that TFLM ships for a file."""
    stem, folder = name.removeprefix("tflm_seanet/"), zoo.zoo_path() / "inputs" / "seanet"
    files = sorted(folder.glob(f"{stem}_input*.csv"))[-len(graph.inputs) :]  # constants that are files, too, come first
    empty = [np.zeros(graph.tensors[index].type.shape, graph.tensors[index].type.dtype.numpy) for index in graph.inputs]
    inputs = [_read_csv(file, like) for file, like in zip(files, empty, strict=True)]
    kind = graph.tensors[graph.outputs[0]].type
    (golden,) = folder.glob(f"{stem}_golden_*.csv")
    return inputs, _read_csv(golden, np.zeros(kind.shape, kind.dtype.numpy))


def test_seanet_files_meet_the_goldens_that_tflm_ships() -> None:
    """On the speech network's own data, exactly, but for the four files where TFLM differs by 1, too."""
    count = 0
    for name in (name for name in _FILES if name.startswith("tflm_seanet/")):
        graph = _loaded(zoo.operator_files()[name].path)
        if graph is None:
            continue
        inputs, golden = _seanet(name, graph)
        (output,) = kibi.Interpreter(graph, kibi.plan(graph, "host", granularity="tensor")).run(inputs)
        difference = np.abs(output.astype(np.int64) - golden.astype(np.int64)).max()
        assert difference <= (name in _BY_ONE), name
        count += 1
    assert count >= _LEAST_SEANET
