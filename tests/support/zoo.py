"""The zoo: real models with seeded inputs and what TFLM answers, in the folder that `KIBI_ZOO` names."""

import hashlib
import importlib.util
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import Any

import pytest

from kibi.dtypes import Array
from kibi.ir import TensorType

requires_zoo = pytest.mark.zoo
"""Marks a test that needs the zoo; it is skipped where there is none."""

GOLDEN_RUNS = (0, 3)
"""The positions in `seeded_runs` of the runs that `goldens` describes; they follow one another in one interpreter."""


BENCHMARKS = (
    "mlperf_kws_int8",
    "mlperf_vww_int8",
    "mlperf_ic_int8",
    "mlperf_ad_int8",
    "mlperf_sww_int8",
    "tflm_person_detect",
    "tflm_micro_speech",
    "tflm_hello_int8",
)
"""The models that figures are promised for."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One model of the zoo.

    Attributes:
        path: the `.tflite` file.
        inputs: shape and NumPy type name of each input; empty where TFLM does not run the model.
        operators: how many operators there are of each kind.
        refusal: why TFLM does not run the model, or empty.
        head_bytes: what TFLM's planner needs for activations and scratch, or None.
        output_digests: the `digest` of each output, for each of the six seeded runs.
    """

    path: Path
    inputs: tuple[tuple[tuple[int, ...], str], ...]
    operators: Mapping[str, int]
    refusal: str
    head_bytes: int | None
    output_digests: tuple[tuple[str, ...], ...]


def zoo_path() -> Path:
    """The zoo's folder, which may be absent."""
    project = Path(__file__).resolve().parents[2]
    return Path(os.environ.get("KIBI_ZOO", project.parent / "shared" / "zoo"))


_MARKED = {"is_marked": True}
"""Whether the running test has the mark; true outside of tests."""


def check_zoo(*, is_marked: bool = True) -> None:
    """Skip the running test if it needs the zoo, and that is absent. Without the mark, what needs the zoo fails, present or not."""
    _MARKED["is_marked"] = is_marked
    if is_marked and not (zoo_path() / "catalog.json").is_file():
        pytest.skip(f"no zoo of models at {zoo_path()}; set KIBI_ZOO to its folder")


@cache
def catalog() -> Mapping[str, Entry]:
    """The models by name; none where the zoo is absent, so that tests parametrized by them can be collected."""
    path = zoo_path() / "catalog.json"
    if not path.is_file():
        return MappingProxyType({})
    return MappingProxyType({model["name"]: _entry(model) for model in json.loads(path.read_text())["models"]})


def _entry(model: Mapping[str, Any]) -> Entry:
    return Entry(
        path=zoo_path() / model["file"],
        inputs=tuple((tuple(shape), kind) for shape, kind in model["inputs"] or ()),
        operators=MappingProxyType(model["ops"]),
        refusal="\n".join(model["tflm"]["error"] or ()),
        head_bytes=model["tflm"]["head_bytes"],
        output_digests=tuple(tuple(outputs) for outputs in model["tflm_output_sha256_16"] or ()),
    )


@dataclass(frozen=True, slots=True)
class OperatorFile:
    """One file of one or a few operators.

    Attributes:
        path: the `.tflite` file.
        runs: whether TFLM runs it.
        refusal: what it says where it does not.
        output_digests: the `digest` of each output, for each of the three runs on noise.
    """

    path: Path
    runs: bool
    refusal: str
    output_digests: tuple[tuple[str, ...], ...]


@cache
def operator_files() -> Mapping[str, OperatorFile]:
    """The operator files by name; none where the zoo is absent."""
    index = zoo_path() / "ops.json"
    if not index.is_file():
        return MappingProxyType({})
    return MappingProxyType(
        {
            name: OperatorFile(
                zoo_path() / entry["file"],
                entry["tflm_runs"],
                "\n".join(entry["tflm_error"] or ()),
                tuple(tuple(outputs) for outputs in entry["tflm_output_sha256_16"] or ()),
            )
            for name, entry in json.loads(index.read_text(encoding="utf-8")).items()
        }
    )


def model_path(name: str) -> Path:
    """The `.tflite` file of a model."""
    return catalog()[name].path


def goldens(name: str) -> tuple[Mapping[int, str], ...]:
    """For each of `GOLDEN_RUNS` the fingerprints of subgraph 0's non-constant tensors; none where TFLM gave none."""
    tensors = json.loads((zoo_path() / "goldens" / f"{name}.json").read_text())["tensors"]
    return tuple({index: text for index, text in enumerate(run) if text is not None} for run in tensors or ())


def digest(array: Array) -> str:
    """The first 16 hexadecimal digits of the SHA-256 of an array's bytes, as in `Entry.output_digests`."""
    return hashlib.sha256(array.tobytes()).hexdigest()[:16]


def fingerprint(array: Array) -> str:
    """Digest, type and number of elements, as in `goldens`."""
    return f"{digest(array)}:{array.dtype}:{array.size}"


def seeded_runs(name: str) -> Sequence[Sequence[Array]]:
    """The inputs of the six runs behind the digests, in the order in which one interpreter makes them."""
    generator = _generator()
    return [
        [
            generator.seeded_input(shape, kind, 1000 * run + position, mode)
            for position, (shape, kind) in enumerate(catalog()[name].inputs)
        ]
        for run, (mode, _) in enumerate(generator.RUNS)
    ]


def noise(kind: TensorType, run: int, position: int) -> Array:
    """The noise of input `position` in run 0, 1 or 2: what operator files are run on."""
    array: Array = _generator().seeded_input(kind.shape, kind.dtype.numpy.name, 1000 * run + position, "rand")
    return array


def _generator() -> ModuleType:
    """The zoo's own generator of inputs, which belongs to no package."""
    assert _MARKED["is_marked"], "mark the test with requires_zoo: where the zoo is absent, it has no inputs"
    return _generator_module()


@cache
def _generator_module() -> ModuleType:
    spec = importlib.util.spec_from_file_location("kibi_zoo_inputs", zoo_path() / "inputs.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@cache
def _baselines() -> Mapping[str, Mapping[str, Mapping[str, int]]]:
    """What TFLM needs on Cortex-M, by model and core; empty where the figures are absent."""
    path = zoo_path().parent / "baselines" / "tflm.json"
    models: Mapping[str, Mapping[str, Mapping[str, int]]] = (
        json.loads(path.read_text())["models"] if path.is_file() else {}
    )
    return models


def baseline(name: str, core: str = "cortex_m4") -> Mapping[str, int]:
    """TFLM's measured figures for a model on a core: instructions, arena, stack, code.

    Raises:
        KeyError: there are none.
    """
    return _baselines()[name][core]
