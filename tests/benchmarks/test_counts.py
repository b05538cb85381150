"""What layers and models take on emulated cores has not become more than the record says."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import zoo
from tests.support.amount import sample

ROOT = Path(__file__).resolve().parents[2]
_PEER = {
    "cortex-m3": {"pw": 3.1, "dw": 9.4, "c3": 3.3, "fc": 3.4},
    "cortex-m0plus": {"pw": 7.6, "dw": 35.7, "c3": 7.6, "fc": 6.2},
}
"""Instructions per multiply-accumulate that CMSIS-NN takes for these layers, measured with gcc at -O2."""

_MODELS, _MOST_STACK = 8, 320
"""How many models the benchmark has, and the most bytes of stack that one may take."""
_CORES = [("cortex-m4",), ("rv32imac",), ("cortex-m33",), ("cortex-m3",), ("cortex-m0plus",)]


def _check(only: str) -> None:
    command = [sys.executable, "benchmarks/counts.py", "--check", "--only", only]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert not done.returncode, f"{done.stdout}\n{done.stderr}"


@pytest.mark.parametrize("core", sample(_CORES, _CORES[:1]))
def test_layers_take_no_more_than_recorded(core: str) -> None:
    """Instructions, code, stack and arena of four layers."""
    _check(f"on {core}")


@zoo.requires_zoo
@pytest.mark.parametrize("model", ["tflm_hello_int8", "mlperf_kws_int8", pytest.param("", marks=pytest.mark.slow)])
def test_models_take_no_more_than_recorded(model: str) -> None:
    """The same of two models; of all eight in `make check-all`."""
    _check(f"model {model}")


def test_no_model_of_the_benchmark_takes_more_than_320_bytes_of_stack() -> None:
    """As recorded, for a Cortex-M4 and balanced code."""
    counts = json.loads((ROOT / "benchmarks" / "counts.json").read_text(encoding="utf-8"))["counts"]
    stacks = {name: entry["stack_bytes"] for name, entry in counts.items() if name.startswith("model ")}
    assert len(stacks) == _MODELS
    assert {name: size_bytes for name, size_bytes in stacks.items() if size_bytes > _MOST_STACK} == {}


@zoo.requires_zoo
@pytest.mark.slow
def test_coded_weights_take_no_more_than_recorded() -> None:
    """The same of models without and with coded weights, which the documents show."""
    _check("weights of ")


@pytest.mark.parametrize("core", sorted(_PEER))
def test_small_cores_are_no_slower_than_the_peer(core: str) -> None:
    """On cores without the DSP extension, too, each layer takes no more instructions than CMSIS-NN's kernels."""
    counts = json.loads((ROOT / "benchmarks" / "counts.json").read_text(encoding="utf-8"))["counts"]
    for layer, most in _PEER[core].items():
        entry = counts[f"layer {layer} on {core}"]
        assert entry["instructions"] / entry["macs"] <= most
