"""Real models: those that Kibi supports load, the others end in one error that tells the truth about what is not supported."""

import re
from pathlib import Path

import pytest

from kibi.errors import ModelError
from kibi.frontends import load
from kibi.frontends.model_file import read_model_file
from kibi.frontends.tflite.compression import DECODE
from kibi.ir import Graph
from kibi.runtime import Interpreter
from kibi.tflm import Oracle
from tests.ops.comparison import assert_same_as_tflm
from tests.support.refusals import is_supported, names_what_lacks
from tests.support.zoo import BENCHMARKS, catalog, noise, operator_files, requires_zoo

pytestmark = requires_zoo

LEAST_MODELS, LEAST_FILES = 71, 337
"""How many models and operator files that TFLM runs load at least; raise them where more do."""
MOST_STRANGE = 7
"""Operator files that TFLM runs and that are refused for another reason than an operator or a type; lower it where fewer are."""
_ONLY_FOR_TFLM = (
    *("Failed to resize buffer", "gather_nd index out of bounds", "'INT32' is not supported by FLOOR_"),
    "Rsqrt is only defined for positive values",
)
"""What stops TFLM and not Kibi: too little memory for it, inputs of the zoo that have no place or no root, and types."""


@pytest.mark.parametrize("name", BENCHMARKS)
def test_benchmark_model_loads(name: str) -> None:
    """The eight models of the benchmarks become graphs with as many operators as the file has."""
    entry = catalog()[name]
    graph = load(entry.path)
    assert graph.name == name
    assert len(graph.nodes) == sum(entry.operators.values())
    assert [list(graph.tensors[index].type.shape) for index in graph.inputs] == [
        list(shape) for shape, _ in entry.inputs
    ]


@pytest.mark.timeout(5)
@pytest.mark.parametrize("name", catalog())
def test_model_loads_or_names_exactly_what_is_unsupported(name: str) -> None:
    """A refusal names all operators that Kibi does not have; of a model that TFLM runs it names an operator or a type."""
    entry = catalog()[name]
    unsupported = {operator for operator in entry.operators if not is_supported(operator)}
    graph = _loaded(entry.path)
    if isinstance(graph, ModelError):
        assert all(f"{operator} is not supported" in str(graph) for operator in unsupported)
        assert names_what_lacks(graph) or entry.refusal
    else:
        assert not unsupported
        # An operator with several outputs is as many nodes; what follows from shapes or constants alone is none.
        assert len({node.source for node in graph.nodes}) <= sum(entry.operators.values()) - entry.operators.get(
            DECODE, 0
        )


def _loaded(path: Path) -> Graph | ModelError:
    try:
        return load(path)
    except ModelError as error:
        return error


_REFUSED = {
    "coral_mnv1_025_128_uint8": r"operator 0, .*CONV_2D: a uint8 model .*15 such layers\)\. Quantize the model to int8",
    "tflm_person_detect_vela": r"1 problem\n  - operator 0: CUSTOM:ethos-u is not supported: it is code for an Arm Ethos-U, "
    r"which Vela put in place of operators\. Use the model as it was before Vela",
    "tfls_dilated_conv": r"'input_1': its shape is dynamic: \[-1, -1, -1, 3\]",
}
"""What is said of the models that neither TFLM nor Kibi runs."""
_CONVERTED = {
    "aeq_partly_quantized_mnist": 1,
    "derived_mnistcnn_dyn8": 3,
    "mlonmcu_catdog_2l": 3,
    "mlperf_ad_hybrid": 10,
    "mlperf_kws_fp32": 5,
}
"""Hybrid models, which TFLM refuses as they are: how many of their constants become float32."""


@pytest.mark.parametrize("name", _REFUSED)
def test_model_that_tflm_refuses_ends_in_an_error_that_says_what_it_is(name: str) -> None:
    """Models of uint8, code for an NPU, and shapes that are unknown: none loads, and so none can answer wrongly."""
    with pytest.raises(ModelError) as raised:
        load(catalog()[name].path)
    assert re.search(_REFUSED[name], str(raised.value))


@pytest.mark.parametrize("name", _CONVERTED)
def test_hybrid_model_is_a_float_model_that_tflm_runs(name: str, oracle: Oracle) -> None:
    """Its weights become float32, of the numbers that they mean; TFLM runs the converted file, with the same bits."""
    entry = catalog()[name]
    found = read_model_file(entry.path)
    assert (found.inlined, found.float16, found.hybrid) == (0, 0, _CONVERTED[name])
    graph = load(entry.path)
    inputs = [noise(graph.tensors[index].type, 0, place) for place, index in enumerate(graph.inputs)]
    assert_same_as_tflm(graph, Interpreter(graph).run(inputs), oracle.run(found.data, [inputs])[0].outputs)


def test_models_that_tflm_refuses_are_all_looked_at() -> None:
    """Each of them has a line here; and of those that TFLM runs as many load as did."""
    assert {name for name, entry in catalog().items() if entry.refusal} == {*_REFUSED, *_CONVERTED}
    loaded = [_loaded(entry.path) for entry in catalog().values() if not entry.refusal]
    assert sum(isinstance(each, Graph) for each in loaded) >= LEAST_MODELS


@pytest.mark.timeout(60)
def test_every_operator_file_loads_or_is_refused_truly() -> None:
    """Files of one or a few operators, many strange: a refusal never names what is supported; TFLM's refusals are none to run."""
    loaded, strange = [], []
    for name, entry in operator_files().items():
        graph = _loaded(entry.path)
        if isinstance(graph, ModelError):
            if not names_what_lacks(graph) and entry.runs:
                strange.append(name)
        else:
            is_known = any(text in entry.refusal for text in _ONLY_FOR_TFLM) or read_model_file(entry.path).is_changed
            assert entry.runs or is_known, f"{name} loads, but TFLM refuses it: {entry.refusal}"
            loaded.append(name)
    assert len(loaded) >= LEAST_FILES
    assert len(strange) <= MOST_STRANGE, strange
